//! Control groups: the handle that kills a run as a whole, and the counters that limit it.
//!
//! A run's leaf lies beneath the group that the host is in, so that a limit on the host holds for
//! its runs too, or beneath a parent that the operator names. The host itself is never moved.
//! Version 2 is used for whatever its controllers are delegated for; on machines that run both
//! versions, version 1 counts memory and processes and version 2, even without a controller, kills.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bailiwick_policy::RunLimits;
use rustix::fs::statfs;

use crate::error::SandboxError;

/// The groups in which runs get leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cgroups {
    unified: Option<Unified>,
    pids: Option<PathBuf>,
    memory: Option<PathBuf>,
}

/// A group of version 2.
#[derive(Clone, Debug)]
struct Unified {
    directory: PathBuf,
    pids: bool,
    memory: bool,
    kill: bool,
}

impl Cgroups {
    /// Finds the groups that this process may make leaves in.
    pub(crate) fn detect(parent: Option<&Path>) -> Self {
        let mut groups = match parent {
            Some(parent) => Self {
                unified: Unified::given(parent),
                ..Self::default()
            },
            None => Self::own(),
        };
        groups.sweep();
        if groups.try_leaf().is_err() {
            groups = Self::default();
        }
        groups
    }

    /// Says whether a run can be killed as a whole by its group.
    pub(crate) fn kills(&self) -> bool {
        self.unified.as_ref().is_some_and(|unified| unified.kill)
    }

    /// Says whether memory is counted.
    pub(crate) fn counts_memory(&self) -> bool {
        self.memory.is_some() || self.unified.as_ref().is_some_and(|unified| unified.memory)
    }

    /// Says whether processes are counted.
    pub(crate) fn counts_processes(&self) -> bool {
        self.pids.is_some() || self.unified.as_ref().is_some_and(|unified| unified.pids)
    }

    /// Leaves some of this out, as if the machine did not have it.
    pub(crate) fn without(mut self, kill: bool, memory: bool, processes: bool) -> Self {
        if memory {
            self.memory = None;
        }
        if processes {
            self.pids = None;
        }
        if let Some(unified) = &mut self.unified {
            unified.kill &= !kill;
            unified.memory &= !memory;
            unified.pids &= !processes;
        }
        self
    }

    /// Makes a run's leaf, with its limits set before anything joins it.
    pub(crate) fn leaf(&self, run: &str, limits: &RunLimits) -> Result<Leaf, SandboxError> {
        self.make(run, limits)
            .map_err(|source| SandboxError::host("make the run's control group", source))
    }

    fn own() -> Self {
        let Ok(membership) = read("/proc/self/cgroup") else {
            return Self::default();
        };
        let Ok(mounts) = read("/proc/self/mountinfo") else {
            return Self::default();
        };
        let group = |controller: &str| own_group(&membership, &mounts, controller);
        Self {
            unified: group("").and_then(|directory| Unified::own(&directory)),
            pids: group("pids"),
            memory: group("memory"),
        }
    }

    fn make(&self, run: &str, limits: &RunLimits) -> io::Result<Leaf> {
        let name = format!("{PREFIX}{}-{run}", std::process::id());
        let mut leaf = Leaf::default();
        // The launcher and init are ours and not counted against the run.
        let processes = (u64::from(limits.processes()) + 2).to_string();
        let memory = limits.memory().to_string();
        if let Some(unified) = &self.unified {
            let directory = leaf.add(unified.directory.join(&name))?;
            if unified.pids {
                put(&directory.join("pids.max"), &processes)?;
                leaf.pids_events = Some(directory.join("pids.events"));
            }
            if unified.memory {
                put(&directory.join("memory.max"), &memory)?;
                // Without swap accounting there is no such file, and nothing to limit.
                let _ = put(&directory.join("memory.swap.max"), "0");
                leaf.memory_events = Some(directory.join("memory.events"));
            }
            if unified.kill {
                leaf.kill = Some(open(&directory.join("cgroup.kill"))?);
            }
        }
        if let Some(parent) = &self.pids {
            let directory = leaf.add(parent.join(&name))?;
            put(&directory.join("pids.max"), &processes)?;
            leaf.pids_events = Some(directory.join("pids.events"));
        }
        if let Some(parent) = &self.memory {
            let directory = leaf.add(parent.join(&name))?;
            put(&directory.join("memory.limit_in_bytes"), &memory)?;
            let _ = put(&directory.join("memory.memsw.limit_in_bytes"), &memory);
            leaf.memory_events = Some(directory.join("memory.oom_control"));
        }
        Ok(leaf)
    }

    fn try_leaf(&self) -> io::Result<()> {
        self.make("probe", &RunLimits::default()).map(drop)
    }

