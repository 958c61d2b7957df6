//! What is wrong with a package, where, and what to do about it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bailiwick_core::{MODEL_TEXT_CHARS, SkillError, one_line};
use serde::Serialize;
use serde::ser::SerializeStruct as _;

use crate::id::DiagnosticId;
use crate::text::{Position, SourceText};

/// One finding about a package: a stable id, one sentence, the place, and the next step.
///
/// Whatever an author wrote appears sanitised: no character of a package steers a terminal through
/// a message, a file name or an excerpt.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    id: DiagnosticId,
    severity: Severity,
    message: String,
    file: String,
    place: Option<Place>,
    help: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Range<usize>,
}

impl Diagnostic {
    /// Reports what keeps a package from loading.
    pub(crate) fn error(id: DiagnosticId, message: impl AsRef<str>) -> Self {
        Self::new(id, Severity::Error, message.as_ref())
    }

    /// Reports what a reader should know and does not keep a package from loading.
    pub(crate) fn warning(id: DiagnosticId, message: impl AsRef<str>) -> Self {
        Self::new(id, Severity::Warning, message.as_ref())
    }

    /// Reports what was taken care of.
    pub(crate) fn note(id: DiagnosticId, message: impl AsRef<str>) -> Self {
        Self::new(id, Severity::Note, message.as_ref())
    }

    fn new(id: DiagnosticId, severity: Severity, message: &str) -> Self {
        Self {
            id,
            severity,
            message: one_line(message, MODEL_TEXT_CHARS),
            file: String::new(),
            place: None,
            help: None,
        }
    }

    /// Points at a range of a text.
    pub(crate) fn at(mut self, source: &Arc<SourceText>, span: Range<usize>) -> Self {
        source.file().clone_into(&mut self.file);
        self.place = Some(Place {
            span: source.clamp(&span),
            source: Arc::clone(source),
        });
        self
    }

    /// Names a file without pointing into it.
    pub(crate) fn in_file(mut self, file: impl AsRef<str>) -> Self {
        self.file = one_line(file.as_ref(), MODEL_TEXT_CHARS);
        self
    }

    /// Says what to do.
    pub(crate) fn help(mut self, help: impl AsRef<str>) -> Self {
        self.help = Some(one_line(help.as_ref(), MODEL_TEXT_CHARS));
        self
    }

    /// Returns the stable id.
    pub fn id(&self) -> DiagnosticId {
        self.id
    }

    /// Returns how much it matters.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Returns the sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the file, relative to the package; empty when it is about the whole package.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line and column, when it is about a place in a text.
    pub fn position(&self) -> Option<Position> {
        self.place
            .as_ref()
            .map(|place| place.source.position(place.span.start))
    }

    /// Returns the byte range in the file, when it is about a place in a text.
    pub fn span(&self) -> Option<Range<usize>> {
        self.place.as_ref().map(|place| place.span.clone())
    }

    /// Returns what to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Returns `file:line:column`, as much of it as is known.
    pub fn location(&self) -> String {
        match self.position() {
            Some(at) => format!("{}:{}:{}", self.file, at.line, at.column),
            None => self.file.clone(),
        }
    }
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "whether a package loads is decided by exactly these"
)]
pub enum Severity {
    /// Something was taken care of and nothing needs doing.
    Note,
    /// The package loads, and a reader should know.
    Warning,
    /// The package does not load.
    Error,
}

impl Severity {
    /// Returns the severity's word, such as `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Writes `file:line:column: severity: message [id]`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.location())?;
        }
        write!(f, "{}: {} [{}]", self.severity, self.message, self.id)
    }
}

/// The JSON form: `{id, severity, message, file, line, column, span: {offset, length}, help}`,
/// where what is not known is null.
impl Serialize for Diagnostic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Span {
            offset: usize,
            length: usize,
        }

        let position = self.position();
        let mut object = serializer.serialize_struct("Diagnostic", 8)?;
        object.serialize_field("id", &self.id)?;
        object.serialize_field("severity", &self.severity)?;
        object.serialize_field("message", &self.message)?;
        object.serialize_field("file", &self.file)?;
        object.serialize_field("line", &position.map(|at| at.line))?;
        object.serialize_field("column", &position.map(|at| at.column))?;
        object.serialize_field(
            "span",
            &self.span().map(|span| Span {
                offset: span.start,
                length: span.len(),
            }),
        )?;
        object.serialize_field("help", &self.help)?;
        object.end()
    }
}

/// Converts to the code of the id, with file, line, column and the id as details.
impl From<&Diagnostic> for SkillError {
    fn from(diagnostic: &Diagnostic) -> Self {
        let place = diagnostic.location();
        let message = if place.is_empty() {
            diagnostic.message.clone()
        } else {
            format!("{place}: {}", diagnostic.message)
        };
        let mut error = Self::new(diagnostic.id.code(), message)
            .with_detail("diagnostic", diagnostic.id.as_str());
        if !diagnostic.file.is_empty() {
            error = error.with_detail("file", diagnostic.file.as_str());
        }
        if let Some(at) = diagnostic.position() {
            error = error
                .with_detail("line", at.line)
                .with_detail("column", at.column);
        }
        match &diagnostic.help {
            Some(help) => error.with_hint(help),
            None => error,
        }
    }
}

/// Returns whether nothing in a list keeps a package from loading.
pub(crate) fn is_loadable(diagnostics: &[Diagnostic]) -> bool {
    diagnostics
        .iter()
        .all(|diagnostic| diagnostic.severity < Severity::Error)
}

#[cfg(test)]
mod tests {
    use bailiwick_core::Code;

    use super::*;

    fn sample() -> Diagnostic {
        let source = Arc::new(SourceText::new("SKILL.md", "---\nname: a\nname: b\n---\n"));
        Diagnostic::error(
            DiagnosticId::YamlDuplicateKey,
            "the key `name` stands twice",
        )
        .at(&source, 12..16)
        .help("keep one")
    }

    #[test]
    fn an_error_carries_file_line_and_column() {
        let error = SkillError::from(&sample());
        assert_eq!(error.code(), Code::ManifestInvalid);
        assert_eq!(
            serde_json::to_value(error.details()).unwrap(),
            serde_json::json!({"diagnostic": "yaml-duplicate-key", "file": "SKILL.md", "line": 3, "column": 1})
        );
        assert_eq!(error.hint(), Some("keep one"));
    }

    #[test]
    fn the_json_form_is_complete() {
        insta::assert_snapshot!(serde_json::to_string(&sample()).unwrap(), @r#"{"id":"yaml-duplicate-key","severity":"error","message":"the key `name` stands twice","file":"SKILL.md","line":3,"column":1,"span":{"offset":12,"length":4},"help":"keep one"}"#);
    }

    #[test]
    fn a_file_name_cannot_steer_a_terminal() {
        let diagnostic = Diagnostic::error(DiagnosticId::PackageSpecialFile, "x\u{1b}]0;")
            .in_file("a\u{1b}[2Jb");
        assert!(!diagnostic.to_string().contains('\u{1b}'));
    }
}
