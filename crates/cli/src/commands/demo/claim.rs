//! What the demo claims, and what it saw.

use bailiwick::Error;
use serde::Serialize;

/// A claim with its evidence.
#[derive(Debug, Serialize)]
pub(super) struct Claim {
    pub(super) name: &'static str,
    /// What is claimed.
    #[serde(rename = "claim")]
    pub(super) text: &'static str,
    pub(super) held: bool,
    pub(super) evidence: String,
    pub(super) reproduce: String,
    /// The error that kept the claim from being tried.
    #[serde(skip)]
    pub(super) error: Option<Error>,
}

impl Claim {
    /// Judges a claim by what was seen; an error is no evidence for anything.
    pub(super) fn judge(name: &'static str, text: &'static str, seen: Result<Seen, Error>) -> Self {
        let reproduce = format!("bailiwick demo {name}");
        match seen {
            Ok(Seen { held, evidence }) => Self {
                name,
                text,
                held,
                evidence,
                reproduce,
                error: None,
            },
            Err(error) => Self {
                name,
                text,
                held: false,
                evidence: error.to_string(),
                reproduce,
                error: Some(error),
            },
        }
    }
}

/// What was seen of a claim.
#[derive(Debug)]
pub(super) struct Seen {
    held: bool,
    evidence: String,
}

impl Seen {
    /// Starts from a claim that holds and has no evidence yet.
    pub(super) fn nothing() -> Self {
        Self {
            held: true,
            evidence: String::new(),
        }
    }

    /// Adds one observation, all of which must hold.
    pub(super) fn and(mut self, held: bool, evidence: impl AsRef<str>) -> Self {
        self.held &= held;
        if !self.evidence.is_empty() {
            self.evidence.push_str("; ");
        }
        if !held {
            self.evidence.push_str("NOT AS CLAIMED: ");
        }
        self.evidence.push_str(evidence.as_ref());
        self
    }
}
