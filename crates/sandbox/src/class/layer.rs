//! The layers, their names, and how to get one that is missing.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

/// One mechanism that can be present or missing on its own.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a layer that some match forgets would go unjudged"
)]
pub enum Layer {
    /// Two Landlock domains: the session's and the run's.
    Landlock,
    /// The default-deny system-call filter.
    Seccomp,
    /// A mount namespace with a root that holds only what the run may see, read-only.
    PreparedRoot,
    /// A process namespace with an init of ours.
    PidNamespace,
    /// A network namespace without a way out: the run's own, where it has a loopback device that is
    /// up or the host is an ordinary user's, else an empty one that the host's runs share.
    NetworkNamespace,
    /// An IPC namespace.
    IpcNamespace,
    /// A namespace for the host's name.
    UtsNamespace,
    /// A cgroup namespace.
    CgroupNamespace,
    /// A user namespace of the run's own.
    UserNamespace,
    /// A uid that owns nothing and that no other run has.
    RunUid,
    /// No capabilities in any set, and none to be had.
    NoCapabilities,
    /// `no_new_privs`.
    NoNewPrivileges,
    /// An environment made by us alone.
    Environment,
    /// No descriptor above 2.
    Descriptors,
    /// A control group that can be killed as a whole.
    CgroupKill,
    /// A memory ceiling on the control group.
    CgroupMemory,
    /// A ceiling on the control group's processes.
    CgroupPids,
    /// A count of the control group's processor time, by which the host ends the run.
    CgroupCpu,
    /// Per-process limits.
    Rlimits,
    /// The host's own eye on memory, processes and time of the tree.
    Watchdog,
    /// The wall-clock deadline.
    Deadline,
    /// A process that adopts and kills what the script leaves behind: for runs without a process
    /// namespace, of which this version makes none.
    Subreaper,
    /// Scratch space on a file system with a size and a number of inodes.
    SizedScratch,
}

impl Layer {
    /// Every layer, in the order of reports.
    pub const ALL: [Self; 23] = [
        Self::Landlock,
        Self::Seccomp,
        Self::PreparedRoot,
        Self::PidNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::CgroupNamespace,
        Self::UserNamespace,
        Self::RunUid,
        Self::NoCapabilities,
        Self::NoNewPrivileges,
        Self::Environment,
        Self::Descriptors,
        Self::CgroupKill,
        Self::CgroupMemory,
        Self::CgroupPids,
        Self::CgroupCpu,
        Self::Rlimits,
        Self::Watchdog,
        Self::Deadline,
        Self::Subreaper,
        Self::SizedScratch,
    ];

    /// Returns the name used in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::PreparedRoot => "prepared-root",
            Self::PidNamespace => "pid-namespace",
            Self::NetworkNamespace => "network-namespace",
            Self::IpcNamespace => "ipc-namespace",
            Self::UtsNamespace => "uts-namespace",
            Self::CgroupNamespace => "cgroup-namespace",
            Self::UserNamespace => "user-namespace",
            Self::RunUid => "run-uid",
            Self::NoCapabilities => "no-capabilities",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::Environment => "environment",
            Self::Descriptors => "descriptors",
            Self::CgroupKill => "cgroup-kill",
            Self::CgroupMemory => "cgroup-memory",
            Self::CgroupPids => "cgroup-pids",
            Self::CgroupCpu => "cgroup-cpu",
            Self::Rlimits => "rlimits",
            Self::Watchdog => "watchdog",
            Self::Deadline => "deadline",
            Self::Subreaper => "subreaper",
            Self::SizedScratch => "sized-scratch",
        }
    }

    /// Returns one sentence on how to get the layer where it is missing.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Landlock => {
                "boot a kernel of 5.13 or later with Landlock enabled (`lsm=landlock,…` on its \
                 command line)"
            }
            Self::Seccomp => "use a kernel built with CONFIG_SECCOMP_FILTER",
            Self::PreparedRoot
            | Self::PidNamespace
            | Self::NetworkNamespace
            | Self::IpcNamespace
            | Self::UtsNamespace
            | Self::CgroupNamespace
            | Self::UserNamespace => {
                "run as root with CAP_SYS_ADMIN, or allow user namespaces \
                 (`sysctl kernel.unprivileged_userns_clone=1`; on AppArmor hosts \
                 `kernel.apparmor_restrict_unprivileged_userns=0` or the profile that `bailiwick doctor` prints)"
            }
            Self::RunUid => "run as root and reserve a range of uids for runs",
            Self::NoCapabilities | Self::NoNewPrivileges => {
                "use a kernel and container that let a process give up privileges"
            }
            Self::Environment | Self::Descriptors => "run with the launcher that ships with us",
            Self::CgroupKill | Self::CgroupMemory | Self::CgroupPids | Self::CgroupCpu => {
                "name a control group of version 2 without processes in `[sandbox] cgroup`; as an \
                 ordinary user, one that is delegated to you"
            }
            Self::Rlimits | Self::Watchdog | Self::Deadline | Self::Subreaper => {
                "run with the launcher that ships with us, on a kernel of 5.13 or later"
            }
            Self::SizedScratch => {
                "allow mount namespaces, so that scratch can be a file system of fixed size"
            }
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Layer {
    type Err = UnknownLayer;

    fn from_str(text: &str) -> Result<Self, UnknownLayer> {
        Self::ALL
            .into_iter()
            .find(|layer| layer.as_str() == text)
            .ok_or_else(|| UnknownLayer {
                name: text.to_owned(),
            })
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A name that is no layer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is no layer", name.escape_debug())]
#[expect(unnameable_types, reason = "reached through `FromStr` only")]
pub struct UnknownLayer {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_is_listed_once_and_is_found_by_its_name() {
        for layer in Layer::ALL {
            assert_eq!(layer.as_str().parse(), Ok(layer));
        }
        assert!(Layer::ALL.is_sorted_by(|a, b| a < b));
        assert!("magic".parse::<Layer>().is_err());
    }
}
