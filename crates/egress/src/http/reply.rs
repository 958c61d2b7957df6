//! What the proxy itself answers.

use std::fmt::Write as _;

use crate::error::{Fault, Refusal};

/// Returns the answer to a request that is refused; `with_body` unless the request was `HEAD`.
///
/// The body is for whoever reads the output of a run: the kind of refusal, a sentence, and what can
/// be done.
pub(crate) fn refusal(refusal: &Refusal, with_body: bool) -> Vec<u8> {
    let mut body = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(body, "{}: {refusal}", refusal.kind());
    let _ = writeln!(body, "hint: {}", refusal.hint());
    answer(status(refusal), refusal.kind(), &body, with_body)
}

/// Returns the answer where a host was reached and did not answer in HTTP.
pub(crate) fn bad_gateway(reason: &str, with_body: bool) -> Vec<u8> {
    let body = format!("bad_answer: {reason}\n");
    answer("502 Bad Gateway", "bad_answer", &body, with_body)
}

/// Opens a tunnel.
pub(crate) const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

fn answer(status: &str, kind: &str, body: &str, with_body: bool) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         X-Bailiwick-Refusal: {kind}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if with_body {
        answer.push_str(body);
    }
    answer.into_bytes()
}

fn status(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::HostDenied { .. } | Refusal::AddressDenied { .. } => "403 Forbidden",
        Refusal::HostRejected(_) => "400 Bad Request",
        Refusal::Unresolved { .. } | Refusal::Unreachable { .. } => "502 Bad Gateway",
        Refusal::ResolveExpired { .. } | Refusal::ConnectExpired { .. } => "504 Gateway Timeout",
        Refusal::RequestRejected(rejected) => match rejected.fault() {
            Fault::Malformed | Fault::Command | Fault::AddressKind => "400 Bad Request",
            Fault::TooSlow => "408 Request Timeout",
            Fault::TooLarge => "431 Request Header Fields Too Large",
            Fault::NotBuilt => "501 Not Implemented",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_kind_and_a_hint() {
        let denied = Refusal::HostDenied {
            destination: "a.example:443".parse().unwrap(),
            ports: Vec::new(),
            grant: "network",
        };
        let text = String::from_utf8(refusal(&denied, true)).unwrap();
        insta::assert_snapshot!(text, @r#"
        HTTP/1.1 403 Forbidden
        Content-Type: text/plain; charset=utf-8
        Content-Length: 96
        X-Bailiwick-Refusal: host_denied
        Connection: close

        host_denied: `a.example:443` is not granted
        hint: `grant.network = ["a.example:443"]` allows it
        "#);
        assert!(refusal(&denied, false).ends_with(b"\r\n\r\n"));
    }
}
