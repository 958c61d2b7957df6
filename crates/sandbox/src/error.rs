//! What can go wrong between a policy and a confined process.

use std::io;

use bailiwick_core::{Code, SkillError};
use bailiwick_policy::ThreatClass;

use crate::message::Stage;

/// Why a run could not be confined, and so was not started.
///
/// A script's own failure is never one of these: see [`End`](crate::End).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// Nothing on this machine closes a required class of threats.
    #[error("this machine cannot close the threat class `{class}`: {why}")]
    Unavailable {
        /// The class.
        class: ThreatClass,
        /// What is missing, in a few words.
        why: String,
        /// The next step.
        hint: String,
    },
    /// A step of the launch failed; nothing ran.
    #[error("the launch failed at stage `{}`{}: {source}", stage.as_str(), at(subject.as_deref()))]
    Launch {
        /// The step.
        stage: Stage,
        /// What the step worked on, when it walks a list.
        subject: Option<String>,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The launcher ended without saying why.
    #[error("the launcher ended without starting the program")]
    LauncherLost,
    /// The launcher did not answer in time and was killed.
    #[error("the launcher did not start the program within {seconds} s")]
    LauncherSlow {
        /// The time that it had.
        seconds: u64,
    },
    /// An operation of the host failed before anything was started.
    #[error("cannot {doing}: {source}")]
    Host {
        /// What was tried.
        doing: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A root cannot be granted, or is not there.
    #[error("cannot grant `{path}`: {why}")]
    Root {
        /// The path as the policy spells it.
        path: String,
        /// Why.
        why: String,
    },
    /// A command cannot be executed as it stands.
    #[error("the command is refused: {why}")]
    Command {
        /// Why.
        why: String,
    },
    /// The policy asks for something that this version does not enforce, so it is refused.
    #[error("`{field}` is not supported by this version")]
    Unsupported {
        /// The field of the policy.
        field: String,
    },
}

impl SandboxError {
    /// Wraps the kernel's answer to something that the host did.
    pub(crate) fn host(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Host {
            doing: doing.into(),
            source: source.into(),
        }
    }

    /// Returns the stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Unavailable { .. }
            | Self::Launch { .. }
            | Self::LauncherLost
            | Self::LauncherSlow { .. }
            | Self::Host { .. } => Code::ScriptSandboxUnavailable,
            Self::Root { .. } | Self::Unsupported { .. } => Code::InvalidSkillsConfig,
            Self::Command { .. } => Code::ArgumentsRejected,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Unavailable { hint, .. } => hint.clone(),
            Self::Launch { .. }
            | Self::LauncherLost
            | Self::LauncherSlow { .. }
            | Self::Host { .. } => {
                "run `bailiwick doctor` to see which layer this machine lacks and how to get it"
                    .to_owned()
            }
            Self::Root { .. } => {
                "grant an existing file or folder of an ordinary file system, by its real path"
                    .to_owned()
            }
            Self::Command { .. } => "shorten or correct the arguments".to_owned(),
            Self::Unsupported { field } => format!("remove `{field}` from the policy"),
        }
    }
}

impl From<SandboxError> for SkillError {
    fn from(error: SandboxError) -> Self {
        let base = Self::new(error.code(), error.to_string()).with_hint(error.hint());
        let detailed = match &error {
            SandboxError::Unavailable { class, .. } => base.with_detail("class", class.as_str()),
            SandboxError::Launch { stage, source, .. } => base
                .with_detail("stage", stage.as_str())
                .with_detail("errno", source.raw_os_error().unwrap_or(0)),
            SandboxError::Root { path, .. } => base.with_detail("path", path.as_str()),
            SandboxError::Unsupported { field } => base.with_detail("field", field.as_str()),
            SandboxError::LauncherLost
            | SandboxError::LauncherSlow { .. }
            | SandboxError::Host { .. }
            | SandboxError::Command { .. } => base,
        };
        detailed.with_source(error)
    }
}

fn at(subject: Option<&str>) -> String {
    subject.map_or_else(String::new, |subject| format!(" for `{subject}`"))
}
