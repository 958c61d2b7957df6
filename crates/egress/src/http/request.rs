//! The head of a request, read and written anew.

use httparse::Status;

use crate::destination::Destination;
use crate::error::{Fault, Refusal, RequestRejected};

use super::fields::{self, Framing, MAX_FIELDS};

/// A request that the proxy understands. What goes to the host is written from these values, so
/// that no byte arrives there which was read in another way here.
#[derive(Debug)]
pub(crate) struct Request {
    method: String,
    /// The minor version of HTTP/1.
    version: u8,
    pub(crate) target: Target,
    fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Framing,
}

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Target {
    /// `CONNECT`: bytes to and from a host.
    Tunnel(Destination),
    /// One request to a host, with path and query.
    Forward(Destination, String),
}

impl Request {
    /// Reads a head that ends with its empty line.
    pub(crate) fn parse(head: &[u8]) -> Result<Self, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head) {
            Ok(Status::Complete(length)) if length == head.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(TOO_LARGE.into()),
            Ok(Status::Complete(_) | Status::Partial) | Err(_) => {
                return Err(malformed("the request is no HTTP/1.1"));
            }
        }
        let (Some(method), Some(uri), Some(version)) =
            (request.method, request.path, request.version)
        else {
            return Err(malformed("the request is no HTTP/1.1"));
        };
        let named = |name: &str| {
            let is = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
            request.headers.iter().filter(is).count()
        };
        if named("host") > 1 {
            return Err(malformed("`Host` stands twice"));
        }
        let declared = fields::declared(request.headers).map_err(malformed)?;
        if declared.chunked && version == 0 {
            return Err(malformed("HTTP/1.0 has no chunks"));
        }
        let body = match declared.length {
            _ if declared.chunked => Framing::Chunked,
            None | Some(0) => Framing::Empty,
            Some(length) => Framing::Length(length),
        };
        let target = if method == "CONNECT" {
            if body != Framing::Empty {
                return Err(malformed("`CONNECT` has a body"));
            }
            Target::Tunnel(uri.parse()?)
        } else {
            absolute(method, uri)?
        };
        Ok(Self {
            method: method.to_owned(),
            version,
            target,
            fields: fields::end_to_end(request.headers),
            body,
        })
    }

    /// Says whether the answer has a head alone.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Says whether whoever asked understands chunks.
    pub(crate) fn knows_chunks(&self) -> bool {
        self.version == 1
    }

    /// Returns the head for the host: the host of the URI, and one request for the connection.
    pub(crate) fn forwarded(&self, destination: &Destination, path: &str) -> Vec<u8> {
        let line = format!("{} {path} HTTP/1.{}\r\n", self.method, self.version);
        let mut head = line.into_bytes();
        let host = match destination.port() {
            HTTP => destination.host(),
            _ => destination.to_string(),
        };
        fields::write(&mut head, "Host", host.as_bytes());
        for (name, value) in &self.fields {
            fields::write(&mut head, name, value);
        }
        match self.body {
            Framing::Empty if matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") => {
                fields::write(&mut head, "Content-Length", b"0");
            }
            Framing::Empty | Framing::UntilClose => {}
            Framing::Length(length) => {
                fields::write(&mut head, "Content-Length", length.to_string().as_bytes());
            }
            Framing::Chunked => fields::write(&mut head, "Transfer-Encoding", b"chunked"),
        }
        fields::write(&mut head, "Connection", b"close");
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// Reads `http://host[:port][/path][?query]`.
fn absolute(method: &str, uri: &str) -> Result<Target, Refusal> {
    let rest = match uri.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => return Err(HTTPS.into()),
        Some(_) | None => return Err(malformed("the request names no `http://` address in full")),
    };
    if !uri.bytes().all(|byte| byte.is_ascii_graphic()) || uri.contains('#') {
        return Err(malformed("the address has characters that no address has"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let destination = Destination::from_authority(authority, Some(HTTP))?;
    let path = match path.chars().next() {
        None if method == "OPTIONS" => "*".to_owned(),
        None => "/".to_owned(),
        Some('?') => format!("/{path}"),
        Some(_) => path.to_owned(),
    };
    Ok(Target::Forward(destination, path))
}

fn malformed(reason: &'static str) -> Refusal {
    RequestRejected::malformed(reason).into()
}

pub(crate) const TOO_LARGE: RequestRejected = RequestRejected::new(
    Fault::TooLarge,
    "the head of the request is too large",
    "send fewer or shorter header fields",
);

const HTTPS: RequestRejected = RequestRejected::new(
    Fault::NotBuilt,
    "the proxy makes no TLS connection in somebody's name",
    "reach `https://` through `CONNECT`, as clients do that support proxies",
);

/// The port of `http://`.
const HTTP: u16 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(head: &str) -> String {
        match Request::parse(head.as_bytes()) {
            Ok(request) => match &request.target {
                Target::Tunnel(destination) => format!("tunnel to {destination}"),
                Target::Forward(destination, path) => {
                    String::from_utf8(request.forwarded(destination, path)).unwrap()
                }
            },
            Err(refusal) => format!("! {}: {refusal}", refusal.kind()),
        }
    }

    #[test]
    fn the_host_of_the_uri_wins() {
        insta::assert_snapshot!(forwarded(
            "POST http://API.example:8080?q=1 HTTP/1.1\r\nHost: evil.example\r\nConnection: keep-alive, X-A\r\n\
             X-A: 1\r\nAccept: */*\r\nProxy-Authorization: x\r\nContent-Length: 3\r\n\r\n"
        ), @r"
        POST /?q=1 HTTP/1.1
        Host: api.example:8080
        Accept: */*
        Content-Length: 3
        Connection: close
        ");
        insta::assert_snapshot!(forwarded("GET HTTP://[::1]/a//b HTTP/1.0\r\n\r\n"), @r"
        GET /a//b HTTP/1.0
        Host: [::1]
        Connection: close
        ");
        assert!(forwarded("OPTIONS http://a.example HTTP/1.1\r\n\r\n").starts_with("OPTIONS * "));
        assert!(forwarded("PUT http://a.example HTTP/1.1\r\n\r\n").contains("Content-Length: 0"));
    }

    #[test]
    fn a_tunnel_ignores_the_host_field() {
        let head = "CONNECT a.example.:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n";
        assert_eq!(forwarded(head), "tunnel to a.example:443");
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_rejected() {
        for (request, fields) in [
            (
                "GET http://a.example/ HTTP/1.1",
                "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            ),
            (
                "GET http://a.example/ HTTP/1.1",
                "Content-Length: 1\r\nContent-Length: 1\r\n",
            ),
            (
                "GET http://a.example/ HTTP/1.1",
                "Transfer-Encoding: chunked, identity\r\n",
            ),
            (
                "GET http://a.example/ HTTP/1.1",
                "Transfer-Encoding : chunked\r\n",
            ),
            ("GET http://a.example/ HTTP/1.1", "X: 1\r\n folded: 2\r\n"),
            ("GET http://a.example/ HTTP/1.1", "X: 1\r\n\tfolded\r\n"),
            ("GET http://a.example/ HTTP/1.1", "X: a\rb\r\n"),
            ("GET http://a.example/ HTTP/1.1", "X: a\0b\r\n"),
            ("GET http://a.example/ HTTP/1.1", "Host: a\r\nHost: b\r\n"),
            (
                "GET http://a.example/ HTTP/1.0",
                "Transfer-Encoding: chunked\r\n",
            ),
            ("GET http://a.example/ HTTP/1.1", ": empty\r\n"),
            ("GET http://a.example/ HTTP/2.0", ""),
            ("GET  http://a.example/ HTTP/1.1", ""),
            ("GET http://a.example/ b HTTP/1.1", ""),
            ("GET / HTTP/1.1", "Host: a.example\r\n"),
            ("GET a.example HTTP/1.1", ""),
            ("GET ftp://a.example/ HTTP/1.1", ""),
            ("GET https://a.example/ HTTP/1.1", ""),
            ("GET http://a.example/#b HTTP/1.1", ""),
            ("GET http://a.example/\u{e9} HTTP/1.1", ""),
            ("CONNECT a.example:443 HTTP/1.1", "Content-Length: 5\r\n"),
            (
                "CONNECT a.example:443 HTTP/1.1",
                "Transfer-Encoding: chunked\r\n",
            ),
        ] {
            let answer = forwarded(&format!("{request}\r\n{fields}\r\n"));
            assert!(
                answer.starts_with("! request_rejected"),
                "{request} {fields}: {answer}"
            );
        }
    }

    #[test]
    fn what_is_no_host_is_rejected_as_such() {
        for uri in [
            "http://",
            "http:///",
            "http://user@a.example/",
            "http://a.example@b.example/",
            "http://a.example:80@b.example/",
            "http://a.example\\@b.example/",
            "http://a.example:0/",
            "http://0x7f.1/",
            "http://a_b/",
            "http://::1/",
            "http://[::1%25lo]/",
            "http://a%2eexample/",
        ] {
            let answer = forwarded(&format!("GET {uri} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("! host_rejected"), "{uri}: {answer}");
        }
        for authority in [
            "a.example",
            "http://a.example:443",
            "a.example:443/",
            "*",
            "u@a.example:443",
        ] {
            let answer = forwarded(&format!("CONNECT {authority} HTTP/1.1\r\n\r\n"));
            assert!(
                answer.starts_with("! host_rejected"),
                "{authority}: {answer}"
            );
        }
    }
}
