//! A script as a tool of the call path.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick_core::{
    Arguments, BoxFuture, CallContext, Code, Effects, Outcome, Permit, Prepared, Provenance,
    Schema, ScriptDeclaration, SkillError, SkillPath, Tier, Tool, ToolName, ToolSpec, Violation,
};
use bailiwick_policy::{Access, EffectivePolicy};
use bailiwick_sandbox::message::Stage;
use bailiwick_sandbox::{Compiled, ConfinedCommand, End, SandboxError};
use serde_json::{Value, json};

use crate::argv;
use crate::environment::{INSIDE, environment};
use crate::interpreter::Interpreter;
use crate::output::printable;
use crate::params::{NamedPath, NamedPaths};
use crate::run::{Run, run, run_id};
use crate::tier::{ScriptGrants, ScriptTier};
use crate::workspace::Revision;

/// A script of one loaded revision.
pub struct ScriptTool {
    spec: ToolSpec,
    tier: Arc<ScriptTier>,
    revision: Arc<Revision>,
    entry: Entry,
    grants: ScriptGrants,
    compiled: CompiledCache,
}

/// The confinement of runs that name no path, compiled at the first of them.
pub(crate) type CompiledCache = Arc<Mutex<Option<Arc<Compiled>>>>;

/// How the tool finds its script.
enum Entry {
    /// A script that the skill declares.
    Declared(Box<Declared>),
    /// Any file under `scripts/` that is not published otherwise, chosen by the call.
    Undeclared { published: Vec<SkillPath> },
}

struct Declared {
    declaration: ScriptDeclaration,
    interpreter: Interpreter,
}

impl ScriptTool {
    /// Publishes a declared script under `run_<skill>_<name>`.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` for a name or schema, `E_SKILL_SCRIPT_INTERPRETER_UNKNOWN`, or
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` when the grants exceed the session.
    pub fn declared(
        tier: Arc<ScriptTier>,
        revision: Arc<Revision>,
        provenance: Provenance,
        declaration: ScriptDeclaration,
        grants: ScriptGrants,
    ) -> Result<Self, SkillError> {
        let interpreter = tier.interpreters().find(&declaration.interpreter)?.clone();
        let name = ToolName::for_script(&provenance.skill, &declaration.name)?;
        let schema = Schema::from_params(&declaration.params)?;
        let description = declaration.description.clone();
        let entry = Entry::Declared(Box::new(Declared {
            declaration,
            interpreter,
        }));
        Self::new(
            tier,
            revision,
            (name, description, schema, provenance),
            entry,
            grants,
        )
    }

    /// Offers the skill's undeclared scripts through one tool (contracts 5.1). `published` lists
    /// the files that have a tool of their own and cannot be run this way.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` when the grants exceed the session, or hold no
    /// `undeclared_scripts`.
    pub fn undeclared(
        tier: Arc<ScriptTier>,
        revision: Arc<Revision>,
        provenance: Provenance,
        published: Vec<SkillPath>,
        grants: ScriptGrants,
    ) -> Result<Self, SkillError> {
        if grants.grants.undeclared_scripts().is_none() {
            return Err(SkillError::new(
                Code::ScriptPolicyWidened,
                format!("`{}` may not run scripts that it does not declare", provenance.skill),
            )
            .with_hint("grant `undeclared_scripts` to the skill, or declare the script in `bailiwick.yaml`")
            .with_detail("axis", "undeclared_scripts")
            .with_detail("held", "nothing"));
        }
        let name: ToolName = UNDECLARED_TOOL.parse()?;
        let schema = Schema::from_author(json!({
            "type": "object",
            "properties": {
                "script": { "type": "string", "description": "The file, such as `scripts/check.py`." },
                "args": { "type": "array", "items": { "type": "string" }, "description": "Arguments, passed as they are." },
                "stdin": { "type": "string", "description": "What the script reads from its standard input." },
            },
            "required": ["script"],
            "additionalProperties": false,
        }))?;
        let description = format!(
            "Runs a script of the skill `{}` that has no tool of its own.",
            provenance.skill
        );
        let entry = Entry::Undeclared { published };
        Self::new(
            tier,
            revision,
            (name, description, schema, provenance),
            entry,
            grants,
        )
    }

