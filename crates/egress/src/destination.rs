//! Where a connection is asked to go.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::address::canonical;
use crate::error::HostRejected;

/// A host and a port that somebody asks for; a name in lower case, or an address.
///
/// A name is ASCII and never a number: the spellings of an IPv4 address that only a resolver
/// understands (`0177.0.0.1`, `0x7f.1`, `127.1`, `2130706433`) are rejected.
///
/// # Examples
///
/// ```
/// use bailiwick_egress::Destination;
///
/// let asked: Destination = "API.Example.:443".parse()?;
/// assert_eq!(asked.to_string(), "api.example:443");
/// assert!("0x7f.1:80".parse::<Destination>().is_err());
/// # Ok::<(), bailiwick_egress::HostRejected>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Destination {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Host {
    Name(String),
    Address(IpAddr),
}

impl Destination {
    /// Returns the destination of a host that is given apart from its port.
    ///
    /// An IPv6 address may stand in brackets or without.
    ///
    /// # Errors
    ///
    /// [`HostRejected`] for what is neither a name nor an address, and for port 0.
    pub fn new(host: &str, port: u16) -> Result<Self, HostRejected> {
        if port == 0 {
            return Err(HostRejected::new(host, "port 0 is no port"));
        }
        let host = parse_host(host).map_err(|reason| HostRejected::new(host, reason))?;
        Ok(Self { host, port })
    }

    /// Returns the destination of an address; an IPv4-mapped one is its IPv4 address.
    ///
    /// # Errors
    ///
    /// [`HostRejected`] for port 0.
    pub fn of_address(address: IpAddr, port: u16) -> Result<Self, HostRejected> {
        Self::new(&address.to_string(), port)
    }

    /// Reads `host:port`, where the port may be left out if there is a `default_port`.
    ///
    /// # Errors
    ///
    /// [`HostRejected`] for a host or port of another form, and for user information.
    pub fn from_authority(text: &str, default_port: Option<u16>) -> Result<Self, HostRejected> {
        let reject = |reason| HostRejected::new(text, reason);
        if text.contains('@') {
            return Err(reject("user information does not belong here"));
        }
        let colon = match text.rfind(']') {
            Some(bracket) => text[bracket..].find(':').map(|at| bracket + at),
            None => text.rfind(':'),
        };
        let (host, port) = match colon {
            Some(colon) => (&text[..colon], Some(&text[colon + 1..])),
            None => (text, None),
        };
        if host.contains(':') && !host.starts_with('[') {
            return Err(reject("an IPv6 address stands in brackets"));
        }
        let port = match (port, default_port) {
            (Some(port), _) => {
                parse_port(port).ok_or_else(|| reject("the port is no number from 1 to 65535"))?
            }
            (None, Some(port)) => port,
            (None, None) => return Err(reject("the port is missing")),
        };
        Self::new(host, port)
    }

    /// Returns the host as a grant writes it: a name, an address, or an IPv6 address in brackets.
    pub fn host(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        }
    }

    /// Returns the name, if the host is one.
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Name(name) => Some(name),
            Host::Address(_) => None,
        }
    }

    /// Says whether the host is a name.
    pub const fn is_name(&self) -> bool {
        matches!(self.host, Host::Name(_))
    }

    /// Returns the address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Name(_) => None,
            Host::Address(address) => Some(*address),
        }
    }

    /// Returns the port, which is never 0.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Destination {
    type Err = HostRejected;

    fn from_str(text: &str) -> Result<Self, HostRejected> {
        Self::from_authority(text, None)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host(), self.port)
    }
}

/// Returns the address that a host of a grant is, if it is one.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    match parse_host(host) {
        Ok(Host::Address(address)) => Some(address),
        Ok(Host::Name(_)) | Err(_) => None,
    }
}

fn parse_host(text: &str) -> Result<Host, &'static str> {
    let bracketed = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if bracketed.is_some() || text.contains(':') {
        let address: Ipv6Addr = bracketed
            .unwrap_or(text)
            .parse()
            .map_err(|_| "it is no IPv6 address")?;
        return Ok(Host::Address(canonical(address.into())));
    }
    if !text.is_ascii() {
        return Err("a name is ASCII: write it in its `xn--` form");
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    if name.is_empty() || name.len() > 253 || !name.split('.').all(is_label) {
        return Err("it is neither a host name nor an address");
    }
    if name.rsplit('.').next().is_some_and(is_number) {
        return Err("a number is no name: write an IPv4 address as four decimal numbers");
    }
    Ok(Host::Name(name))
}

/// Says whether a policy could grant a name with this label.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Says whether resolvers may read a name that ends in `label` as an IPv4 address.
fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit())
        || label
            .strip_prefix("0x")
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Reads a port in its one spelling.
fn parse_port(text: &str) -> Option<u16> {
    let port: u16 = text.parse().ok()?;
    (port != 0 && port.to_string() == text).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        Destination::from_authority(text, Some(80)).map_or_else(
            |rejected| format!("! {rejected}"),
            |asked| asked.to_string(),
        )
    }

    #[test]
    fn one_host_has_one_form() {
        for (text, expected) in [
            ("EXAMPLE.com", "example.com:80"),
            ("example.com.", "example.com:80"),
            ("example.com.:8080", "example.com:8080"),
            ("xn--BCHER-kva.example", "xn--bcher-kva.example:80"),
            ("127.0.0.1.:81", "127.0.0.1:81"),
            ("[::1]", "[::1]:80"),
            ("[0:0::1]:81", "[::1]:81"),
            ("[::ffff:10.0.0.1]:81", "10.0.0.1:81"),
            ("[::FFFF:a00:1]:81", "10.0.0.1:81"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let bare = Destination::new("fd00:ec2::254", 80).unwrap();
        assert_eq!(bare.to_string(), "[fd00:ec2::254]:80");
    }

    #[test]
    fn what_is_no_host_is_rejected() {
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a b",
            "a\tb",
            "a\0b",
            "-a",
            "a-",
            "a_b",
            "a%2eb",
            "a/b",
            "a\\b",
            "a?b",
            "a#b",
            "user@a",
            "user:pass@a:80",
            "bücher.example",
            "ｅxample.com",
            "a。b",
            "::1",
            "::1:80",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:",
            "[fe80::1%eth0]",
            "[127.0.0.1]",
            "a:",
            "a:0",
            "a:65536",
            "a:+80",
            "a:080",
            "a: 80",
            "a:80 ",
            "a:8a",
            "a:80:80",
            "*.a",
            "[]",
            "a[::1]:80",
        ] {
            assert!(read(text).starts_with('!'), "{text:?} is {}", read(text));
        }
        assert!(read(&"a".repeat(64)).starts_with('!'));
        assert!(read(&"a.".repeat(130)).starts_with('!'));
        assert!("example.com".parse::<Destination>().is_err(), "no port");
        assert!(Destination::new("example.com", 0).is_err());
    }

    #[test]
    fn a_number_is_never_a_name() {
        for text in [
            "2130706433",
            "0x7f000001",
            "0X7F.1",
            "017700000001",
            "127.1",
            "127.0.1",
            "0177.0.0.1",
            "127.0.0.01",
            "0x7f.0.0.0x1",
            "1.2.3.4.5",
            "256.1.1.1",
            "0x",
            "a.0",
            "a.0x1f",
            "127.0.0.1.1.",
        ] {
            assert!(read(text).starts_with('!'), "{text:?} is {}", read(text));
        }
        assert_eq!(read("0x7g.example"), "0x7g.example:80");
        assert_eq!(read("1.2.3.4a"), "1.2.3.4a:80");
    }
}
