//! Failures of the program itself, under the codes of the library.

use std::io;
use std::path::Path;

use bailiwick::{Code, Error};

/// Reports that something cannot be done with a file or folder that a person named or owns.
pub(crate) fn cannot(doing: &str, path: &Path, hint: &str, error: io::Error) -> Error {
    let message = format!("cannot {doing} `{}`: {}", path.display(), error.kind());
    Error::new(Code::InvalidSkillsConfig, message)
        .with_hint(hint)
        .with_detail("path", path.to_string_lossy().as_ref())
        .with_source(error)
}

/// Reports something that was asked for and makes no sense.
pub(crate) fn usage(message: impl AsRef<str>, hint: impl AsRef<str>) -> Error {
    Error::new(Code::InvalidSkillsConfig, message).with_hint(hint)
}

/// Reports arguments that are no JSON object.
pub(crate) fn not_json(error: &serde_json::Error) -> Error {
    Error::new(
        Code::ArgumentsRejected,
        format!("the arguments are no JSON: {error}"),
    )
    .with_hint("write one object in quotes, such as '{\"path\": \"docs\"}'")
    .with_detail("line", error.line())
    .with_detail("column", error.column())
}
