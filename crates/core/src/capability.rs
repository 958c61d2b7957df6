//! The names by which members of `context` are granted.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The name of something that a guest can be granted: a member of `context` such as `fs.read`, a
/// namespace of members such as `fs`, or `clock` and `random`.
///
/// # Examples
///
/// ```
/// use bailiwick_core::Capability;
///
/// let (files, read): (Capability, Capability) = ("fs".parse()?, "fs.read".parse()?);
/// assert!(files.covers(&read) && !read.covers(&files));
/// assert!("fs.".parse::<Capability>().is_err());
/// # Ok::<_, bailiwick_core::CapabilityRejected>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Capability(Box<str>);

impl Capability {
    /// The names that a guest's own engine answers: they tell the guest something and reach nothing
    /// outside it.
    pub const CONTAINED: [&'static str; 2] = ["clock", "random"];

    /// Returns whether it reaches nothing outside the guest.
    pub fn is_contained(&self) -> bool {
        Self::CONTAINED.contains(&&*self.0)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a grant of this one is a grant of `other`: it is the same, or the namespace
    /// that holds it.
    pub fn covers(&self, other: &Self) -> bool {
        other
            .0
            .strip_prefix(&*self.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl FromStr for Capability {
    type Err = CapabilityRejected;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_word = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_alphanumeric())
        };
        let words = text.split('.');
        if text.len() > MAX_BYTES || words.clone().count() > 2 || !words.clone().all(is_word) {
            return Err(CapabilityRejected {
                name: text.chars().take(MAX_BYTES).collect(),
            });
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A text that names no capability.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{}` is not the name of a capability: write `namespace.member` or `namespace`",
    name.escape_debug()
)]
#[non_exhaustive]
pub struct CapabilityRejected {
    /// The text, cut to the longest possible name.
    pub name: String,
}

/// Bytes of a name, which is repeated in every refusal.
const MAX_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_covers_its_members_and_no_name_that_only_begins_like_it() {
        let of = |text: &str| text.parse::<Capability>().unwrap();
        assert!(of("fs").covers(&of("fs")) && of("fs").covers(&of("fs.read")));
        assert!(!of("fs").covers(&of("fsx")) && !of("fs.read").covers(&of("fs.readAll")));
    }

    #[test]
    fn only_the_clock_and_randomness_stay_inside() {
        let of = |text: &str| text.parse::<Capability>().unwrap();
        assert!(of("clock").is_contained() && of("random").is_contained());
        for outside in ["fs.read", "notes", "clocks", "clock.now", "randomizer"] {
            assert!(!of(outside).is_contained(), "{outside}");
        }
    }

    #[test]
    fn malformed_names_are_rejected() {
        for text in [
            "", ".", "fs.", ".read", "a.b.c", "Fs", "fs.*", "fs read", "1a",
        ] {
            assert!(text.parse::<Capability>().is_err(), "{text}");
        }
    }
}
