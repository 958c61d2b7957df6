//! A script that can be planned: everything about its runs but the running.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{
    Arguments, CallContext, Code, Effects, ParamKind, Provenance, Schema, ScriptDeclaration,
    SkillError, SkillPath, Tier, ToolName, ToolSpec, Violation,
};
use bailiwick_policy::{Access, EffectivePolicy, Net};
use bailiwick_sandbox::PathKind;
use serde_json::{Value, json};

use crate::argv;
use crate::environment::INSIDE;
use crate::interpreter::Interpreter;
use crate::params::{NamedPath, NamedPaths};
use crate::tier::{ScriptGrants, ScriptTier};

/// A script of a skill, checked against what the host allows. Planning a run starts no process.
pub struct Script {
    spec: ToolSpec,
    tier: Arc<ScriptTier>,
    entry: Entry,
    grants: ScriptGrants,
}

/// How a call finds its file.
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

impl Script {
    /// Checks a declared script, which is published as `run_<skill>_<name>`.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` for a name or schema, `E_SKILL_SCRIPT_INTERPRETER_UNKNOWN`, or
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` when the grants exceed the session.
    pub fn declared(
        tier: Arc<ScriptTier>,
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
        Self::new(tier, (name, description, schema, provenance), entry, grants)
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
        provenance: Provenance,
        published: Vec<SkillPath>,
        grants: ScriptGrants,
    ) -> Result<Self, SkillError> {
        if grants.grants.undeclared_scripts().is_none() {
            return Err(ungranted(&provenance));
        }
        let name: ToolName = UNDECLARED_TOOL.parse()?;
        let schema = Schema::from_author(json!({
            "type": "object",
            "properties": {
                "script": {
                    "type": "string",
                    "description": "The file, such as `scripts/check.py`.",
                },
                "args": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Arguments, passed as they are.",
                },
                "stdin": {
                    "type": "string",
                    "description": "What the script reads from its standard input.",
                },
            },
            "required": ["script"],
            "additionalProperties": false,
        }))?;
        let description = format!(
            "Runs a script of the skill `{}` that has no tool of its own.",
            provenance.skill
        );
        let entry = Entry::Undeclared { published };
        Self::new(tier, (name, description, schema, provenance), entry, grants)
    }

    fn new(
        tier: Arc<ScriptTier>,
        (name, description, schema, provenance): (ToolName, String, Schema, Provenance),
        entry: Entry,
        grants: ScriptGrants,
    ) -> Result<Self, SkillError> {
        let limits = grants.standing.limits();
        let wall_max = tier.settings.wall_max;
        let wall = limits.wall().map_or(wall_max, |wall| wall.min(wall_max));
        let default = grants.wall_default.unwrap_or(tier.settings.wall_default);
        let schema = schema.with_timeout(default.min(wall), wall)?;
        let spec = ToolSpec::new(name, description, Tier::Script, schema, provenance);
        let script = Self {
            spec,
            tier,
            entry,
            grants,
        };
        script.standing_policy()?;
        Ok(script)
    }

    /// Returns what the tool is.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Returns the script's name inside its skill, where it is declared.
    pub fn short_name(&self) -> Option<&str> {
        match &self.entry {
            Entry::Declared(script) => Some(&script.declaration.name),
            Entry::Undeclared { .. } => None,
        }
    }

    /// Returns who runs the script, where it is declared.
    pub fn interpreter(&self) -> Option<&Interpreter> {
        match &self.entry {
            Entry::Declared(script) => Some(&script.interpreter),
            Entry::Undeclared { .. } => None,
        }
    }

    /// Proves what the tool asks for in a run that names no path.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` with the witness.
    pub fn standing_policy(&self) -> Result<EffectivePolicy, SkillError> {
        let standing = self.grants.standing.clone();
        self.tier.derive(&match self.interpreter() {
            Some(interpreter) => interpreter.allow(standing),
            None => standing,
        })
    }

