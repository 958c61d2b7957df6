//! A proof that one policy lies within another, which anyone can check again.
//!
//! The check shares nothing with what made the proof but the types: it asks both policies anew what
//! they hold, with the plainest definitions there are, and decides the order by itself. A mistake
//! in the one is therefore found by the other.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::compare::{Comparison, Fact};
use crate::limits::LimitAxis;
use crate::network::Net;
use crate::order::Axis;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::rights::Rights;

/// The comparisons that show a policy to be within its ceiling.
///
/// Only [`prove()`](crate::prove()) and [`derive()`](crate::derive()) make one. It names no policy:
/// whom it is about is told by [`check`](Self::check).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Certificate {
    comparisons: Arc<[Comparison]>,
}

impl Certificate {
    pub(crate) fn of(comparisons: Vec<Comparison>) -> Self {
        Self {
            comparisons: comparisons.into(),
        }
    }

    /// Returns what was compared, axis by axis and breakpoint by breakpoint.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Checks that this proves `narrow` to be within `wide`.
    ///
    /// Whatever made the certificate is not trusted: every comparison must be true of the two
    /// policies and in order, and none that the proof needs may be left out.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] with the first comparison that is false, out of order or missing.
    pub fn check(
        &self,
        narrow: &SandboxPolicy,
        wide: &SandboxPolicy,
    ) -> Result<(), CertificateError> {
        for comparison in self.comparisons.iter() {
            if !is_true(&comparison.fact, narrow, wide) {
                return Err(CertificateError::False(comparison.clone()));
            }
            if !is_in_order(&comparison.fact) {
                return Err(CertificateError::TooWide(comparison.clone()));
            }
        }
        self.check_complete(narrow, wide)
    }

    /// Returns the certificate as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn check_complete(
        &self,
        narrow: &SandboxPolicy,
        wide: &SandboxPolicy,
    ) -> Result<(), CertificateError> {
        let missing = |axis, at: Option<String>| CertificateError::Missing { axis, at };
        let has = |wanted: &dyn Fn(&Fact) -> bool| {
            let mut all = self.comparisons.iter();
            all.any(|comparison| wanted(&comparison.fact))
        };
        for (root, _) in narrow.roots().chain(wide.roots()) {
            if !has(&|fact| matches!(fact, Fact::Files { at, .. } if at == root)) {
                return Err(missing(Axis::Files, Some(root.to_string())));
            }
        }
        for program in narrow.exec().keys() {
            if !has(&|fact| matches!(fact, Fact::Exec { at, .. } if at == program)) {
                return Err(missing(Axis::Exec, Some(program.to_string())));
            }
        }
        for variable in narrow.env().keys() {
            if !has(&|fact| matches!(fact, Fact::Env { name, .. } if name == variable)) {
                return Err(missing(Axis::Env, Some(variable.to_string())));
            }
        }
        for required in wide.required() {
            if !has(&|fact| matches!(fact, Fact::Require { class, .. } if class == required)) {
                return Err(missing(Axis::Require, Some(required.to_string())));
            }
        }
        for limit in LimitAxis::ALL {
            if !has(&|fact| matches!(fact, Fact::Limit { axis, .. } if *axis == limit)) {
                return Err(missing(Axis::Limit(limit), None));
            }
        }
        if !has(&|fact| matches!(fact, Fact::Net { .. })) {
            return Err(missing(Axis::Net, None));
        }
        if !has(&|fact| matches!(fact, Fact::Unix { .. })) {
            return Err(missing(Axis::Unix, None));
        }
        if !has(&|fact| matches!(fact, Fact::Syscalls { .. })) {
            return Err(missing(Axis::Syscalls, None));
        }
        Ok(())
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} comparisons, each within the ceiling",
            self.comparisons.len()
        )?;
        for comparison in self.comparisons.iter() {
            write!(f, "\n  {comparison}")?;
        }
        Ok(())
    }
}

impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.comparisons.iter())
    }
}

/// Why a certificate proves nothing about two policies.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CertificateError {
    /// A comparison says something of a policy that is not so.
    #[error("the proof is of other policies: {0}")]
    False(Comparison),
    /// Something that has to be compared was not.
    #[error("the proof leaves out {axis}{}", at.as_deref().map(|at| format!(" {at}")).unwrap_or_default())]
    Missing {
        /// The axis.
        axis: Axis,
        /// The path, program, name or class, where the axis has more than one.
        at: Option<String>,
    },
    /// A comparison shows the opposite of what is to be proven.
    #[error("the proof shows the opposite: {0}")]
    TooWide(Comparison),
}

