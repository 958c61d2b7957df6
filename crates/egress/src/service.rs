//! The thread that serves the proxies of a host's runs.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;

use crate::log::ProxyLog;
use crate::proxy::{LogReader, Proxy};

/// One thread, with a runtime of its own, that serves the proxies of all runs of a host.
///
/// What a run sends is thereby never worked on by the host's own executor, and a host whose runtime
/// has no network needs none. Dropping the service ends every proxy of it.
///
/// # Examples
///
/// ```
/// use std::net::TcpListener;
///
/// use bailiwick_egress::{Dialer, Guard, Proxy, ProxyLimits, ProxyService};
/// use bailiwick_policy::HostPorts;
///
/// let service = ProxyService::start(ProxyService::CONNECTIONS)?;
/// let hosts = HostPorts::new(["downloads.example:443".parse()?]).ok_or("no host")?;
/// let dialer = Dialer::new(Guard::new(hosts, "network"));
///
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let running = service.run(Proxy::new(dialer, ProxyLimits::default()), listener);
/// // Here the run takes place.
/// let log = running.stop();
/// assert!(log.decisions.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ProxyService {
    handle: Handle,
    shared: Arc<Semaphore>,
    stop: Option<oneshot::Sender<Infallible>>,
}

impl ProxyService {
    /// How many connections the proxies of a host serve together, unless the host says otherwise:
    /// each takes two descriptors, and a process often has 1,024.
    pub const CONNECTIONS: NonZeroU16 = NonZeroU16::MIN.saturating_add(319);

    /// Starts the thread; all proxies together serve at most `connections` at once.
    ///
    /// A connection beyond that waits, whoever's it is: runs that keep many open can keep others
    /// waiting until they end, and none can take the descriptors of the host.
    ///
    /// # Errors
    ///
    /// What the system says when it has no thread or no descriptor to give.
    pub fn start(connections: NonZeroU16) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<Infallible>();
        thread::Builder::new()
            .name("bailiwick-egress".to_owned())
            .spawn(move || {
                // Nothing is ever sent: the sender is dropped with the service.
                let _ = runtime.block_on(stopped);
                // A look-up that the system does not finish is not waited for.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            handle,
            shared: Arc::new(Semaphore::new(usize::from(connections.get()))),
            stop: Some(stop),
        })
    }

    /// Serves `listener`, a socket that listens in whatever network it was made in, until the
    /// answer is stopped or dropped.
    pub fn run(&self, proxy: Proxy, listener: TcpListener) -> RunningProxy {
        let (alive, ended) = mpsc::channel();
        let log = proxy.log();
        let proxy = proxy.within(Arc::clone(&self.shared), alive);
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let task = self.handle.spawn(async move {
            let Err(error) = proxy.serve(listener).await;
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        });
        RunningProxy {
            task: task.abort_handle(),
            ended: Mutex::new(ended),
            failure,
            log,
        }
    }
}

impl Drop for ProxyService {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

impl fmt::Debug for ProxyService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyService")
            .field("free", &self.shared.available_permits())
            .finish_non_exhaustive()
    }
}

/// A proxy that is being served. Dropping it ends its connections without waiting.
#[derive(Debug)]
pub struct RunningProxy {
    task: AbortHandle,
    ended: Mutex<mpsc::Receiver<Infallible>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    log: LogReader,
}

impl RunningProxy {
    /// Returns the log so far.
    pub fn log(&self) -> ProxyLog {
        self.log.read()
    }

    /// Takes the error that ended the proxy by itself, if one did: its socket failed.
    pub fn failure(&self) -> Option<io::Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    /// Ends every connection, waits for the end, and returns the log.
    ///
    /// The end is a matter of microseconds, because no connection waits for anything on the way; a
    /// [`Resolver`](crate::Resolver) that blocks its thread is waited for no longer than a second.
    pub fn stop(self) -> ProxyLog {
        self.task.abort();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Answers when the last task has dropped its sender.
        let _ = ended.recv_timeout(PATIENCE);
        drop(ended);
        self.log.read()
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

const PATIENCE: Duration = Duration::from_secs(1);
