//! Which layers a run is built from on this machine.

use bailiwick_policy::Net;

use crate::cgroup::Service;
use crate::class::{Layer, LayerReport};
use crate::host::Host;
use crate::limits::{Counted, Counting};
use crate::seccomp::{FilterFacts, Internet};
use crate::watchdog::Watched;

/// The layers that differ between machines and policies.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each layer is there or not, on its own"
)]
pub(crate) struct Shape {
    /// A mount namespace is made.
    pub(crate) mount: bool,
    /// The root in it hides the host's.
    pub(crate) prepared_root: bool,
    pub(crate) pid: bool,
    ipc: bool,
    uts: bool,
    cgroup: bool,
    pub(crate) user: bool,
    pub(crate) network: Network,
    pub(crate) run_uid: bool,
    /// A file system refuses to map owners, so runs have the owner's uid.
    pub(crate) unmapped: bool,
    pub(crate) proc: bool,
    /// Devices can be made; in a user namespace none can.
    pub(crate) devices: bool,
    pub(crate) grants_folder: bool,
}

/// The network namespace of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Network {
    /// The host's, since none can be made: the filter refuses sockets, and what `/proc/self/net`
    /// shows of the host stays visible.
    Host,
    /// An empty one that runs of one host share.
    Shared,
    /// An empty one of the run's own.
    Own,
    /// One of the run's own in which `lo` is up.
    Loopback,
    /// The same with a socket on it that the host answers.
    Proxy,
}

impl Network {
    /// Joining a namespace takes privilege in the user namespace that owns it, which an ordinary
    /// user's host has in one of its own, and costs less than making one. Abstract sockets are names
    /// of a namespace, so it is shared only where something else keeps runs from those of each
    /// other: Landlock's scope, or a filter that then allows no Unix socket. An ordinary user's runs
    /// keep those sockets instead, since each can have a namespace of its own.
    fn of(host: &Host, net: &Net) -> Self {
        let filtered = host.probe.privileged() && host.probe.seccomp().is_ok();
        let parts_runs = scopes_abstract_names(host) || filtered;
        if host.probe.namespace(Layer::NetworkNamespace).is_err() {
            Self::Host
        } else if *net == Net::Loopback {
            Self::Loopback
        } else if matches!(net, Net::Proxy(_)) {
            Self::Proxy
        } else if parts_runs {
            Self::Shared
        } else {
            Self::Own
        }
    }

    /// Says whether its loopback device is up.
    pub(crate) const fn has_loopback(self) -> bool {
        match self {
            Self::Host | Self::Shared | Self::Own => false,
            Self::Loopback | Self::Proxy => true,
        }
    }

    /// Says whether nobody else is in it.
    const fn is_own(self) -> bool {
        match self {
            Self::Host | Self::Shared => false,
            Self::Own | Self::Loopback | Self::Proxy => true,
        }
    }
}

/// Says whether Landlock keeps a run from the abstract sockets of others, as it does from ABI 6 on.
fn scopes_abstract_names(host: &Host) -> bool {
    host.probe
        .landlock()
        .is_ok_and(|landlock| landlock.abi() >= 6)
}

impl Shape {
    /// Takes every layer that the machine has and the network asks for.
    pub(crate) fn of(host: &Host, net: &Net) -> Self {
        let has = |layer| host.probe.namespace(layer).is_ok();
        let user = !host.probe.privileged() && has(Layer::UserNamespace);
        let mount = has(Layer::PreparedRoot);
        let pid = has(Layer::PidNamespace);
        Self {
            mount,
            prepared_root: mount && !host.is_without(Layer::PreparedRoot),
            pid,
            ipc: has(Layer::IpcNamespace),
            uts: has(Layer::UtsNamespace),
            cgroup: has(Layer::CgroupNamespace),
            user,
            network: Network::of(host, net),
            run_uid: host.uids.is_some(),
            unmapped: false,
            proc: mount && pid && host.probe.proc().is_ok(),
            devices: host.devices && !user,
            grants_folder: false,
        }
    }

    /// The same where a file system refuses to map owners.
    pub(crate) fn without_maps(self) -> Self {
        Self {
            run_uid: false,
            unmapped: true,
            ..self
        }
    }

    /// The namespaces as `CLONE_NEW*` bits.
    pub(crate) fn namespaces(self) -> u64 {
        [
            (self.mount, 0x0002_0000),
            (self.cgroup, 0x0200_0000),
            (self.uts, 0x0400_0000),
            (self.ipc, 0x0800_0000),
            (self.user, 0x1000_0000),
            (self.pid, 0x2000_0000),
            (self.network.is_own(), 0x4000_0000),
        ]
        .into_iter()
        .filter_map(|(wanted, bit)| wanted.then_some(bit))
        .fold(0, |bits, bit| bits | bit)
    }

