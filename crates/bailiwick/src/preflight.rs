//! Which names a skill may publish (contracts 3.3). All or nothing.

use std::collections::BTreeMap;

use bailiwick_core::{Code, Reserved, Scope, SkillError, SkillName, ToolName};

/// Who owns a published name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// The host itself.
    Host,
    /// A loaded skill.
    Skill(SkillName),
}

/// The names in use, keyed without case: two that differ by case alone collide.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, (ToolName, Owner)>);

impl Names {
    /// Checks every name that a skill wants to publish and claims them all, or none.
    ///
    /// # Errors
    ///
    /// `E_SKILL_TOOL_DUPLICATE` for a name that stands twice, `E_SKILL_TOOL_COLLISION` for one that
    /// another skill, the runtime or the host owns.
    pub(crate) fn claim(
        &mut self,
        skill: &SkillName,
        scope: Scope,
        names: &[ToolName],
    ) -> Result<(), SkillError> {
        for (index, name) in names.iter().enumerate() {
            if names[..index].iter().any(|other| key(other) == key(name)) {
                return Err(duplicate(skill, name));
            }
            let owner = self.0.get(&key(name)).map(|(_, owner)| owner);
            if let Some(Owner::Skill(other)) = owner {
                return Err(collision(
                    skill,
                    name,
                    &format!("the skill `{other}` publishes it"),
                ));
            }
            match name.reserved() {
                Some(Reserved::Absolutely) => {
                    return Err(collision(skill, name, "the runtime reserves it"));
                }
                Some(Reserved::ForBundled) if scope != Scope::Bundled => {
                    return Err(collision(
                        skill,
                        name,
                        "it is reserved for the bundled skill that owns it",
                    ));
                }
                Some(Reserved::ForBundled) | None => {}
            }
            if owner == Some(&Owner::Host) {
                return Err(collision(skill, name, "the host owns it"));
            }
        }
        for name in names {
            self.0
                .insert(key(name), (name.clone(), Owner::Skill(skill.clone())));
        }
        Ok(())
    }

    /// Claims a name for the host.
    ///
    /// # Errors
    ///
    /// `E_SKILL_TOOL_COLLISION` when a loaded skill publishes it: nothing is replaced.
    pub(crate) fn claim_for_host(&mut self, name: &ToolName) -> Result<(), SkillError> {
        match self.0.get(&key(name)) {
            Some((_, Owner::Skill(skill))) => Err(collision(
                skill,
                name,
                "a loaded skill publishes it; unload that skill first",
            )),
            Some((_, Owner::Host)) | None => {
                self.0.insert(key(name), (name.clone(), Owner::Host));
                Ok(())
            }
        }
    }

    /// Gives up every name of a skill.
    pub(crate) fn release(&mut self, skill: &SkillName) {
        self.0
            .retain(|_, (_, owner)| !matches!(owner, Owner::Skill(other) if other == skill));
    }
}

fn key(name: &ToolName) -> String {
    name.as_str().to_ascii_lowercase()
}

fn duplicate(skill: &SkillName, name: &ToolName) -> SkillError {
    SkillError::new(
        Code::ToolDuplicate,
        format!("the skill `{skill}` brings two tools named `{name}`"),
    )
    .with_hint("give one of them another name; names that differ only by case are one name")
    .with_detail("skill", skill.as_str())
    .with_detail("tool", name.as_str())
}

fn collision(skill: &SkillName, name: &ToolName, reason: &str) -> SkillError {
    SkillError::new(
        Code::ToolCollision,
        format!("the skill `{skill}` cannot publish `{name}`: {reason}"),
    )
    .with_hint("rename the tool, or unload what owns the name")
    .with_detail("skill", skill.as_str())
    .with_detail("tool", name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<ToolName> {
        list.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn skill(name: &str) -> SkillName {
        name.parse().unwrap()
    }

    #[test]
    fn a_failed_claim_claims_nothing_and_a_release_frees_the_names() {
        let mut table = Names::default();
        table
            .claim(&skill("a"), Scope::User, &names(&["x", "y"]))
            .unwrap();
        let error = table
            .claim(&skill("b"), Scope::User, &names(&["z", "X"]))
            .unwrap_err();
        assert_eq!(error.code(), Code::ToolCollision);
        table
            .claim(&skill("c"), Scope::User, &names(&["z"]))
            .unwrap();
        table.release(&skill("a"));
        table
            .claim(&skill("b"), Scope::User, &names(&["X"]))
            .unwrap();
    }

    #[test]
    fn the_checks_come_in_the_order_of_the_contract() {
        let mut table = Names::default();
        table.claim_for_host(&"bash".parse().unwrap()).unwrap();
        let code = |table: &mut Names, list: &[&str]| {
            table
                .claim(&skill("b"), Scope::User, &names(list))
                .unwrap_err()
        };
        assert_eq!(
            code(&mut table, &["load_skill", "load_skill"]).code(),
            Code::ToolCollision
        );
        assert_eq!(code(&mut table, &["x", "X"]).code(), Code::ToolDuplicate);
        assert!(
            code(&mut table, &["bash"])
                .message()
                .contains("reserved for the bundled")
        );
        assert!(
            table
                .claim(&skill("b"), Scope::Bundled, &names(&["bash"]))
                .unwrap_err()
                .message()
                .contains("host owns")
        );
    }

    #[test]
    fn a_host_tool_never_replaces_a_loaded_one() {
        let mut table = Names::default();
        table
            .claim(&skill("a"), Scope::User, &names(&["report"]))
            .unwrap();
        assert_eq!(
            table
                .claim_for_host(&"Report".parse().unwrap())
                .unwrap_err()
                .code(),
            Code::ToolCollision
        );
    }
}
