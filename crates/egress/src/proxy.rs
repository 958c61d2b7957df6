//! The proxy of one run.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::num::NonZeroU16;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::connection;
use crate::dialer::Dialer;
use crate::log::{Log, ProxyLog};

/// Serves HTTP (`CONNECT` and `http://` in full) and SOCKS5 on a socket that already listens.
///
/// Every connection carries one request, and every request is decided anew.
#[derive(Debug)]
pub struct Proxy {
    dialer: Dialer,
    limits: ProxyLimits,
    log: Log,
    shared: Option<Arc<Semaphore>>,
    /// Held by every task, so that their end can be waited for.
    alive: Option<mpsc::Sender<Infallible>>,
}

impl Proxy {
    /// Returns a proxy to what `dialer` reaches.
    pub fn new(dialer: Dialer, limits: ProxyLimits) -> Self {
        Self {
            dialer,
            limits,
            log: Log::new(limits.log_entries),
            shared: None,
            alive: None,
        }
    }

    /// Returns a reader of the log, which stays when the proxy is gone.
    pub fn log(&self) -> LogReader {
        LogReader(self.log.clone())
    }

    /// Serves the connections of `listener` until the listener fails.
    ///
    /// Dropping the future ends every connection. It has to be driven by a tokio runtime with
    /// network and timers; [`ProxyService`](crate::ProxyService) brings one.
    ///
    /// As many connections are served at once as the limits say; further ones wait in the
    /// listener's own queue until one ends.
    ///
    /// # Errors
    ///
    /// What the system says when the socket does not listen, or no longer.
    pub async fn serve(self, listener: TcpListener) -> io::Result<Infallible> {
        // Says so if the descriptor is no socket.
        listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let open = Arc::new(Semaphore::new(usize::from(self.limits.connections.get())));
        let dialer = Arc::new(self.dialer);
        let mut connections = JoinSet::new();
        loop {
            let own = slot(&open, &self.log).await?;
            while connections.try_join_next().is_some() {}
            let stream = accept(&listener).await?;
            // Taken for a connection that is there, so that an idle proxy holds no place of others.
            let shared = match &self.shared {
                Some(shared) => Some(slot(shared, &self.log).await?),
                None => None,
            };
            let (dialer, limits, log) = (Arc::clone(&dialer), self.limits, self.log.clone());
            let alive = self.alive.clone();
            connections.spawn(async move {
                connection::serve(stream, &dialer, limits, &log).await;
                drop((own, shared, alive));
            });
        }
    }

    pub(crate) fn within(
        mut self,
        shared: Arc<Semaphore>,
        alive: mpsc::Sender<Infallible>,
    ) -> Self {
        self.shared = Some(shared);
        self.alive = Some(alive);
        self
    }
}

/// Bounds of a proxy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProxyLimits {
    /// How many connections are served at once. 64.
    pub connections: NonZeroU16,
    /// The most bytes in the head of a request or an answer. 32 KiB.
    pub head_bytes: usize,
    /// How long a request has to arrive, from the beginning of its connection. 10 s.
    pub head_time: Duration,
    /// How many decisions of each kind, allowed and refused, the log keeps. 256.
    pub log_entries: usize,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: NonZeroU16::MIN.saturating_add(63),
            head_bytes: 32 * 1024,
            head_time: Duration::from_secs(10),
            log_entries: 256,
        }
    }
}

/// Reads the log of a proxy, during the run and after it.
#[derive(Clone, Debug)]
pub struct LogReader(Log);

impl LogReader {
    /// Returns what the log holds now.
    pub fn read(&self) -> ProxyLog {
        self.0.snapshot()
    }
}

/// Waits for a free place, and writes down if there was none.
async fn slot(places: &Arc<Semaphore>, log: &Log) -> io::Result<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(places).try_acquire_owned() {
        return Ok(place);
    }
    log.waited();
    Arc::clone(places)
        .acquire_owned()
        .await
        .map_err(io::Error::other)
}

/// Accepts a connection; what fails for one connection or for want of resources is tried again.
async fn accept(listener: &tokio::net::TcpListener) -> io::Result<TcpStream> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Ok(stream),
            // The socket does not listen, and will not.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidInput | ErrorKind::Unsupported
                ) =>
            {
                return Err(error);
            }
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            // Descriptors or memory are short, and others may give some back.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

const PAUSE: Duration = Duration::from_millis(20);
