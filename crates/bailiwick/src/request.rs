//! What a caller says about one call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{CancelToken, Place, Updates};
use serde_json::Value;

/// One call, with everything a caller may say about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRequest {
    /// The tool: its flat name, or `SKILL.TOOL`.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The conversation that the call belongs to.
    pub conversation: Option<String>,
    /// The caller's wish to stop.
    pub cancel: CancelToken,
    /// The caller's deadline, which only shortens the tool's own.
    pub deadline: Option<Duration>,
    /// The directory that relative path arguments are relative to; the manager's when absent.
    pub cwd: Option<PathBuf>,
    /// What a script reads from its standard input.
    pub stdin: Option<Arc<[u8]>>,
    /// The project, thread and message that the call belongs to, for tools that are told.
    pub place: Place,
    /// Who is shown partial results.
    pub updates: Option<Updates>,
}

impl CallRequest {
    /// Asks for a tool with its arguments.
    pub fn new(tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            conversation: None,
            cancel: CancelToken::new(),
            deadline: None,
            cwd: None,
            stdin: None,
            place: Place::default(),
            updates: None,
        }
    }

    /// Sets the conversation. None by default.
    #[must_use]
    pub fn conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Sets the token by which the caller cancels. One that nobody cancels by default.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the caller's deadline. None by default.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the directory of relative path arguments. The manager's by default.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets the project, thread and message that the call belongs to. None by default.
    #[must_use]
    pub fn place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Sets who is shown partial results. Nobody by default.
    #[must_use]
    pub fn updates(mut self, updates: Updates) -> Self {
        self.updates = Some(updates);
        self
    }

    /// Sets what a script reads from its standard input. Nothing by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }
}
