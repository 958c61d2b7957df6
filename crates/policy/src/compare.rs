//! Compares two policies place by place: the one engine behind witnesses, proofs and derivation.
//!
//! A [`Comparison`] keeps what it compared as values and not as text, so that somebody else can look
//! whether they are what the policies hold and whether the one lies within the other.

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::env::EnvName;
use crate::limits::LimitAxis;
use crate::network::{Net, Unix};
use crate::order::{Axis, Widening};
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::rights::Rights;
use crate::syscalls::SyscallProfile;
use crate::threat::ThreatClass;

/// What a policy wants at one place of one axis, and what its ceiling holds there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Comparison {
    pub(crate) fact: Fact,
}

impl Comparison {
    /// Returns the part of the policy that was compared.
    pub fn axis(&self) -> Axis {
        match &self.fact {
            Fact::Files { .. } => Axis::Files,
            Fact::Net { .. } => Axis::Net,
            Fact::Unix { .. } => Axis::Unix,
            Fact::Exec { .. } => Axis::Exec,
            Fact::Syscalls { .. } => Axis::Syscalls,
            Fact::Limit { axis, .. } => Axis::Limit(*axis),
            Fact::Env { .. } => Axis::Env,
            Fact::Require { .. } => Axis::Require,
        }
    }

    /// Returns the path, program, name or class it is about, where the axis has more than one.
    pub fn at(&self) -> Option<String> {
        match &self.fact {
            Fact::Files { at, .. } | Fact::Exec { at, .. } => Some(at.to_string()),
            Fact::Env { name, .. } => Some(name.to_string()),
            Fact::Require { class, .. } => Some(class.to_string()),
            Fact::Net { .. } | Fact::Unix { .. } | Fact::Syscalls { .. } | Fact::Limit { .. } => {
                None
            }
        }
    }

    /// Returns what the policy wants there.
    pub fn wanted(&self) -> String {
        match &self.fact {
            Fact::Files { wanted, .. } => wanted.to_string(),
            Fact::Net { wanted, .. } => wanted.to_string(),
            Fact::Unix { wanted, .. } => wanted.to_string(),
            Fact::Syscalls { wanted, .. } => wanted.to_string(),
            Fact::Limit { axis, wanted, .. } => show(*axis, *wanted),
            Fact::Exec { .. } | Fact::Env { .. } => IT.to_owned(),
            Fact::Require { wanted, .. } => requirement(*wanted).to_owned(),
        }
    }

    /// Returns what the ceiling holds there.
    pub fn held(&self) -> String {
        match &self.fact {
            Fact::Files { held, .. } => held.to_string(),
            Fact::Net { held, .. } => held.to_string(),
            Fact::Unix { held, .. } => held.to_string(),
            Fact::Syscalls { held, .. } => held.to_string(),
            Fact::Limit { axis, held, .. } => show(*axis, *held),
            Fact::Exec { held, .. } | Fact::Env { held, .. } => {
                if *held { IT } else { NOTHING }.to_owned()
            }
            Fact::Require { .. } => requirement(true).to_owned(),
        }
    }

    /// Says whether what is wanted lies within what is held.
    pub(crate) fn holds(&self) -> bool {
        match &self.fact {
            Fact::Files { wanted, held, .. } => held.contains(*wanted),
            Fact::Net { wanted, held } => wanted.is_within(held),
            Fact::Unix { wanted, held } => wanted <= held,
            Fact::Exec { held, .. } | Fact::Env { held, .. } => *held,
            Fact::Syscalls { wanted, held } => wanted <= held,
            Fact::Limit { wanted, held, .. } => match (wanted, held) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(wanted), Some(held)) => wanted <= held,
            },
            Fact::Require { wanted, .. } => *wanted,
        }
    }

    /// Names each rule of `narrow` that goes too far here; none where the comparison holds.
    ///
    /// A folder whose own grants lie within the ceiling has no witness of its own: what goes too
    /// far there was granted above, where it goes too far as well.
    pub(crate) fn witnesses(&self, narrow: &SandboxPolicy) -> Vec<Widening> {
        if self.holds() {
            return Vec::new();
        }
        let plain = || Widening::plain(self.axis(), self.wanted(), self.held());
        match &self.fact {
            Fact::Files { at, held, .. } => narrow
                .roots()
                .filter(|(root, _)| *root == at)
                .flat_map(|(_, grants)| grants)
                .filter(|grant| !held.contains(grant.rights()))
                .map(|grant| {
                    Widening::path(at, grant.rights(), held).asked_by(grant.origin().clone())
                })
                .collect(),
            Fact::Net { .. } => vec![plain().maybe_asked_by(narrow.net_origin())],
            Fact::Exec { at, .. } => vec![plain().about(at).maybe_asked_by(narrow.exec().get(at))],
            Fact::Env { name, .. } => {
                vec![plain().about(name).maybe_asked_by(narrow.env().get(name))]
            }
            Fact::Require { class, .. } => vec![plain().about(class)],
            Fact::Unix { .. } | Fact::Syscalls { .. } | Fact::Limit { .. } => vec![plain()],
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.axis())?;
        if let Some(at) = self.at() {
            write!(f, " {at}")?;
        }
        write!(f, ": wants {}, holds {}", self.wanted(), self.held())
    }
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut comparison = serializer.serialize_struct("Comparison", 4)?;
        comparison.serialize_field("axis", &self.axis())?;
        match self.at() {
            Some(at) => comparison.serialize_field("at", &at)?,
            None => comparison.skip_field("at")?,
        }
        comparison.serialize_field("wanted", &self.wanted())?;
        comparison.serialize_field("held", &self.held())?;
        comparison.end()
    }
}

