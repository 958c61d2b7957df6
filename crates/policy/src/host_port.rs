//! Hosts and ports, as a proxy is told them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Hosts and ports that a proxy lets through; never empty, and no member covers another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostPorts(BTreeSet<HostPort>);

impl HostPorts {
    /// Returns the set of `hosts`, or nothing if there is none.
    pub fn new(hosts: impl IntoIterator<Item = HostPort>) -> Option<Self> {
        let all: BTreeSet<_> = hosts.into_iter().collect();
        let covered = |one: &HostPort| all.iter().any(|other| other != one && one.is_within(other));
        let widest: BTreeSet<_> = all.iter().filter(|one| !covered(one)).cloned().collect();
        (!widest.is_empty()).then_some(Self(widest))
    }

    /// Iterates over the members.
    pub fn iter(&self) -> impl Iterator<Item = &HostPort> {
        self.0.iter()
    }

    /// Returns the member that lets `host` and `port` through, if one does.
    pub fn covering(&self, host: &str, port: u16) -> Option<&HostPort> {
        let asked: HostPort = format!("{host}:{port}").parse().ok()?;
        self.0.iter().find(|member| asked.is_within(member))
    }

    /// Says whether a member lets a host and port through, or everything that a pattern stands for.
    pub(crate) fn covers(&self, asked: &HostPort) -> bool {
        self.0.iter().any(|member| asked.is_within(member))
    }

    /// Returns a host and port that this set lets through and `ceiling` does not, if there is one.
    pub(crate) fn beyond(&self, ceiling: Option<&Self>) -> Option<HostPort> {
        let is_beyond = |host: &HostPort| ceiling.is_none_or(|ceiling| !ceiling.covers(host));
        let member = self.0.iter().find(|member| is_beyond(member))?;
        match member.host.strip_prefix('*') {
            None => Some(member.clone()),
            // No pattern of the ceiling covers all of the domain, so each of its members names one
            // of these labels at most.
            Some(domain) => (0..=ceiling.map_or(0, |ceiling| ceiling.0.len()))
                .map(|number| HostPort {
                    host: format!("host-{number}{domain}"),
                    port: member.port,
                })
                .find(is_beyond),
        }
    }

    /// Says whether `ceiling` lets everything through that this set does.
    pub(crate) fn is_within(&self, ceiling: &Self) -> bool {
        self.0
            .iter()
            .all(|mine| ceiling.0.iter().any(|theirs| mine.is_within(theirs)))
    }

    /// Returns what either set lets through.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let all = self.0.iter().chain(&other.0).cloned();
        Self::new(all).unwrap_or_else(|| self.clone())
    }

    /// Returns what both sets let through, if anything.
    ///
    /// Two patterns are either nested or have nothing in common, so the narrower of each pair is
    /// all that both sets share.
    pub(crate) fn intersection(&self, other: &Self) -> Option<Self> {
        let pairs = self
            .0
            .iter()
            .flat_map(|mine| other.0.iter().map(move |theirs| (mine, theirs)));
        Self::new(pairs.filter_map(|(mine, theirs)| {
            if mine.is_within(theirs) {
                Some(mine.clone())
            } else {
                theirs.is_within(mine).then(|| theirs.clone())
            }
        }))
    }
}

impl fmt::Display for HostPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, member) in self.0.iter().enumerate() {
            write!(f, "{}{member}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A host and a port, such as `api.example:443` or `*.example:443`.
///
/// `*.` stands for one or more labels and not for the bare domain. Names are compared in lower
/// case. A literal address of either family is a host as well; IPv6 is written in brackets.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// Returns the host, in lower case, with `*.` where it stands for any label.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns an address and a port.
    pub(crate) fn address(address: Ipv4Addr, port: u16) -> Self {
        let host = address.to_string();
        Self { host, port }
    }

    fn is_within(&self, other: &Self) -> bool {
        self.port == other.port && (self.host == other.host || other.covers_label(&self.host))
    }

    fn covers_label(&self, host: &str) -> bool {
        let Some(domain) = self.host.strip_prefix('*') else {
            return false;
        };
        let host = host.strip_prefix('*').unwrap_or(host);
        host.len() > domain.len() && host.ends_with(domain)
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, HostPortError> {
        let reject = |reason| HostPortError {
            text: text.to_owned(),
            reason,
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(|| reject("has no port"))?;
        let port = match port.parse::<u16>() {
            Ok(port) if port != 0 && port.to_string().len() == text.len() - host.len() - 1 => port,
            Ok(_) | Err(_) => return Err(reject("has no port from 1 to 65535")),
        };
        let host = host.to_ascii_lowercase();
        if let Some(address) = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let address: Ipv6Addr = address
                .parse()
                .map_err(|_| reject("is no IPv6 address in brackets"))?;
            return Ok(Self {
                host: format!("[{address}]"),
                port,
            });
        }
        let domain = host.strip_prefix("*.");
        // The labels of an address are numbers and have no one above them.
        let is_address = |domain: &str| domain.ends_with(|c: char| c.is_ascii_digit());
        if !is_name(domain.unwrap_or(&host)) || domain.is_some_and(is_address) {
            return Err(reject("is no host name"));
        }
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Text that is no host and port.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` {reason}: write `host:port`", text.escape_debug())]
pub struct HostPortError {
    text: String,
    reason: &'static str,
}

fn is_name(host: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    host.len() <= 253 && host.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_what_is_no_host_and_port() {
        for text in [
            "",
            "a",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a:080",
            ":1",
            "a b:1",
            "*:1",
            "*.*.c:1",
            "a..b:1",
            "-a:1",
            "[::g]:1",
            "http://a:1",
            "a/b:1",
            "*.0.0.1:1",
        ] {
            assert!(text.parse::<HostPort>().is_err(), "{text}");
        }
        assert_eq!(
            "API.Example:443".parse::<HostPort>().unwrap().to_string(),
            "api.example:443"
        );
        assert_eq!(
            "[0::1]:443".parse::<HostPort>().unwrap().to_string(),
            "[::1]:443"
        );
    }
}
