//! The limits that the kernel keeps per process, and what each is for.

use bailiwick_policy::RunLimits;
use rustix::process::{Resource, getrlimit};

use crate::plan::Limit;

/// What else counts memory and processes, and so what the per-process limits are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    /// A control group bounds the memory of the whole tree.
    pub(crate) memory: bool,
    /// A control group bounds the number of processes of the whole tree.
    pub(crate) processes: bool,
    /// Who the kernel counts processes for.
    pub(crate) user: Counted,
}

/// Whom `RLIMIT_NPROC` counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    /// A uid that only this run has.
    RunUid,
    /// The run's own user namespace, init included.
    UserNamespace,
    /// A uid that has other processes, of which the limit would count every one.
    SharedUid,
}

/// Returns the resource limits of a run.
///
/// The limit on data is only a fallback: it bounds one process, where a control group bounds the
/// tree. The limit on address space is not used, since it keeps node and the Java machine from
/// starting at all.
pub(crate) fn resource_limits(limits: &RunLimits, counting: Counting) -> Vec<Limit> {
    let cpu = limits.cpu().as_secs() + u64::from(limits.cpu().subsec_nanos() > 0);
    let mut table = vec![
        // At the first second past the limit the program is told, at the next it is killed.
        (Resource::Cpu, cpu.max(1), cpu.max(1) + 1),
        (Resource::Fsize, limits.file_size(), limits.file_size()),
        (Resource::Core, 0, 0),
        (
            Resource::Nofile,
            limits.files().into(),
            limits.files().into(),
        ),
        (Resource::Memlock, LOCKED_BYTES, LOCKED_BYTES),
        (Resource::Sigpending, QUEUED_SIGNALS, QUEUED_SIGNALS),
        (Resource::Msgqueue, 0, 0),
        (Resource::Nice, 0, 0),
        (Resource::Rtprio, 0, 0),
    ];
    if !counting.memory {
        table.push((Resource::Data, limits.memory(), limits.memory()));
    }
    // Where a control group counts too, it is to be the one that refuses, because it says so.
    let spare = if counting.processes { 16 } else { 0 };
    let processes = u64::from(limits.processes()) + spare;
    match counting.user {
        Counted::RunUid => table.push((Resource::Nproc, processes, processes)),
        Counted::UserNamespace => table.push((Resource::Nproc, processes + 1, processes + 1)),
        Counted::SharedUid => {}
    }
    table
        .into_iter()
        .map(|(resource, soft, hard)| clamp(resource, soft, hard))
        .collect()
}

/// Returns the size and the inodes of a run's scratch: one page and one inode above the limits. What
/// is full to this ceiling has passed its limit, and what is full to the limit has not.
pub(crate) fn scratch_ceilings(limits: &RunLimits) -> (u64, u64) {
    let page = rustix::param::page_size() as u64;
    let pages = limits.workspace().div_ceil(page).saturating_add(1);
    (
        pages.saturating_mul(page),
        limits.inodes().saturating_add(1),
    )
}

/// A process without privileges cannot raise its own ceiling, so the host's holds too.
fn clamp(resource: Resource, soft: u64, hard: u64) -> Limit {
    let ceiling = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    Limit {
        resource: resource as u32,
        soft: soft.min(ceiling),
        hard: hard.min(ceiling),
    }
}

/// What glibc and language runtimes lock is keys and short buffers.
const LOCKED_BYTES: u64 = 64 << 10;
/// Far beyond what a program with a few timers queues.
const QUEUED_SIGNALS: u64 = 1024;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn find(limits: &[Limit], resource: Resource) -> Option<u64> {
        limits
            .iter()
            .find(|limit| limit.resource == resource as u32)
            .map(|limit| limit.soft)
    }

    #[test]
    fn data_is_limited_only_where_no_group_counts_memory() {
        let limits = RunLimits::default();
        let group = Counting {
            memory: true,
            processes: true,
            user: Counted::RunUid,
        };
        let none = Counting {
            memory: false,
            processes: false,
            user: Counted::UserNamespace,
        };
        assert_eq!(find(&resource_limits(&limits, group), Resource::Data), None);
        let data = find(&resource_limits(&limits, none), Resource::Data);
        assert!(data.is_some_and(|data| data <= limits.memory()));
    }

    #[test]
    fn a_shared_uid_is_not_counted() {
        let shared = Counting {
            memory: true,
            processes: false,
            user: Counted::SharedUid,
        };
        let limits = resource_limits(&RunLimits::default(), shared);
        assert_eq!(find(&limits, Resource::Nproc), None);
    }

    #[test]
    fn a_scratch_that_is_full_has_passed_its_limits() {
        let limits = RunLimits::default().with_workspace(1).with_inodes(7);
        let page = rustix::param::page_size() as u64;
        assert_eq!(scratch_ceilings(&limits), (2 * page, 8));
        let most = limits.with_workspace(u64::MAX).with_inodes(u64::MAX);
        assert_eq!(scratch_ceilings(&most), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_fraction_of_a_second_rounds_up() {
        let limits = RunLimits::default().with_cpu(Duration::from_millis(1500));
        let shared = Counting {
            memory: true,
            processes: true,
            user: Counted::RunUid,
        };
        assert_eq!(
            find(&resource_limits(&limits, shared), Resource::Cpu),
            Some(2)
        );
    }
}
