//! What can go wrong, by class: requirements name a threat and never a kernel feature.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A class of things a hostile script may try.
///
/// A requirement is stated per class, because several mechanisms can close the same one: which of
/// them a kernel offers is the sandbox's business. A *hard* class without a closer refuses the
/// run; a *soft* one is reported.
#[expect(
    clippy::exhaustive_enums,
    reason = "a class that some match forgets would be a class without a closer"
)]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ThreatClass {
    /// Reads or changes the content of files outside every grant.
    FsData,
    /// Changes mode, owner, times or attributes of files outside every grant.
    FsMetadataWrite,
    /// Learns of existence, size or times of files outside every grant.
    FsMetadataRead,
    /// Reaches the network.
    IpNetwork,
    /// Reaches the sockets of other programs.
    UnixIpc,
    /// Signals, traces or inspects other processes.
    Processes,
    /// Changes limits, priority or affinity of other processes.
    Tuning,
    /// Reaches the parts of the kernel that honest scripts never need.
    KernelSurface,
    /// Gains privilege.
    Privilege,
    /// Finds the host's environment or its open descriptors.
    EnvAndDescriptors,
    /// Outlives its end.
    KillAll,
    /// Uses memory without bound.
    Memory,
    /// Starts processes without bound.
    ProcessCount,
    /// Uses processor time without bound.
    Cpu,
    /// Fills the disk.
    Disk,
}

impl ThreatClass {
    /// Every class, in the order of the matrix that `doctor` prints.
    pub const ALL: [Self; 15] = [
        Self::FsData,
        Self::FsMetadataWrite,
        Self::FsMetadataRead,
        Self::IpNetwork,
        Self::UnixIpc,
        Self::Processes,
        Self::Tuning,
        Self::KernelSurface,
        Self::Privilege,
        Self::EnvAndDescriptors,
        Self::KillAll,
        Self::Memory,
        Self::ProcessCount,
        Self::Cpu,
        Self::Disk,
    ];

    /// Returns the name used in policy files, reports and errors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FsData => "fs-data",
            Self::FsMetadataWrite => "fs-metadata-write",
            Self::FsMetadataRead => "fs-metadata-read",
            Self::IpNetwork => "ip-network",
            Self::UnixIpc => "unix-ipc",
            Self::Processes => "processes",
            Self::Tuning => "tuning",
            Self::KernelSurface => "kernel-surface",
            Self::Privilege => "privilege",
            Self::EnvAndDescriptors => "env-and-descriptors",
            Self::KillAll => "kill-all",
            Self::Memory => "memory",
            Self::ProcessCount => "process-count",
            Self::Cpu => "cpu",
            Self::Disk => "disk",
        }
    }

    /// Says whether a run is refused, without anyone asking for it, where nothing closes the class.
    ///
    /// Soft by default are the metadata of files that are merely visible, and the classes whose
    /// best closer is a delegated control group, which an ordinary login rarely has.
    pub const fn is_hard_by_default(self) -> bool {
        match self {
            Self::FsData
            | Self::FsMetadataWrite
            | Self::IpNetwork
            | Self::UnixIpc
            | Self::Processes
            | Self::Tuning
            | Self::KernelSurface
            | Self::Privilege
            | Self::EnvAndDescriptors
            | Self::KillAll
            | Self::Cpu => true,
            Self::FsMetadataRead | Self::Memory | Self::ProcessCount | Self::Disk => false,
        }
    }
}

impl fmt::Display for ThreatClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ThreatClass {
    type Err = UnknownThreatClass;

    fn from_str(text: &str) -> Result<Self, UnknownThreatClass> {
        Self::ALL
            .into_iter()
            .find(|class| class.as_str() == text)
            .ok_or_else(|| UnknownThreatClass {
                name: text.to_owned(),
            })
    }
}

impl Serialize for ThreatClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A name that is no threat class.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is no threat class", name.escape_debug())]
pub struct UnknownThreatClass {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_listed_once_and_is_found_by_its_name() {
        let mut names: Vec<_> = ThreatClass::ALL
            .iter()
            .map(|class| class.as_str())
            .collect();
        for class in ThreatClass::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ThreatClass::ALL.len());
        assert!("Memory".parse::<ThreatClass>().is_err());
    }
}