/// Says whether a comparison tells what the two policies really hold.
fn is_true(fact: &Fact, narrow: &SandboxPolicy, wide: &SandboxPolicy) -> bool {
    match fact {
        Fact::Files { at, wanted, held } => {
            rights_at(narrow, at) == *wanted && rights_at(wide, at) == *held
        }
        Fact::Net { wanted, held } => narrow.net() == wanted && wide.net() == held,
        Fact::Unix { wanted, held } => narrow.unix() == *wanted && wide.unix() == *held,
        Fact::Exec { at, held } => {
            narrow.exec().contains_key(at) && wide.exec().contains_key(at) == *held
        }
        Fact::Syscalls { wanted, held } => narrow.syscalls() == *wanted && wide.syscalls() == *held,
        Fact::Limit { axis, wanted, held } => {
            narrow.limits().amount(*axis) == *wanted && wide.limits().amount(*axis) == *held
        }
        Fact::Env { name, held } => {
            narrow.env().contains_key(name) && wide.env().contains_key(name) == *held
        }
        Fact::Require { class, wanted } => {
            wide.required().contains(class) && narrow.required().contains(class) == *wanted
        }
    }
}

/// Says whether what is wanted lies within what is held.
fn is_in_order(fact: &Fact) -> bool {
    match fact {
        Fact::Files { wanted, held, .. } => wanted.each().all(|right| held.contains(right)),
        Fact::Net { wanted, held } => reaches_no_further(wanted, held),
        Fact::Unix { wanted, held } => wanted <= held,
        Fact::Exec { held, .. } | Fact::Env { held, .. } => *held,
        Fact::Syscalls { wanted, held } => wanted <= held,
        Fact::Limit { wanted, held, .. } => {
            held.is_none_or(|held| wanted.is_some_and(|wanted| wanted <= held))
        }
        Fact::Require { wanted, .. } => *wanted,
    }
}

/// Returns the rights at a path by their definition: every grant whose root is there or above.
fn rights_at(policy: &SandboxPolicy, path: &HostPath) -> Rights {
    policy
        .roots()
        .filter(|(root, _)| path.starts_with(root))
        .flat_map(|(_, grants)| grants)
        .fold(Rights::NONE, |held, grant| held | grant.rights())
}

fn reaches_no_further(wanted: &Net, held: &Net) -> bool {
    match held {
        Net::Full => true,
        Net::Proxy(allowed) => match wanted {
            Net::None | Net::Loopback => true,
            Net::Proxy(asked) => asked.iter().all(|host| allowed.covers(host)),
            Net::Full => false,
        },
        Net::Loopback => matches!(wanted, Net::None | Net::Loopback),
        Net::None => matches!(wanted, Net::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::origin::Origin;

    /// A policy that has something on every axis.
    fn policy() -> SandboxPolicy {
        let path = |text: &str| text.parse::<HostPath>().unwrap();
        SandboxPolicy::deny_all()
            .grant(path("/a"), Rights::READ_ONLY, Origin::Code)
            .grant(path("/a/b"), Rights::READ_WRITE, Origin::Code)
            .with_net(Net::Loopback, Origin::Code)
            .allow_exec(path("/bin/sh"), Origin::Code)
            .allow_env("TZ".parse().unwrap(), Origin::Code)
    }

    #[test]
    fn a_proof_with_any_line_left_out_is_refused() {
        let whole = compare(&policy(), &policy());
        assert_eq!(
            Certificate::of(whole.clone()).check(&policy(), &policy()),
            Ok(())
        );
        for place in 0..whole.len() {
            let mut some = whole.clone();
            let left_out = some.remove(place);
            let refused = Certificate::of(some).check(&policy(), &policy());
            let (axis, at) = (left_out.axis(), left_out.at());
            assert_eq!(refused, Err(CertificateError::Missing { axis, at }));
        }
    }

    #[test]
    fn a_proof_that_says_what_is_not_so_is_refused() {
        let (narrow, wide) = (policy(), SandboxPolicy::deny_all());
        // What a prover that lies would claim of two policies, of which one is far too wide.
        let claimed = Certificate::of(compare(&narrow, &narrow));
        assert!(matches!(
            claimed.check(&narrow, &wide),
            Err(CertificateError::False(_))
        ));
    }

    #[test]
    fn a_true_list_of_comparisons_that_do_not_hold_proves_nothing() {
        let (narrow, wide) = (policy(), SandboxPolicy::deny_all());
        let honest = Certificate::of(compare(&narrow, &wide));
        let Err(CertificateError::TooWide(first)) = honest.check(&narrow, &wide) else {
            panic!("the first comparison is out of order");
        };
        assert_eq!(first.to_string(), "fs /a: wants read+list, holds nothing");
    }
}
