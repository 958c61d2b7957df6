//! What a skill says of itself in its front matter, checked (contracts 7.2).

use std::ops::Range;
use std::sync::Arc;

use bailiwick_core::{SkillName, ToolName};
use serde_json::Value as Json;

use crate::diagnostic::{Diagnostic, is_loadable};
use crate::front_matter::{FrontMatter, Profile};
use crate::id::DiagnosticId;
use crate::reader::{Reader, TextIds, nearest};
use crate::text::SourceText;
use crate::yaml::{Entry, Node, Value};

/// The checked front matter of a skill.
///
/// # Examples
///
/// ```
/// use bailiwick_package::{Manifest, Profile};
///
/// let text = b"---\nname: my-notes\ndescription: Keeps notes.\nversion: 1.0.0\n---\n# Notes\n";
/// let (manifest, diagnostics) = Manifest::parse(text, Some("my-notes"), Profile::Tool);
/// let manifest = manifest.ok_or("refused")?;
/// assert_eq!(manifest.name.as_str(), "my-notes");
/// assert!(diagnostics.is_empty());
/// # Ok::<_, &str>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Manifest {
    /// The name; it equals the directory's.
    pub name: SkillName,
    /// What the skill is for, 1 to 1,024 characters without surrounding blanks.
    pub description: String,
    /// The declared version; not always a semantic one.
    pub version: Option<String>,
    /// The licence: a name or a bundled file.
    pub license: Option<String>,
    /// What the skill needs around it, at most 500 characters.
    pub compatibility: Option<String>,
    /// Free text by key. A nested value is kept as JSON text.
    pub metadata: Vec<(String, String)>,
    /// What the skill claims it may use. It grants nothing, ever.
    pub allowed_tools: Vec<String>,
    /// The tools that the skill publishes, each with a script file.
    pub tools: Vec<ToolName>,
    /// Those of the tools that are found by search first.
    pub deferred_tools: Vec<ToolName>,
    /// Keys that the profile does not know, as JSON; they mean nothing.
    pub unknown: Vec<(String, Json)>,
    /// Where the body stands in the file, in bytes.
    pub body: Range<usize>,
    pub(crate) source: Arc<SourceText>,
    pub(crate) tool_spans: Vec<Range<usize>>,
}

impl Manifest {
    /// Parses and checks the bytes of a `SKILL.md`.
    ///
    /// With a directory's name the skill must be named like it. The manifest is absent exactly
    /// when a diagnostic is an error: a broken one never loads without its limits.
    pub fn parse(
        bytes: &[u8],
        directory: Option<&str>,
        profile: Profile,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let manifest = FrontMatter::parse(bytes, SKILL_FILE, profile, &mut found)
            .and_then(|front_matter| build(&front_matter, directory, profile, &mut found));
        let manifest = manifest.filter(|_| is_loadable(&found));
        (manifest, found)
    }
}

fn build(
    front_matter: &FrontMatter,
    directory: Option<&str>,
    profile: Profile,
    found: &mut Vec<Diagnostic>,
) -> Option<Manifest> {
    let mut checker = Checker {
        reader: Reader {
            source: &front_matter.source,
            found,
            type_id: DiagnosticId::ManifestType,
        },
        profile,
    };
    let entries = &front_matter.entries;
    let top = front_matter.span.start..front_matter.span.start;
    let name = checker.name(entry(entries, "name"), directory, &top);
    let description = checker.description(entry(entries, "description"), &top);
    let license = checker.optional_text(entry(entries, "license"));
    let compatibility = checker.compatibility(entry(entries, "compatibility"));
    let metadata = checker.metadata(entry(entries, "metadata"));
    let allowed_tools = checker.allowed_tools(entry(entries, "allowed-tools"));
    let unknown = checker.unknown(entries);
    let (mut version, mut tools, mut deferred_tools) = (None, Vec::new(), Vec::new());
    match profile {
        Profile::Standard => {}
        Profile::Tool => {
            tools = checker.tools(entry(entries, "tools"));
            deferred_tools = checker.deferred(entry(entries, "deferred-tools"), &tools);
            version = checker.version(entry(entries, "version"), tools.first().map(|tool| &tool.1));
        }
    }
    let (tools, tool_spans) = tools.into_iter().unzip();
    Some(Manifest {
        name: name?,
        description: description?,
        version,
        license,
        compatibility,
        metadata,
        allowed_tools,
        tools,
        deferred_tools,
        unknown,
        body: front_matter.body.clone(),
        source: Arc::clone(&front_matter.source),
        tool_spans,
    })
}

struct Checker<'a> {
    reader: Reader<'a>,
    profile: Profile,
}

