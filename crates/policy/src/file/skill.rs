//! What a policy file says about one skill.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use bailiwick_core::{Code, Digest, Scope, SkillError, SkillName, ToolName};
use toml::de::{DeTable, DeValue};

use super::grants::{Ceiling, WrittenGrants};
use super::isolate;
use super::reader::{Located, Reader};
use super::settings::Ceilings;
use crate::grants::Grants;
use crate::isolate::OwnIsolateLimits;
use crate::limits::{Limits, RunLimits};
use crate::nearest::nearest;
use crate::order::{Axis, Widening};
use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;

/// One `[[skill]]` of a policy file: which copies of the skill it means, and what they hold.
#[derive(Clone, Debug)]
pub struct SkillGrants {
    name: SkillName,
    source: Option<GrantSource>,
    digest: Option<Digest>,
    grants: Grants,
    limits: Limits,
    isolate: OwnIsolateLimits,
    fail_on_nonzero_exit: Option<bool>,
    tools: BTreeMap<ToolName, ToolRule>,
    origin: Origin,
}

impl SkillGrants {
    /// Returns the skill's name.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns where a copy must come from, if the entry says.
    pub fn source(&self) -> Option<&GrantSource> {
        self.source.as_ref()
    }

    /// Returns the digest that the entry is pinned to, if it is.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Returns what the skill holds.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns what one tool holds: the skill's grants, with those of the tool where it has its own.
    pub fn tool_grants(&self, tool: &ToolName) -> &Grants {
        self.tools
            .get(tool)
            .map_or(&self.grants, |rule| &rule.grants)
    }

    /// Returns when a person is asked about a tool. Defaults to [`Ask::OncePerDigest`].
    pub fn ask(&self, tool: &ToolName) -> Ask {
        self.tools
            .get(tool)
            .and_then(|rule| rule.ask)
            .unwrap_or_default()
    }

    /// Iterates over the tools that have rules of their own, each with the rule's place.
    ///
    /// A rule for a tool that the skill does not have can never take effect; whoever loads the
    /// skill knows its tools and reports it.
    pub fn tools(&self) -> impl Iterator<Item = (&ToolName, &Origin)> {
        self.tools.iter().map(|(tool, rule)| (tool, &rule.origin))
    }

    /// Returns the skill's own limits, each at most the file's.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the skill's own limits of isolated tools, each at most the file's.
    pub(crate) fn isolate_limits(&self) -> &OwnIsolateLimits {
        &self.isolate
    }

    /// Returns whether a non-zero exit fails the call, where the entry says.
    pub fn fail_on_nonzero_exit(&self) -> Option<bool> {
        self.fail_on_nonzero_exit
    }

    /// Returns where the entry was written.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Says whether the entry means copies from there, whatever their digest.
    pub(crate) fn means(
        &self,
        name: &SkillName,
        scope: Scope,
        location: Option<&HostPath>,
    ) -> bool {
        let from = match (&self.source, scope) {
            (None, Scope::Project | Scope::Path | Scope::User | Scope::Bundled) => true,
            (Some(GrantSource::User), Scope::User) => true,
            (Some(GrantSource::Bundled), Scope::Bundled) => true,
            (Some(GrantSource::Path(root)), Scope::Path) => {
                location.is_some_and(|location| location.starts_with(root))
            }
            (Some(GrantSource::User), Scope::Project | Scope::Path | Scope::Bundled)
            | (Some(GrantSource::Bundled), Scope::Project | Scope::Path | Scope::User)
            | (Some(GrantSource::Path(_)), Scope::Project | Scope::User | Scope::Bundled) => false,
        };
        // What a cloned repository brings holds nothing unless its very bytes were named.
        let known = scope != Scope::Project || self.digest.is_some();
        self.name == *name && from && known
    }