    /// Removes the leaves of hosts that died.
    fn sweep(&self) {
        let unified = self.unified.as_ref().map(|unified| &unified.directory);
        for parent in unified.into_iter().chain(&self.pids).chain(&self.memory) {
            let Ok(entries) = fs::read_dir(parent) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
                    continue;
                };
                let host = rest.split('-').next().unwrap_or_default();
                if !Path::new("/proc").join(host).exists() {
                    let _ = put(&entry.path().join("cgroup.kill"), "1");
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

impl Unified {
    /// The group that the host is in. Its controllers reach a leaf only where they are passed on
    /// already: a group with processes of its own cannot be told to.
    fn own(directory: &Path) -> Option<Self> {
        let passed_on = read(directory.join("cgroup.subtree_control")).ok()?;
        Some(Self::new(directory, &passed_on))
    }

    /// A group that the operator gives, which holds no process.
    fn given(directory: &Path) -> Option<Self> {
        const CGROUP2_SUPER_MAGIC: i64 = 0x6367_7270;
        if statfs(directory).ok()?.f_type != CGROUP2_SUPER_MAGIC {
            return None;
        }
        for controller in ["+pids", "+memory"] {
            // A controller that is not delegated is missing afterwards, which is what counts.
            let _ = put(&directory.join("cgroup.subtree_control"), controller);
        }
        Self::own(directory)
    }

    fn new(directory: &Path, passed_on: &str) -> Self {
        let has = |name| {
            passed_on
                .split_whitespace()
                .any(|controller| controller == name)
        };
        Self {
            directory: directory.to_owned(),
            pids: has("pids"),
            memory: has("memory"),
            kill: true,
        }
    }
}

/// A run's leaf in every hierarchy. Dropping it removes it.
#[derive(Debug, Default)]
pub(crate) struct Leaf {
    directories: Vec<PathBuf>,
    members: Vec<OwnedFd>,
    kill: Option<File>,
    pids_events: Option<PathBuf>,
    memory_events: Option<PathBuf>,
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
    /// The files through which the launcher joins.
    pub(crate) fn members(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.members.iter().map(AsFd::as_fd)
    }

    /// Kills everything in the leaf, atomically. False when the machine cannot.
    pub(crate) fn kill(&self) -> bool {
        self.kill
            .as_ref()
            .is_some_and(|mut kill| kill.write_all(b"1").is_ok())
    }

    /// Reads what was refused so far.
    pub(crate) fn refusals(&self) -> Refusals {
        let count = |path: &Option<PathBuf>, key| {
            path.as_ref()
                .and_then(|path| read(path).ok())
                .map_or(0, |text| value(&text, key))
        };
        Refusals {
            processes: count(&self.pids_events, "max"),
            memory: count(&self.memory_events, "oom_kill"),
        }
    }

    fn add(&mut self, directory: PathBuf) -> io::Result<PathBuf> {
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        self.members
            .push(open(&directory.join("cgroup.procs"))?.into());
        Ok(directory)
    }
}

impl Drop for Leaf {
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

/// Finds the directory of the group that this process is in; the unified hierarchy for "".
fn own_group(membership: &str, mounts: &str, controller: &str) -> Option<PathBuf> {
    let group = membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        controllers
            .split(',')
            .any(|name| name == controller)
            .then_some(group)
    })?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, _, options) = (after.next()?, after.next()?, after.next()?);
        let is_it = match controller {
            "" => kind == "cgroup2",
            name => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        is_it.then_some((root, point))
    });
    let (root, point) = mount?;
    // In a container the mount shows a part of the hierarchy, and the group is named from its top.
    let inside = if root == "/" {
        group
    } else {
        group.strip_prefix(root).unwrap_or(group)
    };
    let directory = Path::new(point).join(inside.trim_start_matches('/'));
    directory.is_dir().then_some(directory)
}

/// Reads the number behind a key in a file of lines.
fn value(text: &str, key: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, number)| number.trim().parse().ok())
        .unwrap_or(0)
}

fn open(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    open(path)?.write_all(text.as_bytes())
}

fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(1 << 20).read_to_string(&mut text)?;
    Ok(text)
}

/// How leaves are named: the prefix, the host's process id, the run.
const PREFIX: &str = "bailiwick-";
/// Together about a second.
const REMOVALS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 22 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro
31 30 0:27 / / rw - cgroup2 cgroup2 rw
32 30 0:28 / /usr rw - cgroup cgroup rw,cpu,memory
33 30 0:29 /box / rw - cgroup cgroup rw,pids";

    #[test]
    fn finds_the_own_group_in_either_version() {
        let membership = "3:cpu,memory:/share\n2:pids:/box/usr\n0::/usr/share";
        let find = |controller| own_group(membership, MOUNTS, controller);
        assert_eq!(find("").as_deref(), Some(Path::new("/usr/share")));
        assert_eq!(find("memory").as_deref(), Some(Path::new("/usr/share")));
        assert_eq!(find("pids").as_deref(), Some(Path::new("/usr")));
        assert_eq!(find("hugetlb"), None);
    }

    #[test]
    fn reads_counters_by_their_whole_key() {
        let text = "low 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n";
        assert_eq!(value(text, "oom_kill"), 4);
        assert_eq!(value(text, "oo"), 0);
    }
}
