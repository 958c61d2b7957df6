//! Bytes that two readers could read in two ways.

use super::support::{Origin, Run, verdict};

fn run_to(origin: &Origin) -> Run {
    let port = origin.port;
    let grants = format!("api.example:{port} 127.0.0.1:{port}");
    Run::new(&grants, "api.example: 127.0.0.1")
}

#[test]
fn a_request_with_two_readings_reaches_nobody() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let run = run_to(&origin);
    let line = format!("POST http://api.example:{}/ HTTP/1.1\r\n", origin.port);
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4, 4\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length: 4 4\r\n",
        "Content-Length:\r\n",
        "Content-Length : 4\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding\r\n: chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "X: 1\r\n\tContent-Length: 4\r\n",
        "X: 1\rContent-Length: 4\r\n",
        "X: 1\0\r\n",
        "Host: a\r\nHost: b\r\n",
        " Content-Length: 4\r\n",
        "Content-Length\r\n",
        "\u{7f}X: 1\r\n",
    ] {
        let answer = run.ask(format!(
            "{line}{fields}\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"
        ));
        assert_eq!(verdict(&answer), "400 request_rejected", "{fields:?}");
    }
    // Nothing was dialled, and nothing was resolved.
    assert!(run.names.asked().is_empty());
    // The control: the same request in one reading is passed on.
    let answer = run.ask(format!("{line}Content-Length: 4\r\n\r\nbody"));
    assert_eq!(verdict(&answer), "200");
}

#[test]
fn what_stands_behind_a_body_never_reaches_the_host() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let run = run_to(&origin);
    let line = format!("POST http://api.example:{}/ HTTP/1.1\r\n", origin.port);
    let hidden = "GET /evil HTTP/1.1\r\nHost: admin\r\n\r\n";
    for body in [
        "Content-Length: 4\r\n\r\nbody",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX: GET /evil HTTP/1.1\r\n\r\n",
        "Content-Length: 0\r\n\r\n",
        "\r\n",
    ] {
        run.ask(format!("{line}{body}{hidden}"));
    }
    let seen = origin.seen(5);
    assert!(
        seen.iter()
            .all(|one| !one.contains("evil") && one.matches("HTTP/1.1").count() == 1),
        "{seen:?}"
    );
}

#[test]
fn a_line_that_ends_in_another_way_is_written_in_the_one_way() {
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let run = run_to(&origin);
    run.ask(format!(
        "GET http://api.example:{}/ HTTP/1.1\nA: b\n\n",
        origin.port
    ));
    let seen = origin.seen(1).remove(0);
    assert_eq!(
        seen.matches('\n').count(),
        seen.matches("\r\n").count(),
        "{seen:?}"
    );
}

#[test]
fn a_broken_chunk_ends_the_request() {
    let origin = Origin::answering("");
    let run = run_to(&origin);
    let line = format!("POST http://api.example:{}/ HTTP/1.1\r\n", origin.port);
    for chunk in [
        "4\r\nbodyX\r\n0\r\n\r\n",
        "zz\r\n",
        "4\nbody\n0\n\n",
        "ffffffffffffffffff\r\n",
    ] {
        let before = run.names.asked().len();
        run.ask(format!(
            "{line}Transfer-Encoding: chunked\r\n\r\n{chunk}GET /evil HTTP/1.1\r\n\r\n"
        ));
        let seen = origin.seen(before + 1).pop().unwrap();
        assert!(
            !seen.contains("evil") && !seen.ends_with("0\r\n\r\n"),
            "{seen:?}"
        );
    }
}
