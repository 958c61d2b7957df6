//! The order of policies: whether one is within another, and where it is not.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::grants::Access;
use crate::isolate::IsolateAxis;
use crate::limits::LimitAxis;
use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::threat::ThreatClass;

impl SandboxPolicy {
    /// Lists everything that this policy allows beyond `ceiling`; empty means it is within.
    ///
    /// Rights only grow downwards, so a root of this policy that is inside the ceiling has
    /// everything beneath it inside as well: testing the roots decides for every path.
    /// Requirements count the other way round, because dropping one widens.
    pub fn widens(&self, ceiling: &Self) -> Vec<Widening> {
        let mut witnesses = Vec::new();
        self.widens_files(ceiling, &mut witnesses);
        if !self.net().is_within(ceiling.net()) {
            witnesses.push(Widening {
                axis: Axis::Net,
                at: None,
                wanted: self.net().to_string(),
                held: ceiling.net().to_string(),
                origin: self.net_origin().cloned(),
                ceiling: None,
                unnamed: None,
            });
        }
        if self.unix() > ceiling.unix() {
            witnesses.push(Widening::plain(Axis::Unix, self.unix(), ceiling.unix()));
        }
        for (program, origin) in self.exec() {
            if !ceiling.exec().contains_key(program) {
                witnesses.push(Widening::missing(Axis::Exec, program, origin));
            }
        }
        if self.syscalls() > ceiling.syscalls() {
            let (wanted, held) = (self.syscalls(), ceiling.syscalls());
            witnesses.push(Widening::plain(Axis::Syscalls, wanted, held));
        }
        for axis in self.limits().beyond(ceiling.limits()) {
            let (wanted, held) = (self.limits().show(axis), ceiling.limits().show(axis));
            witnesses.push(Widening::plain(Axis::Limit(axis), wanted, held));
        }
        for (name, origin) in self.env() {
            if !ceiling.env().contains_key(name) {
                witnesses.push(Widening::missing(Axis::Env, name, origin));
            }
        }
        for class in ceiling.required().difference(self.required()) {
            witnesses.push(Widening::dropped(*class));
        }
        let written_in = ceiling.written_in();
        witnesses
            .into_iter()
            .map(|witness| witness.under(written_in.cloned()))
            .collect()
    }

    /// Says whether this policy allows nothing beyond `ceiling`.
    pub fn is_within(&self, ceiling: &Self) -> bool {
        self.widens(ceiling).is_empty()
    }

    fn widens_files(&self, ceiling: &Self, witnesses: &mut Vec<Widening>) {
        for (root, grants) in self.roots() {
            let held = ceiling.effective_rights(root);
            for grant in grants {
                if !held.contains(grant.rights()) {
                    witnesses.push(Widening {
                        axis: Axis::Files,
                        at: Some(root.to_string()),
                        wanted: grant.rights().to_string(),
                        held: held.to_string(),
                        origin: Some(grant.origin().clone()),
                        ceiling: None,
                        unnamed: None,
                    });
                }
            }
        }
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

    /// Names what the axis has more than one of.
    pub(crate) fn about(mut self, at: &impl fmt::Display) -> Self {
        self.at = Some(at.to_string());
        self
    }

    pub(crate) fn missing(axis: Axis, at: &impl fmt::Display, origin: &Origin) -> Self {
        Self {
            at: Some(at.to_string()),
            origin: Some(origin.clone()),
            ..Self::plain(axis, "it", "nothing")
        }
    }

    fn dropped(class: ThreatClass) -> Self {
        Self {
            at: Some(class.to_string()),
            ..Self::plain(Axis::Require, "none", "a requirement")
        }
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
