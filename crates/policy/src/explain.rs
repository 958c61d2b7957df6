//! Says what a policy allows, by which rule, and what would have to be added.

use std::fmt;
use std::net::Ipv6Addr;

use serde::Serialize;
use serde_json::Value;

use crate::effective::EffectivePolicy;
use crate::file::reach;
use crate::limits::RunLimits;
use crate::network::{Net, Unix};
use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::rights::Rights;
use crate::syscalls::SyscallProfile;
use crate::threat::ThreatClass;

impl EffectivePolicy {
    /// Explains the whole policy: every grant with its origin, and the ceiling it was proven in.
    pub fn explain(&self) -> Explanation {
        let files = self.roots().iter().map(|root| {
            let path = root.host_path();
            FileRule {
                path: path.clone(),
                rights: root.rights(),
                rules: origins(self.request(), path, root.rights()),
                within: self.session_roots()[root.session_root()].clone(),
                ceiling: origins(self.session(), path, root.rights()),
            }
        });
        Explanation {
            files: files.collect(),
            network: Reach {
                reach: self.net().clone(),
                rule: self.request().net_origin().cloned(),
            },
            unix: self.unix(),
            programs: self.exec().iter().map(named).collect(),
            environment: self.env().iter().map(named).collect(),
            syscalls: self.syscalls(),
            limits: self.limits().clone(),
            required: self.required().iter().copied().collect(),
        }
    }

    /// Answers whether `path` may be used with `rights`.
    ///
    /// The answer is about grants. What every run gets besides (its skill, its scratch, the base of
    /// its interpreter) is known to [`Surroundings`](crate::Surroundings), which answers for both.
    pub fn explain_path(&self, path: &HostPath, rights: Rights) -> Answer {
        self.answer_path(path, rights, Rights::NONE, [])
    }

    /// Answers whether `path` may be used with `rights` where `more` is held there by `by`.
    pub(crate) fn answer_path(
        &self,
        path: &HostPath,
        rights: Rights,
        more: Rights,
        by: impl IntoIterator<Item = Origin>,
    ) -> Answer {
        let question = format!("{rights} {path}");
        let started = self
            .exec()
            .get(path)
            .filter(|_| Rights::EXECUTE.contains(rights));
        if let Some(rule) = started {
            return Answer::allow(question, Rights::EXECUTE, vec![rule.clone()]);
        }
        let held = self.effective_rights(path) | more;
        let mut rules = origins(self.request(), path, rights);
        for rule in by {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        if held.contains(rights) {
            return Answer::allow(question, held, rules);
        }
        Answer::deny(question, held, rules, self.missing_grant(path, rights))
    }

    /// Answers whether a script may connect to `host` and `port`.
    pub fn explain_host(&self, host: &str, port: u16) -> Answer {
        let question = format!("connect {}:{port}", host.escape_debug());
        let rules: Vec<_> = self.request().net_origin().cloned().into_iter().collect();
        // Grants write such an address in brackets.
        let bracketed = host.parse::<Ipv6Addr>().map(|host| format!("[{host}]"));
        let host = bracketed.as_deref().unwrap_or(host);
        if self.net().allows(host, port) {
            return Answer::allow(question, self.net(), rules);
        }
        let word = if Net::Loopback.allows(host, port) {
            "loopback".to_owned()
        } else {
            format!("{}:{port}", host.to_ascii_lowercase())
        };
        let missing = match reach(&word) {
            Err(refused) => Missing::Never(refused.message),
            Ok(wanted) if wanted.is_within(self.session().net()) => {
                Missing::Grant(format!("`grant.network = [\"{word}\"]` to the skill"))
            }
            Ok(_) => Missing::Grant(format!(
                "`network = [\"{word}\"]` to [session] and `grant.network = [\"{word}\"]` to the \
                 skill"
            )),
        };
        Answer::deny(question, self.net(), rules, missing)
    }

    fn missing_grant(&self, path: &HostPath, rights: Rights) -> Missing {
        if let Some(interface) = path.kernel_interface() {
            return Missing::Never(format!("`{interface}` is an interface of the kernel"));
        }
        let key = if Rights::READ_ONLY.contains(rights) {
            "read"
        } else if Rights::READ_WRITE.contains(rights) {
            "write"
        } else {
            let beyond = rights.difference(Rights::READ_WRITE);
            return Missing::Never(format!("no grant of files gives {beyond}"));
        };
        let list = format!("{key} = [{:?}]", path.as_str());
        if self.session().effective_rights(path).contains(rights) {
            Missing::Grant(format!("`grant.{list}` to the skill"))
        } else {
            Missing::Grant(format!(
                "`{list}` to [session] and `grant.{list}` to the skill"
            ))
        }
    }
}

/// What stands between a question and a yes.
pub(crate) enum Missing {
    /// These lines of the policy file.
    Grant(String),
    /// Nothing that could be written, and why.
    Never(String),
}

/// What a policy allows, as people and programs read it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    files: Vec<FileRule>,
    network: Reach,
    unix: Unix,
    programs: Vec<Named>,
    environment: Vec<Named>,
    syscalls: SyscallProfile,
    limits: RunLimits,
    required: Vec<ThreatClass>,
}

