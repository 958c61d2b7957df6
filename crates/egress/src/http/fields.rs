//! Header fields: which are passed on, and how long a body is.

use httparse::Header;

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    /// There is no body.
    Empty,
    /// A number of bytes.
    Length(u64),
    /// Chunks, until one is empty.
    Chunked,
    /// The end of the connection; of responses alone.
    UntilClose,
}

/// What the fields of a head say about its body.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Declared {
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
}

/// Returns what the fields say about the body.
///
/// Two parties that read a length differently see different requests in the same bytes, so that
/// there is one way to say it: one number, or one `chunked`, and never both.
pub(crate) fn declared(headers: &[Header<'_>]) -> Result<Declared, &'static str> {
    let mut declared = Declared::default();
    for header in headers {
        if header.name.eq_ignore_ascii_case("content-length") {
            if declared.length.is_some() {
                return Err("`Content-Length` stands twice");
            }
            declared.length = Some(length(header.value).ok_or("`Content-Length` is no number")?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if declared.chunked {
                return Err("`Transfer-Encoding` stands twice");
            }
            if !header.value.eq_ignore_ascii_case(b"chunked") {
                return Err("`Transfer-Encoding` is something other than `chunked`");
            }
            declared.chunked = true;
        }
    }
    if declared.chunked && declared.length.is_some() {
        return Err("`Content-Length` and `Transfer-Encoding` stand together");
    }
    Ok(declared)
}

/// Reads a length in decimal digits and nothing else.
fn length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Returns the fields that are passed on to the other side, as they were written.
///
/// What concerns one connection, what concerns a proxy, and what this proxy writes itself (the
/// host, the length, the framing) is left out, together with every field that `Connection` names.
pub(crate) fn end_to_end(headers: &[Header<'_>]) -> Vec<(String, Vec<u8>)> {
    let named: Vec<&[u8]> = headers
        .iter()
        .filter(|header| {
            header.name.eq_ignore_ascii_case("connection")
                || header.name.eq_ignore_ascii_case("proxy-connection")
        })
        .flat_map(|header| header.value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    let stays = |name: &str| {
        let is = |other: &&str| name.eq_ignore_ascii_case(other);
        let is_named = named
            .iter()
            .any(|other| name.as_bytes().eq_ignore_ascii_case(other));
        let of_proxies = name
            .get(..6)
            .is_some_and(|beginning| beginning.eq_ignore_ascii_case("proxy-"));
        !is_named && !of_proxies && !OF_ONE_CONNECTION.iter().any(is)
    };
    headers
        .iter()
        .filter(|header| stays(header.name))
        .map(|header| (header.name.to_owned(), header.value.to_vec()))
        .collect()
}

/// Appends a field to a head.
pub(crate) fn write(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

const OF_ONE_CONNECTION: &[&str] = &[
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The most fields in one head.
pub(crate) const MAX_FIELDS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(fields: &[(&'a str, &'a str)]) -> Vec<Header<'a>> {
        fields
            .iter()
            .map(|(name, value)| Header {
                name,
                value: value.as_bytes(),
            })
            .collect()
    }

    #[test]
    fn a_length_is_said_once_and_in_one_way() {
        let read = |fields: &[(&str, &str)]| declared(&of(fields));
        assert_eq!(read(&[("Content-Length", "12")]).unwrap().length, Some(12));
        assert!(read(&[("transfer-encoding", "Chunked")]).unwrap().chunked);
        for fields in [
            &[("Content-Length", "+1")][..],
            &[("Content-Length", "")],
            &[("Content-Length", "1 2")],
            &[("Content-Length", "0x10")],
            &[("Content-Length", "1,1")],
            &[("Content-Length", "9999999999999999999")],
            &[("Content-Length", "1"), ("content-length", "1")],
            &[("Content-Length", "1"), ("Transfer-Encoding", "chunked")],
            &[
                ("Transfer-Encoding", "chunked"),
                ("Transfer-Encoding", "chunked"),
            ],
            &[("Transfer-Encoding", "gzip, chunked")],
            &[("Transfer-Encoding", "chunked, identity")],
            &[("Transfer-Encoding", "xchunked")],
            &[("Transfer-Encoding", "")],
        ] {
            assert!(read(fields).is_err(), "{fields:?}");
        }
    }

    #[test]
    fn what_concerns_one_connection_stays_here() {
        let kept = end_to_end(&of(&[
            ("Host", "evil.example"),
            ("Connection", "keep-alive, X-Secret , Accept"),
            ("Proxy-Connection", "close, x-other"),
            ("Proxy-Authorization", "Basic eDp5"),
            ("X-Secret", "1"),
            ("X-Other", "1"),
            ("Accept", "*/*"),
            ("Upgrade", "h2c"),
            ("TE", "trailers"),
            ("Trailer", "x"),
            ("Keep-Alive", "5"),
            ("Authorization", "Bearer t"),
            ("proxy", "kept"),
        ]));
        let names: Vec<_> = kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Authorization", "proxy"]);
    }
}
