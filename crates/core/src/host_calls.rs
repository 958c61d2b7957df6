//! What a guest may ask of its host while it runs.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::cancel::CancelToken;
use crate::error::SkillError;
use crate::tool::BoxFuture;

/// Answers the host calls of one guest call.
///
/// Whoever runs the guest counts the calls, bounds their sizes and drops what is pending when the
/// call ends; an implementation decides what is granted and does the work.
pub trait HostCalls: Send + Sync {
    /// Begins one call; calls of one guest run side by side.
    ///
    /// Dropping the future abandons the work.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ISOLATED_CAPABILITY_DENIED` for a member that is not granted, and the codes of the
    /// member. The guest sees code, message and hint, and nothing of the source.
    fn begin(&self, call: HostCall) -> BoxFuture<'static, Result<Value, SkillError>>;
}

/// One host call, as the guest made it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostCall {
    /// The member, such as `fs.read`; nothing is known of it yet.
    pub member: String,
    /// The arguments, as the guest gave them.
    pub arguments: Vec<Value>,
    /// Cancelled when the guest gives the call up, or the guest's own call ends.
    pub cancel: CancelToken,
}

impl HostCall {
    /// Names a member and its arguments.
    pub fn new(member: impl Into<String>, arguments: Vec<Value>, cancel: CancelToken) -> Self {
        Self {
            member: member.into(),
            arguments,
            cancel,
        }
    }
}

/// Takes the partial results of a running call, in the order in which they come.
///
/// It is called from the task that drives the guest, so it must not block.
#[derive(Clone)]
pub struct Updates(Arc<dyn Fn(Value) + Send + Sync>);

impl Updates {
    /// Hands every partial result to a function.
    pub fn to(take: impl Fn(Value) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Hands over one partial result.
    pub fn send(&self, partial: Value) {
        (self.0)(partial);
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").finish_non_exhaustive()
    }
}
