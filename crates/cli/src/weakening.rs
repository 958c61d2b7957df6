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
        layers.into_iter().fold(host, Host::without)
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
    judged
        .flat_map(|(_, cover)| {
            cover
                .closers()
                .iter()
                .flatten()
                .chain(cover.missing())
                .copied()
        })
        .collect()
}

#[cfg(feature = "weaken")]
mod from_environment {
    use bailiwick::Error;

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
}
