//! What was decided, for whoever started the run.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

use crate::destination::Destination;
use crate::error::Refusal;

/// One decision of a proxy.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// When it was made.
    pub at: SystemTime,
    /// The host that was asked for; empty where a request named none.
    pub host: String,
    /// The port that was asked for; 0 where a request named none.
    pub port: u16,
    /// Where it leads, if it came to that.
    pub address: Option<IpAddr>,
    /// Whether the policy allows it. A host that is allowed may still be out of reach.
    pub allowed: bool,
    /// `granted`, `pending` while the host is dialled, or the [kind](Refusal::kind) of the refusal.
    pub kind: &'static str,
    /// The layer that decided: `proxy` or `resolver`.
    pub layer: &'static str,
    /// The grant that allows it, or the sentence of the refusal.
    pub why: String,
    /// What can be done about a refusal; empty otherwise.
    pub hint: String,
    /// Bytes that went to the host.
    pub bytes_up: u64,
    /// Bytes that came from the host.
    pub bytes_down: u64,
}

/// Everything that a proxy decided, up to a bound.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProxyLog {
    /// The first decisions of each kind, in order.
    pub decisions: Vec<Decision>,
    /// How many further connections were allowed.
    pub omitted_allowed: u64,
    /// How many further requests were refused.
    pub omitted_refused: u64,
    /// How often a connection had to wait because as many were open as may be.
    pub waits: u64,
    /// Bytes that went to all hosts.
    pub bytes_up: u64,
    /// Bytes that came from all hosts.
    pub bytes_down: u64,
}

impl ProxyLog {
    /// Returns what the policy refused.
    pub fn denials(&self) -> impl Iterator<Item = &Decision> {
        self.decisions.iter().filter(|decision| !decision.allowed)
    }
}

/// The log while it is written; clones are the same log.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    capacity: usize,
    entries: Mutex<Entries>,
    total: Counters,
    waits: AtomicU64,
}

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    pending: BTreeMap<u64, Decision>,
    // Refusals have room of their own, so that a flood of what is allowed does not hide them.
    allowed: BTreeMap<u64, (Decision, Arc<Counters>)>,
    refused: BTreeMap<u64, Decision>,
    omitted_allowed: u64,
    omitted_refused: u64,
}

#[derive(Debug, Default)]
struct Counters {
    up: AtomicU64,
    down: AtomicU64,
}

impl Log {
    /// Returns an empty log that keeps `capacity` decisions of each kind.
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Arc::new(Shared {
            capacity,
            entries: Mutex::default(),
            total: Counters::default(),
            waits: AtomicU64::new(0),
        }))
    }

    pub(crate) fn waited(&self) {
        self.0.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes down a request that was refused before anything was dialled.
    pub(crate) fn refuse(&self, destination: Option<&Destination>, refusal: &Refusal) {
        let decision = refused(SystemTime::now(), destination, refusal);
        let mut entries = self.0.entries();
        let number = entries.number();
        entries.keep_refused(number, decision, self.0.capacity);
    }

    /// Writes down that a host is dialled under `grant`.
    pub(crate) fn dial(&self, destination: &Destination, grant: &str) -> Pending {
        let mut entries = self.0.entries();
        let number = entries.number();
        entries.pending.insert(
            number,
            Decision {
                at: SystemTime::now(),
                host: destination.host(),
                port: destination.port(),
                address: None,
                allowed: true,
                kind: "pending",
                layer: "proxy",
                why: format!("granted by `{grant}`"),
                hint: String::new(),
                bytes_up: 0,
                bytes_down: 0,
            },
        );
        Pending {
            log: self.clone(),
            number,
        }
    }

    /// Returns what the log holds now.
    pub(crate) fn snapshot(&self) -> ProxyLog {
        let entries = self.0.entries();
        let mut decisions: BTreeMap<u64, Decision> = entries.pending.clone();
        decisions.extend(entries.refused.clone());
        decisions.extend(
            entries
                .allowed
                .iter()
                .map(|(number, (decision, counters))| {
                    let mut decision = decision.clone();
                    decision.bytes_up = counters.up.load(Ordering::Relaxed);
                    decision.bytes_down = counters.down.load(Ordering::Relaxed);
                    (*number, decision)
                }),
        );
        ProxyLog {
            decisions: decisions.into_values().collect(),
            omitted_allowed: entries.omitted_allowed,
            omitted_refused: entries.omitted_refused,
            waits: self.0.waits.load(Ordering::Relaxed),
            bytes_up: self.0.total.up.load(Ordering::Relaxed),
            bytes_down: self.0.total.down.load(Ordering::Relaxed),
        }
    }
}

impl Shared {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn keep_refused(&mut self, number: u64, decision: Decision, capacity: usize) {
        if self.refused.len() < capacity {
            self.refused.insert(number, decision);
        } else {
            self.omitted_refused += 1;
        }
    }

