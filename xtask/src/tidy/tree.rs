//! The repository's own files, and what is wrong with them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use xshell::cmd;

use crate::Result;
use crate::workspace::Workspace;

/// Text files by their path from the root.
#[derive(Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads every text file that git tracks or would track.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let sh = workspace.sh();
        let list = cmd!(sh, "git ls-files --cached --others --exclude-standard")
            .quiet()
            .read()?;
        let mut tree = Self::default();
        for path in list.lines() {
            let file = workspace.root().join(path);
            // A listed file may be deleted, and a link or a binary holds no text of ours.
            let is_text = file.is_file() && !file.is_symlink();
            if is_text && let Ok(text) = String::from_utf8(sh.read_binary_file(&file)?) {
                tree.files.insert(path.to_owned(), text);
            }
        }
        Ok(tree)
    }

    /// Builds a tree for a test.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Self { files }
    }

    /// Returns the text of one file.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns every file with its text, sorted by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns every Rust file with its text.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| is_rust(path))
    }
}

/// Tells whether a path is that of a Rust file.
pub(crate) fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// One thing that is wrong, at a line when there is one.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Finding {
    path: String,
    line: Option<usize>,
    problem: String,
}

impl Finding {
    /// Finds fault with a whole file or a thing without lines.
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: None,
            problem: problem.into(),
        }
    }

    /// Finds fault at a byte offset of `text`.
    pub(crate) fn at(path: &str, text: &str, offset: usize, problem: impl Into<String>) -> Self {
        let line = text
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
            + 1;
        Self {
            path: path.to_owned(),
            line: Some(line),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.problem),
            None => write!(f, "{}: {}", self.path, self.problem),
        }
    }
}
