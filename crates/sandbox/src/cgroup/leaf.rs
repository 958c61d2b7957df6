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
use rustix::io::Errno;

use super::{Service, Version, open, put};

/// A run's leaf in every hierarchy. Dropping it removes it, unless it was [recycled](Self::recycle).
#[derive(Debug)]
pub(crate) struct Leaf {
    group: Option<Group>,
    pool: Arc<Pool>,
    /// What had been refused before this run.
    before: Refusals,
    /// The time that had been used before this run.
    used: Duration,
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
            used: group.time().unwrap_or_default(),
            group: Some(group),
            pool: Arc::clone(pool),
        }
    }

    /// The files through which the launcher joins.
    pub(crate) fn members(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.group.iter().flat_map(Group::members)
    }

    /// Kills everything in the leaf, atomically. False when the machine cannot.
    pub(crate) fn kill(&self) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| group.kill().is_ok())
    }

    /// Reads what this run was refused so far.
    pub(crate) fn refusals(&self) -> Refusals {
        let now = self.group.as_ref().map(Group::refusals).unwrap_or_default();
        Refusals {
            processes: now.processes.saturating_sub(self.before.processes),
            memory: now.memory.saturating_sub(self.before.memory),
        }
    }

    /// Reads the processor time that this run has used, its dead processes included. `None` where
    /// nothing counts it.
    pub(crate) fn time(&self) -> Option<Duration> {
        let time = self.group.as_ref()?.time()?;
        Some(time.saturating_sub(self.used))
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
    time: Option<Clock>,
}

/// What counts processor time.
#[derive(Debug)]
struct Clock {
    file: File,
    version: Version,
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
    /// Makes a directory, and opens the file that the launcher writes itself into. With `tasks`,
    /// where there is such a file, a process that joins alone need not wait for every fork of the
    /// machine.
    pub(super) fn add(&mut self, directory: PathBuf, version: Version) -> io::Result<PathBuf> {
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        let join = match version {
            Version::One => "tasks",
            Version::Two => "cgroup.procs",
        };
        self.members.push(open(&directory.join(join))?.into());
        Ok(directory)
    }

    /// A group that is joined through a file of any kind.
    #[cfg(test)]
    pub(super) fn joined_through(file: File) -> Self {
        let mut group = Self::default();
        group.members.push(file.into());
        group
    }

    /// Opens what one service needs in a directory that was added.
    pub(super) fn serve(
        &mut self,
        directory: &Path,
        version: Version,
        service: Service,
    ) -> io::Result<()> {
        match (service, version) {
            (Service::Processes, _) => self.processes = Some(Counter::of_pids(directory)?),
            (Service::Memory, Version::One) => {
                self.memory = Some(Counter::of_memory(directory)?);
            }
            (Service::Memory, Version::Two) => {
                self.memory = Some(Counter::of_unified_memory(directory)?);
            }
            (Service::Time, _) => self.time = Some(Clock::open(directory, version)?),
            (Service::Kill, _) => self.kill = Some(open(&directory.join("cgroup.kill"))?),
        }
        Ok(())
    }

    /// Tries a service on a leaf that holds nothing.
    pub(super) fn try_service(&self, service: Service) -> io::Result<()> {
        let reads = |counter: &Option<Counter>| counter.as_ref().and_then(Counter::usage).is_some();
        let works = match service {
            Service::Processes => reads(&self.processes),
            Service::Memory => reads(&self.memory),
            Service::Time => self.time().is_some(),
            Service::Kill => return self.kill(),
        };
        if works {
            return Ok(());
        }
        Err(Errno::NODATA.into())
    }

    fn kill(&self) -> io::Result<()> {
        let mut kill = self.kill.as_ref().ok_or(Errno::NODATA)?;
        kill.write_all(b"1")
    }

    /// Does without a service.
    pub(super) fn without(&mut self, service: Service) {
        match service {
            Service::Processes => self.processes = None,
            Service::Memory => self.memory = None,
            Service::Time => self.time = None,
            Service::Kill => self.kill = None,
        }
    }

    /// The files through which a process joins.
    pub(super) fn members(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.members.iter().map(AsFd::as_fd)
    }

    fn time(&self) -> Option<Duration> {
        self.time.as_ref()?.read()
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
    pub(super) fn limit(&mut self, limits: &RunLimits) -> io::Result<()> {
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

    fn of_memory(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            ceilings: Ceilings::Pair(
                directory.join("memory.limit_in_bytes"),
                directory.join("memory.memsw.limit_in_bytes"),
            ),
            set: None,
            usage: File::open(directory.join("memory.usage_in_bytes"))?,
            events: File::open(directory.join("memory.oom_control"))?,
            key: "oom_kill",
        })
    }

    fn of_unified_memory(directory: &Path) -> io::Result<Self> {
        // Without swap accounting there is no such file, and nothing to limit.
        let _ = put(&directory.join("memory.swap.max"), "0");
        // A run that lacks memory ends as a whole, and not one process of it that the kernel picks.
        // Before Linux 4.19 there is no such file, and the kernel picks the largest.
        let _ = put(&directory.join("memory.oom.group"), "1");
        Ok(Self {
            ceilings: Ceilings::One(directory.join("memory.max")),
            set: None,
            usage: File::open(directory.join("memory.current"))?,
            events: File::open(directory.join("memory.events"))?,
            key: "oom_kill",
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

impl Clock {
    fn open(directory: &Path, version: Version) -> io::Result<Self> {
        let name = match version {
            Version::One => "cpuacct.usage",
            Version::Two => "cpu.stat",
        };
        let file = File::open(directory.join(name))?;
        Ok(Self { file, version })
    }

    fn read(&self) -> Option<Duration> {
        let text = again(&self.file)?;
        match self.version {
            Version::One => text.trim().parse().ok().map(Duration::from_nanos),
            Version::Two => find(&text, "usage_usec").map(Duration::from_micros),
        }
    }
}

/// Reads a file of the kernel's from its start.
fn again(file: &File) -> Option<String> {
    let mut bytes = [0; 1024];
    let length = rustix::io::pread(file, &mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(bytes.get(..length)?).into_owned())
}

/// Reads the number behind a key in a file of lines; none is zero.
fn value(text: &str, key: &str) -> u64 {
    find(text, key).unwrap_or(0)
}

fn find(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, number)| number.trim().parse().ok())
}

/// The most leaves that wait for a run. Each holds up to eight descriptors.
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

    #[test]
    fn reads_time_in_the_unit_of_either_version() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            File::create(path).and_then(|mut file| file.write_all(text.as_bytes()))
        };
        write("cpuacct.usage", "1500000000\n").expect("a file");
        write("cpu.stat", "usage_usec 2500000\nuser_usec 1\n").expect("a file");
        let read = |version| Clock::open(folder.path(), version).expect("a clock").read();
        assert_eq!(read(Version::One), Some(Duration::from_millis(1500)));
        assert_eq!(read(Version::Two), Some(Duration::from_millis(2500)));
    }
}