    /// What the filter may let through, given the other layers.
    pub(crate) fn filter(self, host: &Host) -> FilterFacts {
        let mut facts = FilterFacts::closed();
        if self.prepared_root || self.run_uid {
            facts = facts.with_metadata_by_path();
        }
        if self.prepared_root {
            facts = facts.with_hidden_paths();
        }
        let abstract_names_closed = self.network.is_own() || scopes_abstract_names(host);
        if self.prepared_root && !self.grants_folder && abstract_names_closed {
            facts = facts.with_unix_streams();
        }
        facts.with_internet(match self.network {
            Network::Host | Network::Shared | Network::Own => Internet::Denied,
            Network::Proxy => Internet::Streams,
            Network::Loopback => Internet::StreamsAndDatagrams,
        })
    }

    /// What counts memory and processes.
    pub(crate) fn counting(self, host: &Host) -> Counting {
        let user = match (self.run_uid, self.user) {
            (true, _) => Counted::RunUid,
            (false, true) => Counted::UserNamespace,
            (false, false) => Counted::SharedUid,
        };
        Counting {
            memory: host.cgroups.have(Service::Memory),
            processes: host.cgroups.have(Service::Processes),
            user,
        }
    }

    /// What the host must look at itself.
    pub(crate) fn watched(host: &Host) -> Watched {
        if host.is_without(Layer::Watchdog) {
            return Watched::default();
        }
        Watched {
            processes: !host.cgroups.have(Service::Processes),
            memory: !host.cgroups.have(Service::Memory),
            time: !host.cgroups.have(Service::Time),
        }
    }

    /// Reports every layer.
    pub(crate) fn report(self, host: &Host) -> LayerReport {
        #[cfg(weaken)]
        if let Some(claims) = host.claims() {
            return claims.clone();
        }
        let mut report = LayerReport::nothing();
        match host.probe.landlock() {
            Ok(facts) => report.landlock_in_force(facts),
            Err(errno) => {
                report.missing(Layer::Landlock, Some(errno), "the kernel has no Landlock");
            }
        }
        match host.probe.seccomp() {
            Ok(()) => report.filter_in_force(self.filter(host)),
            Err(errno) => report.missing(Layer::Seccomp, Some(errno), "the kernel takes no filter"),
        }
        for (layer, used) in [
            (Layer::PreparedRoot, self.prepared_root),
            (Layer::PidNamespace, self.pid),
            (Layer::NetworkNamespace, self.network != Network::Host),
            (Layer::IpcNamespace, self.ipc),
            (Layer::UtsNamespace, self.uts),
            (Layer::CgroupNamespace, self.cgroup),
        ] {
            if used {
                report.in_force(layer);
            } else {
                let errno = host.probe.namespace(layer).err();
                report.missing(layer, errno, "the namespace cannot be made");
            }
        }
        self.report_identity(host, &mut report);
        for layer in [
            Layer::NoCapabilities,
            Layer::NoNewPrivileges,
            Layer::Environment,
            Layer::Descriptors,
            Layer::Rlimits,
            Layer::Deadline,
        ] {
            report.in_force(layer);
        }
        self.report_groups(host, &mut report);
        if self.mount {
            report.in_force(Layer::SizedScratch);
        } else {
            report.missing(
                Layer::SizedScratch,
                None,
                "there is no mount namespace to mount it in",
            );
        }
        if self.pid {
            report.unused(Layer::Subreaper, "the process namespace ends with its init");
        } else {
            report.missing(
                Layer::Subreaper,
                None,
                "no run is made without its namespace",
            );
        }
        host.take_from(&mut report);
        report
    }

    fn report_identity(self, host: &Host, report: &mut LayerReport) {
        if self.run_uid {
            report.in_force(Layer::RunUid);
            report.unused(Layer::UserNamespace, "a privileged host needs none");
            return;
        }
        let why = if self.unmapped {
            "a granted place's file system refuses id-mapped mounts, so its owner's uid is used"
        } else {
            "only a privileged host can take another uid"
        };
        report.missing(Layer::RunUid, None, why);
        if self.user {
            report.in_force(Layer::UserNamespace);
        } else if host.probe.privileged() {
            report.unused(Layer::UserNamespace, "a privileged host needs none");
        } else {
            let errno = host.probe.namespace(Layer::UserNamespace).err();
            report.missing(Layer::UserNamespace, errno, "the namespace cannot be made");
        }
    }

    fn report_groups(self, host: &Host, report: &mut LayerReport) {
        let failed = |service| host.cgroups.failed(service);
        if host.cgroups.have(Service::Kill) {
            report.in_force(Layer::CgroupKill);
        } else if self.pid {
            report.unused(
                Layer::CgroupKill,
                "the process namespace ends with its init",
            );
        } else {
            let why = "no group of version 2 counts for runs";
            report.missing(Layer::CgroupKill, failed(Service::Kill), why);
        }
        for service in [Service::Memory, Service::Processes, Service::Time] {
            if host.cgroups.have(service) {
                report.in_force(service.layer());
            } else {
                let why = "no control group with it lets runs of this process in";
                report.missing(service.layer(), failed(service), why);
            }
        }
        if Self::watched(host).any() {
            report.in_force(Layer::Watchdog);
        } else {
            let why = "control groups count memory, processes and time";
            report.unused(Layer::Watchdog, why);
        }
    }
}
