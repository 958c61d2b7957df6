//! What this crate refuses, and the code that each refusal has.

use std::io;
use std::path::PathBuf;

use bailiwick_core::{CancelToken, Code, SkillError, SkillPath};

use crate::diagnostic::{Diagnostic, Severity};

/// An operation on packages that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The caller cancelled.
    #[error("the caller cancelled")]
    Cancelled,
    /// A file is not what it was when the package was opened.
    #[error("`{path}` changed while the package was read")]
    Changed {
        /// The file.
        path: SkillPath,
    },
    /// The package has errors.
    #[error("the package `{location}` has errors")]
    Invalid {
        /// Where the package is.
        location: String,
        /// Everything found, at least one error among it.
        diagnostics: Vec<Diagnostic>,
    },
    /// The package has no such file.
    #[error("the skill has no file `{path}`")]
    NoSuchFile {
        /// The file.
        path: SkillPath,
    },
    /// The source has no such skill.
    #[error("no skill is named `{skill}`")]
    NoSuchSkill {
        /// The name as given, with its scope if one was.
        skill: String,
        /// A name that may be meant.
        nearest: Option<String>,
    },
    /// A file of the package cannot be read.
    #[error("`{path}` cannot be read")]
    Read {
        /// The file.
        path: SkillPath,
        /// Why.
        source: io::Error,
    },
    /// A folder that the host named cannot be opened.
    #[error("the skills folder {path:?} cannot be opened")]
    Root {
        /// The folder as named.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder with a skill cannot be opened any more.
    #[error("the skill's folder `{location}` cannot be opened")]
    Skill {
        /// The folder.
        location: String,
        /// Why.
        source: io::Error,
    },
    /// A thread for file work could not run.
    #[error("the thread that reads files did not answer")]
    Thread,
}

impl From<PackageError> for SkillError {
    fn from(error: PackageError) -> Self {
        let message = error.to_string();
        let new = |code| Self::new(code, &message);
        match error {
            PackageError::Cancelled => CancelToken::error(),
            PackageError::Changed { path } => new(Code::DigestMismatch)
                .with_hint("load the skill again to read its present files")
                .with_detail("path", path.as_str()),
            PackageError::Invalid {
                location,
                diagnostics,
            } => invalid(&location, &diagnostics),
            PackageError::NoSuchFile { path } => new(Code::NotFound)
                .with_hint("list the skill's files")
                .with_detail("path", path.as_str()),
            PackageError::NoSuchSkill { skill, nearest } => {
                let hint = match nearest {
                    Some(name) => {
                        format!("did you mean `{name}`? `bailiwick list` shows every skill found")
                    }
                    None => "run `bailiwick list` to see what was found".to_owned(),
                };
                new(Code::NotFound)
                    .with_hint(hint)
                    .with_detail("skill", skill)
            }
            PackageError::Read { path, source } => new(Code::SourceFailed)
                .with_detail("path", path.as_str())
                .with_source(source),
            PackageError::Root { path, source } => new(Code::InvalidSkillsConfig)
                .with_hint("name a folder that exists and that you may read")
                .with_detail("path", path.to_string_lossy())
                .with_source(source),
            PackageError::Skill { location, source } => new(Code::SourceFailed)
                .with_hint("run `bailiwick list` to see what is there now")
                .with_detail("location", location)
                .with_source(source),
            PackageError::Thread => new(Code::SourceFailed),
        }
    }
}

/// Returns the error of the first diagnostic that is one, with the count of the others.
fn invalid(location: &str, diagnostics: &[Diagnostic]) -> SkillError {
    let errors: Vec<&Diagnostic> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity() == Severity::Error)
        .collect();
    let error = match errors.first() {
        Some(first) => SkillError::from(*first),
        None => SkillError::new(Code::ManifestInvalid, "the package was refused"),
    };
    error
        .with_detail("location", location)
        .with_detail("errors", errors.len())
}
