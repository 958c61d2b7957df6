//! The end of a proxy.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use bailiwick_egress::{Dialer, Proxy, ProxyLimits, ProxyService};

use super::support::{Origin, Run, connect, guard, read, rest, wait_until};

fn run_to(origin: &Origin) -> (Run, String) {
    let authority = format!("127.0.0.1:{}", origin.port);
    (Run::new(&authority, ""), authority)
}

/// Opens a tunnel with traffic and a connection without a request.
fn open(run: &Run, authority: &str) -> [TcpStream; 2] {
    let mut tunnel = run.tunnel(authority);
    tunnel.write_all(b"12345").unwrap();
    assert_eq!(read(&mut tunnel, 5), b"12345");
    let mut silent = run.connect();
    silent.write_all(b"GET ht").unwrap();
    [tunnel, silent]
}

#[test]
fn stopping_ends_every_connection_and_returns_the_whole_log() {
    let origin = Origin::echo();
    let (run, authority) = run_to(&origin);
    let address = run.address;
    let mut streams = open(&run, &authority);
    let log = run.end();
    assert_eq!((log.bytes_up, log.bytes_down), (5, 5));
    for stream in &mut streams {
        assert_eq!(rest(stream), "");
    }
    // The listener is gone with it.
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn dropping_the_proxy_or_its_service_ends_every_connection() {
    let origin = Origin::echo();
    for proxy_first in [true, false] {
        let (run, authority) = run_to(&origin);
        let mut streams = open(&run, &authority);
        let (running, service) = run.into_parts();
        let kept: Box<dyn std::any::Any> = if proxy_first {
            drop(running);
            Box::new(service)
        } else {
            drop(service);
            Box::new(running)
        };
        for stream in &mut streams {
            assert_eq!(rest(stream), "");
        }
        drop(kept);
    }
}

#[test]
fn the_far_end_of_a_tunnel_ends_with_the_proxy() {
    let (ended, wait) = std::sync::mpsc::channel();
    let origin = Origin::new(move |mut stream| {
        rest(&mut stream);
        ended.send(()).unwrap();
    });
    let (run, authority) = run_to(&origin);
    let client = run.tunnel(&authority);
    run.end();
    wait.recv_timeout(std::time::Duration::from_mins(1))
        .unwrap();
    drop(client);
}

#[tokio::test]
async fn dropping_the_future_ends_every_connection_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let dialer = Dialer::new(guard("127.0.0.1:1"));
    let task = tokio::spawn(Proxy::new(dialer, ProxyLimits::default()).serve(listener));
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = connect(address);
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let answer = rest(&mut stream);
        (answer, connect(address))
    });
    let (answer, mut open) = answer.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let rest = tokio::task::spawn_blocking(move || rest(&mut open))
        .await
        .unwrap();
    assert_eq!(rest, "");
}

#[test]
fn one_service_separates_its_proxies_and_bounds_them_together() {
    let origin = Origin::echo();
    let service = ProxyService::start(NonZeroU16::MIN).unwrap();
    let authority = format!("127.0.0.1:{}", origin.port);
    let start = |grant: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Proxy::new(Dialer::new(guard(grant)), ProxyLimits::default());
        (service.run(proxy, listener), address)
    };
    let (idle, _) = start("api.example:1");
    let ((first, to_first), (second, to_second)) = (start(&authority), start("api.example:1"));
    let request = format!("CONNECT {authority} HTTP/1.1\r\n\r\n");
    let mut tunnel = connect(to_first);
    tunnel.write_all(request.as_bytes()).unwrap();
    assert!(read(&mut tunnel, 12).starts_with(b"HTTP/1.1 200"));
    // The one place is taken: the other proxy's connection waits for the end of the tunnel.
    let mut refused = connect(to_second);
    refused.write_all(request.as_bytes()).unwrap();
    wait_until(|| second.log().waits > 0);
    assert!(second.log().decisions.is_empty());
    assert_eq!(first.stop().decisions.len(), 1);
    assert!(rest(&mut refused).starts_with("HTTP/1.1 403"));
    assert_eq!(second.stop().denials().count(), 1);
    assert_eq!(idle.stop().waits, 0);
}

#[test]
fn a_descriptor_that_is_no_listening_socket_fails_the_proxy() {
    let (socket, _other) = UnixStream::pair().unwrap();
    let connected = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    };
    for descriptor in [OwnedFd::from(socket), OwnedFd::from(connected)] {
        let service = ProxyService::start(ProxyService::CONNECTIONS).unwrap();
        let proxy = Proxy::new(Dialer::new(guard("127.0.0.1:1")), ProxyLimits::default());
        let running = service.run(proxy, TcpListener::from(descriptor));
        wait_until(|| running.failure().is_some());
    }
}
