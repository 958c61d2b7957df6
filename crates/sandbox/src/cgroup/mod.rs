//! Control groups: the counters that limit a run, and a handle that kills it as a whole.
//!
//! A run's leaf lies beneath the group that the host is in, so that a limit on the host holds for
//! its runs too, or beneath a parent that the operator names. The host itself is never moved.
//! Version 2 is used where its controllers are delegated; on machines that run both versions,
//! version 1 counts memory, processes and time. A leaf of version 2 that limits nothing would only
//! kill, and that is what the end of a run's process namespace does: none is made.

mod find;
mod leaf;
mod trial;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_policy::RunLimits;

use self::leaf::{Group, Pool};
pub(crate) use self::leaf::{Leaf, Refusals};
use self::trial::Failed;
use crate::class::Layer;
use crate::error::SandboxError;
use crate::launch::Launcher;
use crate::maker;

/// The groups in which runs get leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cgroups {
    places: Vec<Place>,
    /// What was there, was tried and failed.
    failed: Failed,
    /// Leaves of runs that are over. Clones of a host share it.
    pool: Arc<Pool>,
}

/// Something that a group does for a run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Service {
    /// It bounds the number of processes.
    Processes,
    /// It bounds memory.
    Memory,
    /// It counts processor time.
    Time,
    /// It can be killed as a whole.
    Kill,
}

/// A group that counts for its leaves.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Place {
    directory: PathBuf,
    version: Version,
    services: Vec<Service>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Version {
    One,
    Two,
}

impl Service {
    /// The layer that it is.
    pub(crate) const fn layer(self) -> Layer {
        match self {
            Self::Processes => Layer::CgroupPids,
            Self::Memory => Layer::CgroupMemory,
            Self::Time => Layer::CgroupCpu,
            Self::Kill => Layer::CgroupKill,
        }
    }
}

impl Place {
    /// Says whether a leaf here is worth its cost: one of version 2 that bounds nothing is not.
    fn limits(&self) -> bool {
        match self.version {
            Version::One => !self.services.is_empty(),
            Version::Two => self
                .services
                .iter()
                .any(|service| matches!(service, Service::Processes | Service::Memory)),
        }
    }
}

impl Cgroups {
    /// Finds the groups that runs of this process can join, by having a process that is thrown away
    /// do it, and removes what hosts that died have left there.
    pub(crate) fn detect(parent: Option<&Path>, launcher: &Launcher) -> Self {
        let places = parent.map_or_else(find::own, find::given);
        for place in &places {
            sweep(&place.directory);
        }
        let (places, failed) = trial::keep_working(places, launcher);
        Self {
            places,
            failed,
            pool: Arc::default(),
        }
    }

    /// Says whether a run's groups do something.
    pub(crate) fn have(&self, service: Service) -> bool {
        let mut places = self.places.iter();
        places.any(|place| place.services.contains(&service))
    }

    /// Returns the kernel's answer to the attempt at something that does not work.
    pub(crate) fn failed(&self, service: Service) -> Option<i32> {
        self.failed.get(&service).copied()
    }

    /// Leaves a layer out, as if the machine did not have it.
    pub(crate) fn without(mut self, layer: Layer) -> Self {
        for place in &mut self.places {
            place.services.retain(|service| service.layer() != layer);
        }
        self.places.retain(Place::limits);
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

    fn make(&self) -> io::Result<Group> {
        let name = maker::fresh_name(PREFIX);
        let mut group = Group::default();
        for place in &self.places {
            let directory = group.add(place.directory.join(&name), place.version)?;
            for service in &place.services {
                group.serve(&directory, place.version, *service)?;
            }
        }
        Ok(group)
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
