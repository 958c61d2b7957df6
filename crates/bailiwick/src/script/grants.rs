//! What the scripts of a skill hold.

use std::sync::Arc;

use bailiwick_core::{Provenance, SkillDescriptor, SkillError, ToolName};
use bailiwick_policy::SkillGrants;
use bailiwick_script::{Script, ScriptGrants};

use crate::script::Scripts;

/// The declared scripts of a skill, and the one that runs its undeclared ones where granted.
pub(crate) type Checked = (Vec<Arc<Script>>, Option<Arc<Script>>);

impl Scripts {
    /// Returns what a tool holds. A package may ask that a non-zero exit is no failure; whoever
    /// wrote the policy file decides.
    pub(crate) fn grants(
        &self,
        entry: Option<&SkillGrants>,
        tool: Option<&ToolName>,
    ) -> ScriptGrants {
        let file = self.rules.file();
        let grants = self.rules.grants(entry, tool);
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
        if !is_granted {
            return Ok((declared, None));
        }
        let declared_files = descriptor.scripts.iter().map(|script| &script.path);
        let published = declared_files.chain(&descriptor.listed).cloned();
        let undeclared =
            Script::undeclared(tier.clone(), provenance.clone(), published.collect(), held)?;
        Ok((declared, Some(Arc::new(undeclared))))
    }
}