    /// Reads one `[[skill]]`.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        table: &DeTable<'_>,
        span: &Range<usize>,
        session: Ceiling<'_>,
        ceilings: &Ceilings,
    ) -> Option<Self> {
        let name = reader.parsed::<SkillName>(table, "name");
        if !table.contains_key("name") {
            reader.reject(span, "a `[[skill]]` needs `name`");
        }
        let source = source(reader, table);
        let digest = reader.parsed::<Digest>(table, "digest");
        if !table.contains_key("source") && !table.contains_key("digest") {
            let hint = "add `source = \"user\"`, `source = \"bundled\"`, a path, or `digest`";
            reader.reject_with(
                span,
                "a `[[skill]]` says which copy it means: `source` or `digest`",
                hint,
            );
        }
        let grants = grants(reader, table, session);
        let limits = limits(reader, table, &ceilings.limits);
        let isolate = isolate::own(reader, table, &ceilings.isolate);
        let fail_on_nonzero_exit = reader
            .flag(table, "fail_on_nonzero_exit")
            .map(|flag| flag.value);
        let tools = tools(reader, table, &grants);
        Some(Self {
            name: name?.value,
            source,
            digest: digest.map(|digest| digest.value),
            grants,
            limits,
            isolate,
            fail_on_nonzero_exit,
            tools,
            origin: reader.origin(span),
        })
    }

    /// Notes an entry that another one before it keeps from ever taking effect.
    pub(crate) fn check_pair(&self, reader: &mut Reader<'_>, span: &Range<usize>, earlier: &Self) {
        if self.name != earlier.name || self.source != earlier.source {
            return;
        }
        let by = &earlier.origin;
        match (self.digest, earlier.digest) {
            (mine, theirs) if mine == theirs => {
                reader.reject(span, format!("`{}` is granted by {by} already", self.name));
            }
            (Some(_), None) | (None, Some(_)) => reader.reject_with(
                span,
                format!(
                    "one entry of `{}` is pinned and {by} is not, so the pin refuses nothing",
                    self.name
                ),
                "pin both, or remove one",
            ),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

/// Where a granted copy of a skill must come from.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GrantSource {
    /// The skills that ship with the product.
    Bundled,
    /// A folder that a person named on the command line, or one beneath it.
    Path(HostPath),
    /// The user's own skills.
    User,
}

/// A `[[skill]]` whose name no discovered skill has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnmatchedEntry {
    name: SkillName,
    origin: Origin,
    nearest: Option<SkillName>,
}

impl UnmatchedEntry {
    pub(crate) fn new(entry: &SkillGrants, discovered: &[SkillName]) -> Self {
        let names = discovered.iter().map(SkillName::as_str);
        let meant = nearest(entry.name.as_str(), names);
        Self {
            name: entry.name.clone(),
            origin: entry.origin.clone(),
            nearest: discovered
                .iter()
                .find(|name| Some(name.as_str()) == meant)
                .cloned(),
        }
    }

    /// Returns the name that the entry is written for.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns where the entry was written.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the discovered skill that it most likely means, if there is one.
    pub fn nearest(&self) -> Option<&SkillName> {
        self.nearest.as_ref()
    }
}

impl fmt::Display for UnmatchedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, origin, .. } = self;
        write!(f, "{origin}: no skill here is named `{name}`")?;
        match &self.nearest {
            Some(meant) => write!(f, "; did you mean `{meant}`?"),
            None => Ok(()),
        }
    }
}

/// When a person is asked before a tool that holds a grant runs.
#[expect(
    clippy::exhaustive_enums,
    reason = "whether to ask is decided without a default"
)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Ask {
    /// Before every call.
    Always,
    /// Before the first call of each version of the skill.
    #[default]
    OncePerDigest,
    /// Never; the grants still bound what it does.
    Never,
}

/// A copy of a skill whose digest is not the one that the policy file pins.
///
/// Converts to `E_SKILL_DIGEST_MISMATCH`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the digest of `{skill}` is {found}, and {rule} pins {pinned}")]
pub struct PinMismatch {
    skill: SkillName,
    found: Digest,
    pinned: Digest,
    rule: Origin,
}

impl PinMismatch {
    pub(crate) fn new(entry: &SkillGrants, pinned: Digest, found: Digest) -> Self {
        Self {
            skill: entry.name.clone(),
            found,
            pinned,
            rule: entry.origin.clone(),
        }
    }

    /// Returns the rule that pins.
    pub fn rule(&self) -> &Origin {
        &self.rule
    }
}

impl From<PinMismatch> for SkillError {
    fn from(mismatch: PinMismatch) -> Self {
        Self::new(Code::DigestMismatch, mismatch.to_string())
            .with_hint("look at what changed, then pin the new digest")
            .with_detail("skill", mismatch.skill.as_str())
            .with_detail("found", mismatch.found.to_string())
            .with_detail("pinned", mismatch.pinned.to_string())
            .with_detail("rule", mismatch.rule.to_string())
    }
}

#[derive(Clone, Debug)]
struct ToolRule {
    grants: Grants,
    ask: Option<Ask>,
    origin: Origin,
}

