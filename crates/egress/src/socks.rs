//! SOCKS5 (RFC 1928), without authentication: `CONNECT`, and names that the proxy resolves.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::destination::Destination;
use crate::error::{Fault, HostRejected, Refusal, RequestRejected};

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;
/// The first byte of the version before, which has no names of its own.
pub(crate) const VERSION_4: u8 = 4;
/// Says that no authentication is used.
pub(crate) const NO_AUTHENTICATION: [u8; 2] = [VERSION, 0];
/// Says that none of the offered methods is used.
pub(crate) const NO_METHOD: [u8; 2] = [VERSION, 0xff];
/// Refuses a request of SOCKS4.
pub(crate) const REFUSED_4: [u8; 8] = [0, 0x5b, 0, 0, 0, 0, 0, 0];
/// Says that the connection is made. Where it comes from is the host's own business.
pub(crate) const CONNECTED: [u8; 10] = reply(0);

/// A message that was read, with its length; nothing if it is not complete.
pub(crate) type Message<T> = Option<(T, usize)>;

/// Reads the greeting: whether a client goes without authentication.
pub(crate) fn greeting(bytes: &[u8]) -> Message<bool> {
    let [_, count, rest @ ..] = bytes else {
        return None;
    };
    let methods = rest.get(..usize::from(*count))?;
    Some((methods.contains(&0), 2 + methods.len()))
}

/// Reads the request.
pub(crate) fn request(bytes: &[u8]) -> Result<Message<Destination>, Refusal> {
    let [version, command, reserved, kind, rest @ ..] = bytes else {
        return Ok(None);
    };
    if *version != VERSION || *reserved != 0 {
        return Err(RequestRejected::malformed("the request is no SOCKS5").into());
    }
    match command {
        1 => {}
        2 => return Err(command_rejected("SOCKS5 `BIND` is not allowed").into()),
        3 => return Err(command_rejected("SOCKS5 `UDP ASSOCIATE` is not allowed").into()),
        _ => return Err(command_rejected("SOCKS5 has no such command").into()),
    }
    let (length, name) = match kind {
        1 => (4, false),
        4 => (16, false),
        3 => match rest.first() {
            Some(length) => (1 + usize::from(*length), true),
            None => return Ok(None),
        },
        _ => {
            let hint = "name the host, or give an IPv4 or IPv6 address";
            let reason = "SOCKS5 has no such kind of address";
            return Err(RequestRejected::new(Fault::AddressKind, reason, hint).into());
        }
    };
    let (Some(host), Some(&[high, low])) = (rest.get(..length), rest.get(length..length + 2))
    else {
        return Ok(None);
    };
    let port = u16::from_be_bytes([high, low]);
    let destination = if name {
        let host = String::from_utf8_lossy(&host[1..]);
        Destination::new(&host, port)?
    } else if let Ok(octets) = <[u8; 4]>::try_from(host) {
        Destination::of_address(Ipv4Addr::from(octets).into(), port)?
    } else if let Ok(octets) = <[u8; 16]>::try_from(host) {
        Destination::of_address(Ipv6Addr::from(octets).into(), port)?
    } else {
        return Err(HostRejected::new("", "it is no address").into());
    };
    Ok(Some((destination, 4 + length + 2)))
}

/// Returns the answer to a request that is refused.
pub(crate) fn refusal(refusal: &Refusal) -> [u8; 10] {
    reply(match refusal {
        Refusal::HostRejected(_) | Refusal::HostDenied { .. } | Refusal::AddressDenied { .. } => 2,
        Refusal::Unresolved { .. } => 4,
        Refusal::Unreachable { source, .. } if source.kind() == ErrorKind::ConnectionRefused => 5,
        Refusal::Unreachable { source, .. } if source.kind() == ErrorKind::NetworkUnreachable => 3,
        Refusal::Unreachable { .. } => 4,
        Refusal::ResolveExpired { .. } | Refusal::ConnectExpired { .. } => 6,
        Refusal::RequestRejected(rejected) => match rejected.fault() {
            Fault::Malformed | Fault::TooLarge | Fault::TooSlow | Fault::NotBuilt => 1,
            Fault::Command => 7,
            Fault::AddressKind => 8,
        },
    })
}

const fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

const fn command_rejected(reason: &'static str) -> RequestRejected {
    RequestRejected::new(
        Fault::Command,
        reason,
        "the proxy makes TCP connections alone: use `CONNECT`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        match request(bytes) {
            Ok(Some((destination, length))) => {
                assert_eq!(length, bytes.len());
                destination.to_string()
            }
            Ok(None) => "incomplete".to_owned(),
            Err(refused) => format!("{} {}", refused.kind(), refusal(&refused)[1]),
        }
    }

    fn named(name: &[u8], port: [u8; 2]) -> Vec<u8> {
        let length = u8::try_from(name.len()).unwrap();
        [&[5, 1, 0, 3, length][..], name, &port].concat()
    }

    #[test]
    fn names_and_addresses_are_destinations() {
        assert_eq!(read(&named(b"A.Example.", [1, 187])), "a.example:443");
        assert_eq!(read(&named(b"127.0.0.1", [0, 80])), "127.0.0.1:80");
        assert_eq!(read(&named(b"::ffff:127.0.0.1", [0, 80])), "127.0.0.1:80");
        assert_eq!(read(&[5, 1, 0, 1, 10, 0, 0, 1, 0, 80]), "10.0.0.1:80");
        let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat();
        assert_eq!(read(&v6), "[::1]:80");
    }

    #[test]
    fn a_request_in_pieces_is_incomplete_until_its_last_byte() {
        let whole = named(b"a.example", [1, 187]);
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), "incomplete", "{end}");
        }
        assert_eq!(greeting(&[5, 2, 1]), None);
        assert_eq!(greeting(&[5, 2, 1, 0, 9]), Some((true, 4)));
        assert_eq!(greeting(&[5, 1, 2]), Some((false, 3)));
        assert_eq!(greeting(&[5, 0]), Some((false, 2)));
    }

    #[test]
    fn what_the_proxy_does_not_do_has_a_reply_of_its_own() {
        assert_eq!(read(&[5, 2, 0, 1, 1, 1, 1, 1, 0, 80]), "request_rejected 7");
        assert_eq!(read(&[5, 3, 0, 1, 1, 1, 1, 1, 0, 80]), "request_rejected 7");
        assert_eq!(read(&[5, 9, 0, 1, 1, 1, 1, 1, 0, 80]), "request_rejected 7");
        assert_eq!(read(&[5, 1, 0, 2, 1, 1, 1, 1, 0, 80]), "request_rejected 8");
        assert_eq!(read(&[4, 1, 0, 1, 1, 1, 1, 1, 0, 80]), "request_rejected 1");
        assert_eq!(read(&[5, 1, 1, 1, 1, 1, 1, 1, 0, 80]), "request_rejected 1");
        assert_eq!(read(&[5, 1, 0, 1, 1, 1, 1, 1, 0, 0]), "host_rejected 2");
        for name in [
            &b""[..],
            b"0x7f.1",
            b"\xff\xfe",
            b"a\0.example",
            b"a@b",
            b"a:80",
        ] {
            assert_eq!(
                read(&named(name, [0, 80])),
                "host_rejected 2",
                "{}",
                name.escape_ascii()
            );
        }
    }
}
