//! What can go wrong with a script before it is a tool.

use std::io;

use bailiwick_core::{Code, SkillError};

/// A script, or the engine, that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuickjsError {
    /// This build holds no engine, as builds of documentation do.
    #[error("this build holds no JavaScript engine")]
    NoEngine,
    /// The folder for what is kept between starts cannot be used.
    #[error("the folder for the engine cannot be used")]
    Folder {
        /// What the system said.
        source: io::Error,
    },
    /// The file's name says that it is of another language.
    #[error("`{path}` is neither JavaScript nor TypeScript by its name")]
    Language {
        /// The file inside the skill.
        path: String,
    },
    /// The engine does not take a source that parsed.
    #[error("`{path}` cannot be loaded: {message}")]
    Source {
        /// The file inside the skill.
        path: String,
        /// What the engine said, in one line.
        message: String,
        /// The line, from 1, where the engine named one.
        line: Option<usize>,
        /// The column, from 1.
        column: Option<usize>,
    },
    /// A tool module that breaks its contract.
    #[error("`{path}` is no tool module: {message}")]
    Contract {
        /// The file inside the skill.
        path: String,
        /// What is wrong with it.
        message: String,
        /// What to write instead.
        hint: String,
        /// The line of the export that it is about, from 1.
        line: Option<usize>,
        /// The column, from 1.
        column: Option<usize>,
    },
}

impl From<QuickjsError> for SkillError {
    fn from(error: QuickjsError) -> Self {
        let (code, hint) = match &error {
            QuickjsError::NoEngine => (
                Code::InvalidSkillsConfig,
                "build without `DOCS_RS` in the environment".to_owned(),
            ),
            QuickjsError::Folder { .. } => (
                Code::InvalidSkillsConfig,
                "name a folder that this user may write".to_owned(),
            ),
            QuickjsError::Language { .. } => (
                Code::IsolatedGuestInvalid,
                "name it `.js`, `.mjs`, `.ts` or `.mts`".to_owned(),
            ),
            QuickjsError::Source { .. } => (
                Code::IsolatedGuestInvalid,
                "correct the script at the named place".to_owned(),
            ),
            QuickjsError::Contract { hint, .. } => (Code::IsolatedGuestInvalid, hint.clone()),
        };
        let mut converted = Self::new(code, error.to_string()).with_hint(hint);
        if let QuickjsError::Source {
            path, line, column, ..
        }
        | QuickjsError::Contract {
            path, line, column, ..
        } = &error
        {
            converted = converted
                .with_detail("path", path.as_str())
                .with_detail("line", *line)
                .with_detail("column", *column);
        }
        if let QuickjsError::Language { path } = &error {
            converted = converted.with_detail("path", path.as_str());
        }
        converted.with_source(error)
    }
}
