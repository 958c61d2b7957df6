//! Control groups: the counters that limit a run, and a handle that kills it as a whole.
//!
//! A run's leaf lies beneath the group that the host is in, so that a limit on the host holds for
//! its runs too, or beneath a parent that the operator names. The host itself is never moved.
//! Version 2 is used where its controllers are delegated; on machines that run both versions,
//! version 1 counts memory and processes. A leaf that limits nothing would only kill, and that is
//! what the end of a run's process namespace does: none is made.

mod leaf;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_policy::RunLimits;
use rustix::fs::statfs;

use self::leaf::{Group, Pool};
pub(crate) use self::leaf::{Leaf, Refusals};
use crate::error::SandboxError;
use crate::maker;

/// The groups in which runs get leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cgroups {
    unified: Option<Unified>,
    pids: Option<PathBuf>,
    memory: Option<PathBuf>,
    /// Leaves of runs that are over. Clones of a host share it.
    pool: Arc<Pool>,
}

/// A group of version 2 that counts for its leaves.
#[derive(Clone, Debug)]
struct Unified {
    directory: PathBuf,
    pids: bool,
    memory: bool,
    kill: bool,
}

impl Cgroups {
    /// Finds the groups that this process may make leaves in, and removes what hosts that died
    /// have left there.
    pub(crate) fn detect(parent: Option<&Path>) -> Self {
        let groups = match parent {
            Some(parent) => Self {
                unified: Unified::given(parent),
                ..Self::default()
            },
            None => Self::own(),
        };
        groups.parents().for_each(|parent| sweep(parent));
        match groups.leaf(&RunLimits::default()) {
            Ok(leaf) => {
                leaf.recycle();
                groups
            }
            Err(_) => Self::default(),
        }
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
        self.unified = self.unified.filter(Unified::counts);
        // The leaves of the pool are made of what was there.
        self.pool = Arc::default();
        self
    }

    /// Gives a run a leaf whose limits are set before anything joins it: one of an earlier run
    /// where there is one, or a new one.
    pub(crate) fn leaf(&self, limits: &RunLimits) -> Result<Leaf, SandboxError> {
        Leaf::take(&self.pool, limits, || self.make())
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
            pool: Arc::default(),
        }
    }

    fn parents(&self) -> impl Iterator<Item = &PathBuf> {
        let unified = self.unified.as_ref().map(|unified| &unified.directory);
        unified.into_iter().chain(&self.pids).chain(&self.memory)
    }

    fn make(&self) -> io::Result<Group> {
        let name = maker::fresh_name(PREFIX);
        let mut group = Group::default();
        if let Some(unified) = &self.unified {
            group.add_unified(
                unified.directory.join(&name),
                unified.pids,
                unified.memory,
                unified.kill,
            )?;
        }
        if let Some(parent) = &self.pids {
            group.add_pids(parent.join(&name))?;
        }
        if let Some(parent) = &self.memory {
            group.add_memory(parent.join(&name))?;
        }
        Ok(group)
    }
}

impl Unified {
    /// The group that the host is in. Its controllers reach a leaf only where they are passed on
    /// already: a group with processes of its own cannot be told to.
    fn own(directory: &Path) -> Option<Self> {
        let passed_on = read(directory.join("cgroup.subtree_control")).ok()?;
        let has = |name| {
            passed_on
                .split_whitespace()
                .any(|controller| controller == name)
        };
        let unified = Self {
            directory: directory.to_owned(),
            pids: has("pids"),
            memory: has("memory"),
            kill: true,
        };
        Some(unified).filter(Self::counts)
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

    const fn counts(&self) -> bool {
        self.pids || self.memory
    }
}

/// Removes the leaves of dead hosts beneath a group.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name
            .to_str()
            .is_some_and(|name| maker::is_orphan(PREFIX, name))
        {
            // Version 1 has no such file; there the run's init has ended it with its host.
            let _ = put(&entry.path().join("cgroup.kill"), "1");
            let _ = fs::remove_dir(entry.path());
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

/// How leaves are named.
const PREFIX: &str = "bailiwick.run";

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
}
