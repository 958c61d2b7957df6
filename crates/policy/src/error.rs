//! What this crate refuses, and the code that each refusal has.

use std::fmt;

use bailiwick_core::{Code, SkillError};

use crate::cli::CliGrantError;
use crate::file::{PinMismatch, PolicyFileError};
use crate::order::Widening;
use crate::trust::TrustError;

/// Everything that this crate refuses.
///
/// Each kind is a type of its own where it is raised; this sum is for callers that pass all of them
/// on.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A flag of the command line cannot be granted.
    #[error(transparent)]
    Cli(#[from] CliGrantError),
    /// A policy file is wrong.
    #[error(transparent)]
    File(#[from] PolicyFileError),
    /// A skill is pinned to another digest.
    #[error(transparent)]
    Pin(#[from] PinMismatch),
    /// A policy file cannot be trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A policy is not inside its ceiling.
    #[error(transparent)]
    Widened(#[from] PolicyWidened),
}

impl PolicyError {
    /// Returns the code that the error converts to.
    pub fn code(&self) -> Code {
        match self {
            Self::Cli(_) | Self::Trust(_) => Code::InvalidSkillsConfig,
            Self::File(error) => error.code(),
            Self::Pin(_) => Code::DigestMismatch,
            Self::Widened(_) => Code::ScriptPolicyWidened,
        }
    }
}

impl From<PolicyError> for SkillError {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Cli(error) => error.into(),
            PolicyError::File(error) => error.into(),
            PolicyError::Pin(error) => error.into(),
            PolicyError::Trust(error) => error.into(),
            PolicyError::Widened(error) => error.into(),
        }
    }
}

/// A policy that is not inside its ceiling; carries every witness and never is empty.
///
/// Converts to `E_SKILL_SCRIPT_POLICY_WIDENED`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyWidened {
    witnesses: Vec<Widening>,
}

impl PolicyWidened {
    /// Returns the error for some witnesses, or nothing if there are none.
    pub(crate) fn from_witnesses(witnesses: Vec<Widening>) -> Option<Self> {
        (!witnesses.is_empty()).then_some(Self { witnesses })
    }

    /// Returns the error for one witness.
    pub(crate) fn one(witness: Widening) -> Self {
        Self {
            witnesses: vec![witness],
        }
    }

    /// Returns everything that was asked for beyond the ceiling.
    pub fn witnesses(&self) -> &[Widening] {
        &self.witnesses
    }
}

impl fmt::Display for PolicyWidened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the policy is wider than its ceiling: ")?;
        for (place, witness) in self.witnesses.iter().enumerate() {
            write!(f, "{}{witness}", if place == 0 { "" } else { "; " })?;
            if let Some(origin) = witness.origin() {
                write!(f, " ({origin})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for PolicyWidened {}

impl From<PolicyWidened> for SkillError {
    fn from(widened: PolicyWidened) -> Self {
        let first = &widened.witnesses[0];
        let more = match widened.witnesses.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let message = format!("the policy is wider than its ceiling: {first}{more}");
        let mut error = Self::new(Code::ScriptPolicyWidened, message)
            .with_hint(first.hint())
            .with_detail("axis", first.axis().as_str())
            .with_detail("wanted", first.wanted())
            .with_detail("held", first.held());
        if let Some(file) = first.ceiling_label() {
            error = error.with_detail("ceiling", file);
        }
        if let Some(at) = first.at() {
            error = error.with_detail("at", at);
        }
        if let Some(origin) = first.origin() {
            error = error.with_detail("rule", origin.to_string());
        }
        let witnesses = serde_json::to_value(&widened.witnesses).unwrap_or_default();
        error
            .with_detail("witnesses", witnesses)
            .with_source(widened)
    }
}
