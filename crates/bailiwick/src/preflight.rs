//! Which names a skill may publish (contracts 3.3). All or nothing.

use std::collections::BTreeMap;

use bailiwick_core::{Code, Reserved, SkillError, SkillName, ToolName};

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
    /// Checks every name that a skill wants to publish and claims them all, or none. Each check
    /// covers every name before the next one begins.
    ///
    /// # Errors
    ///
    /// `E_SKILL_TOOL_DUPLICATE` for a name that stands twice, `E_SKILL_TOOL_COLLISION` for one that
    /// another skill, the runtime or the host owns.
    pub(crate) fn claim(
        &mut self,
        skill: &SkillName,
        names: &[ToolName],
    ) -> Result<(), SkillError> {
        for (index, name) in names.iter().enumerate() {
            if names[..index].iter().any(|other| key(other) == key(name)) {
                return Err(duplicate(skill, name));
            }
        }
        for name in names {
            if let Some(Owner::Skill(other)) = self.owner(name) {
                let reason = format!("the skill `{other}` publishes it");
                return Err(collision(skill, name, &reason));
            }
        }
        for name in names {
            match name.reserved() {
                Some(Reserved::Absolutely) => {
                    return Err(collision(skill, name, "the runtime reserves it"));
                }
                // No bundled skill is part of this version, so nobody is the owner.
                Some(Reserved::ForBundled) => {
                    let reason = "it is reserved for the bundled skill that owns it";
                    return Err(collision(skill, name, reason));
                }
                None => {}
            }
        }
        for name in names {
            if self.owner(name) == Some(&Owner::Host) {
                return Err(collision(skill, name, "the host owns it"));
            }
        }
        for name in names {
            let owner = Owner::Skill(skill.clone());
            self.0.insert(key(name), (name.clone(), owner));
        }
        Ok(())
    }

    fn owner(&self, name: &ToolName) -> Option<&Owner> {
        self.0.get(&key(name)).map(|(_, owner)| owner)
    }

    /// Claims a name for the host; claiming it again changes nothing.
    ///
    /// # Errors
    ///
    /// `E_SKILL_TOOL_COLLISION` when a loaded skill publishes it, since nothing is replaced, or the
    /// runtime reserves it for itself.
    pub(crate) fn claim_for_host(&mut self, name: &ToolName) -> Result<(), SkillError> {
        let reason = match (self.owner(name), name.reserved()) {
            (Some(Owner::Skill(skill)), _) => format!("the loaded skill `{skill}` publishes it"),
            (_, Some(Reserved::Absolutely)) => "the runtime reserves it".to_owned(),
            (Some(Owner::Host) | None, Some(Reserved::ForBundled) | None) => {
                self.0.insert(key(name), (name.clone(), Owner::Host));
                return Ok(());
            }
        };
        Err(SkillError::new(
            Code::ToolCollision,
            format!("the host cannot own `{name}`: {reason}"),
        )
        .with_hint("give the host's tool another name, or unload the skill first")
        .with_detail("tool", name.as_str()))
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
        table.claim(&skill("a"), &names(&["x", "y"])).unwrap();
        let error = table.claim(&skill("b"), &names(&["z", "X"])).unwrap_err();
        assert_eq!(error.code(), Code::ToolCollision);
        table.claim(&skill("c"), &names(&["z"])).unwrap();
        table.release(&skill("a"));
        table.claim(&skill("b"), &names(&["X"])).unwrap();
    }

    #[test]
    fn the_checks_come_in_the_order_of_the_contract() {
        let mut table = Names::default();
        table.claim_for_host(&"deploy".parse().unwrap()).unwrap();
        table.claim(&skill("a"), &names(&["taken"])).unwrap();
        let refused = |table: &mut Names, list: &[&str]| {
            let error = table.claim(&skill("b"), &names(list)).unwrap_err();
            (error.code(), error.message().to_owned())
        };
        let (code, _) = refused(
            &mut table,
            &["deploy", "bash", "load_skill", "taken", "x", "X"],
        );
        assert_eq!(code, Code::ToolDuplicate);
        let (_, reason) = refused(&mut table, &["deploy", "load_skill", "taken"]);
        assert!(reason.contains("the skill `a` publishes it"), "{reason}");
        let (_, reason) = refused(&mut table, &["deploy", "load_skill"]);
        assert!(reason.contains("the runtime reserves it"), "{reason}");
        let (_, reason) = refused(&mut table, &["deploy", "bash"]);
        assert!(
            reason.contains("reserved for the bundled skill"),
            "{reason}"
        );
        let (_, reason) = refused(&mut table, &["deploy"]);
        assert!(reason.contains("the host owns it"), "{reason}");
    }

    #[test]
    fn a_host_tool_never_replaces_a_loaded_one_and_takes_no_reader() {
        let mut table = Names::default();
        table.claim(&skill("a"), &names(&["report"])).unwrap();
        let mut code = |name: &str| {
            table
                .claim_for_host(&name.parse().unwrap())
                .unwrap_err()
                .code()
        };
        assert_eq!(code("Report"), Code::ToolCollision);
        assert_eq!(code("artifact_grep"), Code::ToolCollision);
    }
}
