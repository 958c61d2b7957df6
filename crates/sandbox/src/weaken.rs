//! Leaving layers out for real, so that tests see what each class is without its closers.
//!
//! Compiled only with the feature `weaken`, which no release has. A weakened run keeps what makes
//! it possible at all: a mount namespace, in which a root that hides nothing stands for none, and
//! the user namespace of an ordinary user, inside which everything else is made.

use std::collections::BTreeSet;
use std::time::Duration;

use bailiwick_policy::ThreatClass;

use crate::class::{self, Layer};
use crate::host::Host;
use crate::plan::skip;

impl Host {
    /// Returns the same host without any layer that takes part in closing a class, or that stops
    /// some attacks on it without closing it.
    ///
    /// A policy that requires the class is then refused; one that does not runs open to it.
    #[must_use]
    pub fn without_class(self, class: ThreatClass) -> Self {
        let besides = BESIDES.into_iter().filter(|(other, _)| *other == class);
        let layers = class::closing(class)
            .into_iter()
            .chain(besides.map(|(_, layer)| layer));
        layers.fold(self, Self::without)
    }

    /// Returns the same host without any layer that closes a class, whose every report claims what
    /// this one's does: a probe that lies.
    ///
    /// A policy that requires the class is then accepted, and only an attack shows that it is open.
    #[must_use]
    pub fn lying_about(self, class: ThreatClass) -> Self {
        let claims = self.layers();
        let mut liar = self.without_class(class);
        liar.claim(claims);
        liar
    }

    /// Returns the same host as an ordinary user finds it whose user namespaces hold no capability.
    #[must_use]
    pub fn with_powerless_user_namespaces(mut self) -> Self {
        self.probe = self.probe.powerless();
        self.uids = None;
        self
    }

    /// Returns the same host whose launcher leaves single steps out, as bits of [`skip`], without
    /// a word of it in any report.
    #[must_use]
    pub fn weakened(mut self, steps: u32) -> Self {
        self.skip(steps);
        self
    }
}

/// The steps that the launcher leaves out for want of a layer, as bits of [`skip`].
pub(crate) fn steps(layer: Layer) -> u32 {
    match layer {
        Layer::NoCapabilities => skip::CAPABILITIES,
        Layer::NoNewPrivileges => skip::NO_NEW_PRIVILEGES,
        Layer::Descriptors => skip::CLOSE_DESCRIPTORS,
        Layer::Rlimits => skip::LIMITS,
        // What the probe denies is not asked of the launcher; the rest is the host's work.
        Layer::Landlock
        | Layer::Seccomp
        | Layer::PreparedRoot
        | Layer::PidNamespace
        | Layer::NetworkNamespace
        | Layer::IpcNamespace
        | Layer::UtsNamespace
        | Layer::CgroupNamespace
        | Layer::UserNamespace
        | Layer::RunUid
        | Layer::Environment
        | Layer::CgroupKill
        | Layer::CgroupMemory
        | Layer::CgroupPids
        | Layer::CgroupCpu
        | Layer::Watchdog
        | Layer::Deadline
        | Layer::Subreaper
        | Layer::SizedScratch => 0,
    }
}

/// The layers that go with one, itself among them. The kernel takes no filter and no domain from a
/// process that may gain privileges, unless it has some; and a uid of its own has none.
pub(crate) fn fall_with(layer: Layer) -> BTreeSet<Layer> {
    let mut layers = BTreeSet::from([layer]);
    if layer == Layer::NoNewPrivileges {
        layers.insert(Layer::NoCapabilities);
    }
    if layers.contains(&Layer::NoCapabilities) {
        layers.insert(Layer::RunUid);
    }
    layers
}

/// Says whether the probe is to keep a layer, since no run could be made without it.
pub(crate) fn is_kept(layer: Layer) -> bool {
    matches!(
        layer,
        Layer::PreparedRoot | Layer::UserNamespace | Layer::RunUid
    )
}

/// Layers that stop attacks on a class without closing it: another user may not read a private file,
/// Landlock refuses plain TCP, a limit on one process is none on a tree, scratch lies in memory, and
/// the host counts the time of a tree where no group does.
const BESIDES: [(ThreatClass, Layer); 6] = [
    (ThreatClass::FsData, Layer::RunUid),
    (ThreatClass::IpNetwork, Layer::Landlock),
    (ThreatClass::Memory, Layer::Rlimits),
    (ThreatClass::Cpu, Layer::Watchdog),
    (ThreatClass::Disk, Layer::Rlimits),
    (ThreatClass::Disk, Layer::CgroupMemory),
];
/// How long after its deadline a run without one is ended all the same, as if by accident.
pub(crate) const OVERRUN: Duration = Duration::from_secs(2);
/// What a run finds in its environment where that is not made by us alone.
pub(crate) const FOREIGN_VARIABLE: &str = "BAILIWICK_FOREIGN=1";
