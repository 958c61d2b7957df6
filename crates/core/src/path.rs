//! Paths inside a skill package.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::code::Code;
use crate::error::SkillError;

/// A relative, `/`-separated, normalised path inside a package (contracts 1.3).
///
/// `a//b`, `./a` and `a\b` normalise to `a/b`, `a` and `a/b`. Nothing is percent-decoded. The type
/// says nothing about links on disk: whoever opens it resolves it beneath the package root.
///
/// # Examples
///
/// ```
/// use bailiwick_core::SkillPath;
///
/// assert_eq!("scripts\\.\\run.py".parse::<SkillPath>()?.as_str(), "scripts/run.py");
/// assert!("../secret".parse::<SkillPath>().is_err());
/// # Ok::<_, bailiwick_core::PathRejected>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct SkillPath(String);

impl SkillPath {
    /// Checks a list of paths of one package: each by itself, and no two that are one file on
    /// some file system (equal after normalisation and case folding).
    ///
    /// # Errors
    ///
    /// [`PathRejected`] for the first offending path.
    pub fn parse_list<T: AsRef<str>>(
        paths: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Self>, PathRejected> {
        let mut folded = BTreeMap::new();
        let mut list = Vec::new();
        for text in paths {
            let path: Self = text.as_ref().parse()?;
            if let Some(first) = folded.insert(path.fold(), path.clone()) {
                let reason = PathReason::Duplicate(first.0);
                return Err(PathRejected {
                    path: text.as_ref().to_owned(),
                    reason,
                });
            }
            list.push(path);
        }
        Ok(list)
    }

    /// Returns the normalised text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the segments from the root down.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the extension of the last segment without its dot, when there is one.
    pub fn extension(&self) -> Option<&str> {
        self.file_name()
            .rsplit_once('.')
            .filter(|(stem, _)| !stem.is_empty())
            .map(|(_, ext)| ext)
    }

    /// Returns the key under which two paths are one file on a case-insensitive or normalising
    /// file system.
    pub fn fold(&self) -> String {
        let text: String = self.0.nfkc().collect();
        // Upper case first: it opens up letters such as `ß` that lower case leaves alone.
        text.to_uppercase().to_lowercase().nfkc().collect()
    }
}

impl FromStr for SkillPath {
    type Err = PathRejected;

