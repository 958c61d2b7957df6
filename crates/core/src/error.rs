//! The one error that crosses every trait and the wire.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::code::Code;

/// Names the boxed error that a [`SkillError`] keeps as its source.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// An error with a stable code, words for the model, structured details and a host-side source.
///
/// Two renderings exist. [`model_text`](Self::model_text) is one sanitised line that may be shown
/// to a model; [`host_chain`](Self::host_chain) adds every source and belongs in a log. Whatever a
/// skill wrote (a handler's message, a script's output) goes into the source, never the message.
///
/// # Examples
///
/// ```
/// use bailiwick_core::{Code, SkillError};
///
/// let error = SkillError::new(Code::NotFound, "no skill is named `notes`")
///     .with_hint("run `bailiwick list` to see what was found")
///     .with_detail("skill", "notes");
/// assert_eq!(error.code().status(), 422);
/// assert_eq!(error.model_text(), "E_SKILL_NOT_FOUND: no skill is named `notes`");
/// ```
pub struct SkillError(Box<Inner>);

struct Inner {
    code: Code,
    message: String,
    hint: Option<String>,
    details: Map<String, Value>,
    source: Option<BoxError>,
}

impl SkillError {
    /// Creates an error from its code and one sentence, which is sanitised.
    pub fn new(code: Code, message: impl AsRef<str>) -> Self {
        Self(Box::new(Inner {
            code,
            message: one_line(message.as_ref(), MODEL_TEXT_CHARS),
            hint: None,
            details: Map::new(),
            source: None,
        }))
    }

    /// Adds the next step for whoever reads the error. None by default.
    #[must_use]
    pub fn with_hint(mut self, hint: impl AsRef<str>) -> Self {
        self.0.hint = Some(one_line(hint.as_ref(), MODEL_TEXT_CHARS));
        self
    }

    /// Adds one structured detail, replacing an earlier one of the same name.
    #[must_use]
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Keeps the cause for the host chain. None by default.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the sentence without the code.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the next step, when there is one.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the structured details.
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }

    /// Renders what a model may see: code and sentence, one line of at most 400 characters.
    pub fn model_text(&self) -> String {
        one_line(
            &format!("{}: {}", self.0.code, self.0.message),
            MODEL_TEXT_CHARS,
        )
    }

    /// Renders the error and every source below it, for the host's log.
    pub fn host_chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str("\n  caused by: ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// Returns the wire form `{code,status,message,hint,details}`.
    pub fn wire(&self) -> WireError<'_> {
        WireError {
            code: self.0.code.as_str(),
            status: self.0.code.status(),
            message: &self.0.message,
            hint: self.0.hint.as_deref(),
            details: &self.0.details,
        }
    }
}

impl fmt::Debug for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillError")
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("hint", &self.0.hint)
            .field("details", &self.0.details)
            .field("source", &self.0.source)
            .finish()
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl Error for SkillError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

/// The JSON form of a [`SkillError`]; complete, new details go into `details`.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct WireError<'a> {
    /// The stable code.
    pub code: &'static str,
    /// The HTTP-like status of the code.
    pub status: u16,
    /// One sanitised sentence.
    pub message: &'a str,
    /// The next step, when there is one.
    pub hint: Option<&'a str>,
    /// What a program may want to know, by name.
    pub details: &'a Map<String, Value>,
}

/// Folds text into one printable line of at most `limit` characters.
///
/// Control, bidirectional and invisible formatting characters become spaces, runs of blanks
/// become one, and a cut is marked with `…`.
pub fn one_line(text: &str, limit: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || is_unprintable(c));
    let mut line = String::with_capacity(text.len().min(limit * 4));
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if let Some((cut, _)) = line.char_indices().nth(limit) {
        line.truncate(cut);
        line.pop();
        line.truncate(line.trim_end().len());
        line.push('…');
    }
    line
}

/// Returns whether a character steers a terminal or hides text instead of showing something:
/// controls, bidirectional and invisible formatting, tags.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

/// The longest text a model is shown of one error, in characters (contracts 1.6).
pub const MODEL_TEXT_CHARS: usize = 400;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn model_text_is_one_bounded_line_without_terminal_control() {
        let error = SkillError::new(
            Code::ToolFailed,
            format!("a\u{1b}[31m\nb\u{202e}{}", "x".repeat(900)),
        );
        let text = error.model_text();
        assert_eq!(text.chars().count(), MODEL_TEXT_CHARS);
        assert!(
            text.starts_with("E_SKILL_TOOL_FAILED: a [31m b x"),
            "{text}"
        );
    }

    #[test]
    fn the_source_reaches_the_host_chain_and_nothing_else() {
        let error =
            SkillError::new(Code::ToolFailed, "tool `t` failed").with_source("secret-error");
        assert!(error.host_chain().contains("caused by: secret-error"));
        assert!(!error.model_text().contains("secret"));
        assert!(
            !serde_json::to_string(&error.wire())
                .unwrap_or_default()
                .contains("secret")
        );
    }

    proptest! {
        #[test]
        fn one_line_is_idempotent_and_bounded(text in any::<String>(), limit in 1_usize..80) {
            let once = one_line(&text, limit);
            prop_assert!(once.chars().count() <= limit);
            prop_assert!(!once.chars().any(is_unprintable));
            prop_assert_eq!(one_line(&once, limit), once.clone());
        }
    }
}