    fn keep_allowed(&mut self, number: u64, decision: Decision, capacity: usize) -> Arc<Counters> {
        let counters = Arc::default();
        if self.allowed.len() < capacity {
            self.allowed
                .insert(number, (decision, Arc::clone(&counters)));
        } else {
            self.omitted_allowed += 1;
        }
        counters
    }
}

fn refused(at: SystemTime, destination: Option<&Destination>, refusal: &Refusal) -> Decision {
    let allowed = match refusal {
        Refusal::HostRejected(_)
        | Refusal::HostDenied { .. }
        | Refusal::AddressDenied { .. }
        | Refusal::RequestRejected(_) => false,
        Refusal::Unresolved { .. }
        | Refusal::ResolveExpired { .. }
        | Refusal::Unreachable { .. }
        | Refusal::ConnectExpired { .. } => true,
    };
    let host = match refusal {
        Refusal::HostRejected(rejected) => rejected.text(),
        Refusal::HostDenied { .. }
        | Refusal::AddressDenied { .. }
        | Refusal::RequestRejected(_)
        | Refusal::Unresolved { .. }
        | Refusal::ResolveExpired { .. }
        | Refusal::Unreachable { .. }
        | Refusal::ConnectExpired { .. } => destination.map(Destination::host).unwrap_or_default(),
    };
    Decision {
        at,
        host,
        port: destination.map_or(0, Destination::port),
        address: refusal.address(),
        allowed,
        kind: refusal.kind(),
        layer: refusal.layer(),
        why: refusal.to_string(),
        hint: refusal.hint(),
        bytes_up: 0,
        bytes_down: 0,
    }
}

/// A host that is being dialled. Dropped unsettled, as when the run ends, it stays pending.
#[derive(Debug)]
pub(crate) struct Pending {
    log: Log,
    number: u64,
}

impl Pending {
    /// Writes down that the host was reached.
    pub(crate) fn connected(self, address: IpAddr) -> Traffic {
        let shared = &self.log.0;
        let mut entries = shared.entries();
        let counters = match entries.pending.remove(&self.number) {
            Some(mut decision) => {
                decision.kind = "granted";
                decision.address = Some(address);
                entries.keep_allowed(self.number, decision, shared.capacity)
            }
            None => Arc::default(),
        };
        drop(entries);
        Traffic {
            log: self.log,
            counters,
        }
    }

    /// Writes down that the host was not reached.
    pub(crate) fn refused(self, destination: &Destination, refusal: &Refusal) {
        let shared = &self.log.0;
        let mut entries = shared.entries();
        let at = entries
            .pending
            .remove(&self.number)
            .map_or_else(SystemTime::now, |decision| decision.at);
        let decision = refused(at, Some(destination), refusal);
        entries.keep_refused(self.number, decision, shared.capacity);
    }
}

/// Counts the bytes of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    log: Log,
    counters: Arc<Counters>,
}

impl Traffic {
    /// Counts bytes that went to the host.
    pub(crate) fn up(&self, bytes: usize) {
        self.counters.up.fetch_add(bytes as u64, Ordering::Relaxed);
        self.log
            .0
            .total
            .up
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes that came from the host.
    pub(crate) fn down(&self, bytes: usize) {
        self.counters
            .down
            .fetch_add(bytes as u64, Ordering::Relaxed);
        self.log
            .0
            .total
            .down
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RequestRejected;

    #[test]
    fn a_flood_hides_no_refusal() {
        let log = Log::new(2);
        let asked: Destination = "a.example:443".parse().unwrap();
        for _ in 0..5 {
            let traffic = log.dial(&asked, "*:443").connected([8, 8, 8, 8].into());
            traffic.up(10);
            traffic.down(100);
        }
        log.refuse(None, &RequestRejected::malformed("no").into());
        let pending = log.dial(&asked, "*:443");
        let log = log.snapshot();
        let kinds: Vec<_> = log.decisions.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, ["granted", "granted", "request_rejected", "pending"]);
        assert_eq!((log.omitted_allowed, log.omitted_refused), (3, 0));
        assert_eq!((log.bytes_up, log.bytes_down), (50, 500));
        assert_eq!(
            (log.decisions[0].bytes_up, log.decisions[1].bytes_down),
            (10, 100)
        );
        assert_eq!(log.denials().count(), 1);
        drop(pending);
    }

    #[test]
    fn a_flood_of_refusals_is_counted_and_not_kept() {
        let log = Log::new(2);
        for _ in 0..1000 {
            log.refuse(None, &RequestRejected::malformed("no").into());
        }
        let log = log.snapshot();
        assert_eq!((log.decisions.len(), log.omitted_refused), (2, 998));
    }
}