impl Checker<'_> {
    fn name(
        &mut self,
        entry: Option<&Entry>,
        directory: Option<&str>,
        top: &Range<usize>,
    ) -> Option<SkillName> {
        let Some(entry) = entry else {
            let error = Diagnostic::error(DiagnosticId::ManifestNameMissing, "`name` is missing");
            let help = format!("add `name: {}`", directory.unwrap_or("my-skill"));
            self.reader.report(error.help(help), top);
            return None;
        };
        let text = self.reader.text("name", &entry.node)?;
        let name = match text.parse::<SkillName>() {
            Ok(name) => name,
            Err(error) => {
                let message = error.to_string();
                let error = Diagnostic::error(DiagnosticId::ManifestNameInvalid, message)
                    .help("use lowercase letters a to z, digits and single hyphens, at most 64");
                self.reader.report(error, &entry.node.span);
                return None;
            }
        };
        if let Some(directory) = directory
            && directory != name.as_str()
        {
            let message = format!("the skill is named `{name}` and its directory `{directory}`");
            let error = Diagnostic::error(DiagnosticId::ManifestNameDirectory, message)
                .help("give both the same name");
            self.reader.report(error, &entry.node.span);
        }
        Some(name)
    }

    fn description(&mut self, entry: Option<&Entry>, top: &Range<usize>) -> Option<String> {
        let missing = |message| {
            Diagnostic::error(DiagnosticId::ManifestDescriptionMissing, message)
                .help("add `description: …` that says what the skill does and when to use it")
        };
        let Some(entry) = entry else {
            self.reader.report(missing("`description` is missing"), top);
            return None;
        };
        let span = &entry.node.span;
        let text = self.reader.text("description", &entry.node)?.trim();
        if text.is_empty() {
            self.reader.report(missing("`description` is blank"), span);
            return None;
        }
        let length = text.chars().count();
        if length > MAX_DESCRIPTION {
            let message = format!("`description` has {length} characters and may have 1,024");
            let error = Diagnostic::error(DiagnosticId::ManifestDescriptionTooLong, message);
            self.reader
                .report(error.help("move the rest to the body"), span);
        }
        let ids = TextIds {
            invisible: DiagnosticId::ManifestDescriptionInvisible,
            mixed_script: DiagnosticId::ManifestDescriptionMixedScript,
        };
        self.reader.suspect("description", text, span, ids);
        self.comment_after(entry);
        Some(text.to_owned())
    }

    /// Warns when an unquoted value ends at a comment that its author may not have meant.
    fn comment_after(&mut self, entry: &Entry) {
        let Value::Text(text) = &entry.node.value else {
            return;
        };
        let after = self
            .reader
            .source
            .text()
            .get(entry.node.span.end..)
            .unwrap_or_default();
        let line = after.split(['\n', '\r']).next().unwrap_or_default();
        if text.plain && line.trim_start().starts_with('#') {
            let end = entry.node.span.end;
            let warning = Diagnostic::warning(
                DiagnosticId::FrontMatterComment,
                "the description ends here, because ` #` begins a comment",
            );
            let warning = warning.help("quote the description if the rest belongs to it");
            self.reader.report(warning, &(end..end + line.len()));
        }
    }

    fn optional_text(&mut self, entry: Option<&Entry>) -> Option<String> {
        let entry = entry?;
        self.reader.text(&entry.key, &entry.node).map(str::to_owned)
    }

    fn compatibility(&mut self, entry: Option<&Entry>) -> Option<String> {
        let text = self.optional_text(entry)?;
        let length = text.chars().count();
        let fits = match self.profile {
            Profile::Standard => (1..=MAX_COMPATIBILITY).contains(&length),
            Profile::Tool => length <= MAX_COMPATIBILITY,
        };
        if let (false, Some(entry)) = (fits, entry) {
            let message = format!("`compatibility` has {length} characters and may have 1 to 500");
            let id = DiagnosticId::ManifestCompatibilityLength;
            self.reader.error(id, message, &entry.node.span);
        }
        Some(text)
    }

    fn metadata(&mut self, entry: Option<&Entry>) -> Vec<(String, String)> {
        let Some(entry) = entry else {
            return Vec::new();
        };
        let map = self.reader.map("metadata", &entry.node).unwrap_or_default();
        map.iter()
            .map(|Entry { key, node, .. }| {
                let text = match &node.value {
                    Value::Text(text) => text.text.clone(),
                    nested @ (Value::List(_) | Value::Map(_)) => {
                        self.nested_metadata(key, node);
                        nested.to_json().to_string()
                    }
                };
                (key.clone(), text)
            })
            .collect()
    }

    fn nested_metadata(&mut self, key: &str, node: &Node) {
        let id = DiagnosticId::ManifestMetadataNested;
        let shape = node.value.shape();
        match self.profile {
            Profile::Standard => {
                let message = format!("`metadata.{key}` is {shape} and should be a text");
                self.reader.error(id, message, &node.span);
            }
            Profile::Tool => {
                let message = format!("`metadata.{key}` is {shape} and is kept as JSON text");
                self.reader.warning(id, message, &node.span);
            }
        }
    }

    fn allowed_tools(&mut self, entry: Option<&Entry>) -> Vec<String> {
        let Some(entry) = entry else {
            return Vec::new();
        };
        match (&entry.node.value, self.profile) {
            (Value::Text(text), _) => split_claims(&text.text),
            (Value::List(_), Profile::Tool) => {
                let texts = self.reader.texts("allowed-tools", &entry.node);
                texts.into_iter().map(|(text, _)| text.to_owned()).collect()
            }
            (Value::List(_) | Value::Map(_), _) => {
                self.reader.text("allowed-tools", &entry.node);
                Vec::new()
            }
        }
    }

    fn version(&mut self, entry: Option<&Entry>, tool: Option<&Range<usize>>) -> Option<String> {
        let Some(entry) = entry else {
            if let Some(span) = tool {
                let id = DiagnosticId::ManifestVersionMissing;
                let warning = Diagnostic::warning(id, "the skill lists tools and has no `version`");
                let warning = warning.help("add `version: 0.1.0`; export compares versions");
                self.reader.report(warning, span);
            }
            return None;
        };
        let text = self.reader.text("version", &entry.node)?;
        if let Err(error) = semver::Version::parse(text) {
            let message = format!("`{text}` is no semantic version: {error}");
            let warning = Diagnostic::warning(DiagnosticId::ManifestVersionNotSemver, message);
            let warning =
                warning.help("write three numbers, such as `1.0.0`; export compares them");
            self.reader.report(warning, &entry.node.span);
        }
        Some(text.to_owned())
    }

    fn tools(&mut self, entry: Option<&Entry>) -> Vec<(ToolName, Range<usize>)> {
        let Some(entry) = entry else {
            return Vec::new();
        };
        if let Value::Text(_) = entry.node.value {
            let warning = Diagnostic::warning(
                DiagnosticId::ManifestToolsText,
                "`tools` is a text, which looks like an allow-list; nothing is published",
            );
            let warning = warning.help(
                "write `allowed-tools` if it names tools to use, or a list if the skill brings them",
            );
            self.reader.report(warning, &entry.node.span);
            return Vec::new();
        }
        let mut tools: Vec<(ToolName, Range<usize>)> = Vec::new();
        for (text, node) in self.reader.texts("tools", &entry.node) {
            match text.parse::<ToolName>() {
                Ok(tool) => tools.push((tool, node.span.clone())),
                Err(error) => {
                    let id = DiagnosticId::ManifestToolName;
                    self.reader.error(id, error.to_string(), &node.span);
                }
            }
        }
        tools
    }

    fn deferred(
        &mut self,
        entry: Option<&Entry>,
        tools: &[(ToolName, Range<usize>)],
    ) -> Vec<ToolName> {
        let Some(entry) = entry else {
            return Vec::new();
        };
        let mut deferred = Vec::new();
        for (text, node) in self.reader.texts("deferred-tools", &entry.node) {
            if let Some((tool, _)) = tools.iter().find(|(tool, _)| tool.as_str() == text) {
                deferred.push(tool.clone());
                continue;
            }
            let message = format!("`{text}` is deferred and is not in `tools`");
            let error = Diagnostic::error(DiagnosticId::ManifestDeferredUnlisted, message);
            let names: Vec<&str> = tools.iter().map(|(tool, _)| tool.as_str()).collect();
            let help = match nearest(text, &names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "list it in `tools` as well".to_owned(),
            };
            self.reader.report(error.help(help), &node.span);
        }
        deferred
    }

    fn unknown(&mut self, entries: &[Entry]) -> Vec<(String, Json)> {
        let known: Vec<&str> = match self.profile {
            Profile::Standard => STANDARD_KEYS.to_vec(),
            Profile::Tool => [STANDARD_KEYS, TOOL_KEYS].concat(),
        };
        let mut unknown = Vec::new();
        for entry in entries
            .iter()
            .filter(|entry| !known.contains(&entry.key.as_str()))
        {
            let message = format!(
                "`{}` is no key of profile `{}`",
                entry.key,
                self.profile.as_str()
            );
            let id = DiagnosticId::FrontMatterUnknownKey;
            let diagnostic = match self.profile {
                Profile::Standard => Diagnostic::error(id, message),
                Profile::Tool => Diagnostic::warning(id, message),
            };
            let help = match nearest(&entry.key, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None if TOOL_KEYS.contains(&entry.key.as_str()) => {
                    "the open standard does not have it; check with `--profile tool`".to_owned()
                }
                None => "it means nothing here; `metadata` takes free keys".to_owned(),
            };
            self.reader.report(diagnostic.help(help), &entry.key_span);
            unknown.push((entry.key.clone(), entry.node.value.to_json()));
        }
        unknown
    }
}

fn entry<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.key == key)
}

/// Splits an allow-list at blanks and commas that stand outside parentheses, as in
/// `Bash(git add:*) Read`.
fn split_claims(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let claims = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    });
    claims
        .filter(|claim| !claim.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The name of the file that makes a directory a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// The keys of the open standard.
const STANDARD_KEYS: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// The keys that tool skills add.
const TOOL_KEYS: &[&str] = &["version", "tools", "deferred-tools"];

/// The longest description, in characters (the open standard).
const MAX_DESCRIPTION: usize = 1024;

/// The longest compatibility note, in characters (the open standard).
const MAX_COMPATIBILITY: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_split_outside_parentheses() {
        assert_eq!(
            split_claims("Bash(git add:*) Read, Glob"),
            ["Bash(git add:*)", "Read", "Glob"]
        );
        assert_eq!(split_claims("  "), [""; 0]);
    }
}
