//! Grants of members of `context`, which only isolated tools can use.

use std::collections::BTreeMap;

use bailiwick_core::Capability;

use crate::order::{Axis, Widening};
use crate::origin::Origin;

/// Granted capabilities, each with the rule that names it.
pub(crate) type ContextGrants = BTreeMap<Capability, Origin>;

/// Returns the rule that grants `wanted`: its own, or that of the namespace around it.
pub(crate) fn rule_for<'g>(held: &'g ContextGrants, wanted: &Capability) -> Option<&'g Origin> {
    let mut covering = held.iter().filter(|(name, _)| name.covers(wanted));
    // Names sort before the longer ones that they cover, so the last is the nearest.
    covering.next_back().map(|(_, origin)| origin)
}

/// Returns the witness that `held` does not cover `wanted`, if it does not.
pub(crate) fn beyond(held: &ContextGrants, wanted: &Capability) -> Option<Widening> {
    if rule_for(held, wanted).is_some() {
        return None;
    }
    let within: Vec<_> = held
        .keys()
        .filter(|name| wanted.covers(name))
        .map(Capability::as_str)
        .collect();
    let held = if within.is_empty() {
        "nothing".to_owned()
    } else {
        within.join(", ")
    };
    Some(Widening::plain(Axis::Context, "it", held).about(wanted))
}

/// Why a name of `context` is refused.
#[derive(Debug)]
pub(crate) struct CapabilityRefused {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Reads a name of `context`, as a policy file or a flag writes it.
pub(crate) fn capability(text: &str) -> Result<Capability, CapabilityRefused> {
    text.parse::<Capability>().map_err(|rejected| {
        let namespace = text
            .strip_suffix(".*")
            .and_then(|namespace| namespace.parse::<Capability>().ok());
        CapabilityRefused {
            message: rejected.to_string(),
            hint: match namespace {
                Some(namespace) => {
                    format!("write `{namespace}`: a namespace grants all of its members")
                }
                None => "for example `fs.read`, or `fs` for all of its members".to_owned(),
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Capability {
        text.parse().unwrap()
    }

    fn held(names: &[&str]) -> ContextGrants {
        let each = names.iter().zip(1..);
        each.map(|(name, line)| (of(name), Origin::file("b.toml", line)))
            .collect()
    }

    #[test]
    fn the_nearest_rule_is_the_one_that_is_named() {
        let grants = held(&["fs", "fs.read", "fsx"]);
        let rule = |name| rule_for(&grants, &of(name)).map(ToString::to_string);
        assert_eq!(rule("fs.read").as_deref(), Some("b.toml:2"));
        assert_eq!(rule("fs.grep").as_deref(), Some("b.toml:1"));
        assert_eq!(rule("fs").as_deref(), Some("b.toml:1"));
        assert_eq!(rule("notes"), None);
    }

    #[test]
    fn a_namespace_is_wider_than_its_members_together() {
        let ceiling = held(&["fs.grep", "fs.read", "notes"]);
        let witness = |name| beyond(&ceiling, &of(name)).map(|witness| witness.to_string());
        assert_eq!(witness("fs.read"), None);
        assert_eq!(witness("notes.write"), None);
        assert_eq!(
            witness("fs").as_deref(),
            Some("context fs: asks for it, the ceiling holds fs.grep, fs.read")
        );
        assert_eq!(
            witness("fs.writeText").as_deref(),
            Some("context fs.writeText: asks for it, the ceiling holds nothing")
        );
    }
}
