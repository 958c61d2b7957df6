//! What can go wrong around a script, before and after it runs.

use bailiwick_core::{Code, SkillError};

/// A failure of the script tier's own work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The workspace could not be made, filled or removed.
    #[error("the workspace failed to {action}")]
    Workspace {
        /// What was attempted.
        action: &'static str,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The files differ from the digest that they were loaded under.
    #[error("the files of `{skill}` are not those that were loaded")]
    Changed {
        /// The skill.
        skill: String,
    },
    /// The thread that drives a run could not be started or died.
    #[error("the thread that drives the run could not {action}")]
    Thread {
        /// What it could not do.
        action: &'static str,
    },
    /// The proxy that leads a run to its granted hosts could not be started.
    #[error("the proxy for granted hosts could not be started")]
    Proxy {
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl ScriptError {
    pub(crate) fn workspace(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Workspace { action, source }
    }
}

impl From<ScriptError> for SkillError {
    fn from(error: ScriptError) -> Self {
        let (code, hint) = match &error {
            ScriptError::Workspace { .. } => (
                Code::WorkspaceFailed,
                "check space and permissions of the folder named by `[workspace] dir`",
            ),
            ScriptError::Changed { .. } => (
                Code::DigestMismatch,
                "load the skill again to run its new files",
            ),
            ScriptError::Thread { .. } => (
                Code::WorkspaceFailed,
                "the host is out of threads or memory",
            ),
            ScriptError::Proxy { .. } => (
                Code::ScriptSandboxUnavailable,
                "the host is out of threads or descriptors",
            ),
        };
        Self::new(code, error.to_string())
            .with_hint(hint)
            .with_source(error)
    }
}