    /// Plans a run: chooses the interpreter, renders argv, opens the paths that the call names and
    /// proves the policy.
    ///
    /// `head` reads the beginning of a file of the skill, from which the interpreter of an
    /// undeclared script is chosen.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED`, `E_SKILL_SCRIPT_POLICY_WIDENED`,
    /// `E_SKILL_SCRIPT_INTERPRETER_UNKNOWN`, `E_SKILL_SOURCE_PATH_REJECTED`, and
    /// `E_SKILL_NOT_FOUND` for a file that cannot be run this way.
    pub fn plan(
        &self,
        arguments: &Arguments,
        context: &CallContext,
        head: impl Fn(&SkillPath) -> Result<Vec<u8>, SkillError>,
    ) -> Result<ScriptPlan, SkillError> {
        let (interpreter, path) = self.choose(arguments, head)?;
        interpreter.check_unchanged()?;
        let standing = interpreter.allow(self.grants.standing.clone());
        let mut paths = NamedPaths::new(&context.cwd, &self.grants.grants, standing);
        let inside = format!("{}/{path}", INSIDE.skill);
        let (argv, stdin) = match &self.entry {
            Entry::Declared(script) => {
                let params = &script.declaration.params;
                let resolve = |param: &_, text: &str| paths.open(param, text);
                let argv = argv::render(interpreter.argv(), &inside, params, arguments, resolve)?;
                (argv, context.stdin.clone())
            }
            Entry::Undeclared { .. } => {
                let args = strings(arguments.value("args"));
                let argv = argv::verbatim(interpreter.argv(), &inside, &args)?;
                let text = arguments.value("stdin").and_then(Value::as_str);
                let given = text.map(|text| text.as_bytes().into());
                (argv, given.or_else(|| context.stdin.clone()))
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
            script: path,
            interpreter,
            policy,
            deadline,
            named,
            stdin,
        })
    }

    /// Returns whether a non-zero exit is a failure.
    pub(crate) fn fails_on_nonzero(&self) -> bool {
        let own = self.grants.fail_on_nonzero_exit;
        own.unwrap_or(self.tier.settings.fail_on_nonzero_exit)
    }

    fn choose(
        &self,
        arguments: &Arguments,
        head: impl Fn(&SkillPath) -> Result<Vec<u8>, SkillError>,
    ) -> Result<(Interpreter, SkillPath), SkillError> {
        let published = match &self.entry {
            Entry::Declared(script) => {
                return Ok((script.interpreter.clone(), script.declaration.path.clone()));
            }
            Entry::Undeclared { published } => published,
        };
        let text = arguments.value("script").and_then(Value::as_str);
        let path: SkillPath = text.unwrap_or_default().parse()?;
        if path.segments().next() != Some("scripts") || path.segments().count() < 2 {
            return Err(not_a_script(&path, "it is not under `scripts/`"));
        }
        if published.contains(&path) {
            return Err(not_a_script(&path, "it has a tool of its own"));
        }
        let interpreters = self.tier.interpreters();
        Ok((interpreters.for_file(&path, &head(&path)?)?.clone(), path))
    }

    /// Refuses a named path that is not what the parameter says, before anybody is asked.
    fn check_named(&self, named: &NamedPath) -> Result<(), SkillError> {
        let pointer = format!("/{}", named.param.name);
        let reject = |reason: &str| Err(Violation::reject(&[Violation::new(&pointer, reason)]));
        let wants_folder = matches!(named.param.kind, ParamKind::Dir);
        match self.tier.session.kind_of(&named.path)? {
            Some(PathKind::Directory) if wants_folder => Ok(()),
            Some(PathKind::File) if !wants_folder => Ok(()),
            Some(PathKind::Directory) => reject("it names a directory, not a file"),
            Some(PathKind::File) => reject("it names a file, not a directory"),
            Some(PathKind::Other) => reject("it names neither a file nor a directory"),
            None if named.access == Access::Write && !wants_folder => Ok(()),
            None => reject("nothing exists there"),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
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
    /// The file inside the skill.
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

/// Lists what a policy opens beyond the skill's own workspace, one line a grant.
pub fn grant_lines(policy: &EffectivePolicy) -> Vec<String> {
    let roots = policy
        .roots()
        .iter()
        .map(|root| format!("{} {} ({})", root.rights(), root.host_path(), root.origin()));
    let env = policy.env().iter();
    let env = env.map(|(name, origin)| format!("env {name} ({origin})"));
    let net = (*policy.net() != Net::None).then(|| format!("network {}", policy.net()));
    roots.chain(env).chain(net).collect()
}

/// Says that a skill holds no grant for scripts that it does not declare.
pub fn ungranted(provenance: &Provenance) -> SkillError {
    SkillError::new(
        Code::ScriptPolicyWidened,
        format!(
            "`{}` may not run scripts that it does not declare",
            provenance.skill
        ),
    )
    .with_hint("grant `undeclared_scripts` to the skill, or declare the script in `bailiwick.yaml`")
    .with_detail("skill", provenance.skill.as_str())
    .with_detail("axis", "undeclared_scripts")
    .with_detail("held", "nothing")
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn not_a_script(path: &SkillPath, reason: &str) -> SkillError {
    SkillError::new(Code::NotFound, format!("`{path}` cannot be run this way: {reason}"))
        .with_hint(
            "name a file under `scripts/` that the skill does not declare; `bailiwick list` shows the tools",
        )
        .with_detail("path", path.as_str())
}

/// The name that the bundled skill publishes for every skill's undeclared scripts.
const UNDECLARED_TOOL: &str = "execute_skill_script";
