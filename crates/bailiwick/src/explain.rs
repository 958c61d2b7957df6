//! What a call would do and hold, before anything is started.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use bailiwick_core::{Code, Provenance, SkillDescriptor, SkillError, SkillPath, ToolSpec};
use bailiwick_policy::{
    Answer, Certificate, EffectivePolicy, HostPath, Rights, Surroundings, Whose,
};
use bailiwick_sandbox::{LayerReport, LayerState};
use bailiwick_script::{Interpreter, Script, ScriptPlan};
use serde_json::{Value, json};

use crate::manager::SkillManager;
use crate::request::CallRequest;
use crate::rules::check_rules;

/// A dry run: the derived policy with the origin of every grant, the base that every run has, argv,
/// limits and layers.
///
/// The policy was proven inside the session's; where it cannot be, there is no explanation but the
/// error `E_SKILL_SCRIPT_POLICY_WIDENED` with the witness.
#[derive(Debug)]
pub struct Explanation {
    tool: String,
    skill: String,
    tier: bailiwick_core::Tier,
    argv: Option<Vec<String>>,
    deadline: Option<std::time::Duration>,
    policy: Option<EffectivePolicy>,
    around: Option<Surroundings>,
    layers: Option<LayerReport>,
    #[cfg(feature = "quickjs")]
    isolated: Option<crate::isolated::Held>,
}

impl Explanation {
    pub(crate) fn of_module(spec: &ToolSpec) -> Self {
        Self {
            tool: spec.name.to_string(),
            skill: spec.provenance.to_string(),
            tier: spec.tier,
            argv: None,
            deadline: None,
            policy: None,
            around: None,
            layers: None,
            #[cfg(feature = "quickjs")]
            isolated: None,
        }
    }

    /// Explains an isolated tool, whose guest reaches what its grants name and nothing else.
    #[cfg(feature = "quickjs")]
    pub(crate) fn of_isolated(
        spec: &ToolSpec,
        held: crate::isolated::Held,
        deadline: Option<std::time::Duration>,
    ) -> Self {
        let mut explanation = Self::of_module(spec);
        explanation.deadline = deadline;
        explanation.isolated = Some(held);
        explanation
    }

    pub(crate) fn of_script(
        script: &Script,
        plan: Option<ScriptPlan>,
        layers: Option<LayerReport>,
        around: Surroundings,
    ) -> Result<Self, SkillError> {
        let mut explanation = Self::of_module(script.spec());
        explanation.layers = layers;
        let interpreter = plan.as_ref().map(|plan| &plan.interpreter);
        explanation.around = Some(match interpreter.or_else(|| script.interpreter()) {
            Some(interpreter) => with_interpreter(around, interpreter),
            None => around,
        });
        match plan {
            Some(plan) => {
                explanation.argv = Some(plan.argv);
                explanation.deadline = Some(plan.deadline);
                explanation.policy = Some(plan.policy);
            }
            None => explanation.policy = Some(script.standing_policy()?),
        }
        Ok(explanation)
    }

    /// Returns the policy of a script; a tool of another tier has none.
    pub fn policy(&self) -> Option<&EffectivePolicy> {
        self.policy.as_ref()
    }

    /// Returns the proof that a script's policy lies inside the session's, checked again against
    /// both; a tool of another tier has none.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` where the proof does not hold.
    pub fn proof(&self) -> Option<Result<&Certificate, SkillError>> {
        let policy = self.policy.as_ref()?;
        let checked = policy.check_proof().map(|()| policy.proof());
        Some(checked.map_err(|error| {
            SkillError::new(
                Code::ScriptPolicyWidened,
                "the proof of the policy does not hold",
            )
            .with_source(error)
        }))
    }

    /// Answers whether a script or an isolated tool may use a path; none for a module tool, which
    /// nothing confines.
    ///
    /// The answer counts grants and what every run has in its root. Where this machine has
    /// something at the path, it is this machine's that is asked about, and not what a run has of
    /// its own there, such as its `/tmp`.
    pub fn path(&self, path: &HostPath, rights: Rights) -> Option<Answer> {
        #[cfg(feature = "quickjs")]
        if let Some(held) = &self.isolated {
            return Some(held.grants.explain_isolated_path(path, rights));
        }
        let whose = match path.as_path().symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Whose::Run,
            Ok(_) | Err(_) => Whose::Host,
        };
        let (policy, around) = (self.policy.as_ref()?, self.around.as_ref()?);
        Some(around.explain_path(policy, path, rights, whose))
    }

    /// Answers whether a script or an isolated tool may connect to a host and port.
    pub fn host(&self, host: &str, port: u16) -> Option<Answer> {
        #[cfg(feature = "quickjs")]
        if let Some(held) = &self.isolated {
            return Some(held.grants.explain_isolated_host(host, port));
        }
        self.policy
            .as_ref()
            .map(|policy| policy.explain_host(host, port))
    }

    /// Returns the explanation as JSON.
    pub fn to_json(&self) -> Value {
        #[cfg(feature = "quickjs")]
        let isolated = self.isolated.as_ref().map(crate::isolated::Held::to_json);
        #[cfg(not(feature = "quickjs"))]
        let isolated = Value::Null;
        json!({
            "tool": self.tool,
            "skill": self.skill,
            "tier": self.tier,
            "argv": self.argv,
            "deadline_us": self.deadline.map(|deadline| u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX)),
            "isolated": isolated,
            "policy": self.policy.as_ref().map(|policy| policy.explain().to_json()),
            "surroundings": self.around.as_ref().map(Surroundings::to_json),
            "sandbox": self.layers,
            "within_session": self.policy.as_ref().is_some_and(|policy| policy.check_proof().is_ok()),
            "proof": self.policy.as_ref().map(|policy| policy.proof().to_json()),
        })
    }
}

