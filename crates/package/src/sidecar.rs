//! `bailiwick.yaml`: what a skill declares that the open standard has no place for
//! (contracts 5.1, 5.2 and 7.2).

use std::ops::Range;
use std::sync::Arc;

use bailiwick_core::{FlagName, Param, ParamKind, ScriptDeclaration, SkillPath};
use serde::Serialize;

use crate::decode::{check_characters, decode};
use crate::diagnostic::{Diagnostic, is_loadable};
use crate::id::DiagnosticId;
use crate::reader::{Reader, TextIds, nearest};
use crate::text::{BOM, SourceText};
use crate::yaml::{self, Entry, Node, Value};

/// The checked content of a `bailiwick.yaml`.
///
/// Its JSON schema is `schema/bailiwick.schema.json` beside this crate.
///
/// # Examples
///
/// ```
/// use bailiwick_package::Sidecar;
///
/// let text = b"scripts:\n  - name: count\n    path: scripts/count.sh\n    description: Counts.\n    interpreter: sh\n";
/// let (sidecar, diagnostics) = Sidecar::parse(text);
/// assert!(diagnostics.is_empty());
/// assert_eq!(sidecar.ok_or("refused")?.scripts[0].interpreter, "sh");
/// # Ok::<_, &str>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Sidecar {
    /// The declared scripts, in order.
    pub scripts: Vec<ScriptDeclaration>,
    /// The isolated tools, in order.
    pub isolated: Vec<IsolatedDeclaration>,
    /// What the skill would like to be granted. It grants nothing.
    pub requests: Requests,
    /// How the skill would like its body to reach a model.
    pub channel: Option<Channel>,
    /// The artifact kind that the skill proposes for its results.
    pub artifact_kind: Option<String>,
    /// Whether the skill asks that a non-zero exit of its scripts is (not) a failure.
    pub fail_on_nonzero_exit: Option<bool>,
    pub(crate) source: Option<Arc<SourceText>>,
    pub(crate) script_spans: Vec<Range<usize>>,
    pub(crate) isolated_spans: Vec<Range<usize>>,
}

/// An isolated tool (tier 2) that a package declares.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IsolatedDeclaration {
    /// The tool's name.
    pub name: String,
    /// What a model is told it does.
    pub description: String,
    /// The file with its source: an arrow expression, or a wasm module.
    pub source: SkillPath,
    /// Its parameters.
    pub params: Vec<Param>,
}

/// What a skill would like to be granted, under the policy file's own names.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Requests {
    /// Each name of a grant with the wished values, in the author's order.
    pub lists: Vec<(String, Vec<String>)>,
    /// Whether undeclared scripts should be callable.
    pub undeclared_scripts: bool,
}

/// How a skill's body reaches a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the two channels are fixed by contracts 6.4"
)]
pub enum Channel {
    /// As an artifact with readers.
    Handle,
    /// As text.
    Inline,
}

impl Sidecar {
    /// Parses and checks the bytes of a `bailiwick.yaml`.
    ///
    /// The sidecar is absent exactly when a diagnostic is an error.
    pub fn parse(bytes: &[u8]) -> (Option<Self>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let sidecar = read(bytes, &mut found).filter(|_| is_loadable(&found));
        (sidecar, found)
    }
}

fn read(bytes: &[u8], found: &mut Vec<Diagnostic>) -> Option<Sidecar> {
    let text = decode(bytes, SIDECAR_FILE, MAX_SIDECAR, found)?;
    let source = Arc::new(SourceText::new(SIDECAR_FILE, text));
    let start = if text.starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    };
    let span = start..text.len();
    let entries = check_characters(&source, &span)
        .and_then(|()| yaml::parse_mapping(&source, &text[span], start));
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            found.push(error);
            return None;
        }
    };
    let mut checker = Checker {
        reader: Reader {
            source: &source,
            found,
            type_id: DiagnosticId::SidecarType,
        },
    };
    let mut sidecar = checker.sidecar(&entries);
    sidecar.source = Some(source);
    Some(sidecar)
}

struct Checker<'a> {
    reader: Reader<'a>,
}

