//! Who may be reached, and the proxy that is a confined run's only way out.
//!
//! A run whose policy grants hosts has a network of its own with nobody on it but a socket that
//! leads to a [`Proxy`]. The proxy speaks HTTP/1.1 (`CONNECT`, and `http://` in full) and SOCKS5,
//! decides about every request, resolves the name itself, checks every address, and dials the
//! address that it checked. The decision is a [`Guard`]'s and the connection a [`Dialer`]'s, which
//! serve without the proxy whoever makes requests in somebody's name.
//!
//! # Examples
//!
//! ```
//! use bailiwick_egress::{Dialer, Guard};
//! use bailiwick_policy::HostPorts;
//!
//! let hosts = HostPorts::new(["*.example:443".parse()?]).ok_or("no host")?;
//! let dialer = Dialer::new(Guard::new(hosts, "network"));
//!
//! let asked = "metadata.internal:80".parse()?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let refusal = runtime.block_on(dialer.dial(&asked)).unwrap_err();
//! assert_eq!(refusal.kind(), "host_denied");
//! assert_eq!(refusal.hint(), "`grant.network = [\"metadata.internal:80\"]` allows it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - Host and port are decided together, and before anything is resolved: a name that is not
//!   granted reaches no resolver.
//! - A name is resolved once for each connection, and what is dialled is what was checked. A name
//!   that leads to a private, loopback, link-local, metadata or otherwise special
//!   [class](AddressClass) of address is refused with its whole answer; only a grant of the literal
//!   address and port opens it. The unspecified address and multicast groups are never opened.
//! - A number is never a name: `0x7f.1`, `0177.0.0.1`, `127.1` and `2130706433` are rejected, in a
//!   request as in a grant.
//! - A connection carries one request. A request for `http://` is read by one parser and written
//!   anew, with the host of its URI; what two readers could read in two ways is rejected. Its body
//!   is passed on up to its end and no further.
//! - Heads, header fields, times, connections and the log are bounded; the connections of all runs
//!   together as well, so that no run takes its host's descriptors.
//! - Every decision is in the [`ProxyLog`] with host, port, address, reason and bytes, or is counted
//!   there.
//! - No input makes it panic, and the end of a proxy is the end of its connections.
//!
//! # What it does not enforce
//!
//! - **That there is no way around it.** The proxy serves who asks; that a run reaches nothing else
//!   is the work of its network namespace. Variables such as `HTTP_PROXY` only help programs to ask.
//! - **What is said to a granted host.** A run can send there whatever it can read: a list of hosts
//!   is no protection against exfiltration. Bytes are counted, not looked at, and a grant has no
//!   ceiling in bytes but the run's time.
//! - **Who answers behind a granted host.** Inside a tunnel the name that TLS asks for is not
//!   looked at. Where many sites share a front, a run that may reach one of them can ask the front
//!   for another (domain fronting).
//! - **What a granted host passes on.** An open proxy, a redirecting service or a tunnel's end at a
//!   granted host leads anywhere.
//! - **Names beneath a wildcard.** Each name that a run asks for is resolved, so that whoever runs
//!   the name servers of a granted domain learns what is put into names.
//! - **The host's own public addresses.** They are public; a granted name that leads to one reaches
//!   what listens there. Nor is a provider's metadata service known that has an address of its own
//!   in a public range and is on no list.
//! - **The resolver's own habits.** Names are resolved as the host's programs resolve them, with its
//!   hosts file and search list.

#![forbid(unsafe_code)]

mod address;
mod connection;
mod destination;
mod dialer;
mod error;
mod guard;
mod http;
mod log;
mod proxy;
mod relay;
mod resolver;
mod service;
mod socks;
mod source;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

pub use crate::address::{AddressClass, canonical};
pub use crate::destination::Destination;
pub use crate::dialer::{Connection, DialLimits, Dialer};
pub use crate::error::{HostRejected, Refusal, RequestRejected};
pub use crate::guard::Guard;
pub use crate::log::{Decision, ProxyLog};
pub use crate::proxy::{LogReader, Proxy, ProxyLimits};
pub use crate::resolver::{Resolver, SystemResolver};
pub use crate::service::{ProxyService, RunningProxy};
