//! The order of policies: whether one is within another, and where it is not.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::compare::compare;
use crate::grants::Access;
use crate::isolate::IsolateAxis;
use crate::limits::LimitAxis;
use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;

impl SandboxPolicy {
    /// Lists everything that this policy allows beyond `ceiling`; empty means it is within.
    ///
    /// Rights only grow downwards, so a root of this policy that is inside the ceiling has
    /// everything beneath it inside as well: testing the roots decides for every path.
    /// Requirements count the other way round, because dropping one widens.
    pub fn widens(&self, ceiling: &Self) -> Vec<Widening> {
        let written_in = ceiling.written_in();
        compare(self, ceiling)
            .iter()
            .flat_map(|comparison| comparison.witnesses(self))
            .map(|witness| witness.under(written_in.cloned()))
            .collect()
    }

    /// Says whether this policy allows nothing beyond `ceiling`.
    pub fn is_within(&self, ceiling: &Self) -> bool {
        self.widens(ceiling).is_empty()
    }
}

/// One thing that a policy allows and its ceiling does not.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Widening {
    axis: Axis,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    wanted: String,
    held: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(skip)]
    ceiling: Option<Arc<str>>,
    /// How a call wanted to use a path that it named, where that is what went too far.
    #[serde(skip)]
    unnamed: Option<Access>,
}

impl Widening {
    /// Returns the part of the policy that is too wide.
    pub fn axis(&self) -> Axis {
        self.axis
    }

    /// Returns the path, program or name it is about, where the axis has more than one.
    pub fn at(&self) -> Option<&str> {
        self.at.as_deref()
    }

    /// Returns what is asked for.
    pub fn wanted(&self) -> &str {
        &self.wanted
    }

    /// Returns what the ceiling holds.
    pub fn held(&self) -> &str {
        &self.held
    }

    /// Returns the rule that asks, if it is known.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Returns the policy file that the ceiling was written in, as the person named it.
    ///
    /// There is none for the ceiling that holds without a file, and for one that a program made.
    pub fn ceiling_label(&self) -> Option<&str> {
        self.ceiling.as_deref()
    }

    /// Returns the next step: what to widen, and where it was written.
    ///
    /// With a policy file a grant of the command line must lie inside its `[session]`, so that
    /// none of these hints names the flag alone.
    pub fn hint(&self) -> String {
        let at = self.at.as_deref().unwrap_or_default();
        match (self.unnamed, self.ceiling_label()) {
            (Some(access), Some(file)) => format!(
                "a call may name it with `grant.param_{access} = [{at:?}]` for the skill in {file}, or with `--grant param_{access}={at}` for this run; both must lie inside [session] of {file}"
            ),
            (Some(access), None) => format!(
                "grant it for this run with `--grant param_{access}={at}`, or in a policy file"
            ),
            (None, Some(file)) => match self.axis.key() {
                Some(key) => format!("widen {key} of {file}, or ask for less"),
                None => "ask for less: no policy file can grant it".to_owned(),
            },
            (None, None) => "widen the ceiling where it was set, or ask for less".to_owned(),
        }
    }

    /// Returns the witness that a call names a path beneath none of the roots for that.
    pub(crate) fn unnamed(path: &HostPath, access: Access, held: impl fmt::Display) -> Self {
        Self {
            unnamed: Some(access),
            ..Self::path(path, access.rights(), held)
        }
    }

    /// Names the policy file that the ceiling was written in.
    pub(crate) fn under(mut self, file: Option<Arc<str>>) -> Self {
        self.ceiling = file;
        self
    }

    /// Returns the witness that a file or folder is asked for beyond what is held.
    pub(crate) fn path(
        path: &HostPath,
        wanted: impl fmt::Display,
        held: impl fmt::Display,
    ) -> Self {
        Self {
            at: Some(path.to_string()),
            ..Self::plain(Axis::Files, wanted, held)
        }
    }

    /// Names the rule that asks.
    pub(crate) fn asked_by(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Names the rule that asks, where one is known.
    pub(crate) fn maybe_asked_by(mut self, origin: Option<&Origin>) -> Self {
        self.origin = origin.cloned();
        self
    }

    pub(crate) fn plain(axis: Axis, wanted: impl fmt::Display, held: impl fmt::Display) -> Self {
        Self {
            axis,
            at: None,
            wanted: wanted.to_string(),
            held: held.to_string(),
            origin: None,
            ceiling: None,
            unnamed: None,
        }
    }

    /// Returns the witness that something is asked for of which the ceiling holds nothing.
    pub(crate) fn missing(axis: Axis, at: &impl fmt::Display, origin: &Origin) -> Self {
        Self::plain(axis, "it", "nothing")
            .about(at)
            .asked_by(origin.clone())
    }

    /// Names what the axis has more than one of.
    pub(crate) fn about(mut self, at: &impl fmt::Display) -> Self {
        self.at = Some(at.to_string());
        self
    }
}

impl fmt::Display for Widening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.axis)?;
        if let Some(at) = &self.at {
            write!(f, " {at}")?;
        }
        write!(
            f,
            ": asks for {}, the ceiling holds {}",
            self.wanted, self.held
        )
    }
}

/// A part of a policy that is compared on its own.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Axis {
    /// Members of `context`, which isolated tools call.
    Context,
    /// Variables of the environment.
    Env,
    /// Programs that may be started.
    Exec,
    /// Files and folders.
    Files,
    /// One limit of isolated tools.
    IsolateLimit(IsolateAxis),
    /// One limit.
    Limit(LimitAxis),
    /// Reach over IP.
    Net,
    /// Required classes of threats.
    Require,
    /// System calls.
    Syscalls,
    /// Reach over Unix sockets.
    Unix,
}

impl Axis {
    /// Returns the name used in reports and errors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Env => "env",
            Self::Exec => "exec",
            Self::Files => "fs",
            Self::IsolateLimit(axis) => axis.qualified(),
            Self::Limit(axis) => axis.as_str(),
            Self::Net => "net",
            Self::Require => "require",
            Self::Syscalls => "syscalls",
            Self::Unix => "unix",
        }
    }

    /// Returns the key of a policy file that bounds the axis, if one does.
    fn key(self) -> Option<String> {
        let key = match self {
            Self::Context => "`context` in [session]",
            Self::Env => "`env` in [session]",
            Self::Exec => "`exec` in [interpreters]",
            Self::Files => "`read` or `write` in [session]",
            Self::IsolateLimit(axis) => return Some(format!("`{axis}` in [limits.isolate]")),
            Self::Limit(axis) => return Some(format!("`{axis}` in [limits]")),
            Self::Net => "`network` in [session]",
            Self::Require => "`require` in [sandbox]",
            Self::Syscalls => "`syscalls` in [sandbox]",
            Self::Unix => return None,
        };
        Some(key.to_owned())
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Axis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
