//! The three kinds of capability.

use std::fmt;

use serde::Serialize;

/// Where a tool's code runs, ordered by containment.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a fourth tier changes every security decision"
)]
pub enum Tier {
    /// Tier 1: live Rust in the host's process, bounded by a wrapper and not confined.
    Module,
    /// Tier 2: source that the skill carries, in a fresh guest instance for each call.
    Isolated,
    /// Tier 3: a file that the skill ships, in a child process under the kernel's enforcement.
    Script,
}

impl Tier {
    /// Returns the tier's word, such as `script`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Isolated => "isolated",
            Self::Script => "script",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