    fn new(
        tier: Arc<ScriptTier>,
        revision: Arc<Revision>,
        (name, description, schema, provenance): (ToolName, String, Schema, Provenance),
        entry: Entry,
        grants: ScriptGrants,
    ) -> Result<Self, SkillError> {
        match &entry {
            Entry::Declared(script) => {
                tier.derive(&script.interpreter.allow(grants.standing.clone()))?
            }
            Entry::Undeclared { .. } => tier.derive(&grants.standing)?,
        };
        let limits = grants.standing.limits();
        let wall_max = tier.settings.wall_max;
        let wall = limits.wall().map_or(wall_max, |wall| wall.min(wall_max));
        let default = grants.wall_default.unwrap_or(tier.settings.wall_default);
        let schema = schema.with_timeout(default.min(wall), wall)?;
        let spec = ToolSpec::new(name, description, Tier::Script, schema, provenance);
        Ok(Self {
            spec,
            tier,
            revision,
            entry,
            grants,
            compiled: CompiledCache::default(),
        })
    }

    /// Returns the script's name inside its skill, where it is declared.
    pub fn short_name(&self) -> Option<&str> {
        match &self.entry {
            Entry::Declared(script) => Some(&script.declaration.name),
            Entry::Undeclared { .. } => None,
        }
    }

    /// Proves what the tool asks for in a run that names no path.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` with the witness.
    pub fn standing_policy(&self) -> Result<EffectivePolicy, SkillError> {
        match &self.entry {
            Entry::Declared(script) => self
                .tier
                .derive(&script.interpreter.allow(self.grants.standing.clone())),
            Entry::Undeclared { .. } => self.tier.derive(&self.grants.standing),
        }
    }

    /// Runs the interpreter on an empty script under the tool's policy.
    ///
    /// It blocks until the run is over. What cannot start here cannot start in any call, and here
    /// whoever configured it is told.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` naming what the interpreter said, and the sandbox's codes.
    pub fn prove_interpreter(&self) -> Result<(), SkillError> {
        let Entry::Declared(script) = &self.entry else {
            return Ok(());
        };
        let interpreter = &script.interpreter;
        let compiled = self
            .tier
            .compile(&self.standing_policy()?, interpreter, &self.revision)?;
        let argv = interpreter
            .argv()
            .iter()
            .cloned()
            .chain(["/dev/null".to_owned()]);
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
        let child = match bailiwick_sandbox::spawn(&compiled, ConfinedCommand::new(run_id(), argv)?)
        {
            Ok(child) => child,
            Err(
                error @ SandboxError::Launch {
                    stage: Stage::Execute,
                    ..
                },
            ) => {
                return Err(cannot(error.to_string()).with_source(error));
            }
            Err(error) => return Err(error.into()),
        };
        let completion = child.wait();
        if completion.end == End::Exited(0) {
            return Ok(());
        }
        let said = completion.output.chunks().iter();
        let said: Vec<u8> = said.flat_map(|chunk| chunk.bytes.iter().copied()).collect();
        Err(cannot(format!(
            "{:?}, {}",
            completion.end,
            printable(&said)
        )))
    }

    /// Does everything up to the gate and returns the plan, which `explain` shows.
    ///
    /// # Errors
    ///
    /// As [`Tool::prepare`].
    pub fn plan(
        &self,
        arguments: &Arguments,
        context: &CallContext,
    ) -> Result<ScriptPlan, SkillError> {
        let (interpreter, script) = self.choose(arguments)?;
        let mut paths = NamedPaths::new(
            &context.cwd,
            &self.grants.grants,
            interpreter.allow(self.grants.standing.clone()),
        );
        let inside = format!("{}/{script}", INSIDE.skill);
        let (argv, stdin) = match &self.entry {
            Entry::Declared(script) => {
                let resolve = |param: &_, text: &str| paths.open(param, text);
                let argv = argv::render(
                    interpreter.argv(),
                    &inside,
                    &script.declaration.params,
                    arguments,
                    resolve,
                )?;
                (argv, context.stdin.clone())
            }
            Entry::Undeclared { .. } => {
                let args = strings(arguments.value("args"));
                let argv = argv::verbatim(interpreter.argv(), &inside, &args)?;
                let text = arguments.value("stdin").and_then(Value::as_str);
                (
                    argv,
                    text.map(|text| text.as_bytes().into())
                        .or_else(|| context.stdin.clone()),
                )
            }
        };
        let (request, named) = paths.finish();
        let policy = self.tier.derive(&request)?;
        for path in &named {
            self.check_named(path)?;
        }
        let timeout = arguments
            .timeout()
            .unwrap_or(self.tier.settings.wall_default);
        let deadline = context
            .deadline
            .map_or(timeout, |caller| caller.min(timeout));
        Ok(ScriptPlan {
            argv,
            script,
            interpreter,
            policy,
            deadline,
            named,
            stdin,
        })
    }

