//! From a name to addresses.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bailiwick_core::BoxFuture;
use tokio::sync::Semaphore;

/// Answers which addresses a name has.
///
/// It is asked once for each connection, and what it answers is checked and dialled: a second
/// answer that differs finds nobody who asks.
pub trait Resolver: fmt::Debug + Send + Sync {
    /// Returns the addresses of `name`, in the order in which they are to be tried.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of this machine, with its hosts file, its search list and its cache.
///
/// The system's call cannot be interrupted, so that a look-up which nobody waits for any more still
/// holds its thread. At most 16 are under way at once, abandoned ones included.
#[derive(Debug)]
pub struct SystemResolver {
    slots: Arc<Semaphore>,
}

impl SystemResolver {
    /// Returns the resolver.
    pub fn new() -> Self {
        Self {
            slots: Arc::new(Semaphore::new(LOOKUPS)),
        }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let slot = Arc::clone(&self.slots)
                .acquire_owned()
                .await
                .map_err(io::Error::other)?;
            let name = name.to_owned();
            // A task of its own keeps the slot until the system is done, whoever still waits.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((name, 0)).await;
                drop(slot);
                found.map(|addresses| addresses.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

const LOOKUPS: usize = 16;
