//! What must hold for every input of the parsers, for the fuzz target and the tests of this crate.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken promise stops the program that looks for one"
)]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::destination::Destination;
use crate::http::fields::{Framing, MAX_FIELDS};
use crate::http::request::{Request, Target};
use crate::http::response::Response;
use crate::http::{body, head, reply};
use crate::socks;
use crate::source::Source;

/// Reads `bytes` as everything that a run or a host may send, and stops if a promise is broken.
pub fn read_everything(bytes: &[u8]) {
    if let Some(end) = head::end(bytes, 0) {
        for looked_at in [1, end / 2, end.saturating_sub(1)] {
            assert_eq!(head::end(&bytes[..end], looked_at.min(end - 1)), Some(end));
        }
        request(&bytes[..end]);
        response(&bytes[..end]);
    }
    let _ = Request::parse(bytes);
    socks(bytes);
    for framing in [Framing::Chunked, Framing::Length(7), Framing::UntilClose] {
        a_body(bytes, framing);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(destination) = Destination::from_authority(text, Some(80))
    {
        is_plain(&destination);
    }
}

fn request(bytes: &[u8]) {
    let request = match Request::parse(bytes) {
        Ok(request) => request,
        Err(refusal) => {
            let answer = reply::refusal(&refusal, true);
            assert!(!refusal.is_denial() && head::end(&answer, 0).is_some());
            return;
        }
    };
    let (destination, path) = match &request.target {
        Target::Tunnel(destination) => return is_plain(destination),
        Target::Forward(destination, path) => (destination, path),
    };
    is_plain(destination);
    let written = request.forwarded(destination, path);
    let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS + 4];
    let mut again = httparse::Request::new(&mut headers);
    is_one_head(&written, again.parse(&written));
    let written_path = again.path.unwrap();
    assert!(written_path == path && (path.starts_with('/') || path == "*"));
    assert_eq!(values(again.headers, "host").len(), 1);
    let host = String::from_utf8(values(again.headers, "host").remove(0)).unwrap();
    let host = Destination::from_authority(&host, Some(80)).unwrap();
    assert_eq!(&host, destination);
    is_for_one_connection(again.headers, true);
    assert_eq!(
        !values(again.headers, "transfer-encoding").is_empty(),
        request.body == Framing::Chunked
    );
}

fn response(bytes: &[u8]) {
    for (to_head, chunks) in [(false, true), (false, false), (true, true)] {
        let Ok(response) = Response::parse(bytes, to_head) else {
            return;
        };
        let written = response.forwarded(chunks);
        let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS + 4];
        let mut again = httparse::Response::new(&mut headers);
        is_one_head(&written, again.parse(&written));
        is_for_one_connection(again.headers, !response.is_interim());
        if chunks {
            let again = Response::parse(&written, to_head);
            // A head with the most fields has one more now.
            assert!(again.map_or(true, |again| again.body == response.body));
        }
    }
}

fn socks(bytes: &[u8]) {
    if let Some((_, length)) = socks::greeting(bytes) {
        assert!(length <= bytes.len() && socks::greeting(&bytes[..length - 1]).is_none());
    }
    match socks::request(bytes) {
        Ok(Some((destination, length))) => {
            is_plain(&destination);
            assert!(length <= bytes.len());
            let shorter = socks::request(&bytes[..length - 1]);
            assert!(matches!(shorter, Ok(None)));
        }
        Ok(None) => assert!(bytes.len() < 262),
        Err(refusal) => assert_ne!(socks::refusal(&refusal)[1], 0),
    }
}

fn a_body(bytes: &[u8], framing: Framing) {
    let Some(written) = copied(bytes, framing) else {
        return;
    };
    if framing == Framing::Chunked {
        let again = copied(&written, framing);
        assert_eq!(again.as_ref(), Some(&written), "chunks have one form");
    } else {
        assert!(bytes.starts_with(&written));
    }
}

fn copied(bytes: &[u8], framing: Framing) -> Option<Vec<u8>> {
    let (mut from, mut to) = (Source::new(bytes), Vec::new());
    let done = {
        let copy = pin!(body::copy(&mut from, &mut to, framing, true, |_| {}));
        // Bytes in memory are always there.
        match copy.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done.is_ok(),
            Poll::Pending => panic!("waits for bytes that are there"),
        }
    };
    done.then_some(to)
}

fn is_plain(destination: &Destination) {
    let text = destination.to_string();
    assert_eq!(text.parse::<Destination>().as_ref(), Ok(destination));
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    assert!(
        text.bytes()
            .all(|byte| plain(byte) || b"-.:[]".contains(&byte))
    );
    // A policy can name it, so that it can be granted.
    assert!(text.parse::<bailiwick_policy::HostPort>().is_ok());
}

fn is_one_head(written: &[u8], parsed: httparse::Result<usize>) {
    assert_eq!(parsed, Ok(httparse::Status::Complete(written.len())));
    assert_eq!(head::end(written, 0), Some(written.len()));
}

fn is_for_one_connection(headers: &[httparse::Header<'_>], close: bool) {
    let lengths = values(headers, "content-length").len();
    assert!(lengths + values(headers, "transfer-encoding").len() <= 1);
    let connection = values(headers, "connection");
    assert!(connection.len() == usize::from(close) && connection.iter().all(|one| one == b"close"));
    for header in headers {
        let name = header.name.to_ascii_lowercase();
        assert!(!name.starts_with("proxy-") && name != "upgrade" && name != "keep-alive");
    }
}

fn values(headers: &[httparse::Header<'_>], name: &str) -> Vec<Vec<u8>> {
    let is = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
    headers
        .iter()
        .filter(is)
        .map(|header| header.value.to_vec())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of what is sent, so that what is put together often means something.
    const PIECES: &[&str] = &[
        "GET ",
        "POST ",
        "CONNECT ",
        "HEAD ",
        "http://",
        "a.example",
        ":443",
        "/",
        "?q",
        "[::1]",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 204 \r\n",
        "Host: b\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close, te\r\n",
        "Proxy-X: 1\r\n",
        " ",
        "\t",
        "\r\n",
        "\n",
        "\r",
        "3\r\nabc\r\n",
        "0\r\n\r\n",
        "@",
        "#",
        "\u{e9}",
        "\0",
        "A: b\r\n",
        "Upgrade: x\r\n",
        ";x",
        "ff",
    ];

    proptest! {
        #[test]
        fn pieces_of_messages_break_no_promise(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..16)) {
            read_everything(pieces.concat().as_bytes());
        }

        #[test]
        fn bytes_break_no_promise(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read_everything(&bytes);
        }

        #[test]
        fn socks_breaks_no_promise(bytes in prop::collection::vec(any::<u8>(), 0..280), kind in 0_u8..5) {
            read_everything(&[&[5, 1, 0, kind][..], &bytes].concat());
        }
    }
}
