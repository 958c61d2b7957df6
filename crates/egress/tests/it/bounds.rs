//! What a run may send, and how much.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::thread;
use std::time::Duration;

use super::support::{Names, Origin, Run, read, rest, socks_name, verdict};

#[test]
fn a_head_that_does_not_end_in_time_is_not_waited_for() {
    for start in [
        &b""[..],
        b"CONNECT api.exam",
        b"GET http://api.example/ HTTP/1.1\r\nA: b\r\n",
    ] {
        let run = Run::with("api.example:443", Names::new(""), |limits, _| {
            limits.head_time = Duration::from_millis(50);
        });
        assert_eq!(verdict(&run.ask(start)), "408 request_rejected");
    }
    let run = Run::with("api.example:443", Names::new(""), |limits, _| {
        limits.head_time = Duration::from_millis(50);
    });
    let mut stream = run.connect();
    stream.write_all(&[5, 1, 0, 5, 1]).unwrap();
    assert_eq!(read(&mut stream, 2), [5, 0]);
    assert_eq!(read(&mut stream, 2), [5, 1]);
}

#[test]
fn a_head_that_drips_is_not_waited_for() {
    let run = Run::with("api.example:443", Names::new(""), |limits, _| {
        limits.head_time = Duration::from_millis(50);
    });
    let mut stream = run.connect();
    let mut writer = stream.try_clone().unwrap();
    let dripping = thread::spawn(move || {
        writer.write_all(b"GET http://api.example/ HTTP/1.1\r\n")?;
        // Each piece comes in time; their sum never does.
        loop {
            writer.write_all(b"A: b\r\n")?;
            thread::sleep(Duration::from_millis(1));
        }
        #[expect(unreachable_code, reason = "it gives the closure its type")]
        std::io::Result::Ok(())
    });
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        matches!(
            verdict(&answer).as_str(),
            "408 request_rejected" | "431 request_rejected"
        ),
        "{answer}"
    );
    drop(stream);
    assert!(dripping.join().unwrap().is_err());
}

#[test]
fn a_head_that_is_too_large_is_refused_before_it_is_read() {
    let run = Run::new("api.example:443", "");
    let line = "GET http://api.example:443/ HTTP/1.1\r\n";
    let long = format!("{line}A: {}\r\n\r\n", "x".repeat(40_000));
    assert_eq!(verdict(&run.ask(long)), "431 request_rejected");
    let endless = format!("GET http://api.example/{}", "x".repeat(40_000));
    assert_eq!(verdict(&run.ask(endless)), "431 request_rejected");
    let many = format!("{line}{}\r\n", "A: b\r\n".repeat(101));
    assert_eq!(verdict(&run.ask(many)), "431 request_rejected");
}

#[test]
fn garbage_is_answered_and_harms_nobody() {
    let origin = Origin::echo();
    let port = origin.port;
    let run = Run::new(&format!("127.0.0.1:{port}"), "");
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
        b"\0\0\0\0\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
        b"\r\n\r\n",
        b"\n\n",
        b"SSH-2.0-x\r\n\r\n",
        b"GET\r\n\r\n",
    ] {
        assert_eq!(
            verdict(&run.ask(garbage)),
            "400 request_rejected",
            "{}",
            garbage.escape_ascii()
        );
    }
    for garbage in [
        &b"\x05"[..],
        b"\x05\xff\x00",
        b"\x05\x01\x00\x05\x01\x00\x03\xff",
        b"G",
    ] {
        let mut stream = run.connect();
        stream.write_all(garbage).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        rest(&mut stream);
    }
    let mut client = run.tunnel(&format!("127.0.0.1:{port}"));
    client.write_all(b"fine").unwrap();
    assert_eq!(read(&mut client, 4), b"fine");
}

#[test]
fn two_hundred_connections_at_once_are_all_served() {
    let origin = Origin::echo();
    let port = origin.port;
    let run = Run::with(&format!("127.0.0.1:{port}"), Names::new(""), |limits, _| {
        limits.connections = NonZeroU16::new(16).unwrap();
        limits.log_entries = 50;
    });
    thread::scope(|scope| {
        for number in 0..200_u32 {
            let run = &run;
            scope.spawn(move || {
                let mut stream = if number % 2 == 0 {
                    run.tunnel(&format!("127.0.0.1:{port}"))
                } else {
                    let (reply, stream) = run.socks(&socks_name(1, "127.0.0.1", port));
                    assert_eq!(reply, 0);
                    stream
                };
                let sent = vec![u8::try_from(number).unwrap(); 10_000];
                stream.write_all(&sent).unwrap();
                assert_eq!(read(&mut stream, sent.len()), sent);
            });
        }
    });
    let log = run.end();
    assert_eq!(log.decisions.len() as u64 + log.omitted_allowed, 200);
    assert_eq!((log.decisions.len(), log.omitted_refused), (50, 0));
    assert_eq!((log.bytes_up, log.bytes_down), (2_000_000, 2_000_000));
}

#[test]
fn further_connections_wait_until_one_ends() {
    let origin = Origin::echo();
    let port = origin.port;
    let run = Run::with(&format!("127.0.0.1:{port}"), Names::new(""), |limits, _| {
        limits.connections = NonZeroU16::new(2).unwrap();
    });
    let authority = format!("127.0.0.1:{port}");
    let (first, second) = (run.tunnel(&authority), run.tunnel(&authority));
    let mut third = run.connect();
    write!(third, "CONNECT {authority} HTTP/1.1\r\n\r\nhello").unwrap();
    assert_eq!(run.log().decisions.len(), 2, "two are open");
    drop(first);
    assert!(read(&mut third, 12).starts_with(b"HTTP/1.1 200"));
    drop(second);
    assert!(run.end().waits > 0);
}
