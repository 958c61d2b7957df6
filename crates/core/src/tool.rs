//! What every tier implements: a tool that can be prepared, and a prepared call that can run.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::arguments::Arguments;
use crate::call::Permit;
use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::error::SkillError;
use crate::gate::Effects;
use crate::host_calls::Updates;
use crate::name::{SkillName, ToolName};
use crate::outcome::Outcome;
use crate::schema::Schema;
use crate::tier::Tier;

/// Names the boxed future that object-safe traits return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A published tool of any tier.
///
/// Only [`call`](crate::call()) drives one: it validates, prepares, asks the gate and runs.
pub trait Tool: Send + Sync {
    /// Returns what the tool is.
    fn spec(&self) -> &ToolSpec;

    /// Does everything that can fail without an effect: derives the policy, proves it, renders
    /// argv.
    ///
    /// # Errors
    ///
    /// The tier's codes for what cannot be allowed; nobody is asked about what would fail anyway.
    fn prepare<'a>(
        &'a self,
        arguments: Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Prepared>, SkillError>>;
}

/// A call whose effects are known and which has not begun.
pub trait Prepared: Send {
    /// Returns what the gate is shown.
    fn effects(&self) -> &Effects;

    /// Runs the call; the permit proves that the gate was passed, and its clock starts here.
    fn run(self: Box<Self>, permit: Permit) -> BoxFuture<'static, Outcome>;
}

/// What a published tool is.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The flat name that a model uses.
    pub name: ToolName,
    /// What a model is told it does.
    pub description: String,
    /// Where its code runs.
    pub tier: Tier,
    /// The schema of its arguments.
    pub schema: Schema,
    /// The skill that brings it.
    pub provenance: Provenance,
}

impl ToolSpec {
    /// Describes a tool.
    pub fn new(
        name: ToolName,
        description: impl Into<String>,
        tier: Tier,
        schema: Schema,
        provenance: Provenance,
    ) -> Self {
        Self {
            name,
            description: description.into(),
            tier,
            schema,
            provenance,
        }
    }
}

/// Where a tool and everything it returns comes from.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Provenance {
    /// The skill's name.
    pub skill: SkillName,
    /// The version that the skill declares.
    pub version: Option<String>,
    /// The digest of the skill's files; none for a skill that the host made in memory.
    pub digest: Option<Digest>,
}

impl Provenance {
    /// Names a skill, its declared version and its digest.
    pub fn new(skill: SkillName, version: Option<String>, digest: Option<Digest>) -> Self {
        Self {
            skill,
            version,
            digest,
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.skill)?;
        if let Some(version) = &self.version {
            write!(f, " {version}")?;
        }
        Ok(())
    }
}

/// The circumstances of one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallContext {
    /// The directory that relative `file` and `dir` parameters are relative to; absolute.
    pub cwd: PathBuf,
    /// The conversation that the call belongs to, when the host has such a thing.
    pub conversation: Option<String>,
    /// The caller's wish to stop.
    pub cancel: CancelToken,
    /// The caller's deadline, which only shortens the tool's own. None by default.
    pub deadline: Option<Duration>,
    /// What a script reads from its standard input. Nothing by default; other tiers have none.
    pub stdin: Option<Arc<[u8]>>,
    /// Where else the call belongs, for tools that are told.
    pub place: Place,
    /// Who is shown partial results. Nobody by default.
    pub updates: Option<Updates>,
}

/// The project, thread and message that a call belongs to; what a host does not have stays empty.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Place {
    /// The project; isolated tools see it as a text, maybe empty.
    pub project: Option<String>,
    /// The thread.
    pub thread: Option<String>,
    /// The message that the call answers.
    pub message: Option<String>,
    /// The thread's checkout.
    pub thread_path: Option<String>,
}

impl CallContext {
    /// Creates the context of a call made in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            conversation: None,
            cancel: CancelToken::new(),
            deadline: None,
            stdin: None,
            place: Place::default(),
            updates: None,
        }
    }
}
