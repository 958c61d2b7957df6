//! Every operation of the self-test, the class that it belongs to, and what counts as a denial.

use bailiwick_policy::ThreatClass;
use nix::libc::{EACCES, EAFNOSUPPORT, EINVAL, ENOSYS, EPERM};

use crate::class::Layer;

/// One operation that must be denied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) class: ThreatClass,
    pub(super) proof: Proof,
    /// The layers that are expected to deny it, the first one met first.
    pub(super) layers: &'static [Layer],
}

/// What makes a result a denial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Proof {
    /// The same operation on a like target succeeded without confinement; then any errno denies.
    Control,
    /// There is no target; these errnos deny, and any other shows that the kernel got further.
    Errno(&'static [i32]),
    /// The program looked at its own state; what it says counts.
    State,
}

const REFUSED: Proof = Proof::Errno(&[EPERM, EACCES, ENOSYS, EAFNOSUPPORT]);
/// A user namespace without a root answers `EINVAL`.
const NO_ROOT: Proof = Proof::Errno(&[EPERM, EINVAL]);

const fn operation(
    name: &'static str,
    class: ThreatClass,
    proof: Proof,
    layers: &'static [Layer],
) -> Operation {
    Operation {
        name,
        class,
        proof,
        layers,
    }
}

const FILES: &[Layer] = &[Layer::PreparedRoot, Layer::Landlock];
const METADATA: &[Layer] = &[Layer::PreparedRoot, Layer::RunUid, Layer::Seccomp];
const OTHERS: &[Layer] = &[Layer::PidNamespace, Layer::Landlock, Layer::RunUid];
const TUNING: &[Layer] = &[Layer::Seccomp, Layer::PidNamespace, Layer::RunUid];
const NETWORK: &[Layer] = &[Layer::Seccomp, Layer::NetworkNamespace];
const SOCKETS: &[Layer] = &[
    Layer::Seccomp,
    Layer::PreparedRoot,
    Layer::NetworkNamespace,
    Layer::Landlock,
];
const FILTER: &[Layer] = &[Layer::Seccomp];
const PRIVILEGE: &[Layer] = &[Layer::NoNewPrivileges, Layer::NoCapabilities];
const HANDED_DOWN: &[Layer] = &[Layer::Environment, Layer::Descriptors];

