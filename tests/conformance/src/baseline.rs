//! The cases that an implementation is known to fail.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::ConformanceError;

/// A strict list of expected failures.
///
/// It can only shrink unnoticed: a failure that is not listed fails the run, and so does a listed
/// case that passes or no longer exists.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    names: BTreeSet<String>,
}

impl Baseline {
    /// Reads a baseline: one `area/id` a line, `#` begins a comment.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ConformanceError> {
        let text = fs::read_to_string(path).map_err(|source| ConformanceError::Read {
            path: path.display().to_string(),
            source,
        })?;
        Ok(Self::parse(&text))
    }

    /// Parses the text of a baseline.
    pub fn parse(text: &str) -> Self {
        let names = text
            .lines()
            .map(|line| line.split_once('#').map_or(line, |(name, _)| name).trim())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        Self { names }
    }

    /// Tells whether `case` is expected to fail.
    pub fn lists(&self, case: &str) -> bool {
        self.names.contains(case)
    }

    /// Returns the listed names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_not_cases() {
        let baseline = Baseline::parse("# all known\n\nnames/a # because\n  paths/b\n");
        assert_eq!(baseline.names().collect::<Vec<_>>(), ["names/a", "paths/b"]);
        assert!(baseline.lists("names/a"));
        assert!(!baseline.lists("# all known"));
    }
}