/// The values of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Fact {
    /// The rights at a path.
    Files {
        at: HostPath,
        wanted: Rights,
        held: Rights,
    },
    /// The reach over IP.
    Net { wanted: Net, held: Net },
    /// The reach over Unix sockets.
    Unix { wanted: Unix, held: Unix },
    /// A program that is wanted.
    Exec { at: HostPath, held: bool },
    /// The profile of system calls.
    Syscalls {
        wanted: SyscallProfile,
        held: SyscallProfile,
    },
    /// The bound of one limit.
    Limit {
        axis: LimitAxis,
        wanted: Option<u64>,
        held: Option<u64>,
    },
    /// A variable that is wanted.
    Env { name: EnvName, held: bool },
    /// A class that the ceiling requires; dropping one widens.
    Require { class: ThreatClass, wanted: bool },
}

/// Compares `narrow` with `wide` at every place where either of them changes.
///
/// Rights are constant between the roots of the two policies, so comparing them at every root of
/// both decides for every path.
pub(crate) fn compare(narrow: &SandboxPolicy, wide: &SandboxPolicy) -> Vec<Comparison> {
    let breakpoints: BTreeSet<_> = narrow
        .roots()
        .chain(wide.roots())
        .map(|(root, _)| root)
        .collect();
    let mut facts: Vec<_> = breakpoints
        .into_iter()
        .map(|at| Fact::Files {
            at: at.clone(),
            wanted: narrow.effective_rights(at),
            held: wide.effective_rights(at),
        })
        .collect();
    facts.push(Fact::Net {
        wanted: narrow.net().clone(),
        held: wide.net().clone(),
    });
    facts.push(Fact::Unix {
        wanted: narrow.unix(),
        held: wide.unix(),
    });
    facts.extend(narrow.exec().keys().map(|at| Fact::Exec {
        at: at.clone(),
        held: wide.exec().contains_key(at),
    }));
    facts.push(Fact::Syscalls {
        wanted: narrow.syscalls(),
        held: wide.syscalls(),
    });
    facts.extend(LimitAxis::ALL.into_iter().map(|axis| Fact::Limit {
        axis,
        wanted: narrow.limits().amount(axis),
        held: wide.limits().amount(axis),
    }));
    facts.extend(narrow.env().keys().map(|name| Fact::Env {
        name: name.clone(),
        held: wide.env().contains_key(name),
    }));
    facts.extend(wide.required().iter().map(|class| Fact::Require {
        class: *class,
        wanted: narrow.required().contains(class),
    }));
    facts.into_iter().map(|fact| Comparison { fact }).collect()
}

fn show(axis: LimitAxis, bound: Option<u64>) -> String {
    bound.map_or_else(|| "no limit".to_owned(), |bound| axis.show(bound))
}

fn requirement(required: bool) -> &'static str {
    if required { "a requirement" } else { "none" }
}

/// How a program or variable is called that its own place names already.
const IT: &str = "it";
const NOTHING: &str = "nothing";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn no_bound_exceeds_every_bound_and_is_exceeded_by_none() {
        let five = Limits::unlimited().with_processes(5);
        let six = Limits::unlimited().with_processes(6);
        let none = Limits::unlimited();
        let beyond = |limits: &Limits, ceiling: &Limits| {
            let policy = |limits: &Limits| SandboxPolicy::deny_all().with_limits(limits.clone());
            let all = compare(&policy(limits), &policy(ceiling));
            let failing = all.iter().filter(|comparison| !comparison.holds());
            failing.map(Comparison::axis).collect::<Vec<_>>()
        };
        let processes = [Axis::Limit(LimitAxis::Processes)];
        assert_eq!(beyond(&none, &five), processes);
        assert_eq!(beyond(&six, &five), processes);
        assert_eq!(beyond(&five, &five), []);
        assert_eq!(beyond(&five, &none), []);
    }
}