impl Checker<'_> {
    fn sidecar(&mut self, entries: &[Entry]) -> Sidecar {
        let mut sidecar = Sidecar::default();
        self.strict(entries, KEYS, "bailiwick.yaml");
        for Entry { key, node, .. } in entries {
            match key.as_str() {
                "scripts" => {
                    let scripts = self.declarations("scripts", node, Self::script);
                    (sidecar.scripts, sidecar.script_spans) = scripts.into_iter().unzip();
                }
                "isolated" => {
                    let isolated = self.declarations("isolated", node, Self::isolated);
                    (sidecar.isolated, sidecar.isolated_spans) = isolated.into_iter().unzip();
                }
                "requests" => sidecar.requests = self.requests(node),
                "channel" => sidecar.channel = self.channel(node),
                "artifactKind" => sidecar.artifact_kind = self.artifact_kind(node),
                "failOnNonzeroExit" => sidecar.fail_on_nonzero_exit = self.reader.flag(key, node),
                _ => {} // Reported by `strict`.
            }
        }
        sidecar
    }

    /// Reads a list of declarations, each with the span of its name.
    fn declarations<T>(
        &mut self,
        key: &str,
        node: &Node,
        mut read: impl FnMut(&mut Self, &Fields<'_>) -> Option<T>,
    ) -> Vec<(T, Range<usize>)> {
        let list = self.reader.list(key, node).unwrap_or_default();
        let mut declarations = Vec::new();
        for item in list {
            let Some(entries) = self.reader.map(key, item) else {
                continue;
            };
            let fields = Fields {
                entries,
                span: item.span.start..item.span.start + 1,
            };
            if let Some(declaration) = read(self, &fields) {
                declarations.push((declaration, fields.value_span("name")));
            }
        }
        declarations
    }

    fn script(&mut self, fields: &Fields<'_>) -> Option<ScriptDeclaration> {
        self.strict(fields.entries, SCRIPT_KEYS, "a script");
        let name = self.required(fields, "name");
        let path = self.path(fields, "path");
        let description = self.description(fields, MAX_TOOL_DESCRIPTION);
        let interpreter = self.interpreter(fields);
        let params = self.params(fields);
        let declaration = ScriptDeclaration::new(name?, path?, description?, interpreter?, params?);
        self.declared(declaration, fields)
    }

    fn isolated(&mut self, fields: &Fields<'_>) -> Option<IsolatedDeclaration> {
        self.strict(fields.entries, ISOLATED_KEYS, "an isolated tool");
        let name = self.required(fields, "name");
        let description = self.description(fields, MAX_TOOL_DESCRIPTION);
        let source = self.path(fields, "source");
        let params = self.params(fields);
        Some(IsolatedDeclaration {
            name: name?.to_owned(),
            description: description?.to_owned(),
            source: source?,
            params: params?,
        })
    }

    /// Reads a description of at most `cap` bytes, which a model is shown.
    fn description<'n>(&mut self, fields: &Fields<'n>, cap: usize) -> Option<&'n str> {
        let text = self.required(fields, "description")?;
        let span = fields.value_span("description");
        if text.len() > cap {
            let message = format!("`description` has {} bytes and may have {cap}", text.len());
            let error = Diagnostic::error(DiagnosticId::SidecarDescriptionTooLong, message);
            let help = "say in short when to use it, and move the rest to the skill's body";
            self.reader.report(error.help(help), &span);
        }
        let ids = TextIds {
            invisible: DiagnosticId::SidecarDescriptionInvisible,
            mixed_script: DiagnosticId::SidecarDescriptionMixedScript,
        };
        self.reader.suspect("description", text, &span, ids);
        Some(text)
    }

    fn interpreter<'n>(&mut self, fields: &Fields<'n>) -> Option<&'n str> {
        let text = self.required(fields, "interpreter")?;
        let is_name = text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'+'));
        if !is_name {
            let error = Diagnostic::error(
                DiagnosticId::SidecarValue,
                format!("the interpreter {text:?} is no name"),
            );
            let help =
                "name a key of the host's allow-list, such as `sh` or `python3`; never a path";
            self.reader
                .report(error.help(help), &fields.value_span("interpreter"));
            return None;
        }
        Some(text)
    }

    fn params(&mut self, fields: &Fields<'_>) -> Option<Vec<Param>> {
        let Some(entry) = fields.get("params") else {
            return Some(Vec::new());
        };
        let list = self.reader.list("params", &entry.node)?;
        let params: Vec<Option<Param>> = list
            .iter()
            .map(|item| {
                let entries = self.reader.map("params", item)?;
                self.param(&Fields {
                    entries,
                    span: item.span.start..item.span.start + 1,
                })
            })
            .collect();
        params.into_iter().collect()
    }

    fn param(&mut self, fields: &Fields<'_>) -> Option<Param> {
        self.strict(fields.entries, PARAM_KEYS, "a parameter");
        let name = self.required(fields, "name");
        let description = self.description(fields, MAX_PARAM_DESCRIPTION);
        let kind = self.kind(fields);
        let flag = match fields.get("flag") {
            None => Some(None),
            Some(entry) => self
                .reader
                .text("flag", &entry.node)
                .map(str::parse::<FlagName>)
                .and_then(|flag| self.declared(flag, fields))
                .map(Some),
        }?;
        let required = match fields.get("required") {
            // A positional can only be required; a flag is an option unless it says otherwise.
            None => flag.is_none(),
            Some(entry) => self.reader.flag("required", &entry.node)?,
        };
        let param = Param::new(name?, description?, kind?, required, flag);
        self.declared(param, fields)
    }

    fn kind(&mut self, fields: &Fields<'_>) -> Option<ParamKind> {
        let word = self.required(fields, "type")?;
        let values = fields.get("values");
        let kind = match word {
            "string" => ParamKind::String,
            "number" => ParamKind::Number,
            "integer" => ParamKind::Integer,
            "boolean" => ParamKind::Boolean,
            "file" => ParamKind::File,
            "dir" => ParamKind::Dir,
            "enum" => {
                let entry = self.need(fields, "values")?;
                let values = self.reader.texts("values", &entry.node);
                let values = values
                    .into_iter()
                    .map(|(text, _)| text.to_owned())
                    .collect();
                return Some(ParamKind::Enum { values });
            }
            _ => {
                self.not_one_of("type", word, PARAM_TYPES, &fields.value_span("type"));
                return None;
            }
        };
        if let Some(entry) = values {
            let error = Diagnostic::error(
                DiagnosticId::SidecarValue,
                format!("`values` has no effect on a parameter of type `{word}`"),
            );
            self.reader.report(
                error.help("remove it, or write `type: enum`"),
                &entry.key_span,
            );
        }
        Some(kind)
    }

    fn requests(&mut self, node: &Node) -> Requests {
        let mut requests = Requests::default();
        let entries = self.reader.map("requests", node).unwrap_or_default();
        self.strict(entries, REQUEST_KEYS, "`requests`");
        for Entry { key, node, .. } in entries {
            if key == UNDECLARED_SCRIPTS {
                requests.undeclared_scripts = self.reader.flag(key, node).unwrap_or_default();
            } else {
                let texts = self.reader.texts(key, node).into_iter();
                let texts = texts.map(|(text, _)| text.to_owned()).collect();
                requests.lists.push((key.clone(), texts));
            }
        }
        requests
    }

    fn channel(&mut self, node: &Node) -> Option<Channel> {
        match self.reader.text("channel", node)? {
            "handle" => Some(Channel::Handle),
            "inline" => Some(Channel::Inline),
            other => {
                self.not_one_of("channel", other, &["handle", "inline"], &node.span);
                None
            }
        }
    }

    fn artifact_kind(&mut self, node: &Node) -> Option<String> {
        let text = self.reader.text("artifactKind", node)?;
        if text.trim().is_empty() {
            self.reader.error(
                DiagnosticId::SidecarValue,
                "`artifactKind` is empty",
                &node.span,
            );
        }
        Some(text.to_owned())
    }

    fn path(&mut self, fields: &Fields<'_>, key: &str) -> Option<SkillPath> {
        let text = self.required(fields, key)?;
        match text.parse::<SkillPath>() {
            Ok(path) => Some(path),
            Err(error) => {
                let error = Diagnostic::error(DiagnosticId::PackagePathRejected, error.to_string());
                let help = "name the file relative to the skill's folder, such as `scripts/run.sh`";
                self.reader
                    .report(error.help(help), &fields.value_span(key));
                None
            }
        }
    }

    /// Passes a checked declaration on, or reports the field that breaks a rule.
    fn declared<T>(
        &mut self,
        declaration: Result<T, bailiwick_core::DeclarationRejected>,
        fields: &Fields<'_>,
    ) -> Option<T> {
        match declaration {
            Ok(declaration) => Some(declaration),
            Err(error) => {
                let message = error.to_string();
                self.reader.error(
                    DiagnosticId::SidecarValue,
                    message,
                    &fields.value_span(error.field),
                );
                None
            }
        }
    }

    fn required<'n>(&mut self, fields: &Fields<'n>, key: &str) -> Option<&'n str> {
        let entry = self.need(fields, key)?;
        self.reader.text(key, &entry.node)
    }

    fn need<'n>(&mut self, fields: &Fields<'n>, key: &str) -> Option<&'n Entry> {
        let entry = fields.get(key);
        if entry.is_none() {
            let error = Diagnostic::error(
                DiagnosticId::SidecarMissingKey,
                format!("`{key}` is missing"),
            );
            self.reader
                .report(error.help(format!("add `{key}: …`")), &fields.span);
        }
        entry
    }

    fn strict(&mut self, entries: &[Entry], known: &[&str], place: &str) {
        for entry in entries
            .iter()
            .filter(|entry| !known.contains(&entry.key.as_str()))
        {
            let message = format!("`{}` is no key of {place}", entry.key);
            let help = match nearest(&entry.key, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the keys are {}", known.join(", ")),
            };
            let error = Diagnostic::error(DiagnosticId::SidecarUnknownKey, message);
            self.reader.report(error.help(help), &entry.key_span);
        }
    }

    fn not_one_of(&mut self, key: &str, word: &str, known: &[&str], span: &Range<usize>) {
        let error = Diagnostic::error(
            DiagnosticId::SidecarValue,
            format!("`{word}` is no value of `{key}`"),
        );
        let help = match nearest(word, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the values are {}", known.join(", ")),
        };
        self.reader.report(error.help(help), span);
    }
}

