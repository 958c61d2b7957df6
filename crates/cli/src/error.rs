//! Failures of the program itself, under the codes of the library.

use std::io;
use std::path::Path;
use std::string::FromUtf8Error;

use bailiwick::core::{MODEL_TEXT_CHARS, one_line};
use bailiwick::{Code, Error};

/// Reports that something cannot be done with a file or folder that a person named or owns.
pub(crate) fn cannot(doing: &str, path: &Path, hint: &str, error: io::Error) -> Error {
    let kind = error.kind();
    let reason = if kind == io::ErrorKind::NotFound {
        "it does not exist".to_owned()
    } else {
        kind.to_string()
    };
    let message = format!("cannot {doing} `{}`: {reason}", path.display());
    Error::new(Code::InvalidSkillsConfig, message)
        .with_hint(hint)
        .with_detail("path", path.to_string_lossy().as_ref())
        .with_source(error)
}

/// Reports something that was asked for and makes no sense.
pub(crate) fn usage(message: impl AsRef<str>, hint: impl AsRef<str>) -> Error {
    Error::new(Code::InvalidSkillsConfig, message).with_hint(hint)
}

/// Reports what the parser of the command line refused.
pub(crate) fn not_a_command(error: &clap::Error) -> Error {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let message = one_line(paragraph.trim_start_matches("error: "), MODEL_TEXT_CHARS);
    let tip = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("tip: "));
    usage(
        message,
        tip.unwrap_or("`bailiwick help COMMAND` shows what it takes"),
    )
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

/// Reports arguments that are no text.
pub(crate) fn not_utf8(error: &FromUtf8Error) -> Error {
    let offset = error.utf8_error().valid_up_to();
    Error::new(
        Code::ArgumentsRejected,
        format!("the arguments are not UTF-8: byte {offset} is part of no character"),
    )
    .with_hint("convert them to UTF-8; JSON has no other encoding")
    .with_detail("offset", offset)
}