    fn choose(&self, arguments: &Arguments) -> Result<(Interpreter, SkillPath), SkillError> {
        match &self.entry {
            Entry::Declared(script) => {
                Ok((script.interpreter.clone(), script.declaration.path.clone()))
            }
            Entry::Undeclared { published } => {
                let text = arguments
                    .value("script")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let path: SkillPath = text.parse()?;
                if path.segments().next() != Some("scripts") || path.segments().count() < 2 {
                    return Err(not_a_script(&path, "it is not under `scripts/`"));
                }
                if published.contains(&path) {
                    return Err(not_a_script(&path, "it has a tool of its own"));
                }
                let head = self.revision.head(&path)?;
                Ok((
                    self.tier.interpreters().for_file(&path, &head)?.clone(),
                    path,
                ))
            }
        }
    }

    /// Refuses a named path that is not what the parameter says, before anybody is asked.
    fn check_named(&self, named: &NamedPath) -> Result<(), SkillError> {
        let pointer = format!("/{}", named.param.name);
        let reject = |reason: &str| Err(Violation::reject(&[Violation::new(&pointer, reason)]));
        let wants_folder = matches!(named.param.kind, bailiwick_core::ParamKind::Dir);
        match self.tier.session.kind_of(&named.path)? {
            Some(bailiwick_sandbox::PathKind::Directory) if wants_folder => Ok(()),
            Some(bailiwick_sandbox::PathKind::File) if !wants_folder => Ok(()),
            Some(bailiwick_sandbox::PathKind::Directory) => {
                reject("it names a directory, not a file")
            }
            Some(bailiwick_sandbox::PathKind::File) => reject("it names a file, not a directory"),
            Some(bailiwick_sandbox::PathKind::Other) => {
                reject("it names neither a file nor a directory")
            }
            None if named.access == Access::Write && !wants_folder => Ok(()),
            None => reject("nothing exists there"),
        }
    }
}

impl Tool for ScriptTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        arguments: Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Prepared>, SkillError>> {
        Box::pin(async move {
            let plan = self.plan(&arguments, context)?;
            let effects = plan.effects();
            let run = Run {
                provenance: self.spec.provenance.clone(),
                tool: self.spec.name.clone(),
                environment: environment(
                    &self.spec.provenance.skill,
                    &plan.interpreter,
                    &plan.policy,
                    &self.tier.settings.environment,
                ),
                fails_on_nonzero: self
                    .grants
                    .fail_on_nonzero_exit
                    .unwrap_or(self.tier.settings.fail_on_nonzero_exit),
                cache: plan.named.is_empty().then(|| self.compiled.clone()),
                tier: self.tier.clone(),
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
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

/// A run as it would be made: nothing has been started.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScriptPlan {
    /// The command, program first.
    pub argv: Vec<String>,
    /// The script inside the skill.
    pub script: SkillPath,
    /// Who runs it.
    pub interpreter: Interpreter,
    /// What it may touch, proven inside the session.
    pub policy: EffectivePolicy,
    /// When it is ended, counted from the gate's answer.
    pub deadline: Duration,
    pub(crate) named: Vec<NamedPath>,
    pub(crate) stdin: Option<Arc<[u8]>>,
}

impl ScriptPlan {
    /// Returns what the gate is shown.
    pub fn effects(&self) -> Effects {
        Effects::Script {
            argv: self.argv.clone(),
            stdin: self.stdin.as_ref().map_or(0, |bytes| bytes.len()),
            grants: grant_lines(&self.policy),
            policy: self.policy.explain().to_json(),
        }
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

/// Lists what a policy opens beyond the skill's own workspace, one line a grant.
pub fn grant_lines(policy: &EffectivePolicy) -> Vec<String> {
    let roots = policy
        .roots()
        .iter()
        .map(|root| format!("{} {} ({})", root.rights(), root.host_path(), root.origin()));
    let env = policy
        .env()
        .iter()
        .map(|(name, origin)| format!("env {name} ({origin})"));
    let net =
        (*policy.net() != bailiwick_policy::Net::None).then(|| format!("network {}", policy.net()));
    roots.chain(env).chain(net).collect()
}

fn strings(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn not_a_script(path: &SkillPath, reason: &str) -> SkillError {
    SkillError::new(Code::NotFound, format!("`{path}` cannot be run this way: {reason}"))
        .with_hint("name a file under `scripts/` that the skill does not declare; `bailiwick list` shows the tools")
        .with_detail("path", path.as_str())
}

/// The name that the bundled skill publishes for every skill's undeclared scripts.
const UNDECLARED_TOOL: &str = "execute_skill_script";