impl SkillManager {
    /// Explains what a call would be run with: argv, policy with the origin of every grant,
    /// limits. The skill need not be loaded, and no process is started.
    ///
    /// `tool` is `SKILL.TOOL`, where the skill may be `name@scope`, or the flat name of a loaded
    /// tool. Without arguments, what holds for every call is explained. Layers are told once the
    /// sandbox is up.
    ///
    /// # Errors
    ///
    /// As loading and preparing the call would fail, as far as that needs no process.
    pub async fn explain(
        &self,
        tool: &str,
        arguments: Option<Value>,
    ) -> Result<Explanation, SkillError> {
        let (skill, tool) = match self.find_tool(tool) {
            Ok(published) => {
                let spec = published.tool.spec();
                (spec.provenance.skill.to_string(), spec.name.to_string())
            }
            Err(unknown) => match tool.rsplit_once('.') {
                Some((skill, tool)) => (skill.to_owned(), tool.to_owned()),
                None => return Err(unknown),
            },
        };
        let found = self.catalog_entry(&skill)?;
        let descriptor = self.describe(&found).await?;
        let provenance = descriptor.provenance();
        let (rules, scripts) = (&self.inner().rules, &self.inner().scripts);
        let entry = rules.entry(&found, &descriptor)?;
        check_rules(entry, &descriptor)?;
        let (declared, _) = scripts.check(entry, &descriptor, &provenance)?;
        let is_meant = |script: &&Arc<Script>| {
            script.short_name() == Some(&tool) || script.spec().name.as_str() == tool
        };
        #[cfg(feature = "quickjs")]
        if let Some(tool) = descriptor
            .isolated
            .iter()
            .find(|own| own.name.as_str() == tool)
        {
            return self
                .explain_isolated(&found, descriptor.clone(), tool, arguments)
                .await;
        }
        let Some(script) = declared.iter().find(is_meant) else {
            return explain_live(&descriptor, provenance, &tool);
        };
        let plan = match arguments {
            None => None,
            Some(arguments) => {
                let arguments = script.spec().schema.check(arguments)?;
                let context = self.context(CallRequest::new(tool, Value::Null));
                let no_file = |path: &SkillPath| {
                    Err(SkillError::new(
                        Code::NotFound,
                        format!("`{path}` is not read"),
                    ))
                };
                Some(script.plan(&arguments, &context, no_file)?)
            }
        };
        let layers = scripts.running().map(|runner| runner.host().layers());
        let named = rules.grants(entry, Some(&script.spec().name));
        let around = Surroundings::new(self.policy().file().base()).with_named(&named);
        Explanation::of_script(script, plan, layers, around)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tool         {} ({} of {})",
            self.tool, self.tier, self.skill
        )?;
        if let Some(argv) = &self.argv {
            writeln!(f, "argv         {argv:?}")?;
        }
        if let Some(deadline) = self.deadline {
            writeln!(f, "deadline     {deadline:?}")?;
        }
        #[cfg(feature = "quickjs")]
        if let Some(held) = &self.isolated {
            return write!(f, "{held}");
        }
        match &self.policy {
            None => write!(
                f,
                "policy       none: a module tool is bounded by its wrapper, not confined"
            )?,
            Some(policy) => {
                writeln!(f, "{}", policy.explain())?;
                if let Some(around) = &self.around {
                    writeln!(f, "{around}")?;
                }
                let count = policy.proof().comparisons().len();
                match policy.check_proof() {
                    Ok(()) => write!(
                        f,
                        "proof        every grant lies inside the session's ceiling ({count} comparisons, checked again)"
                    )?,
                    Err(error) => write!(f, "proof        FAILS: {error}")?,
                }
            }
        }
        if let Some(layers) = &self.layers {
            for (layer, state) in layers.iter() {
                write!(f, "\nlayer        {layer}: {}", in_words(state))?;
            }
        }
        Ok(())
    }
}

