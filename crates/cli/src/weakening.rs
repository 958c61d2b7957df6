//! What a test wants left out, to see that a claim turns red. Nothing, in the real program.

use std::collections::BTreeSet;

use bailiwick::sandbox::class::coverage;
use bailiwick::sandbox::{Host, Layer};
use bailiwick::sandbox_policy::ThreatClass;

/// The layers that a host is made to miss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Weakening(Option<Subject>);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    not(feature = "weaken"),
    expect(dead_code, reason = "only the program for tests makes one")
)]
enum Subject {
    /// One layer.
    Layer(Layer),
    /// Every layer that closes a class.
    Class(ThreatClass),
}

impl Weakening {
    /// Leaves nothing out.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Takes the layers away from a host.
    pub(crate) fn apply(self, host: Host) -> Host {
        let layers = match self.0 {
            None => BTreeSet::new(),
            Some(Subject::Layer(layer)) => BTreeSet::from([layer]),
            Some(Subject::Class(class)) => closing(&host, class),
        };
        layers.into_iter().fold(host, leave_out)
    }

    /// Returns the classes that may stay open: none, unless something is left out, so that what
    /// is open can be shown.
    pub(crate) fn accepted(self) -> &'static [ThreatClass] {
        const ALL: &[ThreatClass] = &ThreatClass::ALL;
        if self.0.is_some() { ALL } else { &[] }
    }
}

/// Returns every layer that takes part in closing a class.
fn closing(host: &Host, class: ThreatClass) -> BTreeSet<Layer> {
    let coverage = coverage(&host.layers());
    let judged = coverage.iter().filter(|(judged, _)| *judged == class);
    let besides = BESIDES
        .into_iter()
        .filter(|(other, _)| *other == class)
        .map(|(_, layer)| layer);
    judged
        .flat_map(|(_, cover)| {
            cover
                .closers()
                .iter()
                .flatten()
                .chain(cover.missing())
                .copied()
        })
        .chain(besides)
        .collect()
}

/// Layers that stop attacks on a class without closing it: other protocols pass Landlock's rules for
/// TCP, a limit on one process is none on a tree, and scratch in memory is not all of the disk.
const BESIDES: [(ThreatClass, Layer); 4] = [
    (ThreatClass::IpNetwork, Layer::Landlock),
    (ThreatClass::Memory, Layer::Rlimits),
    (ThreatClass::Disk, Layer::Rlimits),
    (ThreatClass::Disk, Layer::CgroupMemory),
];

/// Takes one layer away, and has the launcher leave the step out that makes it.
fn leave_out(host: Host, layer: Layer) -> Host {
    let host = host.without(layer);
    #[cfg(feature = "weaken")]
    let host = host.weakened(from_environment::step(layer));
    host
}

#[cfg(feature = "weaken")]
mod from_environment {
    use bailiwick::Error;
    use bailiwick::sandbox::Layer;
    use bailiwick::sandbox::plan::skip;

    use super::{Subject, Weakening};
    use crate::config;
    use crate::error::usage;

    impl Weakening {
        /// Reads `BAILIWICK_WEAKEN`: `layer:NAME` or `class:NAME`.
        pub(crate) fn from_environment() -> Result<Self, Error> {
            let Some(text) = config::weakening() else {
                return Ok(Self::none());
            };
            let text = text.to_string_lossy();
            let subject = match text.split_once(':') {
                Some(("layer", name)) => name.parse().ok().map(Subject::Layer),
                Some(("class", name)) => name.parse().ok().map(Subject::Class),
                Some(_) | None => None,
            };
            match subject {
                Some(subject) => Ok(Self(Some(subject))),
                None => Err(usage(
                    format!("`BAILIWICK_WEAKEN` names nothing to leave out: `{text}`"),
                    "write `layer:NAME` or `class:NAME`",
                )),
            }
        }
    }

    /// Returns the launcher's step that a layer is, where it is one.
    pub(super) fn step(layer: Layer) -> u32 {
        match layer {
            Layer::Landlock => skip::LANDLOCK,
            Layer::Seccomp => skip::SECCOMP,
            Layer::NoCapabilities => skip::CAPABILITIES,
            Layer::NoNewPrivileges => skip::NO_NEW_PRIVILEGES,
            Layer::Descriptors => skip::CLOSE_DESCRIPTORS,
            Layer::Rlimits => skip::LIMITS,
            Layer::PreparedRoot
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
}
