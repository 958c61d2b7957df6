//! Why a connection is not made.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use crate::address::AddressClass;
use crate::destination::Destination;

/// Why a connection is not made.
///
/// A refusal inside a run is seen by the run as an answer of its proxy and has no code of its own:
/// what the run makes of it decides how the call ends. Its [`kind`](Self::kind) is stable; the
/// host lists it as a denial of the layer that [`layer`](Self::layer) names. A caller that dials for
/// itself maps it to a code of its tier.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// What was asked for is no host.
    #[error(transparent)]
    HostRejected(#[from] HostRejected),
    /// The host, or this port of it, is not granted.
    #[error("`{destination}` is not granted")]
    HostDenied {
        /// What was asked for.
        destination: Destination,
        /// The ports of that host that are granted.
        ports: Vec<u16>,
        /// The grant that would allow it, such as `network`.
        grant: &'static str,
    },
    /// The host is granted and leads to an address that only a grant of the address opens.
    #[error("`{destination}` leads to {address}, {class}")]
    AddressDenied {
        /// What was asked for.
        destination: Destination,
        /// Where it leads.
        address: IpAddr,
        /// What kind of network that is.
        class: AddressClass,
        /// The grant that would allow it, such as `network`.
        grant: &'static str,
    },
    /// The name has no address, or the resolver failed.
    #[error("`{destination}` cannot be resolved")]
    Unresolved {
        /// What was asked for.
        destination: Destination,
        /// What the resolver said, if it failed.
        source: Option<io::Error>,
    },
    /// The resolver gave no answer in time.
    #[error("`{destination}` was not resolved within {} ms", .after.as_millis())]
    ResolveExpired {
        /// What was asked for.
        destination: Destination,
        /// How long the resolver had.
        after: Duration,
    },
    /// No address of the host could be connected to.
    #[error("`{destination}` cannot be reached")]
    Unreachable {
        /// What was asked for.
        destination: Destination,
        /// The last address that was tried.
        address: IpAddr,
        /// What the system said there.
        source: io::Error,
    },
    /// No address of the host answered in time.
    #[error("`{destination}` did not answer within {} ms", .after.as_millis())]
    ConnectExpired {
        /// What was asked for.
        destination: Destination,
        /// The last address that was tried.
        address: IpAddr,
        /// How long the host had.
        after: Duration,
    },
    /// The proxy was asked in a way that it does not understand or does not allow.
    #[error(transparent)]
    RequestRejected(#[from] RequestRejected),
}

impl Refusal {
    /// Returns the stable word for the kind of refusal, such as `host_denied`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::HostRejected(_) => "host_rejected",
            Self::HostDenied { .. } => "host_denied",
            Self::AddressDenied { .. } => "address_denied",
            Self::Unresolved { .. } => "unresolved",
            Self::ResolveExpired { .. } => "resolve_expired",
            Self::Unreachable { .. } => "unreachable",
            Self::ConnectExpired { .. } => "connect_expired",
            Self::RequestRejected(_) => "request_rejected",
        }
    }

    /// Says whether a policy said no; otherwise the request was malformed or the network failed.
    pub const fn is_denial(&self) -> bool {
        match self {
            Self::HostDenied { .. } | Self::AddressDenied { .. } => true,
            Self::HostRejected(_)
            | Self::Unresolved { .. }
            | Self::ResolveExpired { .. }
            | Self::Unreachable { .. }
            | Self::ConnectExpired { .. }
            | Self::RequestRejected(_) => false,
        }
    }

    /// Returns the layer that refused, as a list of denials names it: `proxy` or `resolver`.
    pub const fn layer(&self) -> &'static str {
        match self {
            Self::AddressDenied { destination, .. } if destination.is_name() => "resolver",
            Self::Unresolved { .. } | Self::ResolveExpired { .. } => "resolver",
            Self::HostRejected(_)
            | Self::HostDenied { .. }
            | Self::AddressDenied { .. }
            | Self::Unreachable { .. }
            | Self::ConnectExpired { .. }
            | Self::RequestRejected(_) => "proxy",
        }
    }

    /// Returns the address that was decided about or tried, if it came to that.
    pub const fn address(&self) -> Option<IpAddr> {
        match self {
            Self::AddressDenied { address, .. }
            | Self::Unreachable { address, .. }
            | Self::ConnectExpired { address, .. } => Some(*address),
            Self::HostRejected(_)
            | Self::HostDenied { .. }
            | Self::Unresolved { .. }
            | Self::ResolveExpired { .. }
            | Self::RequestRejected(_) => None,
        }
    }

    /// Returns what can be done about it: the line to add to the policy where one helps.
    pub fn hint(&self) -> String {
        match self {
            Self::HostRejected(_) => {
                "name the host in ASCII, in lower case, or write the address in full".to_owned()
            }
            Self::HostDenied {
                destination,
                ports,
                grant,
            } => {
                let line = format!("`grant.{grant} = [\"{destination}\"]` allows it");
                if ports.is_empty() {
                    return line;
                }
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                format!("{line}; of this host port {} is granted", ports.join(", "))
            }
            Self::AddressDenied {
                destination,
                address,
                class,
                grant,
            } => match class {
                AddressClass::Unspecified => {
                    "name the address that is meant, such as 127.0.0.1, and grant that".to_owned()
                }
                AddressClass::Public
                | AddressClass::Private
                | AddressClass::Loopback
                | AddressClass::LinkLocal
                | AddressClass::Metadata
                | AddressClass::Shared
                | AddressClass::Multicast
                | AddressClass::Documentation
                | AddressClass::Reserved => {
                    let literal = match address {
                        IpAddr::V4(address) => format!("{address}:{}", destination.port()),
                        IpAddr::V6(address) => format!("[{address}]:{}", destination.port()),
                    };
                    format!("a name does not open it; `grant.{grant} = [\"{literal}\"]` does")
                }
            },
            Self::Unresolved { .. } => {
                "check the name, and the resolver of this machine".to_owned()
            }
            Self::ResolveExpired { .. } => "check the resolver of this machine".to_owned(),
            Self::Unreachable { .. } | Self::ConnectExpired { .. } => {
                "the policy allows it; check that the host is up and reachable from this machine"
                    .to_owned()
            }
            Self::RequestRejected(rejected) => rejected.hint.to_owned(),
        }
    }
}

