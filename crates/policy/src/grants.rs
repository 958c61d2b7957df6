//! What a person grants to a skill, or for one run.

use std::collections::BTreeMap;
use std::fmt;

use bailiwick_core::Capability;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::context::{self, ContextGrants};
use crate::env::EnvName;
use crate::error::PolicyWidened;
use crate::explain::named;
use crate::network::Net;
use crate::order::Widening;
use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::rights::Rights;

/// What a skill, or one of its tools, holds. Empty unless a person granted something.
///
/// `read` and `write` hold for every run. `param_read` and `param_write` hold nothing by
/// themselves: they say beneath which roots a call may name a path, and that path alone is opened,
/// for that call. Writing includes reading. `context` is for isolated tools alone: a script cannot
/// call a member of it.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    pub(crate) read: Vec<PathGrant>,
    pub(crate) write: Vec<PathGrant>,
    pub(crate) param_read: Vec<PathGrant>,
    pub(crate) param_write: Vec<PathGrant>,
    pub(crate) env: BTreeMap<EnvName, Origin>,
    pub(crate) net: Option<(Net, Origin)>,
    pub(crate) context: ContextGrants,
    pub(crate) undeclared_scripts: Option<Origin>,
}

impl Grants {
    /// Returns the roots that every run reads.
    pub fn read(&self) -> &[PathGrant] {
        &self.read
    }

    /// Returns the roots that every run reads and writes.
    pub fn write(&self) -> &[PathGrant] {
        &self.write
    }

    /// Returns the roots beneath which a call may name a path to read.
    pub fn param_read(&self) -> &[PathGrant] {
        &self.param_read
    }

    /// Returns the roots beneath which a call may name a path to read and write.
    pub fn param_write(&self) -> &[PathGrant] {
        &self.param_write
    }

    /// Returns the variables of the environment that every run gets, each with its origin.
    pub fn env(&self) -> &BTreeMap<EnvName, Origin> {
        &self.env
    }

    /// Returns the reach over IP and its origin, if any was granted.
    pub fn net(&self) -> Option<(&Net, &Origin)> {
        self.net.as_ref().map(|(net, origin)| (net, origin))
    }

    /// Returns the members and namespaces of `context` that isolated tools call, each with its
    /// origin.
    ///
    /// A member of `fs` works on what [`read`](Self::read) and [`write`](Self::write) hold.
    pub fn context(&self) -> &BTreeMap<Capability, Origin> {
        &self.context
    }

    /// Returns the rule that grants a member of `context`: its own, or that of its namespace.
    pub fn context_rule(&self, member: &Capability) -> Option<&Origin> {
        context::rule_for(&self.context, member)
    }

    /// Returns the rule that allows scripts which the skill does not declare, if there is one.
    pub fn undeclared_scripts(&self) -> Option<&Origin> {
        self.undeclared_scripts.as_ref()
    }

    /// Says whether nothing outside the skill's own workspace can be reached.
    ///
    /// A call under such grants needs no question: there is nothing to approve. The clock and
    /// randomness of `context` reach nothing.
    pub fn reach_nothing(&self) -> bool {
        self.read.is_empty()
            && self.write.is_empty()
            && self.param_read.is_empty()
            && self.param_write.is_empty()
            && self.env.is_empty()
            && self.net.is_none()
            && self.context.keys().all(Capability::is_contained)
    }

    /// Lists what an isolated tool holds, one line a grant: `context` first, then the roots that
    /// members of `fs` work on.
    ///
    /// Parameters, variables and the network are for scripts and are left out.
    pub fn isolated_lines(&self) -> Vec<String> {
        self.context_lines(|_| true)
            .chain(self.root_lines())
            .collect()
    }

    /// Lists what a call of an isolated tool can reach outside its guest, one line a grant.
    ///
    /// It is empty where there is nothing to approve: without a member of `context` a guest reaches
    /// no root, and the clock and randomness reach nothing.
    pub fn isolated_reach(&self) -> Vec<String> {
        let context: Vec<_> = self.context_lines(|name| !name.is_contained()).collect();
        if context.is_empty() {
            return context;
        }
        context.into_iter().chain(self.root_lines()).collect()
    }

    fn context_lines(&self, counts: fn(&Capability) -> bool) -> impl Iterator<Item = String> {
        let counted = self.context.iter().filter(move |(name, _)| counts(name));
        counted.map(|(name, origin)| format!("context {name} ({origin})"))
    }

    fn root_lines(&self) -> impl Iterator<Item = String> {
        let lists = [("read", &self.read), ("write", &self.write)];
        lists.into_iter().flat_map(|(access, roots)| {
            let line = move |root: &PathGrant| format!("{access} {} ({})", root.path, root.origin);
            roots.iter().map(line)
        })
    }