/// The keys of one declaration.
struct Fields<'n> {
    entries: &'n [Entry],
    /// Where the declaration begins.
    span: Range<usize>,
}

impl<'n> Fields<'n> {
    fn get(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns where a field's value stands, or the declaration if the field is absent.
    fn value_span(&self, key: &str) -> Range<usize> {
        let span = match self.get(key) {
            None => &self.span,
            Some(entry) => match entry.node.value {
                Value::Text(_) => &entry.node.span,
                Value::List(_) | Value::Map(_) => &entry.key_span,
            },
        };
        span.clone()
    }
}

/// The name of the file.
pub(crate) const SIDECAR_FILE: &str = "bailiwick.yaml";

/// The longest `bailiwick.yaml`, in bytes: four times what front matter may have, because scripts
/// and their parameters are described here.
const MAX_SIDECAR: usize = 256 * 1024;

/// The longest description of a tool, in bytes: what a live tool may have too.
const MAX_TOOL_DESCRIPTION: usize = 16 * 1024;

/// The longest description of a parameter, in bytes: a quarter of its tool's.
const MAX_PARAM_DESCRIPTION: usize = 4 * 1024;

const KEYS: &[&str] = &[
    "scripts",
    "isolated",
    "requests",
    "channel",
    "artifactKind",
    "failOnNonzeroExit",
];
const SCRIPT_KEYS: &[&str] = &["name", "path", "description", "interpreter", "params"];
const ISOLATED_KEYS: &[&str] = &["name", "description", "source", "params"];
const PARAM_KEYS: &[&str] = &["name", "type", "description", "values", "required", "flag"];
const PARAM_TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "enum", "file", "dir",
];
const UNDECLARED_SCRIPTS: &str = "undeclared_scripts";
const REQUEST_KEYS: &[&str] = &[
    "read",
    "write",
    "param_read",
    "param_write",
    "fetch",
    "network",
    "context",
    "env",
    UNDECLARED_SCRIPTS,
];