/// Text that is no host and port.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is no host to connect to: {reason}", shown(.text))]
pub struct HostRejected {
    text: String,
    reason: &'static str,
}

impl HostRejected {
    pub(crate) fn new(text: &str, reason: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            reason,
        }
    }

    /// Returns what was asked for, in printable characters and cut to a length that can be shown.
    pub fn text(&self) -> String {
        shown(&self.text).to_string()
    }

    /// Returns the rule that the text breaks.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

/// A request that the proxy does not understand or does not allow, whoever it is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct RequestRejected {
    reason: &'static str,
    hint: &'static str,
    fault: Fault,
}

/// What is wrong with a request, as far as the answer differs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    Malformed,
    TooLarge,
    TooSlow,
    NotBuilt,
    /// A command of SOCKS that is not `CONNECT`.
    Command,
    /// A kind of address of SOCKS that there is not.
    AddressKind,
}

impl RequestRejected {
    pub(crate) const fn new(fault: Fault, reason: &'static str, hint: &'static str) -> Self {
        Self {
            reason,
            hint,
            fault,
        }
    }

    pub(crate) const fn malformed(reason: &'static str) -> Self {
        Self::new(
            Fault::Malformed,
            reason,
            "speak HTTP/1.1 (`CONNECT`, or `http://` in full) or SOCKS5 to this proxy",
        )
    }

    pub(crate) const fn fault(self) -> Fault {
        self.fault
    }

    /// Returns what is wrong, in one sentence.
    pub const fn reason(self) -> &'static str {
        self.reason
    }
}

/// Shows what a run wrote: printable, and no longer than a name can be.
fn shown(text: &str) -> impl fmt::Display {
    let cut = text.floor_char_boundary(MAX_SHOWN);
    let more = if cut < text.len() { "..." } else { "" };
    let mut shown = text[..cut].escape_debug().to_string();
    shown.push_str(more);
    shown
}

const MAX_SHOWN: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_wrote_is_shown_in_bounds_and_without_control_characters() {
        let rejected = HostRejected::new(&"\x1b[31m".repeat(100), "it is no host");
        let text = rejected.to_string();
        assert!(text.len() < 1000 && !text.contains('\x1b'), "{text}");
        assert!(rejected.text().ends_with("..."));
    }

    #[test]
    fn only_a_policy_denies() {
        let asked: Destination = "a.example:443".parse().unwrap();
        let denied = Refusal::HostDenied {
            destination: asked.clone(),
            ports: vec![80, 8080],
            grant: "network",
        };
        assert!(denied.is_denial());
        assert_eq!(
            denied.hint(),
            "`grant.network = [\"a.example:443\"]` allows it; of this host port 80, 8080 is granted"
        );
        let failed = Refusal::Unresolved {
            destination: asked,
            source: None,
        };
        assert!(!failed.is_denial());
        assert_eq!((failed.kind(), failed.layer()), ("unresolved", "resolver"));
    }
}
