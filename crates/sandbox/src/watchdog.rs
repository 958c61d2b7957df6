//! The host's own eye on a run's processes, where no control group counts them.
//!
//! Weak by nature: it samples, so a burst between two looks is missed. The hard ceilings are those
//! of the kernel, per process; what is read here is the observation that a limit was reached.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A look at a tree of processes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Sample {
    /// Processes and threads beneath init.
    pub(crate) processes: u64,
    /// Their resident memory in bytes.
    pub(crate) memory: u64,
}

/// Looks at everything beneath one process.
#[derive(Debug)]
pub(crate) struct Watchdog {
    init: Option<u32>,
    page: u64,
}

impl Watchdog {
    /// Watches what is beneath the process that a descriptor names.
    pub(crate) fn new(init: impl AsFd) -> Self {
        let information = format!("/proc/self/fdinfo/{}", init.as_fd().as_raw_fd());
        let pid = read(&information).and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
            line.trim().parse().ok().filter(|pid| *pid > 0)
        });
        Self {
            init: pid,
            page: rustix::param::page_size() as u64,
        }
    }

    /// Looks once.
    pub(crate) fn look(&self) -> Sample {
        let mut sample = Sample::default();
        let mut pending = Vec::new();
        if let Some(init) = self.init {
            pending.extend(children(init));
        }
        // Processes may come and go meanwhile; the bound keeps a bomb from holding the host here.
        for _ in 0..MOST {
            let Some(pid) = pending.pop() else { break };
            let Some((threads, pages)) = usage(pid) else {
                continue;
            };
            sample.processes += threads;
            sample.memory += pages * self.page;
            pending.extend(children(pid));
        }
        sample
    }
}

/// The children of every thread would be more exact; those of the main thread are what programs
/// that fork have, and what a thread forks is counted when its parent is gone.
fn children(pid: u32) -> Vec<u32> {
    let text = read(&format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Threads and resident pages.
fn usage(pid: u32) -> Option<(u64, u64)> {
    parse_stat(&read(&format!("/proc/{pid}/stat"))?)
}

/// The fields are those of `proc_pid_stat(5)`: 20 is the number of threads, 24 the resident pages.
/// The name before them is the program's own and may hold anything but ends at the last bracket.
fn parse_stat(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(17);
    let threads = fields.next()?.parse().ok()?;
    let pages = fields.nth(3)?.parse().ok()?;
    Some((threads, pages))
}

fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path)
        .ok()?
        .take(64 << 10)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// How often the host looks: often enough to see a bomb that holds its ceiling, rarely enough not
/// to matter.
pub(crate) const INTERVAL: Duration = Duration::from_millis(40);
const MOST: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_threads_and_pages_past_a_hostile_name() {
        let stat = "7 (a) R 1 1) S 1 7 7 0 -1 4194304 1 0 0 0 2 3 0 0 20 0 5 0 100 4096 321 18446";
        assert_eq!(parse_stat(stat), Some((5, 321)));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }
}
