//! Who a script may talk to.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

use crate::host_port::{HostPort, HostPorts};

/// How far a script reaches over IP.
///
/// The order is `None < Loopback < Proxy(S) < Full`, and `Proxy(S)` is below `Proxy(T)` when every
/// host and port of `S` is covered by one of `T`.
#[expect(
    clippy::exhaustive_enums,
    reason = "a reach that some match forgets would be a network without a closer"
)]
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Net {
    /// Nowhere: no socket can be made.
    #[default]
    None,
    /// A loopback interface of the run's own, with nobody else on it.
    Loopback,
    /// Loopback, and the named hosts through the host's proxy.
    Proxy(HostPorts),
    /// Everywhere.
    Full,
}

impl Net {
    /// Returns the reach to `hosts` through the proxy; with no host it is [`Net::None`].
    pub fn to_hosts(hosts: impl IntoIterator<Item = HostPort>) -> Self {
        HostPorts::new(hosts).map_or(Self::None, Self::Proxy)
    }

    /// Returns the least reach that allows what either does.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Full, _) | (_, Self::Full) => Self::Full,
            (Self::Proxy(mine), Self::Proxy(theirs)) => Self::Proxy(mine.union(theirs)),
            (wide @ Self::Proxy(_), Self::None | Self::Loopback)
            | (Self::None | Self::Loopback, wide @ Self::Proxy(_)) => wide.clone(),
            (Self::None, Self::None) => Self::None,
            (Self::Loopback, Self::None | Self::Loopback) | (Self::None, Self::Loopback) => {
                Self::Loopback
            }
        }
    }

    /// Returns the reach that both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::Loopback, _) | (_, Self::Loopback) => Self::Loopback,
            (Self::Full, narrower) | (narrower, Self::Full) => narrower.clone(),
            // A proxy that leads nowhere still has its loopback.
            (Self::Proxy(mine), Self::Proxy(theirs)) => mine
                .intersection(theirs)
                .map_or(Self::Loopback, Self::Proxy),
        }
    }

    /// Says whether `ceiling` allows everything that this reach allows.
    pub fn is_within(&self, ceiling: &Self) -> bool {
        match (self, ceiling) {
            (Self::None, _) | (_, Self::Full) => true,
            (Self::Loopback, Self::Loopback | Self::Proxy(_)) => true,
            (Self::Proxy(mine), Self::Proxy(theirs)) => mine.is_within(theirs),
            (Self::Loopback | Self::Proxy(_) | Self::Full, Self::None)
            | (Self::Proxy(_) | Self::Full, Self::Loopback)
            | (Self::Full, Self::Proxy(_)) => false,
        }
    }

    /// Says whether a connection to `host` and `port` is allowed.
    ///
    /// A loopback address is the run's own loopback, and the host's only through the proxy, where it
    /// is granted by address and port.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        match self {
            Self::None => false,
            Self::Loopback => is_loopback(host),
            Self::Proxy(hosts) => is_loopback(host) || hosts.covering(host, port).is_some(),
            Self::Full => true,
        }
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Loopback => f.write_str("loopback"),
            Self::Proxy(hosts) => write!(f, "{hosts}"),
            Self::Full => f.write_str("full"),
        }
    }
}

impl Serialize for Net {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How far a script reaches over Unix sockets.
///
/// Nothing grants more than this yet. The type is exhaustive on purpose: a wider reach has to
/// visit every place that decides.
#[expect(
    clippy::exhaustive_enums,
    reason = "a reach that some match forgets would be a socket without a closer"
)]
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Unix {
    /// No socket of any other program.
    #[default]
    None,
}

impl fmt::Display for Unix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
        }
    }
}

impl Serialize for Unix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Says whether `host` names the run's own loopback interface.
fn is_loopback(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || literal
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Net {
        Net::to_hosts(text.split_whitespace().map(|host| host.parse().unwrap()))
    }

    #[test]
    fn no_hosts_is_no_network() {
        assert_eq!(hosts(""), Net::None);
    }

    #[test]
    fn what_joins_two_reaches_is_wide_enough_and_no_wider() {
        let all = [
            Net::None,
            Net::Loopback,
            hosts("a.c:443"),
            hosts("b.c:80 d:1"),
            hosts("*.c:443"),
            Net::Full,
        ];
        for mine in &all {
            for theirs in &all {
                let join = mine.join(theirs);
                assert_eq!(join, theirs.join(mine));
                assert!(mine.is_within(&join) && theirs.is_within(&join), "{join}");
                for bound in &all {
                    let holds_both = mine.is_within(bound) && theirs.is_within(bound);
                    assert!(!holds_both || join.is_within(bound), "{join} {bound}");
                }
            }
        }
        assert_eq!(hosts("a:1").join(&hosts("b:2")), hosts("a:1 b:2"));
    }

    #[test]
    fn reach_is_ordered() {
        let chain = [
            Net::None,
            Net::Loopback,
            hosts("a.b.c:443"),
            hosts("*.b.c:443"),
            hosts("*.c:443"),
            Net::Full,
        ];
        for (low, narrow) in chain.iter().enumerate() {
            for (high, wide) in chain.iter().enumerate() {
                assert_eq!(narrow.is_within(wide), low <= high, "{narrow} {wide}");
                assert_eq!(narrow.meet(wide), chain[low.min(high)], "{narrow} {wide}");
            }
        }
    }

    #[test]
    fn a_wildcard_covers_labels_and_not_letters_or_the_bare_domain() {
        let wild = hosts("*.b.c:443");
        assert!(wild.allows("a.b.c", 443));
        assert!(wild.allows("x.a.B.C", 443));
        assert!(!wild.allows("b.c", 443));
        assert!(!wild.allows("ab.c", 443));
        assert!(!wild.allows("a.b.c", 80));
    }

    #[test]
    fn disjoint_hosts_share_only_the_loopback() {
        assert_eq!(hosts("a.x:1").meet(&hosts("b.x:1")), Net::Loopback);
        assert_eq!(
            hosts("a.x:1 b.x:1").meet(&hosts("*.x:1")),
            hosts("a.x:1 b.x:1")
        );
    }

    #[test]
    fn a_covered_host_disappears_into_the_one_that_covers_it() {
        assert_eq!(hosts("a.x:1 *.x:1"), hosts("*.x:1"));
    }

    #[test]
    fn loopback_reaches_only_itself() {
        for host in ["localhost", "127.0.0.1", "::1", "[::1]"] {
            assert!(Net::Loopback.allows(host, 80), "{host}");
            assert!(!Net::None.allows(host, 80), "{host}");
        }
        assert!(!Net::Loopback.allows("10.0.0.1", 80));
        assert!(!Net::Loopback.allows("example.com", 80));
    }
}
