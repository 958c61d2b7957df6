//! How much of the kernel a script may call.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A profile of system calls; each allows everything the one before it allows.
///
/// The sandbox owns the lists and tests that they nest; the order here is that claim.
#[expect(
    clippy::exhaustive_enums,
    reason = "a profile that some match forgets would be a script without a filter"
)]
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum SyscallProfile {
    /// What shells and interpreters were seen to need, and no more.
    #[default]
    Strict,
    /// What honest tools need too. The default of the policy file.
    Standard,
    /// What unusual runtimes need, still without any call that a sandbox must never allow.
    Wide,
}

impl SyscallProfile {
    /// Every profile, narrowest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Standard, Self::Wide];

    /// Returns the name used in policy files and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Wide => "wide",
        }
    }
}

impl fmt::Display for SyscallProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for SyscallProfile {
    type Err = UnknownSyscallProfile;

    fn from_str(text: &str) -> Result<Self, UnknownSyscallProfile> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == text)
            .ok_or_else(|| UnknownSyscallProfile {
                name: text.to_owned(),
            })
    }
}

impl Serialize for SyscallProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A name that is no profile of system calls.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is none of `strict`, `standard`, `wide`", name.escape_debug())]
pub struct UnknownSyscallProfile {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_a_chain_and_are_found_by_their_names() {
        assert!(SyscallProfile::ALL.is_sorted());
        for profile in SyscallProfile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        assert!("none".parse::<SyscallProfile>().is_err());
    }
}
