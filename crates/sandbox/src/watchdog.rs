//! The host's own eye on a run's processes, where no control group counts them.
//!
//! Weak by nature: it samples, so a burst between two looks is missed. The hard ceilings are those
//! of the kernel, per process; what is read here is the observation that a limit was reached.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A look at a tree of processes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Sample {
    /// Processes and threads beneath init.
    pub(crate) processes: u64,
    /// Their memory in bytes.
    pub(crate) memory: u64,
    /// Their processor time and that of the dead that somebody awaited, init among them.
    pub(crate) time: Duration,
}

impl Sample {
    /// Returns the larger of each.
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            processes: self.processes.max(other.processes),
            memory: self.memory.max(other.memory),
            time: self.time.max(other.time),
        }
    }
}

/// What the host counts itself, since no control group does.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Watched {
    pub(crate) processes: bool,
    pub(crate) memory: bool,
    pub(crate) time: bool,
}

impl Watched {
    /// Says whether there is anything to look at.
    pub(crate) const fn any(self) -> bool {
        self.processes || self.memory || self.time
    }
}

/// Looks at everything beneath one process.
#[derive(Debug)]
pub(crate) struct Watchdog {
    init: Option<u32>,
}

impl Watchdog {
    /// Watches what is beneath the process that a descriptor names.
    pub(crate) fn new(init: impl AsFd) -> Self {
        let information = format!("/proc/self/fdinfo/{}", init.as_fd().as_raw_fd());
        let init = read(&information).and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
            line.trim().parse().ok().filter(|pid| *pid > 0)
        });
        Self { init }
    }

    /// Looks once.
    ///
    /// The sum of what is resident is cheap, and counts a page once for each process that shares
    /// it. Where that sum reaches `doubtful` bytes, each page is counted once.
    pub(crate) fn look(&self, doubtful: u64) -> Sample {
        let tree = self.tree();
        let mut memory: u64 = tree.iter().map(|process| process.resident).sum();
        // A fork between two readings makes pages count twice, and so does the moment in which
        // `vfork` lends all of its memory to a child: a later pass may acquit.
        for pass in 0..PASSES {
            if memory < doubtful {
                break;
            }
            std::thread::sleep(PAUSE * pass);
            memory = memory.min(tree.iter().map(Process::share).sum());
        }
        let init = self.init.and_then(Process::read_by);
        let ticks = init.iter().chain(&tree).map(|process| process.ticks).sum();
        Sample {
            processes: tree.iter().map(|process| process.threads).sum(),
            memory,
            time: duration(ticks),
        }
    }

    /// Lists what is beneath init, whichever thread forked it.
    fn tree(&self) -> Vec<Process> {
        let mut tree = Vec::new();
        let mut pending: Vec<_> = self.init.into_iter().collect();
        // Processes may come and go meanwhile; the bound keeps a bomb from holding the host here.
        let mut looks = MOST;
        while let Some(pid) = pending.pop() {
            if Some(pid) != self.init {
                tree.extend(Process::read(pid));
            }
            for thread in threads(pid) {
                if looks == 0 {
                    return tree;
                }
                looks -= 1;
                pending.extend(children(pid, thread));
            }
        }
        tree
    }
}

/// One process of a run, as it was when it was looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Process {
    /// Its first thread, or one that lives on where the first has ended and shows no memory.
    thread: u32,
    threads: u64,
    /// Resident bytes, shared or not.
    resident: u64,
    /// Its time and that of the children that it awaited. Who ignores the end of its children
    /// never awaits them, and what they used is lost.
    ticks: u64,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let first = Self::read_by(pid)?;
        if first.resident > 0 {
            return Some(first);
        }
        let mut others = threads(pid).filter_map(Self::read_by);
        Some(others.find(|other| other.resident > 0).unwrap_or(first))
    }

    fn read_by(thread: u32) -> Option<Self> {
        let stat = parse_stat(&read(&format!("/proc/{thread}/stat"))?)?;
        Some(Self {
            thread,
            threads: stat.threads,
            resident: (stat.pages).saturating_mul(rustix::param::page_size() as u64),
            ticks: stat.ticks,
        })
    }

    /// Its share in bytes of what is resident, by which processes that share a page add up to it.
    ///
    /// The kernel does not tell it of a program that its user may not read: all counts then.
    fn share(&self) -> u64 {
        let told = read(&format!("/proc/{}/smaps_rollup", self.thread));
        told.as_deref()
            .and_then(parse_share)
            .or_else(|| Self::read(self.thread).map(|process| process.resident))
            .unwrap_or(0)
    }
}

fn threads(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    tasks
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The processes that one thread forked.
fn children(pid: u32, thread: u32) -> Vec<u32> {
    let text = read(&format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The proportional set size of `proc_pid_smaps_rollup(5)`, in bytes.
fn parse_share(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What is read of `proc_pid_stat(5)`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stat {
    threads: u64,
    pages: u64,
    ticks: u64,
}

/// The fields 14 to 17 are the times, 20 is the number of threads, 24 the resident pages. The name
/// before them is the program's own and may hold anything but ends at the last bracket.
fn parse_stat(stat: &str) -> Option<Stat> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = 0_u64;
    for _ in 0..4 {
        ticks = ticks.saturating_add(fields.next()?.parse().ok()?);
    }
    let threads = fields.nth(2)?.parse().ok()?;
    let pages = fields.nth(3)?.parse().ok()?;
    Some(Stat {
        threads,
        pages,
        ticks,
    })
}

fn duration(ticks: u64) -> Duration {
    let second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks.saturating_mul(1000) / second)
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
/// When the host looks first: later than the end of most runs. Each further look comes twice as late
/// until the interval is reached.
pub(crate) const FIRST: Duration = Duration::from_millis(10);
/// Threads that one look visits at most.
const MOST: u32 = 4096;
/// How often shared pages are counted before a run is found guilty.
const PASSES: u32 = 6;
/// What each pass waits longer than the one before it, so that they do not fall into one moment.
const PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_time_threads_and_pages_past_a_hostile_name() {
        let stat = "7 (a) R 1 1) S 1 7 7 0 -1 4194304 1 0 0 0 2 3 0 0 20 0 5 0 100 4096 321 18446";
        let read = Stat {
            threads: 5,
            pages: 321,
            ticks: 5,
        };
        assert_eq!(parse_stat(stat), Some(read));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    #[test]
    fn reads_the_share_and_not_what_it_is_made_of() {
        let rollup = "55d0-7ffe ---p 00000000 00:00 0   [rollup]\n\
                      Rss:                9000 kB\n\
                      Pss:                 321 kB\n\
                      Pss_Dirty:           100 kB\n";
        assert_eq!(parse_share(rollup), Some(321 << 10));
        assert_eq!(parse_share("Pss_Anon: 1 kB\n"), None);
    }
}
