//! A script as a tool of the call path.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bailiwick_core::{
    Arguments, BoxFuture, CallContext, Code, Effects, Outcome, Permit, Prepared, SkillError, Tool,
    ToolSpec,
};
use bailiwick_sandbox::message::Stage;
use bailiwick_sandbox::{Compiled, ConfinedCommand, End, SandboxError};

use crate::environment::environment;
use crate::output::printable;
use crate::run::{Run, run, run_id};
use crate::script::{Script, ScriptPlan};
use crate::tier::ScriptRunner;
use crate::workspace::Revision;

/// A script of one loaded revision, ready to run.
pub struct ScriptTool {
    script: Arc<Script>,
    runner: Arc<ScriptRunner>,
    revision: Arc<Revision>,
    compiled: CompiledCache,
}

/// The confinement of runs that name no path, compiled at the first of them.
pub(crate) type CompiledCache = Arc<Mutex<Option<Arc<Compiled>>>>;

impl ScriptTool {
    /// Gives a script the files of a revision and what runs them.
    pub fn new(script: Arc<Script>, runner: Arc<ScriptRunner>, revision: Arc<Revision>) -> Self {
        Self {
            script,
            runner,
            revision,
            compiled: CompiledCache::default(),
        }
    }

    /// Returns the script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Plans a run from the revision's files.
    ///
    /// # Errors
    ///
    /// As [`Script::plan`].
    pub fn plan(
        &self,
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<ScriptPlan, SkillError> {
        let head = |path: &_| self.revision.head(path);
        self.script.plan(arguments, context, head)
    }

    /// Compiles the confinement of runs that name no path, for the calls to come.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` where a required class has no closer, and
    /// `E_INVALID_SKILLS_CONFIG` for a granted place that is not there.
    pub fn compile_standing(&self) -> Result<(), SkillError> {
        let Some(interpreter) = self.script.interpreter() else {
            return Ok(());
        };
        let policy = self.script.standing_policy()?;
        let compiled = self.runner.compile(&policy, interpreter, &self.revision)?;
        let mut slot = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Arc::new(compiled));
        Ok(())
    }

    /// Runs the interpreter of a declared script on an empty one, under the tool's policy.
    ///
    /// It blocks until the run is over. What cannot start here cannot start in any call, and here
    /// whoever configured it is told.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` naming what the interpreter said, and the sandbox's codes.
    pub fn prove_interpreter(&self) -> Result<(), SkillError> {
        let Some(interpreter) = self.script.interpreter() else {
            return Ok(());
        };
        self.compile_standing()?;
        let compiled = self
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(compiled) = compiled else {
            return Ok(());
        };
        let argv = interpreter.argv().iter().cloned();
        let argv = argv.chain(["/dev/null".to_owned()]);
        let cannot = |what: String| {
            let key = interpreter.key();
            SkillError::new(
                Code::InvalidSkillsConfig,
                format!("the interpreter `{key}` cannot run an empty script: {what}"),
            )
            .with_hint(format!(
                "add what it misses to `read` or `exec` of `[interpreters.{key}]`"
            ))
            .with_detail("interpreter", key)
            .with_detail("origin", interpreter.origin().to_string())
        };
        let command = ConfinedCommand::new(run_id(), argv)?;
        let child = match bailiwick_sandbox::spawn(&compiled, command) {
            Ok(child) => child,
            Err(
                error @ SandboxError::Launch {
                    stage: Stage::Execute,
                    ..
                },
            ) => return Err(cannot(error.to_string()).with_source(error)),
            Err(error) => return Err(error.into()),
        };
        let completion = child.wait();
        if completion.end == End::Exited(0) {
            return Ok(());
        }
        Err(cannot(format!(
            "{:?}, {}",
            completion.end,
            printable(completion.output.bytes())
        )))
    }
}

impl Tool for ScriptTool {
    fn spec(&self) -> &ToolSpec {
        self.script.spec()
    }

    fn prepare<'a>(
        &'a self,
        arguments: Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Prepared>, SkillError>> {
        Box::pin(async move {
            let plan = self.plan(&arguments, context)?;
            let effects = plan.effects();
            let spec = self.script.spec();
            let run = Run {
                provenance: spec.provenance.clone(),
                tool: spec.name.clone(),
                environment: environment(
                    &spec.provenance.skill,
                    &plan.interpreter,
                    &plan.policy,
                    &self.runner.tier.settings.environment,
                ),
                fails_on_nonzero: self.script.fails_on_nonzero(),
                cache: plan.named.is_empty().then(|| self.compiled.clone()),
                runner: self.runner.clone(),
                revision: self.revision.clone(),
                cancel: context.cancel.clone(),
                plan,
            };
            Ok(Box::new(PreparedScript { effects, run }) as Box<dyn Prepared>)
        })
    }
}

impl fmt::Debug for ScriptTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptTool")
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}

struct PreparedScript {
    effects: Effects,
    run: Run,
}

impl Prepared for PreparedScript {
    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn run(self: Box<Self>, permit: Permit) -> BoxFuture<'static, Outcome> {
        Box::pin(run(self.run, permit))
    }
}
