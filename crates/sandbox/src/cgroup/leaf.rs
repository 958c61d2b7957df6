//! A run's leaf, and the pool of leaves that runs have done with.
//!
//! To make and remove a group costs more than a tenth of a whole run, so a leaf is used again:
//! only when it is empty and holds next to no memory, and with what it counted before set aside.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bailiwick_policy::RunLimits;

use super::{open, put};

/// A run's leaf in every hierarchy. Dropping it removes it, unless it was [recycled](Self::recycle).
#[derive(Debug)]
pub(crate) struct Leaf {
    group: Option<Group>,
    pool: Arc<Pool>,
    /// What had been refused before this run.
    before: Refusals,
}

/// What the kernel refused a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Refusals {
    /// How often a process could not be started.
    pub(crate) processes: u64,
    /// How often a process was killed for want of memory.
    pub(crate) memory: u64,
}

impl Leaf {
    /// Takes a leaf from the pool, or makes one.
    pub(super) fn take(
        pool: &Arc<Pool>,
        limits: &RunLimits,
        make: impl FnOnce() -> io::Result<Group>,
    ) -> io::Result<Self> {
        while let Some(mut group) = pool.take() {
            // One that still holds something is removed instead.
            if group.is_clean(limits) && group.limit(limits).is_ok() {
                return Ok(Self::new(group, pool));
            }
        }
        let mut group = make()?;
        group.limit(limits)?;
        Ok(Self::new(group, pool))
    }

    fn new(group: Group, pool: &Arc<Pool>) -> Self {
        Self {
            before: group.refusals(),
            group: Some(group),
            pool: Arc::clone(pool),
        }
    }

    /// The files through which the launcher joins.
    pub(crate) fn members(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let groups = self.group.iter();
        groups.flat_map(|group| group.members.iter().map(AsFd::as_fd))
    }

    /// Kills everything in the leaf, atomically. False when the machine cannot.
    pub(crate) fn kill(&self) -> bool {
        let kill = self.group.as_ref().and_then(|group| group.kill.as_ref());
        kill.is_some_and(|mut kill| kill.write_all(b"1").is_ok())
    }

    /// Reads what this run was refused so far.
    pub(crate) fn refusals(&self) -> Refusals {
        let now = self.group.as_ref().map(Group::refusals).unwrap_or_default();
        Refusals {
            processes: now.processes.saturating_sub(self.before.processes),
            memory: now.memory.saturating_sub(self.before.memory),
        }
    }

    /// Gives the leaf of a run that is confirmed to be over to a later run.
    pub(crate) fn recycle(mut self) {
        if let Some(group) = self.group.take() {
            self.pool.give(group);
        }
    }
}

/// Leaves that no run has now. They are removed with the pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    groups: Mutex<Vec<Group>>,
}

impl Pool {
    fn take(&self) -> Option<Group> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.pop()
    }

    fn give(&self, group: Group) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if groups.len() < POOLED && !group.directories.is_empty() {
            groups.push(group);
            return;
        }
        drop(groups);
        drop(group);
    }
}

/// One directory in each hierarchy, with the files that every run needs held open.
#[derive(Debug, Default)]
pub(super) struct Group {
    directories: Vec<PathBuf>,
    members: Vec<OwnedFd>,
    kill: Option<File>,
    processes: Option<Counter>,
    memory: Option<Counter>,
}

/// A limit and what the kernel says about it.
#[derive(Debug)]
struct Counter {
    ceilings: Ceilings,
    set: Option<u64>,
    /// How much is in use.
    usage: File,
    /// How often more was refused.
    events: File,
    key: &'static str,
}

/// The files that a limit is written to.
#[derive(Debug)]
enum Ceilings {
    One(PathBuf),
    /// Memory, and memory with swap, which is never the smaller of the two.
    Pair(PathBuf, PathBuf),
}

impl Group {
    /// Adds a directory of version 2.
    pub(super) fn add_unified(
        &mut self,
        directory: PathBuf,
        pids: bool,
        memory: bool,
        kill: bool,
    ) -> io::Result<()> {
        let directory = self.add(directory, "cgroup.procs")?;
        if pids {
            self.processes = Some(Counter::of_pids(&directory)?);
        }
        if memory {
            // Without swap accounting there is no such file, and nothing to limit.
            let _ = put(&directory.join("memory.swap.max"), "0");
            self.memory = Some(Counter {
                ceilings: Ceilings::One(directory.join("memory.max")),
                set: None,
                usage: File::open(directory.join("memory.current"))?,
                events: File::open(directory.join("memory.events"))?,
                key: "oom_kill",
            });
        }
        if kill {
            self.kill = Some(open(&directory.join("cgroup.kill"))?);
        }
        Ok(())
    }