    fn from_str(text: &str) -> Result<Self, PathRejected> {
        let reject = |reason| {
            Err(PathRejected {
                path: text.to_owned(),
                reason,
            })
        };
        match text.as_bytes() {
            [] => return reject(PathReason::Empty),
            [b'/' | b'\\', ..] => return reject(PathReason::Absolute),
            _ => {}
        }
        if let Some(reason) = host_prefix(text) {
            return reject(reason);
        }
        if text.chars().any(char::is_control) {
            return reject(PathReason::Control);
        }
        if text.len() > MAX_BYTES {
            return reject(PathReason::TooLong);
        }
        let mut segments = Vec::new();
        for segment in text.split(['/', '\\']) {
            match segment {
                "" | "." => {}
                ".." => return reject(PathReason::Traversal),
                name => segments.push(name),
            }
        }
        if segments.is_empty() {
            return reject(PathReason::Nothing);
        }
        if segments.len() > MAX_SEGMENTS {
            return reject(PathReason::TooDeep);
        }
        let path = segments.join("/");
        // Normalising must not uncover what is refused at the start: `./~` is `~`.
        match host_prefix(&path) {
            Some(reason) => reject(reason),
            None => Ok(Self(path)),
        }
    }
}

/// Finds the start of a path that some host would not take as relative.
fn host_prefix(text: &str) -> Option<PathReason> {
    match text.as_bytes() {
        [b'~', ..] => Some(PathReason::Home),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => Some(PathReason::Drive),
        _ => None,
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SkillPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for SkillPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A path that breaks the rule of contracts 1.3.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the path {path:?} is rejected: {reason}")]
#[non_exhaustive]
pub struct PathRejected {
    /// The text as given.
    pub path: String,
    /// The rule that it breaks.
    pub reason: PathReason,
}

/// The rule that a rejected path breaks.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PathReason {
    /// It begins with `/` or `\`: absolute, UNC or device paths.
    #[error("it begins with a separator")]
    Absolute,
    /// It contains NUL or another control character.
    #[error("it contains a control character")]
    Control,
    /// It names a file system's drive, such as `C:x`.
    #[error("it begins with a drive letter")]
    Drive,
    /// It normalises (or case-folds) to a path that is listed already.
    #[error("it is the same file as {0:?}")]
    Duplicate(String),
    /// It has no character.
    #[error("it is empty")]
    Empty,
    /// It begins with `~`.
    #[error("it begins with `~`")]
    Home,
    /// It normalises to nothing.
    #[error("it names no file")]
    Nothing,
    /// It has more than 32 segments.
    #[error("it has more than 32 segments")]
    TooDeep,
    /// It is longer than 1,024 bytes.
    #[error("it is longer than 1,024 bytes")]
    TooLong,
    /// It has a `..` segment.
    #[error("it has a `..` segment")]
    Traversal,
}

impl From<PathRejected> for SkillError {
    fn from(error: PathRejected) -> Self {
        Self::new(Code::SourcePathRejected, error.to_string())
            .with_hint("name the file relative to the skill's folder, such as `scripts/run.py`")
            .with_detail("path", error.path.as_str())
            .with_detail("reason", error.reason.to_string())
    }
}

const MAX_BYTES: usize = 1024;
const MAX_SEGMENTS: usize = 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<String, PathReason> {
        text.parse::<SkillPath>()
            .map(|path| path.0)
            .map_err(|error| error.reason)
    }

    #[test]
    fn separators_and_dots_normalise() {
        for (given, wanted) in [
            ("a//b", "a/b"),
            ("./a", "a"),
            ("a\\b", "a/b"),
            ("a/", "a"),
            ("a/./b", "a/b"),
            ("%2e%2e/x", "%2e%2e/x"),
            ("...", "..."),
            ("a/~b", "a/~b"),
        ] {
            assert_eq!(parse(given).as_deref(), Ok(wanted), "{given}");
        }
    }

    #[test]
    fn each_rule_has_its_reason() {
        for (given, reason) in [
            ("", PathReason::Empty),
            ("/etc/passwd", PathReason::Absolute),
            ("\\\\?\\C:\\x", PathReason::Absolute),
            ("~/.ssh/id", PathReason::Home),
            ("C:x", PathReason::Drive),
            ("a:b", PathReason::Drive),
            ("a\0b", PathReason::Control),
            ("a\nb", PathReason::Control),
            ("a/../b", PathReason::Traversal),
            ("a\\..\\b", PathReason::Traversal),
            ("./~/x", PathReason::Home),
            ("./c:/x", PathReason::Drive),
            (".", PathReason::Nothing),
            ("./", PathReason::Nothing),
        ] {
            assert_eq!(parse(given), Err(reason), "{given:?}");
        }
        assert_eq!(parse(&"a".repeat(1025)), Err(PathReason::TooLong));
        assert_eq!(parse(&"a/".repeat(33)), Err(PathReason::TooDeep));
        assert!(parse(&"a/".repeat(32)).is_ok());
    }

    #[test]
    fn a_list_refuses_two_spellings_of_one_file() {
        for pair in [
            ["a/b", "a//b"],
            ["Read.md", "read.md"],
            ["ﬁle", "file"],
            ["straße", "STRASSE"],
            ["σασ", "σας"],
        ] {
            let result = SkillPath::parse_list(pair);
            assert!(
                matches!(
                    result,
                    Err(PathRejected {
                        reason: PathReason::Duplicate(_),
                        ..
                    })
                ),
                "{pair:?}"
            );
        }
        assert!(SkillPath::parse_list(["a", "b", "a/b"]).is_ok());
    }

    proptest! {
        #[test]
        fn an_accepted_path_is_a_fixed_point_beneath_its_root(text in "[a-c./\\\\~:]{0,24}") {
            if let Ok(path) = text.parse::<SkillPath>() {
                prop_assert_eq!(path.as_str().parse::<SkillPath>().map(|p| p.0), Ok(path.0.clone()));
                prop_assert!(path.segments().all(|s| !s.is_empty() && s != "." && s != ".."));
            }
        }
    }
}
