//! Which entry of the policy file means a skill, and what its scripts hold.

use std::sync::Arc;

use bailiwick_core::{Code, Provenance, Scope, SkillDescriptor, SkillError, ToolName};
use bailiwick_policy::{CliGrants, Grants, HostPath, SkillGrants};
use bailiwick_script::{Script, ScriptGrants};

use crate::catalog::Found;
use crate::script::Scripts;

/// The declared scripts of a skill, and the one that runs its undeclared ones where granted.
pub(crate) type Checked = (Vec<Arc<Script>>, Option<Arc<Script>>);

impl Scripts {
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
        let file = self.config.policy.file();
        Ok(file.skill_grants(
            &found.skill.name,
            found.skill.scope,
            location.as_ref(),
            digest,
        )?)
    }

    /// Tells of rules that name the skill and do not mean this copy of it.
    pub(super) fn passed_over(&self, found: &Found, entry: Option<&SkillGrants>) -> Vec<String> {
        if entry.is_some() {
            return Vec::new();
        }
        let rules = self.config.policy.file().skills().iter();
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

    /// Returns what a tool holds. A package may ask that a non-zero exit is no failure; whoever
    /// wrote the policy file decides.
    pub(crate) fn grants(
        &self,
        entry: Option<&SkillGrants>,
        tool: Option<&ToolName>,
    ) -> ScriptGrants {
        let file = self.config.policy.file();
        let grants: Grants = file.grants_for(entry, tool, self.cli());
        let mut standing = file.request(&grants, &file.limits_for(entry));
        for class in &self.config.accepted {
            standing = standing.without_requirement(*class);
        }
        let mut held = ScriptGrants::new(grants, standing);
        held.wall_default = Some(file.wall_default_for(entry));
        held.fail_on_nonzero_exit = entry.and_then(SkillGrants::fail_on_nonzero_exit);
        held
    }

    /// Checks every script of a skill against the policy.
    pub(crate) fn check(
        &self,
        entry: Option<&SkillGrants>,
        descriptor: &SkillDescriptor,
        provenance: &Provenance,
    ) -> Result<Checked, SkillError> {
        let held = self.grants(entry, None);
        let is_granted = held.grants.undeclared_scripts().is_some();
        if descriptor.scripts.is_empty() && !is_granted {
            check_rules(entry, descriptor, &[])?;
            return Ok((Vec::new(), None));
        }
        let tier = self.tier()?;
        let mut declared = Vec::with_capacity(descriptor.scripts.len());
        for declaration in &descriptor.scripts {
            let name = ToolName::for_script(&descriptor.name, &declaration.name)?;
            let grants = self.grants(entry, Some(&name));
            let script = Script::declared(
                tier.clone(),
                provenance.clone(),
                declaration.clone(),
                grants,
            )?;
            declared.push(Arc::new(script));
        }
        check_rules(entry, descriptor, &declared)?;
        if !is_granted {
            return Ok((declared, None));
        }
        let declared_files = descriptor.scripts.iter().map(|script| &script.path);
        let published = declared_files.chain(&descriptor.listed).cloned();
        let undeclared =
            Script::undeclared(tier.clone(), provenance.clone(), published.collect(), held)?;
        Ok((declared, Some(Arc::new(undeclared))))
    }

    fn cli(&self) -> &CliGrants {
        self.config.policy.cli_grants()
    }
}

/// Refuses a rule of the policy file for a tool that the skill does not have.
fn check_rules(
    entry: Option<&SkillGrants>,
    descriptor: &SkillDescriptor,
    scripts: &[Arc<Script>],
) -> Result<(), SkillError> {
    let mut rules = entry.into_iter().flat_map(SkillGrants::tools);
    let has = |name: &ToolName| {
        scripts.iter().any(|script| script.spec().name == *name)
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
