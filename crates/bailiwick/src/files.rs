//! Reading a skill's files once: the bytes that are verified are the bytes that run.

use bailiwick_core::{SkillDescriptor, SkillError, SkillFile, SkillPath};

use crate::catalog::{Found, within};
use crate::manager::{Ready, SkillManager};
use crate::rules::check_rules;

impl SkillManager {
    /// Reads the files of a skill, stamps it with their digest, and finds what the policy grants to
    /// this very copy.
    ///
    /// # Errors
    ///
    /// The source's codes, `E_SKILL_DIGEST_MISMATCH` for a copy that the policy pins differently,
    /// and `E_INVALID_SKILLS_CONFIG` for a rule that can never take effect.
    pub(crate) async fn read_files(
        &self,
        found: &Found,
        descriptor: &mut SkillDescriptor,
        ready: &mut Ready,
    ) -> Result<Vec<SkillFile>, SkillError> {
        let brings_files = !descriptor.scripts.is_empty() || !descriptor.isolated.is_empty();
        let files = if descriptor.digest.is_some() || brings_files {
            self.every_file(found).await?
        } else {
            Vec::new()
        };
        if descriptor.digest.is_none() && !files.is_empty() {
            descriptor.digest = Some(SkillFile::digest(&files));
            ready.provenance = descriptor.provenance();
        }
        let rules = &self.inner().rules;
        let entry = rules.entry(found, descriptor)?;
        check_rules(entry, descriptor)?;
        ready.notes.extend(rules.passed_over(found, entry));
        ready.entry = entry.cloned();
        Ok(files)
    }

    async fn every_file(&self, found: &Found) -> Result<Vec<SkillFile>, SkillError> {
        let (source, skill) = (found.source.as_ref(), &found.skill);
        let deadline = self.inner().source_deadline;
        let entries = within(source, deadline, |cancel| source.list(skill, cancel)).await?;
        SkillPath::parse_list(entries.iter().map(|entry| &entry.path))?;
        let mut files = Vec::with_capacity(entries.len());
        for entry in entries {
            let bytes = within(source, deadline, |cancel| {
                source.read(skill, Some(&entry.path), cancel)
            })
            .await?;
            files.push(SkillFile::new(entry.path, entry.mode, bytes));
        }
        Ok(files)
    }
}
