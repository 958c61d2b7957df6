//! Which entry of the policy file means a skill, and whether every rule can take effect.

use std::path::PathBuf;

use bailiwick_core::{Code, Scope, SkillDescriptor, SkillError, ToolName};
#[cfg(any(feature = "quickjs", feature = "script"))]
use bailiwick_policy::{CliGrants, Grants};
use bailiwick_policy::{HostPath, PolicyFile, SkillGrants};

use crate::Policy;
use crate::catalog::Found;

/// The policy as the tiers ask it.
pub(crate) struct Rules {
    policy: Policy,
    apart: Vec<PathBuf>,
}

impl Rules {
    /// Checks that what a person grants for this run may be granted. No grant may reach into the
    /// folders of `apart`, which the tiers see to.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` for grants of the command line beyond the policy file.
    pub(crate) fn new(policy: Policy, apart: Vec<PathBuf>) -> Result<Self, SkillError> {
        policy.file().check_context(policy.cli_grants())?;
        Ok(Self { policy, apart })
    }

    /// Returns the folders that are the host's own.
    #[cfg_attr(
        not(any(feature = "quickjs", feature = "script")),
        expect(dead_code, reason = "only what has files of its own asks")
    )]
    pub(crate) fn apart(&self) -> &[PathBuf] {
        &self.apart
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn file(&self) -> &PolicyFile {
        self.policy.file()
    }

    #[cfg(any(feature = "quickjs", feature = "script"))]
    pub(crate) fn cli(&self) -> &CliGrants {
        self.policy.cli_grants()
    }

    /// Returns what a tool holds, in the policy file and on the command line.
    #[cfg(any(feature = "quickjs", feature = "script"))]
    pub(crate) fn grants(&self, entry: Option<&SkillGrants>, tool: Option<&ToolName>) -> Grants {
        self.file().grants_for(entry, tool, self.cli())
    }

    /// Returns the entry of the policy file that means this very copy of a skill.
    ///
    /// # Errors
    ///
    /// `E_SKILL_DIGEST_MISMATCH` when the policy pins another digest.
    pub(crate) fn entry(
        &self,
        found: &Found,
        descriptor: &SkillDescriptor,
    ) -> Result<Option<&SkillGrants>, SkillError> {
        let Some(digest) = &descriptor.digest else {
            return Ok(None);
        };
        let location = found.skill.location.parse::<HostPath>().ok();
        Ok(self.file().skill_grants(
            &found.skill.name,
            found.skill.scope,
            location.as_ref(),
            digest,
        )?)
    }

    /// Tells of rules that name the skill and do not mean this copy of it.
    pub(crate) fn passed_over(&self, found: &Found, entry: Option<&SkillGrants>) -> Vec<String> {
        if entry.is_some() {
            return Vec::new();
        }
        let rules = self.file().skills().iter();
        let rules = rules.filter(|rule| *rule.name() == found.skill.name);
        rules
            .map(|rule| match found.skill.scope {
                Scope::Project => format!(
                    "the rule at {} grants nothing to a project's copy: pin it with `digest`",
                    rule.origin()
                ),
                Scope::Path | Scope::User | Scope::Bundled => format!(
                    "the rule at {} means another copy than the one in {}",
                    rule.origin(),
                    found.skill.location
                ),
            })
            .collect()
    }
}

/// Refuses a rule of the policy file for a tool that the skill does not have.
///
/// # Errors
///
/// `E_INVALID_SKILLS_CONFIG` naming the rule.
pub(crate) fn check_rules(
    entry: Option<&SkillGrants>,
    descriptor: &SkillDescriptor,
) -> Result<(), SkillError> {
    let mut rules = entry.into_iter().flat_map(SkillGrants::tools);
    let scripts = descriptor.scripts.iter();
    let scripts = scripts
        .map(|script| ToolName::for_script(&descriptor.name, &script.name))
        .collect::<Result<Vec<_>, _>>()?;
    let has = |name: &ToolName| {
        scripts.contains(name)
            || descriptor.isolated.iter().any(|tool| tool.name == *name)
            || descriptor
                .tools
                .iter()
                .any(|live| live.name() == name.as_str())
    };
    match rules.find(|(name, _)| !has(name)) {
        None => Ok(()),
        Some((name, origin)) => Err(SkillError::new(
            Code::InvalidSkillsConfig,
            format!(
                "the rule for `{name}` can never take effect: `{}` has no such tool",
                descriptor.name
            ),
        )
        .with_hint(format!("correct or remove the rule at {origin}"))
        .with_detail("origin", origin.to_string())),
    }
}