    /// Adds a directory of version 1 that counts processes.
    pub(super) fn add_pids(&mut self, directory: PathBuf) -> io::Result<()> {
        let directory = self.add(directory, "tasks")?;
        self.processes = Some(Counter::of_pids(&directory)?);
        Ok(())
    }

    /// Adds a directory of version 1 that counts memory.
    pub(super) fn add_memory(&mut self, directory: PathBuf) -> io::Result<()> {
        let directory = self.add(directory, "tasks")?;
        self.memory = Some(Counter {
            ceilings: Ceilings::Pair(
                directory.join("memory.limit_in_bytes"),
                directory.join("memory.memsw.limit_in_bytes"),
            ),
            set: None,
            usage: File::open(directory.join("memory.usage_in_bytes"))?,
            events: File::open(directory.join("memory.oom_control"))?,
            key: "oom_kill",
        });
        Ok(())
    }

    /// Makes a directory, and opens the file that the launcher writes itself into. With `tasks`,
    /// where there is such a file, a process that joins alone need not wait for every fork of the
    /// machine.
    fn add(&mut self, directory: PathBuf, join: &str) -> io::Result<PathBuf> {
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        self.members.push(open(&directory.join(join))?.into());
        Ok(directory)
    }

    /// Says whether nothing of an earlier run is left that the next would pay for.
    fn is_clean(&self, limits: &RunLimits) -> bool {
        let usage = |counter: &Option<Counter>| match counter {
            Some(counter) => counter.usage(),
            None => Some(0),
        };
        let is_empty = match usage(&self.processes) {
            Some(processes) => processes == 0,
            None => false,
        };
        let residue = limits.memory() / RESIDUE;
        is_empty && usage(&self.memory).is_some_and(|memory| memory <= residue)
    }

    /// Sets the limits of the next run, where they differ from those of the last.
    fn limit(&mut self, limits: &RunLimits) -> io::Result<()> {
        // The launcher and init are ours and not counted against the run.
        let processes = u64::from(limits.processes()) + 2;
        if let Some(counter) = &mut self.processes {
            counter.set(processes)?;
        }
        if let Some(counter) = &mut self.memory {
            counter.set(limits.memory())?;
        }
        Ok(())
    }

    fn refusals(&self) -> Refusals {
        let count = |counter: &Option<Counter>| counter.as_ref().map_or(0, Counter::refused);
        Refusals {
            processes: count(&self.processes),
            memory: count(&self.memory),
        }
    }
}

impl Drop for Group {
    /// The last process may take a moment to leave the group, so removal is tried for a while; what
    /// is left is swept when a later host starts.
    fn drop(&mut self) {
        self.members.clear();
        let mut wait = Duration::from_micros(200);
        for directory in &self.directories {
            for _ in 0..REMOVALS {
                match fs::remove_dir(directory) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        thread::sleep(wait);
                        wait = (wait * 2).min(Duration::from_millis(20));
                    }
                    Ok(()) | Err(_) => break,
                }
            }
        }
    }
}

impl Counter {
    fn of_pids(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            ceilings: Ceilings::One(directory.join("pids.max")),
            set: None,
            usage: File::open(directory.join("pids.current"))?,
            events: File::open(directory.join("pids.events"))?,
            key: "max",
        })
    }

    fn set(&mut self, ceiling: u64) -> io::Result<()> {
        if self.set == Some(ceiling) {
            return Ok(());
        }
        let text = ceiling.to_string();
        match &self.ceilings {
            Ceilings::One(file) => put(file, &text)?,
            Ceilings::Pair(memory, with_swap) => {
                // Without swap accounting there is no such file, and nothing to limit.
                let _ = put(with_swap, "-1");
                put(memory, &text)?;
                let _ = put(with_swap, &text);
            }
        }
        self.set = Some(ceiling);
        Ok(())
    }

    fn usage(&self) -> Option<u64> {
        again(&self.usage)?.trim().parse().ok()
    }

    fn refused(&self) -> u64 {
        again(&self.events).map_or(0, |text| value(&text, self.key))
    }
}

/// Reads a file of the kernel's from its start.
fn again(file: &File) -> Option<String> {
    let mut bytes = [0; 1024];
    let length = rustix::io::pread(file, &mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(bytes.get(..length)?).into_owned())
}

/// Reads the number behind a key in a file of lines.
fn value(text: &str, key: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, number)| number.trim().parse().ok())
        .unwrap_or(0)
}

/// The most leaves that wait for a run. Each holds up to six descriptors.
const POOLED: usize = 16;
/// The part of a run's memory that its leaf may hold before it: a thirty-second. The kernel charges
/// in batches and gives back late, a MiB or two after a run of some processes.
const RESIDUE: u64 = 32;
/// Together about a second.
const REMOVALS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_counters_by_their_whole_key() {
        let text = "low 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n";
        assert_eq!(value(text, "oom_kill"), 4);
        assert_eq!(value(text, "oo"), 0);
    }
}
