//! Cancellation by the caller.

use std::fmt;

use tokio_util::sync::CancellationToken;

use crate::code::Code;
use crate::error::SkillError;

/// A cheap, cloneable wish to stop; once cancelled it stays so.
///
/// # Examples
///
/// ```
/// use bailiwick_core::CancelToken;
///
/// let caller = CancelToken::new();
/// let call = caller.child();
/// caller.cancel();
/// assert!(call.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(CancellationToken);

impl CancelToken {
    /// Creates a token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token that is cancelled with this one, but not the other way round.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Asks everyone who holds the token to stop.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns whether somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until somebody asks to stop.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Returns the error of a cancelled call.
    pub fn error() -> SkillError {
        SkillError::new(Code::Cancelled, "the caller cancelled the call")
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("is_cancelled", &self.is_cancelled())
            .finish()
    }
}
