//! The head of a response, read and written anew.

use httparse::Status;

use super::fields::{self, Declared, Framing, MAX_FIELDS};

/// A response of a host.
#[derive(Debug)]
pub(crate) struct Response {
    status: u16,
    version: u8,
    reason: String,
    fields: Vec<(String, Vec<u8>)>,
    declared: Declared,
    pub(crate) body: Framing,
}

impl Response {
    /// Reads a head that ends with its empty line; `to_head` if the request was `HEAD`.
    pub(crate) fn parse(head: &[u8], to_head: bool) -> Result<Self, &'static str> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(head) {
            Ok(Status::Complete(length)) if length == head.len() => {}
            Ok(Status::Complete(_) | Status::Partial) | Err(_) => {
                return Err("the answer is no HTTP/1.1");
            }
        }
        let (Some(status), Some(version)) = (response.code, response.version) else {
            return Err("the answer is no HTTP/1.1");
        };
        if status < 100 || status == SWITCHING {
            return Err("the answer has a status that was not asked for");
        }
        let declared = fields::declared(response.headers)?;
        let body = match declared {
            _ if to_head || status < 200 || status == 204 || status == 304 => Framing::Empty,
            Declared { chunked: true, .. } => Framing::Chunked,
            Declared {
                length: Some(length),
                ..
            } => Framing::Length(length),
            Declared { .. } => Framing::UntilClose,
        };
        Ok(Self {
            status,
            version,
            reason: response.reason.unwrap_or_default().to_owned(),
            fields: fields::end_to_end(response.headers),
            declared,
            body,
        })
    }

    /// Says whether another response follows this one.
    pub(crate) fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// Returns the head for whoever asked; without chunks if they do not know any.
    pub(crate) fn forwarded(&self, chunks: bool) -> Vec<u8> {
        let line = format!(
            "HTTP/1.{} {} {}\r\n",
            self.version, self.status, self.reason
        );
        let mut head = line.into_bytes();
        for (name, value) in &self.fields {
            fields::write(&mut head, name, value);
        }
        if let Some(length) = self.declared.length {
            // Also where there is no body: it tells how long one would be.
            fields::write(&mut head, "Content-Length", length.to_string().as_bytes());
        }
        if self.declared.chunked && chunks {
            fields::write(&mut head, "Transfer-Encoding", b"chunked");
        }
        if !self.is_interim() {
            fields::write(&mut head, "Connection", b"close");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// `101 Switching Protocols`, which answers an `Upgrade` that is not passed on.
const SWITCHING: u16 = 101;

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(head: &str, to_head: bool) -> Result<Framing, &'static str> {
        Response::parse(head.as_bytes(), to_head).map(|response| response.body)
    }

    #[test]
    fn a_body_ends_where_the_head_says() {
        let ok = "HTTP/1.1 200 OK\r\n";
        for (head, expected) in [
            (format!("{ok}Content-Length: 5\r\n\r\n"), Framing::Length(5)),
            (
                format!("{ok}Transfer-Encoding: chunked\r\n\r\n"),
                Framing::Chunked,
            ),
            (format!("{ok}\r\n"), Framing::UntilClose),
            (
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n".to_owned(),
                Framing::Empty,
            ),
            (
                "HTTP/1.1 103 Early Hints\r\n\r\n".to_owned(),
                Framing::Empty,
            ),
        ] {
            assert_eq!(framing(&head, false), Ok(expected), "{head}");
            assert_eq!(framing(&head, true), Ok(Framing::Empty), "{head}");
        }
        for head in [
            format!("{ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
            format!("{ok}X: 1\r\n folded\r\n\r\n"),
            "HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned(),
            "HTTP/2 200\r\n\r\n".to_owned(),
            "nonsense\r\n\r\n".to_owned(),
        ] {
            assert!(framing(&head, false).is_err(), "{head}");
        }
    }

    #[test]
    fn a_connection_is_not_kept_alive() {
        let head = "HTTP/1.1 200 OK\r\nConnection: keep-alive, X\r\nX: 1\r\nKeep-Alive: 5\r\nContent-Length: 2\r\n\r\n";
        let response = Response::parse(head.as_bytes(), true).unwrap();
        insta::assert_snapshot!(String::from_utf8(response.forwarded(true)).unwrap(), @r"
        HTTP/1.1 200 OK
        Content-Length: 2
        Connection: close
        ");
    }
}
