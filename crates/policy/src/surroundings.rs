//! What a run holds besides the policy that was proven for it.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::effective::{EffectivePolicy, EffectiveRoot};
use crate::explain::Answer;
use crate::file::Base;
use crate::grants::{Access, Grants};
use crate::origin::Origin;
use crate::path::HostPath;
use crate::rights::Rights;

/// The base of a run's root, and the roots beneath which a call may name a path.
///
/// An [`EffectivePolicy`] holds what was granted. With what surrounds it, a question about a path
/// is answered as the run would meet it: every script under the base `usr` reads `/usr`, whatever
/// it was granted.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::{
///     Base, HostPath, Rights, SandboxPolicy, Surroundings, Whose, derive,
/// };
///
/// let policy = derive(&SandboxPolicy::deny_all(), &SandboxPolicy::deny_all())?;
/// let python: HostPath = "/usr/bin/python3.11".parse()?;
/// assert!(!policy.explain_path(&python, Rights::EXECUTE).allowed());
///
/// let around = Surroundings::new(Base::Usr);
/// let answer = around.explain_path(&policy, &python, Rights::EXECUTE, Whose::Host);
/// assert!(answer.allowed());
/// assert_eq!(answer.rules()[0].to_string(), "the base `usr`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Surroundings {
    base: Base,
    places: Vec<Place>,
    when_named: Vec<Place>,
    #[serde(skip)]
    grants: Grants,
}

impl Surroundings {
    /// Returns what every run has in its root, before its interpreter is known.
    pub fn new(base: Base) -> Self {
        let rule = Origin::base(base.as_str());
        let system: &[&str] = match base {
            Base::Usr => &SYSTEM,
            Base::Minimal => &[],
        };
        let places = [
            (system, Rights::READ_ONLY | Rights::EXEC, &rule),
            (&SETTINGS, Rights::READ_ONLY, &rule),
            (&DEVICES, Rights::READ | Rights::WRITE, &rule),
            (&MADE, Rights::READ_ONLY, &Origin::Run),
            (&SCRATCH, Rights::READ_WRITE | Rights::MKSOCK, &Origin::Run),
        ];
        let places = places.into_iter().flat_map(|(paths, rights, rule)| {
            paths.iter().map(move |path| Place {
                path: HostPath::known(path),
                rights,
                rule: rule.clone(),
            })
        });
        Self {
            base,
            places: places.collect(),
            when_named: Vec::new(),
            grants: Grants::default(),
        }
    }

    /// Adds a place that the root holds, such as the program of the interpreter.
    #[must_use]
    pub fn with_place(mut self, path: HostPath, rights: Rights, rule: Origin) -> Self {
        self.places.push(Place { path, rights, rule });
        self
    }

    /// Says what a call may name. Nothing by default.
    #[must_use]
    pub fn with_named(mut self, grants: &Grants) -> Self {
        let lists = [
            (grants.param_read(), Access::Read),
            (grants.param_write(), Access::Write),
        ];
        let all = lists.into_iter().flat_map(|(roots, access)| {
            roots.iter().map(move |root| Place {
                path: root.path().clone(),
                rights: access.rights(),
                rule: root.origin().clone(),
            })
        });
        self.when_named = all.collect();
        self.grants = grants.clone();
        self
    }

    /// Returns what the root of a script holds.
    pub fn base(&self) -> Base {
        self.base
    }

    /// Answers whether `path` may be used with `rights` in a run under `policy`.
    ///
    /// `whose` says what stands at the path where a run has a place of its own, such as `/tmp`.
    /// The root of such a place is the run's own in any case.
    pub fn explain_path(
        &self,
        policy: &EffectivePolicy,
        path: &HostPath,
        rights: Rights,
        whose: Whose,
    ) -> Answer {
        // A granted folder stands at its own path, over whatever the base has there.
        let over = policy
            .roots()
            .iter()
            .map(EffectiveRoot::host_path)
            .rfind(|root| path.starts_with(root));
        let here: Vec<_> = self
            .places
            .iter()
            .filter(|place| path.starts_with(&place.path))
            .filter(|place| over.is_none_or(|over| place.path.starts_with(over)))
            .filter(|place| match (&place.rule, whose) {
                (Origin::Run, Whose::Host) => place.path == *path,
                (_, Whose::Host | Whose::Run) => true,
            })
            .collect();
        let held = here
            .iter()
            .fold(Rights::NONE, |held, place| held | place.rights);
        let counts = |place: &&&Place| !place.rights.intersection(rights).is_empty();
        let rules = here.iter().filter(counts).map(|place| place.rule.clone());
        let answer = policy.answer_path(path, rights, held, rules);
        if answer.allowed() {
            return answer;
        }
        let own = here.iter().find(|place| place.rule == Origin::Run);
        match (self.grants.naming(path, rights), own) {
            (Some(root), _) => Answer::when_named(path, rights, root.origin().clone()),
            (None, Some(own)) => answer.never_because(format!(
                "`{}` belongs to the run itself and is made as it is",
                own.path
            )),
            (None, None) => answer,
        }
    }

    /// Returns the base and what a call may name as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl fmt::Display for Surroundings {
    /// Writes one line for the places that are held alike, and one for each root of parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alike = self
            .places
            .chunk_by(|one, next| (one.rights, &one.rule) == (next.rights, &next.rule));
        let base = alike.enumerate().map(|(number, places)| {
            let paths: Vec<_> = places.iter().map(|place| place.path.as_str()).collect();
            (if number == 0 { "base" } else { "" }, paths, &places[0])
        });
        let named = self.when_named.iter().enumerate().map(|(number, place)| {
            let title = if number == 0 { "when named" } else { "" };
            (title, vec![place.path.as_str()], place)
        });
        for (number, (title, paths, Place { rights, rule, .. })) in base.chain(named).enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            let paths = paths.join(", ");
            write!(f, "{end}{title:<12} {paths}: {rights} ({rule})")?;
        }
        Ok(())
    }
}

/// Whose file a question means, where a run has a place of its own at the same path.
#[expect(
    clippy::exhaustive_enums,
    reason = "a file is this machine's or the run's"
)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whose {
    /// This machine's, which the run's own place hides from it.
    Host,
    /// The run's.
    Run,
}

#[derive(Clone, Debug, Serialize)]
struct Place {
    path: HostPath,
    rights: Rights,
    rule: Origin,
}

/// Programs and libraries of the machine; those that are links lead into `/usr`.
const SYSTEM: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// The machine's settings that honest programs fail without.
const SETTINGS: [&str; 5] = [
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/localtime",
    "/etc/mime.types",
];

/// Devices without a state that a script could reach another process by.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What is made for each run: its skill, a small `/etc`, the processes of the run alone.
const MADE: [&str; 3] = ["/skill", "/etc", "/proc"];

/// What a run writes, in one file system that goes with it.
const SCRATCH: [&str; 3] = ["/run/rw", "/tmp", "/dev/shm"];
