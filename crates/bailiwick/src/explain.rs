//! What a call would do and hold, before anything is started.

use std::fmt;

use bailiwick_core::{SkillError, ToolSpec};
use bailiwick_policy::{Answer, EffectivePolicy, HostPath, Rights};
use bailiwick_sandbox::{LayerReport, LayerState};
use bailiwick_script::{Script, ScriptPlan};
use serde_json::{Value, json};

/// A dry run: the derived policy with the origin of every grant, argv, limits and layers.
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
    layers: Option<LayerReport>,
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
            layers: None,
        }
    }

    pub(crate) fn of_script(
        script: &Script,
        plan: Option<ScriptPlan>,
        layers: Option<LayerReport>,
    ) -> Result<Self, SkillError> {
        let mut explanation = Self::of_module(script.spec());
        explanation.layers = layers;
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

    /// Returns the policy of a script; a module tool has none.
    pub fn policy(&self) -> Option<&EffectivePolicy> {
        self.policy.as_ref()
    }

    /// Answers whether a script may use a path; none for a module tool, which nothing confines.
    pub fn path(&self, path: &HostPath, rights: Rights) -> Option<Answer> {
        self.policy
            .as_ref()
            .map(|policy| policy.explain_path(path, rights))
    }

    /// Answers whether a script may connect to a host and port.
    pub fn host(&self, host: &str, port: u16) -> Option<Answer> {
        self.policy
            .as_ref()
            .map(|policy| policy.explain_host(host, port))
    }

    /// Returns the explanation as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "tool": self.tool,
            "skill": self.skill,
            "tier": self.tier,
            "argv": self.argv,
            "deadline_us": self.deadline.map(|deadline| u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX)),
            "policy": self.policy.as_ref().map(|policy| policy.explain().to_json()),
            "sandbox": self.layers,
            "within_session": self.policy.is_some(),
        })
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
        match &self.policy {
            None => write!(
                f,
                "policy       none: a module tool is bounded by its wrapper, not confined"
            )?,
            Some(policy) => {
                writeln!(f, "{}", policy.explain())?;
                write!(
                    f,
                    "proof        every grant lies inside the session's ceiling"
                )?;
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

fn in_words(state: &LayerState) -> String {
    match state {
        LayerState::InForce => "in force".to_owned(),
        LayerState::Unused { why } => format!("unused, {why}"),
        LayerState::Missing { why, .. } => format!("missing, {why}"),
    }
}
