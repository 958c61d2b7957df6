//! What a test wants left out, to see that a claim turns red. Nothing, in the real program.

use bailiwick::sandbox::Host;
use bailiwick::sandbox_policy::ThreatClass;

#[cfg(feature = "weaken")]
use self::subject::Subject;

/// The layers that a host is made to miss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Weakening(Option<Subject>);

impl Weakening {
    /// Leaves nothing out.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Takes the layers away from a host.
    pub(crate) fn apply(self, host: Host) -> Host {
        match self.0 {
            None => host,
            Some(subject) => subject.leave_out_of(host),
        }
    }

    /// Returns the classes that may stay open: none, unless something is left out, so that what
    /// is open can be shown.
    pub(crate) fn accepted(self) -> &'static [ThreatClass] {
        const ALL: &[ThreatClass] = &ThreatClass::ALL;
        if self.0.is_some() { ALL } else { &[] }
    }
}

/// Something to leave out: there is no such thing in the real program.
#[cfg(not(feature = "weaken"))]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Subject {}

#[cfg(not(feature = "weaken"))]
impl Subject {
    fn leave_out_of(self, _host: Host) -> Host {
        match self {}
    }
}

#[cfg(feature = "weaken")]
mod subject {
    use bailiwick::Error;
    use bailiwick::sandbox::{Host, Layer};
    use bailiwick::sandbox_policy::ThreatClass;

    use super::Weakening;
    use crate::config;
    use crate::error::usage;

    /// Something to leave out.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub(super) enum Subject {
        /// One layer.
        Layer(Layer),
        /// Every layer that closes a class.
        Class(ThreatClass),
        /// The same, while every report claims that they are there.
        Lie(ThreatClass),
        /// The capabilities of user namespaces.
        Powers,
    }

    impl Subject {
        pub(super) fn leave_out_of(self, host: Host) -> Host {
            match self {
                Self::Layer(layer) => host.without(layer),
                Self::Class(class) => host.without_class(class),
                Self::Lie(class) => host.lying_about(class),
                Self::Powers => host.with_powerless_user_namespaces(),
            }
        }
    }

    impl Weakening {
        /// Reads `BAILIWICK_WEAKEN`: `powers`, `layer:NAME`, `class:NAME` or `lie:NAME`, with the name
        /// of a class in the last two.
        pub(crate) fn from_environment() -> Result<Self, Error> {
            let Some(text) = config::weakening() else {
                return Ok(Self::none());
            };
            let text = text.to_string_lossy();
            let subject = match text.split_once(':') {
                Some(("layer", name)) => name.parse().ok().map(Subject::Layer),
                Some(("class", name)) => name.parse().ok().map(Subject::Class),
                Some(("lie", name)) => name.parse().ok().map(Subject::Lie),
                Some(_) => None,
                None => (text == "powers").then_some(Subject::Powers),
            };
            match subject {
                Some(subject) => Ok(Self(Some(subject))),
                None => Err(usage(
                    format!("`BAILIWICK_WEAKEN` names nothing to leave out: `{text}`"),
                    "write `layer:NAME`, `class:NAME`, `lie:NAME` or `powers`",
                )),
            }
        }
    }
}
