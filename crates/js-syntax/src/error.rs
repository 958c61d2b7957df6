//! What this crate refuses.

use bailiwick_core::{Code, SkillError, SkillPath};

use crate::source::Position;

/// A source that is not loaded: what is wrong, where, and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message} (line {}, column {})", position.line, position.column)]
#[non_exhaustive]
pub struct SyntaxError {
    kind: SyntaxErrorKind,
    path: SkillPath,
    position: Position,
    message: String,
    hint: Option<String>,
    excerpt: String,
}

impl SyntaxError {
    pub(crate) fn new(
        path: SkillPath,
        kind: SyntaxErrorKind,
        position: Position,
        message: String,
        excerpt: String,
    ) -> Self {
        Self {
            kind,
            path,
            position,
            message,
            hint: None,
            excerpt,
        }
    }

    /// Makes an error about the file as a whole.
    pub(crate) fn of_whole(
        path: SkillPath,
        kind: SyntaxErrorKind,
        message: impl Into<String>,
    ) -> Self {
        Self::new(path, kind, Position::START, message.into(), String::new())
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns what kind of rule is broken.
    pub fn kind(&self) -> SyntaxErrorKind {
        self.kind
    }

    /// Returns the file.
    pub fn path(&self) -> &SkillPath {
        &self.path
    }

    /// Returns the place; the start of the file for what is missing.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Returns what is wrong, as a lower-case fragment.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to write instead, when that can be said.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the line in question, sanitised and cut; empty when there is none.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

/// What kind of rule a source breaks.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Types cannot be blanked without changing what the program does.
    Erasure,
    /// A tool module lacks an export, or has it in another form.
    Export,
    /// The file is not one async arrow function.
    Form,
    /// The source reaches for a module, or for the module loader.
    Import,
    /// The bytes are no text.
    NotText,
    /// The text does not parse.
    Syntax,
    /// No thread for the parser could be started; the file may be in order.
    Thread,
    /// The source nests too deeply to be parsed safely.
    TooDeep,
    /// The file is too large.
    TooLarge,
    /// Syntax that the engine does not know, or TypeScript that is more than types.
    Unsupported,
}

impl SyntaxErrorKind {
    /// Returns the kind's word in an error's details, such as `import`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Erasure => "erasure",
            Self::Export => "export",
            Self::Form => "form",
            Self::Import => "import",
            Self::NotText => "not_text",
            Self::Syntax => "syntax",
            Self::Thread => "thread",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
            Self::Unsupported => "unsupported",
        }
    }

    const fn code(self) -> Code {
        match self {
            Self::Erasure
            | Self::Export
            | Self::Form
            | Self::Import
            | Self::NotText
            | Self::Syntax
            | Self::TooDeep
            | Self::TooLarge
            | Self::Unsupported => Code::IsolatedGuestInvalid,
            Self::Thread => Code::WorkspaceFailed,
        }
    }
}

/// Converts to `E_SKILL_ISOLATED_GUEST_INVALID` with `path`, `line`, `column`, `reason` and
/// `excerpt` as details; to `E_SKILL_WORKSPACE_FAILED` when no thread could be started.
impl From<SyntaxError> for SkillError {
    fn from(error: SyntaxError) -> Self {
        let message = format!("`{}` cannot be loaded: {error}", error.path.as_str());
        let mut converted = Self::new(error.kind.code(), message)
            .with_detail("path", error.path.as_str())
            .with_detail("line", error.position.line)
            .with_detail("column", error.position.column)
            .with_detail("reason", error.kind.as_str());
        if !error.excerpt.is_empty() {
            converted = converted.with_detail("excerpt", error.excerpt);
        }
        match error.hint {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    }
}
