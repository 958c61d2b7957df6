//! Bytes both ways.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;

use super::support::{Origin, Run, read, rest};

fn run_to(origin: &Origin) -> (Run, String) {
    let port = origin.port;
    let run = Run::new(
        &format!("api.example:{port} 127.0.0.1:{port}"),
        "api.example: 127.0.0.1",
    );
    (run, format!("api.example:{port}"))
}

#[test]
fn the_end_of_one_way_leaves_the_other_open() {
    // This host answers only after it has read everything.
    let origin = Origin::new(|mut stream| {
        let text = rest(&mut stream);
        write!(stream, "{} bytes", text.len()).unwrap();
    });
    let (run, authority) = run_to(&origin);
    let mut client = run.tunnel(&authority);
    client.write_all(b"hello").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), "5 bytes");

    // And this one says all it has to say first.
    let origin = Origin::new(|mut stream| {
        stream.write_all(b"bye").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut stream), "still here");
        stream.set_nodelay(true).unwrap();
    });
    let (run, authority) = run_to(&origin);
    let mut client = run.tunnel(&authority);
    assert_eq!(rest(&mut client), "bye");
    client.write_all(b"still here").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(run.end().bytes_down, 3);
}

#[test]
fn large_streams_pass_whole_and_are_counted() {
    const LENGTH: usize = 8 << 20;
    let origin = Origin::echo();
    let (run, authority) = run_to(&origin);
    let mut client = run.tunnel(&authority);
    let mut writer = client.try_clone().unwrap();
    let sent: Vec<u8> = (0..LENGTH)
        .map(|at| ((at * 31) >> 3).to_le_bytes()[0])
        .collect();
    let copy = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&copy).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    assert!(received == sent);
    let log = run.end();
    let decision = &log.decisions[0];
    assert_eq!(
        (decision.bytes_up, decision.bytes_down),
        (LENGTH as u64, LENGTH as u64)
    );
    assert_eq!(
        (log.bytes_up, log.bytes_down),
        (LENGTH as u64, LENGTH as u64)
    );
}

#[test]
fn bytes_are_counted_while_a_tunnel_is_open() {
    let origin = Origin::echo();
    let (run, authority) = run_to(&origin);
    let mut client = run.tunnel(&authority);
    client.write_all(b"12345").unwrap();
    assert_eq!(read(&mut client, 5), b"12345");
    assert_eq!(run.log().bytes_up, 5);
    drop(client);
}
