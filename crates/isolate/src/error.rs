//! What can go wrong before a guest runs.

use bailiwick_core::{BoxError, Code, SkillError};

/// An engine or a program that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IsolateError {
    /// The settings, or this machine, do not allow the engine.
    #[error("the engine for guests cannot be set up")]
    Engine {
        /// What the engine said.
        source: BoxError,
    },
    /// The folder for compiled code cannot be used.
    #[error("the folder for compiled guests cannot be used")]
    Cache {
        /// What is wrong with it.
        source: BoxError,
    },
    /// The guest's wasm is malformed, or its imports and exports are not those of a guest.
    #[error("the guest's code is not that of a guest: {reason}")]
    Guest {
        /// What is wrong with it, in one line.
        reason: String,
        /// What the engine said.
        source: Option<BoxError>,
    },
}

impl IsolateError {
    pub(crate) fn engine(source: impl Into<BoxError>) -> Self {
        Self::Engine {
            source: source.into(),
        }
    }

    pub(crate) fn cache(source: impl Into<BoxError>) -> Self {
        Self::Cache {
            source: source.into(),
        }
    }

    pub(crate) fn guest(reason: impl Into<String>) -> Self {
        Self::Guest {
            reason: reason.into(),
            source: None,
        }
    }
}

impl From<IsolateError> for SkillError {
    fn from(error: IsolateError) -> Self {
        let (code, hint) = match &error {
            IsolateError::Engine { .. } => (
                Code::InvalidSkillsConfig,
                "lower `limits.isolate.memory` or the number of slots, or allow this process more \
                 address space",
            ),
            IsolateError::Cache { .. } => (
                Code::InvalidSkillsConfig,
                "name a folder that this user may write, and nobody else",
            ),
            IsolateError::Guest { .. } => (
                Code::IsolatedGuestInvalid,
                "build the guest against the imports and exports that `bailiwick-isolate` names",
            ),
        };
        Self::new(code, error.to_string())
            .with_hint(hint)
            .with_source(error)
    }
}