fn source(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<GrantSource> {
    let text = reader.text(table, "source")?;
    match text.value.as_str() {
        "user" => Some(GrantSource::User),
        "bundled" => Some(GrantSource::Bundled),
        "project" => {
            let message = "a copy that comes with a project is granted by its digest alone";
            reader.reject_with(
                &text.span,
                message,
                "remove `source` and add `digest = \"sha256:…\"`",
            );
            None
        }
        word if !word.starts_with('.') && !word.contains('/') => {
            let message = format!(
                "`{}` is none of `user`, `bundled`, a path",
                word.escape_debug()
            );
            let hint = match nearest(word, ["user", "bundled"]) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("a path holds a `/`: write `./{}`", word.escape_debug()),
            };
            reader.reject_with(&text.span, message, hint);
            None
        }
        _ => reader
            .resolve(text)
            .map(|path| GrantSource::Path(path.value)),
    }
}

fn grants(reader: &mut Reader<'_>, table: &DeTable<'_>, session: Ceiling<'_>) -> Grants {
    let Some(table) = inner(table, "grant") else {
        return Grants::default();
    };
    let written = WrittenGrants::read(reader, table);
    written.check(reader, session);
    let mut grants = written.over(reader, &Grants::default());
    let undeclared = reader
        .flag(table, "undeclared_scripts")
        .filter(|flag| flag.value);
    grants.undeclared_scripts = undeclared.map(|flag| reader.origin(&flag.span));
    grants
}

fn limits(reader: &mut Reader<'_>, table: &DeTable<'_>, ceiling: &RunLimits) -> Limits {
    let Some(table) = inner(table, "limits") else {
        return Limits::unlimited();
    };
    let mut limits = Limits::unlimited();
    for (axis, amount) in reader.amounts(table) {
        let most = ceiling.amount(axis);
        if amount.value > most {
            let (wanted, held) = (axis.show(amount.value), axis.show(most));
            let widening = Widening::plain(Axis::Limit(axis), wanted, held);
            reader.widened(
                &amount.span,
                widening,
                "raise it in [limits], or ask for less",
            );
        }
        limits = limits.with_amount(axis, amount.value);
    }
    limits
}

fn tools(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    skill: &Grants,
) -> BTreeMap<ToolName, ToolRule> {
    let mut tools = BTreeMap::new();
    let Some(table) = inner(table, "tool") else {
        return tools;
    };
    for (key, value) in table {
        let Some(table) = value.get_ref().as_table() else {
            continue;
        };
        let tool = match key.get_ref().parse::<ToolName>() {
            Ok(tool) => tool,
            Err(error) => {
                reader.reject(&key.span(), error.to_string());
                continue;
            }
        };
        let ask = reader.word(table, "ask", &ASKS).map(|ask| ask.value);
        let written = match inner(table, "grant") {
            Some(table) => WrittenGrants::read(reader, table),
            None => WrittenGrants::default(),
        };
        let is_silent = inner(table, "grant").is_none_or(DeTable::is_empty);
        if is_silent && !table.contains_key("ask") {
            reader.reject(&key.span(), format!("the rule for `{tool}` says nothing"));
        }
        let held = skill.apply(SandboxPolicy::deny_all());
        let params = skill.apply_with_params(SandboxPolicy::deny_all());
        let ceiling = Ceiling {
            policy: &held,
            params: &params,
            context: skill.context(),
            hint: "a tool holds at most what its skill holds: add it to the skill's `grant`",
        };
        written.check(reader, ceiling);
        let origin = reader.origin(&key.span());
        tools.insert(
            tool,
            ToolRule {
                grants: written.over(reader, skill),
                ask,
                origin,
            },
        );
    }
    tools
}

pub(crate) fn inner<'a, 't>(table: &'a DeTable<'t>, key: &str) -> Option<&'a DeTable<'t>> {
    table
        .get(key)
        .map(toml::Spanned::get_ref)
        .and_then(DeValue::as_table)
}

/// Returns the tables of `[[skill]]` in the order of the file.
pub(crate) fn tables<'a, 't>(root: &'a DeTable<'t>) -> Vec<Located<&'a DeTable<'t>>> {
    let items = root
        .get("skill")
        .and_then(|value| value.get_ref().as_array());
    items
        .into_iter()
        .flat_map(|items| items.iter())
        .filter_map(|item| {
            Some(Located {
                value: item.get_ref().as_table()?,
                span: item.span(),
            })
        })
        .collect()
}

const ASKS: [(&str, Ask); 3] = [
    ("always", Ask::Always),
    ("once-per-digest", Ask::OncePerDigest),
    ("never", Ask::Never),
];