    /// Adds what holds for every run of a script to a policy.
    #[must_use]
    pub fn apply(&self, policy: SandboxPolicy) -> SandboxPolicy {
        let policy = grant_all(policy, &self.read, Rights::READ_ONLY);
        let policy = grant_all(policy, &self.write, Rights::READ_WRITE);
        let policy = self.env.iter().fold(policy, |policy, (name, origin)| {
            policy.allow_env(name.clone(), origin.clone())
        });
        match &self.net {
            Some((net, origin)) if !net.is_within(policy.net()) => {
                let net = policy.net().join(net);
                policy.with_net(net, origin.clone())
            }
            Some(_) | None => policy,
        }
    }

    /// Adds everything that some call could open, for use as a ceiling.
    #[must_use]
    pub fn apply_with_params(&self, policy: SandboxPolicy) -> SandboxPolicy {
        let policy = grant_all(self.apply(policy), &self.param_read, Rights::READ_ONLY);
        grant_all(policy, &self.param_write, Rights::READ_WRITE)
    }

    /// Opens a path that a call names, on top of `policy`.
    ///
    /// Nothing is added where the policy holds the path already.
    ///
    /// # Errors
    ///
    /// [`PolicyWidened`] (`E_SKILL_SCRIPT_POLICY_WIDENED`) for a path beneath none of the roots,
    /// with what the grants do hold.
    pub fn open(
        &self,
        policy: SandboxPolicy,
        path: &HostPath,
        access: Access,
    ) -> Result<SandboxPolicy, PolicyWidened> {
        let wanted = access.rights();
        if policy.effective_rights(path).contains(wanted) {
            return Ok(policy);
        }
        if let Some(root) = self.naming(path, wanted) {
            return Ok(policy.grant(path.clone(), wanted, root.origin.clone()));
        }
        let witness = Widening::unnamed(path, access, self.held());
        let file = policy.written_in().cloned();
        Err(PolicyWidened::one(witness.under(file)))
    }

    /// Returns the root beneath which a call may name `path` to use it with `rights`.
    pub(crate) fn naming(&self, path: &HostPath, rights: Rights) -> Option<&PathGrant> {
        [
            (&self.param_read, Access::Read),
            (&self.param_write, Access::Write),
        ]
        .into_iter()
        .filter(|(_, access)| access.rights().contains(rights))
        .flat_map(|(roots, _)| roots)
        .find(|root| path.starts_with(&root.path))
    }

    /// Returns these grants together with `other`, as for one run on a person's word.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.read.extend_from_slice(&other.read);
        self.write.extend_from_slice(&other.write);
        self.param_read.extend_from_slice(&other.param_read);
        self.param_write.extend_from_slice(&other.param_write);
        for (name, origin) in &other.env {
            self.env
                .entry(name.clone())
                .or_insert_with(|| origin.clone());
        }
        for (name, origin) in &other.context {
            self.context
                .entry(name.clone())
                .or_insert_with(|| origin.clone());
        }
        self.net = match (self.net, &other.net) {
            (Some(mine), Some(theirs)) if theirs.0.is_within(&mine.0) => Some(mine),
            (Some(mine), Some(theirs)) => Some((mine.0.join(&theirs.0), theirs.1.clone())),
            (mine, None) => mine,
            (None, theirs) => theirs.clone(),
        };
        self.undeclared_scripts = self
            .undeclared_scripts
            .or_else(|| other.undeclared_scripts.clone());
        self
    }

    /// Describes the roots held, for an error about one that is not.
    fn held(&self) -> String {
        let lists = [
            ("read", &self.read),
            ("write", &self.write),
            ("param_read", &self.param_read),
            ("param_write", &self.param_write),
        ];
        let all: Vec<_> = lists
            .into_iter()
            .flat_map(|(key, roots)| roots.iter().map(move |root| format!("{key} {}", root.path)))
            .collect();
        if all.is_empty() {
            "nothing".to_owned()
        } else {
            all.join(", ")
        }
    }
}

/// Every grant with its rule, under the keys of the policy file.
impl Serialize for Grants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut grants = serializer.serialize_struct("Grants", 8)?;
        grants.serialize_field("read", &self.read)?;
        grants.serialize_field("write", &self.write)?;
        grants.serialize_field("param_read", &self.param_read)?;
        grants.serialize_field("param_write", &self.param_write)?;
        grants.serialize_field("env", &self.env.iter().map(named).collect::<Vec<_>>())?;
        let network: Vec<_> = self.net().map(named).into_iter().collect();
        grants.serialize_field("network", &network)?;
        let context: Vec<_> = self.context.iter().map(named).collect();
        grants.serialize_field("context", &context)?;
        grants.serialize_field("undeclared_scripts", &self.undeclared_scripts)?;
        grants.end()
    }
}

fn grant_all(policy: SandboxPolicy, roots: &[PathGrant], rights: Rights) -> SandboxPolicy {
    roots.iter().fold(policy, |policy, root| {
        policy.grant(root.path.clone(), rights, root.origin.clone())
    })
}

/// A root and the rule that names it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PathGrant {
    pub(crate) path: HostPath,
    #[serde(rename = "rule")]
    pub(crate) origin: Origin,
}

