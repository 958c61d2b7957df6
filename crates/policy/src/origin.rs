//! Where a grant comes from.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The place a rule was written, named in every decision that the rule makes.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Origin {
    /// What the root of every script holds, shown as "the base `usr`".
    Base {
        /// The base.
        name: Arc<str>,
    },
    /// A profile that ships with the product, shown as `builtin:python3`.
    Builtin {
        /// The profile.
        name: Arc<str>,
    },
    /// A person's flag for this run, shown as `cli:read=./docs`.
    Cli {
        /// The flag's value as typed.
        flag: Arc<str>,
    },
    /// The host program that uses the library.
    Code,
    /// A line of a policy file, shown as `bailiwick.toml:12`.
    File {
        /// The file as the person named it.
        label: Arc<str>,
        /// The line, counted from one.
        line: u32,
    },
    /// What a run has of its own, which nothing of the host is.
    Run,
}

impl Origin {
    /// Returns the origin of what the root of every script holds.
    pub fn base(name: impl Into<Arc<str>>) -> Self {
        Self::Base { name: name.into() }
    }

    /// Returns the origin of a profile that ships with the product.
    pub fn builtin(name: impl Into<Arc<str>>) -> Self {
        Self::Builtin { name: name.into() }
    }

    /// Returns the origin of a flag of the command line.
    pub fn cli(flag: impl Into<Arc<str>>) -> Self {
        Self::Cli { flag: flag.into() }
    }

    /// Returns the origin of a line of a policy file.
    pub fn file(label: impl Into<Arc<str>>, line: u32) -> Self {
        Self::File {
            label: label.into(),
            line,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base { name } => write!(f, "the base `{name}`"),
            Self::Builtin { name } => write!(f, "builtin:{name}"),
            Self::Cli { flag } => write!(f, "cli:{flag}"),
            Self::Code => f.write_str("host code"),
            Self::File { label, line } => write!(f, "{label}:{line}"),
            Self::Run => f.write_str("the run's own space"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_a_place() {
        let shown = [
            Origin::base("usr"),
            Origin::builtin("python3"),
            Origin::cli("read=./docs"),
            Origin::Code,
            Origin::file("bailiwick.toml", 12),
            Origin::Run,
        ]
        .map(|origin| origin.to_string());
        assert_eq!(
            shown,
            [
                "the base `usr`",
                "builtin:python3",
                "cli:read=./docs",
                "host code",
                "bailiwick.toml:12",
                "the run's own space"
            ]
        );
    }
}
