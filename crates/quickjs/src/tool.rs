//! A script as a tool of the call path.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_core::{
    Arguments, ArtifactStore, BoxFuture, CallContext, Effects, HostCalls, Outcome, Permit,
    Prepared, SkillError, Tool, ToolSpec,
};
use bailiwick_isolate::{Clock, Job, Limits, Random, no_host};
use bailiwick_js_syntax::Form;
use serde_json::{Value, json};

use crate::configuration;
use crate::engine::JsEngine;
use crate::operation::Operation;
use crate::outcome::Ended;
use crate::script::Script;

/// What a host gives the calls of one tool.
pub trait Services: Send + Sync {
    /// Returns who answers the host calls of one call.
    ///
    /// # Errors
    ///
    /// Any code, when what is granted cannot be had.
    fn open(&self, context: &CallContext) -> Result<Arc<dyn HostCalls>, SkillError>;
}

/// What a tool holds and may use.
#[derive(Clone)]
#[non_exhaustive]
pub struct Holdings {
    /// What the gate is shown of its grants, one line each. None by default.
    pub grants: Vec<String>,
    /// The limits of each call. Those of [`Limits::default`] by default.
    pub limits: Limits,
    /// What it learns of time. Nothing by default.
    pub clock: Clock,
    /// What it learns of chance. Nothing by default.
    pub random: Random,
    /// Who answers its host calls. Nobody by default: each is denied.
    pub services: Arc<dyn Services>,
    /// The longest text, in bytes, that a reply holds. 25 KiB by default.
    pub reply: usize,
    /// Where longer ones are kept. Nowhere by default: their middle is dropped.
    pub artifacts: Option<Arc<dyn ArtifactStore>>,
}

impl Holdings {
    /// Holds nothing: every host call is denied.
    pub fn deny_all() -> Self {
        Self::new(Arc::new(NoServices))
    }

    /// Holds nothing beyond what `services` answer.
    pub fn new(services: Arc<dyn Services>) -> Self {
        Self {
            grants: Vec::new(),
            limits: Limits::default(),
            clock: Clock::default(),
            random: Random::default(),
            services,
            reply: 25 * 1024,
            artifacts: None,
        }
    }
}

impl fmt::Debug for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holdings")
            .field("grants", &self.grants)
            .field("limits", &self.limits)
            .field("clock", &self.clock)
            .field("random", &self.random)
            .finish_non_exhaustive()
    }
}

/// Answers nothing.
struct NoServices;

impl Services for NoServices {
    fn open(&self, _context: &CallContext) -> Result<Arc<dyn HostCalls>, SkillError> {
        Ok(no_host())
    }
}

/// An isolated tool: each call runs its script in a fresh guest.
#[derive(Clone)]
pub struct IsolatedTool(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) spec: ToolSpec,
    engine: JsEngine,
    pub(crate) script: Script,
    pub(crate) holdings: Holdings,
    /// The limits of each call as a report has them.
    pub(crate) limits: Value,
    /// What the gate is shown of each call.
    effects: Effects,
}

impl IsolatedTool {
    /// Makes a tool of a compiled script.
    ///
    /// The schema of `spec` should know `timeout_seconds`; a call without it has 30 s.
    pub fn new(spec: ToolSpec, engine: JsEngine, script: Script, holdings: Holdings) -> Self {
        let limits = json!(holdings.limits);
        let effects = Effects::Isolated {
            grants: holdings.grants.clone(),
            limits: limits.clone(),
        };
        Self(Arc::new(Inner {
            spec,
            engine,
            script,
            holdings,
            limits,
            effects,
        }))
    }
}

impl Tool for IsolatedTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn prepare<'a>(
        &'a self,
        arguments: Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Prepared>, SkillError>> {
        let prepared = self.0.holdings.services.open(context).map(|host| {
            Box::new(Call {
                tool: self.0.clone(),
                arguments,
                context: context.clone(),
                host,
            }) as Box<dyn Prepared>
        });
        Box::pin(std::future::ready(prepared))
    }
}

impl fmt::Debug for IsolatedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IsolatedTool")
            .field("spec", &self.0.spec)
            .field("script", &self.0.script)
            .finish_non_exhaustive()
    }
}

/// One call that has not begun.
struct Call {
    tool: Arc<Inner>,
    arguments: Arguments,
    context: CallContext,
    host: Arc<dyn HostCalls>,
}

impl Prepared for Call {
    fn effects(&self) -> &Effects {
        &self.tool.effects
    }

    fn run(self: Box<Self>, permit: Permit) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            let asked = self.arguments.timeout().unwrap_or(DEFAULT_DEADLINE);
            let allowed = self
                .context
                .deadline
                .map_or(asked, |least| least.min(asked));
            let job = self.job(permit.granted_at() + allowed);
            let form = self.tool.script.form();
            let completion = self.tool.engine.evaluate(job).await;
            let ended = Ended {
                tool: self.tool,
                form,
                allowed,
                completion,
            };
            ended.outcome().await
        })
    }
}

impl Call {
    fn job(&self, deadline: Instant) -> Job {
        let operation = match self.tool.script.form() {
            Form::Arrow => Operation::CallArrow,
            Form::Module => Operation::CallModule,
        };
        let holdings = &self.tool.holdings;
        let parts = [
            configuration::of_call(&self.context, &holdings.limits),
            self.tool.script.bytecode(),
            json!(self.arguments.values())
                .to_string()
                .into_bytes()
                .into(),
        ];
        let mut job = Job::new(operation.number(), parts, deadline);
        job.limits = holdings.limits;
        job.cancel = self.context.cancel.clone();
        job.host = self.host.clone();
        job.clock = holdings.clock.clone();
        job.random = holdings.random.clone();
        job.updates.clone_from(&self.context.updates);
        job
    }
}

/// How long a call may take whose schema says nothing of time: the default of `limits.wall`.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);