/// The operations that the attack program's `selftest` tries, in its order.
pub(super) const OPERATIONS: &[Operation] = &[
    operation(
        "descriptors",
        ThreatClass::EnvAndDescriptors,
        Proof::State,
        HANDED_DOWN,
    ),
    operation("read", ThreatClass::FsData, Proof::Control, FILES),
    operation("read-alias", ThreatClass::FsData, Proof::Control, FILES),
    operation("write", ThreatClass::FsData, Proof::Control, FILES),
    operation("truncate-open", ThreatClass::FsData, Proof::Control, FILES),
    operation("truncate", ThreatClass::FsData, Proof::Control, FILES),
    operation("link", ThreatClass::FsData, Proof::Control, FILES),
    operation("rename", ThreatClass::FsData, Proof::Control, FILES),
    operation(
        "chmod",
        ThreatClass::FsMetadataWrite,
        Proof::Control,
        METADATA,
    ),
    operation(
        "chown",
        ThreatClass::FsMetadataWrite,
        Proof::Control,
        METADATA,
    ),
    operation(
        "utimens",
        ThreatClass::FsMetadataWrite,
        Proof::Control,
        METADATA,
    ),
    operation(
        "setxattr",
        ThreatClass::FsMetadataWrite,
        Proof::Control,
        METADATA,
    ),
    operation(
        "stat",
        ThreatClass::FsMetadataRead,
        Proof::Control,
        &[Layer::PreparedRoot],
    ),
    operation("exec-dropped", ThreatClass::FsData, Proof::Control, FILES),
    operation("kill", ThreatClass::Processes, Proof::Control, OTHERS),
    operation("ptrace", ThreatClass::Processes, Proof::Control, OTHERS),
    operation(
        "process-vm-readv",
        ThreatClass::Processes,
        Proof::Control,
        OTHERS,
    ),
    operation("environ", ThreatClass::Processes, Proof::Control, OTHERS),
    operation("prlimit", ThreatClass::Tuning, Proof::Control, TUNING),
    operation("setpriority", ThreatClass::Tuning, Proof::Control, TUNING),
    operation(
        "sched-setaffinity",
        ThreatClass::Tuning,
        Proof::Control,
        TUNING,
    ),
    operation(
        "tcp-connect",
        ThreatClass::IpNetwork,
        Proof::Control,
        NETWORK,
    ),
    operation(
        "mptcp-connect",
        ThreatClass::IpNetwork,
        Proof::Control,
        NETWORK,
    ),
    operation(
        "tcp-fastopen",
        ThreatClass::IpNetwork,
        Proof::Control,
        NETWORK,
    ),
    operation("udp-send", ThreatClass::IpNetwork, Proof::Control, NETWORK),
    operation(
        "host-network",
        ThreatClass::IpNetwork,
        Proof::Control,
        &[Layer::NetworkNamespace],
    ),
    operation("unix-path", ThreatClass::UnixIpc, Proof::Control, SOCKETS),
    operation(
        "unix-abstract",
        ThreatClass::UnixIpc,
        Proof::Control,
        SOCKETS,
    ),
    operation(
        "environment",
        ThreatClass::EnvAndDescriptors,
        Proof::Control,
        HANDED_DOWN,
    ),
    operation("raw-socket", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("packet-socket", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation(
        "ptrace-traceme",
        ThreatClass::KernelSurface,
        REFUSED,
        FILTER,
    ),
    operation(
        "netlink-socket",
        ThreatClass::KernelSurface,
        REFUSED,
        FILTER,
    ),
    operation("vsock-socket", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("alg-socket", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("bpf", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("io-uring", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("userfaultfd", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("perf", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("keyctl", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("personality", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("memfd", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("execveat", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("inotify", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("shm", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("clone3", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation("fsopen", ThreatClass::KernelSurface, REFUSED, FILTER),
    operation(
        "new-privileges",
        ThreatClass::Privilege,
        Proof::State,
        PRIVILEGE,
    ),
    operation(
        "capabilities",
        ThreatClass::Privilege,
        Proof::State,
        PRIVILEGE,
    ),
    operation(
        "bounding-set",
        ThreatClass::Privilege,
        Proof::State,
        PRIVILEGE,
    ),
    operation("mount", ThreatClass::Privilege, REFUSED, PRIVILEGE),
    operation("chroot", ThreatClass::Privilege, REFUSED, PRIVILEGE),
    operation("become-root", ThreatClass::Privilege, NO_ROOT, PRIVILEGE),
    operation(
        "new-user-namespace",
        ThreatClass::KernelSurface,
        REFUSED,
        FILTER,
    ),
];

/// The operations that the host judges, since it alone sees what came of them.
pub(super) const DAEMON: Operation = operation(
    "daemon",
    ThreatClass::KillAll,
    Proof::Control,
    &[Layer::PidNamespace, Layer::CgroupKill, Layer::Subreaper],
);
pub(super) const FORK: Operation = operation(
    "fork",
    ThreatClass::ProcessCount,
    Proof::Control,
    &[
        Layer::CgroupPids,
        Layer::RunUid,
        Layer::UserNamespace,
        Layer::Rlimits,
    ],
);
pub(super) const ALLOCATE: Operation = operation(
    "allocate",
    ThreatClass::Memory,
    Proof::Control,
    &[Layer::CgroupMemory, Layer::Rlimits, Layer::Watchdog],
);
pub(super) const WRITE: Operation = operation(
    "fill",
    ThreatClass::Disk,
    Proof::Control,
    &[Layer::SizedScratch, Layer::Rlimits, Layer::Watchdog],
);
pub(super) const LOOP: Operation = operation(
    "loop",
    ThreatClass::Cpu,
    Proof::Control,
    &[
        Layer::Deadline,
        Layer::Rlimits,
        Layer::CgroupCpu,
        Layer::Watchdog,
    ],
);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_class_has_an_operation_and_every_name_is_one_of_a_kind() {
        let all: Vec<_> = OPERATIONS
            .iter()
            .chain([&DAEMON, &FORK, &ALLOCATE, &WRITE, &LOOP])
            .collect();
        let classes: BTreeSet<_> = all.iter().map(|operation| operation.class).collect();
        assert!(classes.into_iter().eq(ThreatClass::ALL));
        let names: BTreeSet<_> = all.iter().map(|operation| operation.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().all(|operation| !operation.layers.is_empty()));
    }
}
