//! SOCKS, as clients and attackers speak it.

use std::io::Write;
use std::net::Shutdown;

use super::support::{Origin, Run, read, rest, socks_name};

fn run_to(origin: &Origin) -> Run {
    let port = origin.port;
    let grants = format!("api.example:{port} 127.0.0.1:{port}");
    Run::new(&grants, "api.example: 127.0.0.1")
}

#[test]
fn a_name_is_resolved_by_the_proxy_and_an_address_needs_its_own_grant() {
    let origin = Origin::echo();
    let run = run_to(&origin);
    let port = origin.port.to_be_bytes();
    let v4 = [&[5, 1, 0, 1, 127, 0, 0, 1][..], &port].concat();
    let mapped = [
        &[5, 1, 0, 4][..],
        &[0; 10],
        &[255, 255, 127, 0, 0, 1],
        &port,
    ]
    .concat();
    for request in [socks_name(1, "API.example.", origin.port), v4, mapped] {
        let (reply, mut stream) = run.socks(&request);
        assert_eq!(reply, 0);
        stream.write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut stream), "hello");
    }
    let loopback = [&[5, 1, 0, 4][..], &[0; 15], &[1], &port].concat();
    assert_eq!(run.socks(&loopback).0, 2);
    assert_eq!(run.socks(&socks_name(1, "other.example", origin.port)).0, 2);
    assert_eq!(run.socks(&socks_name(1, "api.example", 1)).0, 2);
    assert_eq!(run.names.asked(), ["api.example"]);
}

#[test]
fn bind_and_udp_are_refused_for_a_granted_host_as_well() {
    let origin = Origin::echo();
    let run = run_to(&origin);
    for command in [0, 2, 3, 0xff] {
        let (reply, mut stream) = run.socks(&socks_name(command, "api.example", origin.port));
        assert_eq!(reply, 7, "{command}");
        assert_eq!(rest(&mut stream), "");
    }
    assert!(run.names.asked().is_empty());
    assert_eq!(run.end().denials().count(), 4);
}

#[test]
fn a_client_that_insists_on_a_password_is_turned_away() {
    let run = Run::new("api.example:80", "");
    for methods in [&[5, 1, 2][..], &[5, 2, 1, 2], &[5, 0]] {
        let mut stream = run.connect();
        stream.write_all(methods).unwrap();
        assert_eq!(read(&mut stream, 2), [5, 0xff]);
        assert_eq!(rest(&mut stream), "");
    }
}

#[test]
fn socks4_is_refused_in_its_own_words() {
    let run = Run::new("127.0.0.1:80", "");
    let mut stream = run.connect();
    stream.write_all(&[4, 1, 0, 80, 127, 0, 0, 1, 0]).unwrap();
    assert_eq!(read(&mut stream, 8)[..2], [0, 0x5b]);
    assert_eq!(rest(&mut stream), "");
}

#[test]
fn everything_at_once_and_byte_by_byte_mean_the_same() {
    let origin = Origin::echo();
    let run = run_to(&origin);
    let whole = [
        &[5, 1, 0][..],
        &socks_name(1, "api.example", origin.port),
        b"hello",
    ]
    .concat();
    for step in [1, 7, whole.len()] {
        let mut stream = run.connect();
        stream.set_nodelay(true).unwrap();
        for piece in whole.chunks(step) {
            stream.write_all(piece).unwrap();
        }
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read(&mut stream, 12)[..4], [5, 0, 5, 0]);
        assert_eq!(rest(&mut stream), "hello");
    }
}
