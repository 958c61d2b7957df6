//! Which layers close which class: the one table that refusals, reports and `doctor` read.

use bailiwick_policy::ThreatClass;

use self::Closer::{Strong, Weak};
use super::{Cover, Layer, LayerReport};
use crate::seccomp::Internet;

/// Layers and facts that close a class together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Closer {
    /// They close it on their own.
    Strong(&'static [Need]),
    /// They close it with known gaps.
    Weak(&'static [Need]),
}

impl Closer {
    /// Returns how well the class is closed where this holds.
    pub(super) const fn cover(&self) -> Cover {
        match self {
            Self::Strong(_) => Cover::Strong,
            Self::Weak(_) => Cover::Weak,
        }
    }

    /// Says whether everything needed is in force.
    pub(super) fn holds(&self, report: &LayerReport) -> bool {
        self.needs().iter().all(|need| need.is_met(report))
    }

    /// Iterates over the layers that take part.
    pub(super) fn layers(&self) -> impl Iterator<Item = Layer> {
        self.needs().iter().map(|need| need.layer())
    }

    const fn needs(&self) -> &'static [Need] {
        match self {
            Self::Strong(needs) | Self::Weak(needs) => needs,
        }
    }
}

/// One thing that a closer needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// The layer, whatever its version.
    Layer(Layer),
    /// Landlock of at least this ABI.
    LandlockAbi(u32),
    /// Landlock with this erratum fixed.
    LandlockErratum(u32),
    /// A filter that refuses every internet socket, and with it every family but Unix.
    FilterWithoutInternet,
    /// A filter that refuses every Unix socket but connected pairs.
    FilterWithoutUnix,
    /// A filter that refuses changing metadata by path.
    FilterWithoutMetadataByPath,
}

impl Need {
    fn layer(self) -> Layer {
        match self {
            Self::Layer(layer) => layer,
            Self::LandlockAbi(_) | Self::LandlockErratum(_) => Layer::Landlock,
            Self::FilterWithoutInternet
            | Self::FilterWithoutUnix
            | Self::FilterWithoutMetadataByPath => Layer::Seccomp,
        }
    }

    fn is_met(self, report: &LayerReport) -> bool {
        let landlock = report.landlock();
        let filter = report.filter();
        match self {
            Self::Layer(layer) => report.is_in_force(layer),
            Self::LandlockAbi(abi) => landlock.is_some_and(|facts| facts.abi() >= abi),
            Self::LandlockErratum(number) => landlock.is_some_and(|facts| facts.is_fixed(number)),
            Self::FilterWithoutInternet => {
                filter.is_some_and(|facts| facts.internet() == Internet::Denied)
            }
            Self::FilterWithoutUnix => filter.is_some_and(|facts| !facts.unix_streams()),
            Self::FilterWithoutMetadataByPath => {
                filter.is_some_and(|facts| !facts.metadata_by_path())
            }
        }
    }
}

/// Returns everything that closes a class, the strong closers first.
pub(super) const fn closers(class: ThreatClass) -> &'static [Closer] {
    match class {
        // Below ABI 3 truncation is open, and before the fix of erratum 3 a rename in a
        // disconnected folder widens; a root whose only writable mounts are granted closes both.
        ThreatClass::FsData => &[
            Strong(&[Need::LandlockAbi(3), Need::LandlockErratum(3)]),
            Strong(&[Need::LandlockAbi(1), Need::Layer(Layer::PreparedRoot)]),
        ],
        // Landlock does not judge metadata. The filter cannot close a descriptor of a readable file
        // that the uid owns, hence weak.
        ThreatClass::FsMetadataWrite => &[
            Strong(&[Need::Layer(Layer::PreparedRoot)]),
            Strong(&[Need::Layer(Layer::RunUid)]),
            Weak(&[Need::FilterWithoutMetadataByPath]),
        ],
        ThreatClass::FsMetadataRead => &[Strong(&[Need::Layer(Layer::PreparedRoot)])],
        // Landlock's TCP rules are no closer: MPTCP and fast open pass them. The filter lets
        // `/proc/self/net` be read, which shows the connections of the namespace, hence weak.
        ThreatClass::IpNetwork => &[
            Strong(&[Need::Layer(Layer::NetworkNamespace)]),
            Weak(&[Need::FilterWithoutInternet]),
        ],
        // Named sockets are hidden by the root or judged from ABI 9 on; abstract ones by the
        // network namespace or by the scopes of ABI 6. A namespace that runs share holds none of
        // the host's, and is shared only where the filter or the scopes part the runs.
        ThreatClass::UnixIpc => &[
            Strong(&[Need::FilterWithoutUnix]),
            Strong(&[
                Need::Layer(Layer::PreparedRoot),
                Need::Layer(Layer::NetworkNamespace),
            ]),
            Strong(&[Need::Layer(Layer::PreparedRoot), Need::LandlockAbi(6)]),
            Strong(&[Need::LandlockAbi(9)]),
        ],
        ThreatClass::Processes => &[
            Strong(&[Need::LandlockAbi(6)]),
            Strong(&[Need::Layer(Layer::PidNamespace)]),
            Strong(&[Need::Layer(Layer::RunUid)]),
        ],
        ThreatClass::Tuning => &[
            Strong(&[Need::Layer(Layer::Seccomp)]),
            Strong(&[Need::Layer(Layer::PidNamespace)]),
            Strong(&[Need::Layer(Layer::RunUid)]),
        ],
        ThreatClass::KernelSurface => &[Strong(&[Need::Layer(Layer::Seccomp)])],
        ThreatClass::Privilege => &[Strong(&[
            Need::Layer(Layer::NoNewPrivileges),
            Need::Layer(Layer::NoCapabilities),
        ])],
        ThreatClass::EnvAndDescriptors => &[Strong(&[
            Need::Layer(Layer::Environment),
            Need::Layer(Layer::Descriptors),
        ])],
        // A sweep races with a fork; the other two are atomic.
        ThreatClass::KillAll => &[
            Strong(&[Need::Layer(Layer::CgroupKill)]),
            Strong(&[Need::Layer(Layer::PidNamespace)]),
            Weak(&[Need::Layer(Layer::Subreaper)]),
        ],
        ThreatClass::Memory => &[
            Strong(&[Need::Layer(Layer::CgroupMemory)]),
            Weak(&[Need::Layer(Layer::Rlimits), Need::Layer(Layer::Watchdog)]),
        ],
        // RLIMIT_NPROC counts a uid: the run's own, or the run's own user namespace.
        ThreatClass::ProcessCount => &[
            Strong(&[Need::Layer(Layer::CgroupPids)]),
            Strong(&[Need::Layer(Layer::RunUid), Need::Layer(Layer::Rlimits)]),
            Strong(&[
                Need::Layer(Layer::UserNamespace),
                Need::Layer(Layer::Rlimits),
            ]),
        ],
        ThreatClass::Cpu => &[
            Strong(&[Need::Layer(Layer::CgroupCpu), Need::Layer(Layer::Deadline)]),
            Strong(&[Need::Layer(Layer::Rlimits), Need::Layer(Layer::Deadline)]),
            Weak(&[Need::Layer(Layer::Deadline)]),
        ],
        ThreatClass::Disk => &[
            Strong(&[Need::Layer(Layer::SizedScratch)]),
            Weak(&[Need::Layer(Layer::Rlimits), Need::Layer(Layer::Watchdog)]),
        ],
    }
}
