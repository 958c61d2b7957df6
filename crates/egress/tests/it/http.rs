//! Requests for `http://` and tunnels, as honest clients make them.

use std::io::Write;
use std::net::Shutdown;

use super::support::{Origin, Run, read, read_head, rest, verdict};

fn run_to(origin: &Origin) -> Run {
    let port = origin.port;
    let grants = format!("api.example:{port} 127.0.0.1:{port}");
    Run::new(&grants, "api.example: 127.0.0.1")
}

#[test]
fn a_request_arrives_with_the_host_of_its_uri_and_without_what_is_the_proxys() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
    );
    let run = run_to(&origin);
    let port = origin.port;
    let answer = run.ask(format!(
        "GET http://API.example.:{port}/a?b HTTP/1.1\r\nHost: admin.internal\r\nConnection: x-one\r\nX-One: 1\r\n\
         Proxy-Authorization: Basic eDp5\r\nAccept: */*\r\n\r\n"
    ));
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    );
    let seen = origin.seen(1).remove(0).replace(&port.to_string(), "PORT");
    assert_eq!(
        seen,
        "GET /a?b HTTP/1.1\r\nHost: api.example:PORT\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn absolute_form_to_a_host_that_is_not_granted_is_refused_whatever_host_says() {
    let run = Run::new("api.example:80", "api.example: 8.8.8.8");
    for host in ["evil.example", "169.254.169.254"] {
        let answer = run.ask(format!(
            "GET http://{host}/ HTTP/1.1\r\nHost: api.example\r\n\r\n"
        ));
        assert_eq!(verdict(&answer), "403 host_denied", "{host}");
    }
}

#[test]
fn a_connection_carries_one_request() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let run = run_to(&origin);
    let port = origin.port;
    let first =
        format!("GET http://api.example:{port}/ HTTP/1.1\r\nConnection: keep-alive\r\n\r\n");
    let second = "GET http://evil.example/ HTTP/1.1\r\n\r\n";
    let answer = run.ask(format!("{first}{second}"));
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(!origin.seen(1)[0].contains("evil"));
    assert_eq!(run.end().decisions.len(), 1);
}

#[test]
fn a_refusal_of_head_has_no_body() {
    let run = Run::new("api.example:80", "");
    let answer = run.ask("HEAD http://evil.example/ HTTP/1.1\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
}

#[test]
fn a_refusal_arrives_though_the_client_is_still_sending() {
    let run = Run::new("api.example:80", "");
    let head = "POST http://evil.example/ HTTP/1.1\r\nContent-Length: 900000\r\n\r\n";
    let answer = run.ask([head.as_bytes(), &vec![b'x'; 900_000]].concat());
    assert_eq!(verdict(&answer), "403 host_denied");
    assert!(answer.ends_with("allows it\n"), "{answer}");
}

#[test]
fn a_body_passes_in_both_framings() {
    let origin = Origin::new(|mut stream| {
        let head = read_head(&mut stream);
        if head.contains("chunked") {
            assert_eq!(
                read(&mut stream, 25),
                b"3\r\nabc\r\na\r\n0123456789\r\n0\r"[..25]
            );
        } else {
            assert_eq!(read(&mut stream, 5), b"01234");
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nT: 1\r\n\r\n")
            .unwrap();
    });
    let run = run_to(&origin);
    let port = origin.port;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let start = format!("POST http://api.example:{port}/ HTTP/1.");
    let answer = run.ask(format!("{start}1\r\nContent-Length: 5\r\n\r\n01234"));
    assert_eq!(answer, chunked);
    let answer = run.ask(format!(
        "{start}1\r\nTransfer-Encoding: chunked\r\n\r\n3;ext\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"
    ));
    assert_eq!(answer, chunked);
    // Who speaks HTTP/1.0 knows no chunks.
    let answer = run.ask(format!("{start}0\r\nContent-Length: 5\r\n\r\n01234"));
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok");
}

#[test]
fn a_host_may_ask_for_the_body_first() {
    let origin = Origin::new(|mut stream| {
        assert!(read_head(&mut stream).contains("Expect: 100-continue"));
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        assert_eq!(read(&mut stream, 4), b"body");
        stream
            .write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
    });
    let run = run_to(&origin);
    let mut client = run.connect();
    write!(
        client,
        "PUT http://api.example:{}/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
        origin.port
    )
    .unwrap();
    assert_eq!(read_head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"body").unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 201 Created\r\n"));
}

#[test]
fn a_host_may_refuse_a_body_that_is_still_sent() {
    let origin = Origin::new(|mut stream| {
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            .unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    });
    let run = run_to(&origin);
    let answer = run.ask(format!(
        "PUT http://api.example:{}/ HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n01234",
        origin.port
    ));
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("big"),
        "{answer}"
    );
}

#[test]
fn a_host_that_speaks_something_else_is_not_believed() {
    for (answer, said) in [
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "no HTTP/1.1"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
            "stands twice",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
            "together",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
            "not asked for",
        ),
        ("HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n", "no HTTP/1.1"),
        ("", "without an answer"),
    ] {
        let origin = Origin::answering(answer);
        let run = run_to(&origin);
        let reply = run.ask(format!(
            "GET http://api.example:{}/ HTTP/1.1\r\n\r\n",
            origin.port
        ));
        assert_eq!(verdict(&reply), "502 bad_answer", "{answer}");
        assert!(reply.contains(said), "{reply}");
    }
}

#[test]
fn what_is_no_request_to_a_proxy_is_rejected_with_what_to_do() {
    let run = Run::new("api.example:80", "");
    for (request, expected) in [
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
            "400 request_rejected",
        ),
        (
            "GET https://api.example/ HTTP/1.1\r\n\r\n",
            "501 request_rejected",
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 request_rejected"),
        ("CONNECT api.example HTTP/1.1\r\n\r\n", "400 host_rejected"),
        (
            "CONNECT http://api.example:80/ HTTP/1.1\r\n\r\n",
            "400 host_rejected",
        ),
    ] {
        let answer = run.ask(request);
        assert_eq!(verdict(&answer), expected, "{request}");
        assert!(answer.contains("\nhint: "), "{answer}");
    }
}

#[test]
fn every_decision_is_written_down() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let run = run_to(&origin);
    let port = origin.port;
    let answer = run.ask(format!("GET http://api.example:{port}/ HTTP/1.1\r\n\r\n"));
    run.ask("CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n");
    let sent = origin.seen(1)[0].len() as u64;
    let log = run.end();
    assert_eq!((log.bytes_up, log.bytes_down), (sent, answer.len() as u64));
    let lines: Vec<_> = log
        .decisions
        .iter()
        .map(|one| {
            let address = one
                .address
                .map_or_else(|| "-".to_owned(), |address| address.to_string());
            format!(
                "{} {}:{} {address} {} {}: {} [{}]",
                one.layer, one.host, one.port, one.allowed, one.kind, one.why, one.hint
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n").replace(&port.to_string(), "PORT"), @r#"
    proxy api.example:PORT 127.0.0.1 true granted: granted by `api.example:PORT` []
    proxy 169.254.169.254:80 - false host_denied: `169.254.169.254:80` is not granted [`grant.network = ["169.254.169.254:80"]` allows it]
    "#);
}

#[test]
fn what_follows_connect_at_once_reaches_the_host() {
    let origin = Origin::echo();
    let run = run_to(&origin);
    let mut client = run.connect();
    write!(
        client,
        "CONNECT api.example:{} HTTP/1.1\r\n\r\nhello",
        origin.port
    )
    .unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        rest(&mut client),
        "HTTP/1.1 200 Connection established\r\n\r\nhello"
    );
}
