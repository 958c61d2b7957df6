//! Resolves once, checks every address, and dials what it checked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::destination::Destination;
use crate::error::Refusal;
use crate::guard::Guard;
use crate::resolver::{Resolver, SystemResolver};

/// Makes connections to what a [`Guard`] lets through.
///
/// A name is resolved once. If any of its addresses is refused, the whole answer is: a name that
/// leads to a public and to a private network is not the name that was granted. The addresses that
/// passed are dialled in order, as addresses.
#[derive(Clone, Debug)]
pub struct Dialer {
    guard: Guard,
    resolver: Arc<dyn Resolver>,
    limits: DialLimits,
}

impl Dialer {
    /// Returns a dialer with the resolver of this machine.
    pub fn new(guard: Guard) -> Self {
        Self::with_resolver(guard, Arc::new(SystemResolver::new()))
    }

    /// Returns a dialer that asks `resolver`.
    pub fn with_resolver(guard: Guard, resolver: Arc<dyn Resolver>) -> Self {
        Self {
            guard,
            resolver,
            limits: DialLimits::default(),
        }
    }

    /// Sets how long resolving and connecting may take. [`DialLimits::default`] otherwise.
    #[must_use]
    pub fn with_limits(mut self, limits: DialLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the guard that decides.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Returns the addresses of `destination`, all of which may be dialled.
    ///
    /// This is for clients that connect for themselves: they must connect to these addresses and
    /// resolve nothing.
    ///
    /// # Errors
    ///
    /// The [`Refusal`] of the host, of the resolver, or of the first address that is refused.
    pub async fn resolve(&self, destination: &Destination) -> Result<Vec<SocketAddr>, Refusal> {
        self.guard.check(destination)?;
        self.addresses(destination)
            .await?
            .into_iter()
            .map(|address| self.guard.check_address(destination, address))
            .collect()
    }

    /// Connects to `destination`.
    ///
    /// # Errors
    ///
    /// The [`Refusal`] of the host, of the resolver, of the first address that is refused, or of
    /// the last address that could not be connected to.
    pub async fn dial(&self, destination: &Destination) -> Result<Connection, Refusal> {
        let addresses = self.resolve(destination).await?;
        let whole = Instant::now() + self.limits.connect;
        let mut last = None;
        for address in addresses.into_iter().take(DIALLED) {
            if last.is_some() && Instant::now() >= whole {
                break;
            }
            let until = whole.min(Instant::now() + self.limits.connect_each);
            match timeout_at(until, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(Connection { stream, address }),
                Ok(Err(source)) => {
                    last = Some(Refusal::Unreachable {
                        destination: destination.clone(),
                        address: address.ip(),
                        source,
                    });
                }
                Err(_) => {
                    last = Some(Refusal::ConnectExpired {
                        destination: destination.clone(),
                        address: address.ip(),
                        after: self.limits.connect_each.min(self.limits.connect),
                    });
                }
            }
        }
        Err(last.unwrap_or_else(|| unresolved(destination)))
    }

    async fn addresses(&self, destination: &Destination) -> Result<Vec<IpAddr>, Refusal> {
        let name = match (destination.address(), destination.name()) {
            (Some(address), _) => return Ok(vec![address]),
            (None, Some(name)) => name,
            (None, None) => return Err(unresolved(destination)),
        };
        let answer = timeout(self.limits.resolve, self.resolver.resolve(name))
            .await
            .map_err(|_| Refusal::ResolveExpired {
                destination: destination.clone(),
                after: self.limits.resolve,
            })?;
        let addresses = answer.map_err(|source| Refusal::Unresolved {
            destination: destination.clone(),
            source: Some(source),
        })?;
        if addresses.is_empty() {
            return Err(unresolved(destination));
        }
        Ok(addresses)
    }
}

fn unresolved(destination: &Destination) -> Refusal {
    Refusal::Unresolved {
        destination: destination.clone(),
        source: None,
    }
}

/// How long resolving and connecting may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DialLimits {
    /// How long the resolver has. 5 s.
    pub resolve: Duration,
    /// How long each address has. 10 s.
    pub connect_each: Duration,
    /// How long all addresses together have. 30 s.
    pub connect: Duration,
}

impl Default for DialLimits {
    fn default() -> Self {
        Self {
            resolve: Duration::from_secs(5),
            connect_each: Duration::from_secs(10),
            connect: Duration::from_secs(30),
        }
    }
}

/// A connection to an address that was checked.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
}

impl Connection {
    /// Returns where the connection leads.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the stream.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }
}

/// How many addresses of one name are dialled; all are checked.
const DIALLED: usize = 8;