impl PathGrant {
    /// Returns the root.
    pub fn path(&self) -> &HostPath {
        &self.path
    }

    /// Returns where it was written.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// What a call wants to do with a path that it names.
#[expect(
    clippy::exhaustive_enums,
    reason = "a parameter is opened one way or the other"
)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Reads it.
    Read,
    /// Reads and writes it.
    Write,
}

impl Access {
    /// Returns the rights that the access needs.
    pub const fn rights(self) -> Rights {
        match self {
            Self::Read => Rights::READ_ONLY,
            Self::Write => Rights::READ_WRITE,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(path: &str) -> PathGrant {
        PathGrant {
            path: path.parse().unwrap(),
            origin: Origin::Code,
        }
    }

    fn context(names: &[&str]) -> ContextGrants {
        let names = names.iter().map(|name| name.parse().unwrap());
        names.map(|name| (name, Origin::Code)).collect()
    }

    fn path(text: &str) -> HostPath {
        text.parse().unwrap()
    }

    #[test]
    fn a_parameter_root_opens_the_named_path_and_nothing_beside_it() {
        let grants = Grants {
            param_write: vec![root("/out")],
            ..Grants::default()
        };
        let base = grants.apply(SandboxPolicy::deny_all());
        assert_eq!(base.effective_rights(&path("/out/a")), Rights::NONE);

        let opened = grants.open(base, &path("/out/a"), Access::Write).unwrap();
        assert_eq!(opened.effective_rights(&path("/out/a")), Rights::READ_WRITE);
        assert_eq!(opened.effective_rights(&path("/out/b")), Rights::NONE);
        assert_eq!(opened.effective_rights(&path("/out")), Rights::NONE);
    }

    #[test]
    fn a_path_outside_every_root_is_refused_with_what_is_held() {
        let grants = Grants {
            read: vec![root("/docs")],
            param_write: vec![root("/out")],
            ..Grants::default()
        };
        let base = grants.apply(SandboxPolicy::deny_all());
        let refused = grants
            .open(base.clone(), &path("/docs/a"), Access::Write)
            .unwrap_err();
        insta::assert_snapshot!(refused, @"the policy is wider than its ceiling: fs /docs/a: asks for read+list+write+create+delete+truncate+refer, the ceiling holds read /docs, param_write /out");
        assert!(
            grants
                .open(base.clone(), &path("/outside"), Access::Write)
                .is_err()
        );
        assert!(grants.open(base, &path("/docs/a"), Access::Read).is_ok());
    }

    #[test]
    fn only_reach_counts_as_reach() {
        let mut grants = Grants {
            undeclared_scripts: Some(Origin::Code),
            ..Grants::default()
        };
        assert!(grants.reach_nothing());
        grants.context = context(&["clock", "random"]);
        assert!(grants.reach_nothing());
        grants.param_read.push(root("/docs"));
        assert!(!grants.reach_nothing());

        let grants = Grants {
            context: context(&["clock", "notes"]),
            ..Grants::default()
        };
        assert!(!grants.reach_nothing());
    }

    #[test]
    fn an_isolated_tool_reaches_roots_only_through_a_member() {
        let mut grants = Grants {
            read: vec![root("/docs")],
            param_read: vec![root("/data")],
            context: context(&["clock"]),
            ..Grants::default()
        };
        assert_eq!(grants.isolated_reach(), [""; 0]);
        let held = ["context clock (host code)", "read /docs (host code)"];
        assert_eq!(grants.isolated_lines(), held);

        grants.write.push(root("/out"));
        grants.context.extend(context(&["fs.read"]));
        let reach = [
            "context fs.read (host code)",
            "read /docs (host code)",
            "write /out (host code)",
        ];
        assert_eq!(grants.isolated_reach(), reach);
        assert_eq!(grants.isolated_lines()[0], "context clock (host code)");
        assert_eq!(grants.isolated_lines()[1..], reach);
    }

    #[test]
    fn the_union_of_grants_of_context_holds_what_either_holds() {
        let of = |names: &[&str]| Grants {
            context: context(names),
            ..Grants::default()
        };
        let both = of(&["fs.read"]).union(&of(&["fs", "notes"]));
        let rule = |member: &str| both.context_rule(&member.parse().unwrap()).is_some();
        assert!(rule("fs.read") && rule("fs.grep") && rule("notes.list"));
        assert!(!rule("web.fetch"));
    }

    #[test]
    fn says_every_grant_in_json_with_its_rule() {
        let grants = Grants {
            read: vec![root("/docs")],
            context: context(&["notes"]),
            ..Grants::default()
        };
        let json = serde_json::to_string(&grants).unwrap();
        insta::assert_snapshot!(json, @r#"{"read":[{"path":"/docs","rule":"host code"}],"write":[],"param_read":[],"param_write":[],"env":[],"network":[],"context":[{"name":"notes","rule":"host code"}],"undeclared_scripts":null}"#);
    }
}
