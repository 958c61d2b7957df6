//! What this crate refuses, and the code that each refusal has.

use std::error::Error;
use std::fmt;

use bailiwick_core::{Code, NameRejected, SkillError, SkillName, ToolName};

use crate::wrap::contain;

/// A failure at the border around a live tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The tool answered with a shape that no response may have.
    #[error("tool `{tool}` of skill `{skill}` answered with {shape}")]
    BadResponse {
        /// The tool.
        tool: ToolName,
        /// The skill that brings it.
        skill: SkillName,
        /// What it answered with, in our words.
        shape: &'static str,
    },
    /// The description says nothing, or too much to show a model.
    #[error("tool `{tool}` of skill `{skill}` has a description of {bytes} bytes")]
    DescriptionLength {
        /// The tool.
        tool: ToolName,
        /// The skill that brings it.
        skill: SkillName,
        /// The length of the description.
        bytes: usize,
    },
    /// The handler returned an error or panicked.
    #[error("tool `{tool}` of skill `{skill}` failed")]
    Failed {
        /// The tool.
        tool: ToolName,
        /// The skill that brings it.
        skill: SkillName,
        /// What the handler did; for the host's log.
        source: HandlerFault,
    },
    /// The longest inline reply leaves no room for the ends of a long answer.
    #[error("an inline reply of {bytes} bytes is too small, the least is {least}")]
    InlineTooSmall {
        /// What was configured.
        bytes: usize,
        /// What is possible.
        least: usize,
    },
    /// The tool's name breaks the rule of tool names.
    #[error("a live tool of skill `{skill}` has a name that is not allowed: {source}")]
    Name {
        /// The skill that brings it.
        skill: SkillName,
        /// The rule that the name breaks.
        source: NameRejected,
    },
    /// The call was made outside a tokio runtime.
    #[error("tool `{tool}` was called outside a tokio runtime")]
    NoRuntime {
        /// The tool.
        tool: ToolName,
    },
    /// The tool panicked when it was asked to describe itself.
    #[error("a live tool of skill `{skill}` panicked when asked for its {part}")]
    PanickedDescribing {
        /// The skill that brings it.
        skill: SkillName,
        /// What it was asked for.
        part: &'static str,
    },
    /// The call was stopped before the handler settled.
    #[error("{reason} before tool `{tool}` of skill `{skill}` answered")]
    Stopped {
        /// The tool.
        tool: ToolName,
        /// The skill that brings it.
        skill: SkillName,
        /// Who stopped it.
        reason: StopReason,
    },
}

impl From<ModuleError> for SkillError {
    fn from(error: ModuleError) -> Self {
        let text = error.to_string();
        match error {
            ModuleError::BadResponse { tool, skill, shape } => {
                about(Self::new(Code::ToolBadResponse, text), &tool, &skill)
                    .with_hint("the tool's author must answer with text, bytes, media or a list of media")
                    .with_detail("reason", shape)
            }
            ModuleError::DescriptionLength { tool, skill, bytes } => {
                about(Self::new(Code::ManifestInvalid, text), &tool, &skill)
                    .with_hint("describe the tool in 1 to 16,384 bytes that are not all blank")
                    .with_detail("bytes", bytes)
            }
            ModuleError::Failed { tool, skill, source } => {
                about(Self::new(Code::ToolFailed, text), &tool, &skill)
                    .with_hint("the host's log holds the tool's own message")
                    .with_detail("reason", source.kind())
                    .with_source(source)
            }
            ModuleError::InlineTooSmall { bytes, least } => Self::new(Code::InvalidSkillsConfig, text)
                .with_hint(format!("set `Boundary::max_inline` to {least} bytes or more"))
                .with_detail("bytes", bytes),
            ModuleError::Name { skill, source } => Self::new(Code::ManifestInvalid, text)
                .with_hint("a tool's name is a letter or `_`, then at most 63 letters, digits, `_` and `-`")
                .with_detail("skill", skill.as_str())
                .with_detail("name", source.name.as_str())
                .with_detail("reason", source.reason),
            ModuleError::NoRuntime { tool } => Self::new(Code::InvalidSkillsConfig, text)
                .with_hint("drive the call from a task of a tokio runtime that has timers")
                .with_detail("tool", tool.as_str()),
            ModuleError::PanickedDescribing { skill, part } => Self::new(Code::ManifestInvalid, text)
                .with_hint("leave the tool out, or have its author return a constant")
                .with_detail("skill", skill.as_str())
                .with_detail("reason", part),
            ModuleError::Stopped { tool, skill, reason } => {
                about(Self::new(Code::Cancelled, text), &tool, &skill)
                    .with_hint(reason.hint())
                    .with_detail("reason", reason.as_str())
            }
        }
    }
}

fn about(error: SkillError, tool: &ToolName, skill: &SkillName) -> SkillError {
    error
        .with_detail("skill", skill.as_str())
        .with_detail("tool", tool.as_str())
}

/// Who stopped a call. Both are `E_SKILL_CANCELLED`: tier 1 has no deadline of its own, so that a
/// deadline which passes is the caller's wish to stop, made in advance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third reason needs a decision about its code"
)]
pub enum StopReason {
    /// The caller cancelled.
    Cancel,
    /// The caller's deadline passed.
    Deadline,
}

impl StopReason {
    /// Returns the reason's word in the error's details, `cancel` or `deadline`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Deadline => "deadline",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::Cancel => "call again when the answer is wanted",
            Self::Deadline => "give the call a longer deadline, or ask the tool for less",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancel => "the caller cancelled",
            Self::Deadline => "the caller's deadline passed",
        })
    }
}

/// What a handler did instead of answering, as text: nothing of the handler's own survives in it.
///
/// A handler's error is code of the tool's author. It is rendered once, where a panic is
/// contained, because a host that logs the chain later must not run it again: its `Display` may
/// panic and its sources may never end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HandlerFault {
    kind: &'static str,
    message: String,
    source: Option<Box<Self>>,
}

impl HandlerFault {
    /// Returns `error`, `panic` or `lost` (the runtime shut down below the call).
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) fn panicked() -> Self {
        Self::ours("panic", "the handler panicked")
    }

    pub(crate) fn lost() -> Self {
        Self::ours("lost", "the runtime shut down before the handler settled")
    }

    /// Renders a handler's error and at most seven sources below it, and drops it.
    pub(crate) fn of_error(error: Box<dyn Error + Send + Sync>) -> Self {
        let mut messages = Vec::new();
        let complete = contain(|| {
            let mut next: Option<&dyn Error> = Some(&*error);
            while let Some(error) = next.filter(|_| messages.len() < MAX_CHAIN) {
                messages.push(cut(error.to_string()));
                next = error.source();
            }
        });
        if complete.is_err() {
            messages.push("(the handler's error panicked when it was displayed)".to_owned());
        }
        if contain(|| drop(error)).is_err() {
            messages.push("(the handler's error panicked when it was dropped)".to_owned());
        }
        messages
            .into_iter()
            .rev()
            .fold(None, |source, message| {
                Some(Box::new(Self {
                    kind: "error",
                    message,
                    source,
                }))
            })
            .map_or_else(|| Self::ours("error", "the handler failed"), |fault| *fault)
    }

    fn ours(kind: &'static str, message: &str) -> Self {
        Self {
            kind,
            message: message.to_owned(),
            source: None,
        }
    }
}

impl fmt::Display for HandlerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for HandlerFault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

fn cut(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}

/// Enough for every honest chain, and an end for one that is its own source.
const MAX_CHAIN: usize = 8;
/// The longest message, in bytes, that is kept of one error for the log.
const MAX_MESSAGE: usize = 4096;