/// Adds what the root of a run has for its interpreter, wherever the base is the smaller one.
fn with_interpreter(around: Surroundings, interpreter: &Interpreter) -> Surroundings {
    let rule = interpreter.origin();
    let programs = [interpreter.program()]
        .into_iter()
        .chain(interpreter.exec());
    let places = interpreter
        .read()
        .iter()
        .map(|path| (path, Rights::READ_ONLY))
        .chain(programs.map(|path| (path, Rights::READ_ONLY | Rights::EXEC)));
    places.fold(around, |around, (path, rights)| {
        around.with_place(path.clone(), rights, rule.clone())
    })
}

fn in_words(state: &LayerState) -> String {
    match state {
        LayerState::InForce => "in force".to_owned(),
        LayerState::Unused { why } => format!("unused, {why}"),
        LayerState::Missing { why, .. } => format!("missing, {why}"),
    }
}

/// Explains a live tool of a skill, which nothing confines.
fn explain_live(
    descriptor: &SkillDescriptor,
    provenance: Provenance,
    tool: &str,
) -> Result<Explanation, SkillError> {
    #[cfg(feature = "module")]
    if let Some(live) = descriptor.tools.iter().find(|live| live.name() == tool) {
        let boundary = bailiwick_module::Boundary::default();
        let wrapped = bailiwick_module::rewrap(live.clone(), provenance, boundary)?;
        return Ok(Explanation::of_module(bailiwick_core::Tool::spec(&wrapped)));
    }
    drop(provenance);
    let names = descriptor.scripts.iter().map(|script| script.name.as_str());
    let isolated = descriptor.isolated.iter().map(|tool| tool.name.as_str());
    let names: Vec<_> = names.chain(isolated).collect();
    Err(SkillError::new(
        Code::NotFound,
        format!("`{}` has no tool `{tool}`", descriptor.name),
    )
    .with_hint(format!("its tools: {}", names.join(", ")))
    .with_detail("tool", tool))
}

#[cfg(test)]
mod tests {
    use bailiwick_core::Tier;
    use bailiwick_policy::{Base, Origin, SandboxPolicy, derive};

    use super::*;

    fn explanation(base: Base) -> Explanation {
        let nothing = SandboxPolicy::deny_all();
        Explanation {
            tool: "run_demo_run".to_owned(),
            skill: "demo".to_owned(),
            tier: Tier::Script,
            argv: None,
            deadline: None,
            policy: Some(derive(&nothing, &nothing).unwrap()),
            around: Some(Surroundings::new(base)),
            layers: None,
            #[cfg(feature = "quickjs")]
            isolated: None,
        }
    }

    fn is_allowed(explanation: &Explanation, path: &std::path::Path, rights: Rights) -> bool {
        let path = path.to_str().unwrap().parse().unwrap();
        explanation.path(&path, rights).unwrap().allowed()
    }

    #[test]
    fn a_file_of_this_machine_is_not_the_runs_own_of_the_same_path() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let explanation = explanation(Base::Usr);
        let file = folder.path().join("file");
        assert!(is_allowed(&explanation, &file, Rights::WRITE));
        drop(std::fs::File::create(&file).unwrap());
        assert!(!is_allowed(&explanation, &file, Rights::READ));
    }

    #[test]
    fn the_base_is_counted_and_shown() {
        let usr = std::path::Path::new("/usr/bin");
        assert!(is_allowed(&explanation(Base::Usr), usr, Rights::READ_ONLY));
        assert!(!is_allowed(&explanation(Base::Minimal), usr, Rights::READ));
        let shown = explanation(Base::Usr);
        assert!(shown.to_string().contains("\nbase         /usr, /bin"));
        assert_eq!(shown.to_json()["surroundings"]["base"], "usr");
    }

    #[test]
    fn the_interpreter_is_allowed_by_its_own_rule() {
        let argv = vec!["/bin/sh".to_owned()];
        let read = vec!["/opt/lib".parse().unwrap()];
        let rule = Origin::file("bailiwick.toml", 4);
        let shell = Interpreter::resolve("sh", argv, read, Vec::new(), rule).unwrap();
        let mut explanation = explanation(Base::Minimal);
        explanation.around = explanation
            .around
            .map(|around| with_interpreter(around, &shell));
        assert!(is_allowed(
            &explanation,
            shell.program().as_path(),
            Rights::EXECUTE
        ));
        let answer = explanation.path(&"/opt/lib/x".parse().unwrap(), Rights::READ);
        let answer = answer.unwrap();
        assert!(answer.allowed());
        assert_eq!(answer.rules()[0].to_string(), "bailiwick.toml:4");
    }
}
