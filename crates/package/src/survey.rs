//! Which skills were found, and which copy of a name wins (contracts 7.5).

use bailiwick_core::{DiscoveredSkill, Scope, SkillName, Skip};

use crate::diagnostic::{Diagnostic, Severity};
use crate::error::PackageError;
use crate::reader::nearest;

/// Everything that a search found, in order of precedence.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Survey {
    /// Every copy of every skill, the winning one of a name first.
    pub copies: Vec<SkillCopy>,
    /// What was passed over without being a copy of anything.
    pub skipped: Vec<Skip>,
}

/// One copy of a skill.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SkillCopy {
    /// The skill as a catalog shows it; absent when the copy is broken.
    pub skill: Option<DiscoveredSkill>,
    /// The folder's name, which is the skill's.
    pub name: SkillName,
    /// Whose copy it is.
    pub scope: Scope,
    /// The canonical folder.
    pub location: String,
    /// What was found about its `SKILL.md`.
    pub diagnostics: Vec<Diagnostic>,
    /// The location of the copy that wins over this one.
    pub shadowed_by: Option<String>,
}

impl Survey {
    /// Finds a skill by `name` (the copy that wins) or `name@scope`.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` when the copy is broken: a broken copy is an error and never a
    /// reason to take another. `E_SKILL_NOT_FOUND` when there is none.
    pub fn lookup(&self, name: &str) -> Result<&DiscoveredSkill, PackageError> {
        let (plain, scope) = match name.split_once('@') {
            Some((plain, scope)) => (plain, Some(scope)),
            None => (name, None),
        };
        let copy = self.copies.iter().find(|copy| {
            copy.name.as_str() == plain && scope.is_none_or(|scope| copy.scope.as_str() == scope)
        });
        let Some(copy) = copy else {
            let names: Vec<&str> = self.copies.iter().map(|copy| copy.name.as_str()).collect();
            return Err(PackageError::NoSuchSkill {
                skill: name.to_owned(),
                nearest: nearest(plain, &names)
                    .filter(|near| *near != plain)
                    .map(str::to_owned),
            });
        };
        copy.skill.as_ref().ok_or_else(|| PackageError::Invalid {
            location: copy.location.clone(),
            diagnostics: copy.diagnostics.clone(),
        })
    }

    /// Returns everything that was passed over, shadowed and broken copies among it, each with
    /// its reason and what would change it.
    pub fn skips(&self) -> Vec<Skip> {
        let mut skips: Vec<Skip> = self.copies.iter().filter_map(SkillCopy::skip).collect();
        skips.extend(self.skipped.iter().cloned());
        skips
    }

    /// Adds a copy, which is shadowed when its name is taken.
    pub(crate) fn add(&mut self, mut copy: SkillCopy) {
        let winner = self.copies.iter().find(|earlier| earlier.name == copy.name);
        copy.shadowed_by = winner.map(|winner| winner.location.clone());
        self.copies.push(copy);
    }
}

impl SkillCopy {
    /// Returns the copy for a catalog, with the copy that wins over it.
    pub(crate) fn listed(self) -> Option<DiscoveredSkill> {
        let mut skill = self.skill?;
        skill.shadowed_by = self.shadowed_by;
        Some(skill)
    }

    fn skip(&self) -> Option<Skip> {
        let error = self
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.severity() == Severity::Error);
        if let Some(winner) = &self.shadowed_by {
            let reason = format!("`{}` is shadowed by the copy in {winner}", self.name);
            let fix = format!(
                "address it as `{}@{}`, or rename one of them",
                self.name, self.scope
            );
            return Some(Skip::new(&self.location, reason, fix));
        }
        let error = error?;
        let fix = error.advice().unwrap_or("run `bailiwick check` on it");
        Some(Skip::new(&self.location, error.to_string(), fix).of(self.name.clone()))
    }
}
