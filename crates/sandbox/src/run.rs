//! The processes of a run, their end, and what is kept from reuse until it is confirmed.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use crate::cgroup::{Leaf, Refusals};
use crate::launch::{Launched, timespec};
use crate::scratch::{self, Full};
use crate::uid::UidLease;

/// The processes of a run and what belongs to them. Dropping it kills them.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) launched: Option<Launched>,
    pub(crate) init: OwnedFd,
    pub(crate) out: Option<OwnedFd>,
    pub(crate) leaf: Option<Leaf>,
    pub(crate) lease: Option<UidLease>,
    pub(crate) namespaced: bool,
    pub(crate) over: bool,
}

impl Run {
    /// Kills everything: the kernel kills every process of a namespace with its init.
    pub(crate) fn kill(&self) {
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
    }

    /// Kills everything by its control group, where there is one: atomic, whatever forks meanwhile.
    pub(crate) fn kill_group(&self) -> bool {
        self.leaf.as_ref().is_some_and(Leaf::kill)
    }

    pub(crate) fn refusals(&self) -> Refusals {
        self.leaf.as_ref().map(Leaf::refusals).unwrap_or_default()
    }

    /// The processor time of the run, where a group counts it.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.leaf.as_ref()?.time()
    }

    /// What the scratch has run out of.
    pub(crate) fn full(&self) -> Full {
        self.out.as_ref().map(Full::look).unwrap_or_default()
    }

    /// Says whether a file in the scratch is as large as one may be.
    pub(crate) fn holds_file_of(&self, size: u64) -> bool {
        let mut out = self.out.iter();
        out.any(|out| scratch::holds_file_of(out, size))
    }

    /// Lets go of what a finished run used. What is not confirmed to be gone keeps its uid and its
    /// group from reuse, and is awaited on a thread of its own.
    pub(crate) fn release(&mut self, confirmed: bool) {
        self.over = true;
        let (launched, leaf, lease) = (self.launched.take(), self.leaf.take(), self.lease.take());
        if confirmed {
            drop(launched);
            if let Some(leaf) = leaf {
                leaf.recycle();
            }
            drop(lease);
            return;
        }
        if let Some(lease) = lease {
            lease.quarantine();
        }
        let remains = move || {
            drop(launched);
            drop(leaf);
        };
        // Without a thread to wait on, the closure is dropped here, and the wait is now.
        let _ = thread::Builder::new()
            .name("bailiwick-remains".to_owned())
            .spawn(remains);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.kill_group();
        self.kill();
        let confirmed = await_end(&self.init, CONFIRM);
        self.release(confirmed);
    }
}

/// Waits until a process has ended.
fn await_end(process: &OwnedFd, most: Duration) -> bool {
    let deadline = Instant::now() + most;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut polled = [PollFd::new(process, PollFlags::IN)];
        match poll(&mut polled, Some(&timespec(left))) {
            Err(Errno::INTR) => {}
            Ok(0) | Err(_) => return false,
            Ok(_) => return true,
        }
    }
}

/// How long the end may take to be confirmed.
pub(crate) const CONFIRM: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustix::process::{PidfdFlags, getpid, pidfd_open};

    use super::*;
    use crate::cgroup::Cgroups;
    use crate::uid::UidPool;

    /// A run whose init is this very process, which does not end.
    fn endless(uids: &Arc<UidPool>) -> Run {
        let leaf = Cgroups::default().leaf(&bailiwick_policy::RunLimits::default());
        Run {
            launched: None,
            init: pidfd_open(getpid(), PidfdFlags::empty()).expect("a descriptor"),
            out: None,
            leaf: Some(leaf.expect("a leaf of no place")),
            lease: Some(uids.lease().expect("a uid")),
            namespaced: true,
            over: false,
        }
    }

    #[test]
    fn what_is_not_confirmed_to_be_over_keeps_its_uid_for_ever() {
        let state = tempfile::tempdir().expect("a folder");
        let range = 2_000_000_000..2_000_000_256;
        let uids = Arc::new(UidPool::reserve(state.path(), &range).expect("a block"));
        let mut over = endless(&uids);
        over.release(true);
        drop(over);
        assert_eq!(uids.in_use(), 0);
        let mut endless = endless(&uids);
        assert!(!await_end(&endless.init, Duration::from_millis(1)));
        let kept = endless.lease.as_ref().map(UidLease::uid);
        endless.release(false);
        drop(endless);
        assert_eq!(uids.in_use(), 1);
        assert_ne!(uids.lease().map(|lease| lease.uid()).ok(), kept);
    }
}