impl Explanation {
    /// Returns the explanation as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.files.is_empty() {
            writeln!(f, "files        none beyond the run's own")?;
        }
        for (place, file) in self.files.iter().enumerate() {
            let title = if place == 0 { "files" } else { "" };
            writeln!(
                f,
                "{title:<12} {}: {} ({})",
                file.path,
                file.rights,
                list(&file.rules)
            )?;
            writeln!(
                f,
                "{:<12}   inside {} ({})",
                "",
                file.within,
                list(&file.ceiling)
            )?;
        }
        match &self.network.rule {
            Some(rule) => writeln!(f, "network      {} ({rule})", self.network.reach)?,
            None => writeln!(f, "network      {}", self.network.reach)?,
        }
        writeln!(f, "unix         {}", self.unix)?;
        lines(f, "programs", &self.programs)?;
        lines(f, "environment", &self.environment)?;
        writeln!(f, "syscalls     {}", self.syscalls)?;
        writeln!(f, "limits       {}", self.limits)?;
        write!(f, "required     {}", list(&self.required))
    }
}

/// The answer to one question about a policy.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Answer {
    question: String,
    allowed: bool,
    verdict: Verdict,
    held: String,
    rules: Vec<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never: Option<String>,
}

impl Answer {
    pub(crate) fn allow(question: String, held: impl fmt::Display, rules: Vec<Origin>) -> Self {
        Self {
            question,
            allowed: true,
            verdict: Verdict::Allowed,
            held: held.to_string(),
            rules,
            add: None,
            never: None,
        }
    }

    /// Answers that `rule` opens `path` to a call that names it, and to no other.
    pub(crate) fn when_named(path: &HostPath, rights: Rights, rule: Origin) -> Self {
        Self {
            question: format!("{rights} {path}"),
            allowed: false,
            verdict: Verdict::AllowedWhenNamed,
            held: Rights::NONE.to_string(),
            rules: vec![rule],
            add: None,
            never: None,
        }
    }

    pub(crate) fn deny(
        question: String,
        held: impl fmt::Display,
        rules: Vec<Origin>,
        missing: Missing,
    ) -> Self {
        let (add, never) = match missing {
            Missing::Grant(lines) => (Some(lines), None),
            Missing::Never(reason) => (None, Some(reason)),
        };
        Self {
            question,
            allowed: false,
            verdict: Verdict::Denied,
            held: held.to_string(),
            rules,
            add,
            never,
        }
    }

    /// Says why nothing that could be added would turn this no into a yes.
    pub(crate) fn never_because(mut self, reason: String) -> Self {
        self.add = None;
        self.never = Some(reason);
        self
    }

    /// Returns the answer without its reasons.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Says whether it is allowed, whatever the call is.
    pub fn allowed(&self) -> bool {
        self.allowed
    }

    /// Returns what is held there.
    pub fn held(&self) -> &str {
        &self.held
    }

    /// Returns the rules that grant what is held of what was asked, or would grant it.
    pub fn rules(&self) -> &[Origin] {
        &self.rules
    }

    /// Returns what would have to be added, where that would make it allowed.
    pub fn add(&self) -> Option<&str> {
        self.add.as_deref()
    }

    /// Returns why nothing that could be added would make it allowed, where that is so.
    pub fn never(&self) -> Option<&str> {
        self.never.as_deref()
    }

    /// Returns the answer as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.question, self.verdict)?;
        if self.verdict == Verdict::AllowedWhenNamed {
            return write!(f, " ({})", list(&self.rules));
        }
        if self.rules.is_empty() {
            write!(f, ", no rule grants any of it")?;
        } else {
            write!(f, ", held {} by {}", self.held, list(&self.rules))?;
        }
        match (&self.add, &self.never) {
            (Some(add), _) => write!(f, "\nhint: add {add}"),
            (None, Some(never)) => write!(f, "\nhint: no grant can allow it: {never}"),
            (None, None) => Ok(()),
        }
    }
}

/// What the answer to a question is.
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever acts on an answer decides about each"
)]
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every run may.
    Allowed,
    /// A run may if its call names the path, and no other.
    AllowedWhenNamed,
    /// No run may.
    Denied,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Allowed => "allowed",
            Self::AllowedWhenNamed => "allowed when a call names it",
            Self::Denied => "denied",
        })
    }
}

#[derive(Clone, Debug, Serialize)]
struct FileRule {
    path: HostPath,
    rights: Rights,
    rules: Vec<Origin>,
    within: HostPath,
    ceiling: Vec<Origin>,
}

#[derive(Clone, Debug, Serialize)]
struct Reach {
    reach: Net,
    rule: Option<Origin>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Named {
    name: String,
    rule: Origin,
}

pub(crate) fn named((name, rule): (&impl fmt::Display, &Origin)) -> Named {
    Named {
        name: name.to_string(),
        rule: rule.clone(),
    }
}

/// Lists the rules that give any of `rights` at `path`, each once, the nearest first.
fn origins(policy: &SandboxPolicy, path: &HostPath, rights: Rights) -> Vec<Origin> {
    let mut origins: Vec<Origin> = Vec::new();
    for (_, grant) in policy.grants_at(path) {
        let counts = !grant.rights().intersection(rights).is_empty();
        if counts && !origins.contains(grant.origin()) {
            origins.push(grant.origin().clone());
        }
    }
    origins
}

fn lines(f: &mut fmt::Formatter<'_>, title: &str, all: &[Named]) -> fmt::Result {
    if all.is_empty() {
        return writeln!(f, "{title:<12} none");
    }
    for (place, Named { name, rule }) in all.iter().enumerate() {
        let title = if place == 0 { title } else { "" };
        writeln!(f, "{title:<12} {name} ({rule})")?;
    }
    Ok(())
}

fn list<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
