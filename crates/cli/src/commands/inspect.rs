//! `inspect`: one page for a reviewer. Nothing of the skill is loaded or run.

use bailiwick::core::{Digest, DiscoveredSkill, IsolatedForm, Param, one_line};
use bailiwick::package::{Contents, Diagnostic, Package};
use bailiwick::sandbox_policy::{Grants, HostPath, IsolateLimits, Net, Origin, SkillGrants};
use bailiwick::{CancelToken, Error, Tier};
use serde_json::{Value, json};

use crate::cli::Inspect;
use crate::policy::Chosen;
use crate::program::{DONE, Program};
use crate::session::Skills;
use crate::table::table;
use crate::tools::{PackageTool, ToolKind};

pub(crate) fn run(program: &Program, arguments: &Inspect) -> Result<u8, Error> {
    let skills = Skills::find(program)?;
    let skill = skills.lookup(&arguments.skill)?;
    let chosen = Chosen::new(&program.config, &program.global, &[])?;
    chosen.announce(program.output);
    let page = Page::of(&skills, skill, &chosen)?;
    program
        .output
        .answer(|| page.to_text(), || page.to_json())?;
    Ok(DONE)
}

/// Everything that a reviewer is shown.
struct Page<'a> {
    skill: &'a DiscoveredSkill,
    package: Package,
    contents: Contents,
    findings: Vec<Diagnostic>,
    policy: String,
    /// The rule that grants to this copy, or why none does.
    rule: Result<Option<Origin>, Error>,
    tools: Vec<Reach>,
}

/// What one tool could reach.
struct Reach {
    tool: PackageTool,
    /// What a call reaches, one line a grant.
    reaches: Vec<String>,
    /// What it is granted that reaches nothing.
    holds: Vec<String>,
    /// The limits of each call, where they are not those of every script.
    limits: Option<IsolateLimits>,
}

impl<'a> Page<'a> {
    fn of(skills: &Skills, skill: &'a DiscoveredSkill, chosen: &Chosen) -> Result<Self, Error> {
        let cancel = CancelToken::new();
        let (package, findings) = skills.source().package(skill, &cancel)?;
        let contents = package.read_all(&cancel)?;
        let file = chosen.policy.file();
        let location = skill.location.parse::<HostPath>().ok();
        let entry = file.skill_grants(
            &skill.name,
            skill.scope,
            location.as_ref(),
            &contents.digest,
        );
        let tools = match &entry {
            Ok(entry) => reach(&package, chosen, *entry),
            Err(_) => Vec::new(),
        };
        let rule = entry
            .map(|entry| entry.map(|entry| entry.origin().clone()))
            .map_err(Error::from);
        Ok(Self {
            skill,
            package,
            contents,
            findings,
            policy: chosen.describe(),
            rule,
            tools,
        })
    }

    fn files(&self) -> impl Iterator<Item = (&str, u64, Digest)> {
        self.contents
            .files
            .iter()
            .map(|(path, _, bytes)| (path.as_str(), bytes.len() as u64, Digest::of(bytes)))
    }

    fn asks(&self) -> Vec<String> {
        let requests = &self.package.sidecar().requests;
        let lists = requests.lists.iter();
        let lists = lists.map(|(grant, wished)| said(grant, wished.join(", ")));
        let undeclared = requests.undeclared_scripts;
        lists
            .chain(undeclared.then(|| "undeclared_scripts".to_owned()))
            .collect()
    }

    /// What the skill says of itself that nothing enforces.
    fn claims(&self) -> Vec<String> {
        let manifest = self.package.manifest();
        let allowed = manifest.allowed_tools.join(" ");
        let mut claims = Vec::new();
        claims.extend((!allowed.is_empty()).then(|| said("allowed-tools", allowed)));
        claims.extend(
            manifest
                .compatibility
                .iter()
                .map(|text| said("compatibility", text)),
        );
        claims.extend(manifest.license.iter().map(|text| said("license", text)));
        let metadata = manifest.metadata.iter();
        claims.extend(metadata.map(|(key, value)| said(&format!("metadata.{key}"), value)));
        claims.extend(manifest.unknown.iter().map(|(key, value)| said(key, value)));
        claims
    }

    fn rule_text(&self) -> String {
        match &self.rule {
            Ok(Some(origin)) => format!("granted by {origin}"),
            Ok(None) => "nothing is granted to this copy".to_owned(),
            Err(error) => format!("refused: {}", error.message()),
        }
    }

    fn to_text(&self) -> String {
        let skill = self.skill;
        let version = one_line(skill.version.as_deref().unwrap_or("no version"), MOST);
        let head = format!(
            "{} {version} ({})\n{}\nat      {}\ndigest  {}\npolicy  {}\nrule    {}",
            skill.name,
            skill.scope,
            one_line(&skill.description, MOST),
            skill.location,
            self.contents.digest,
            self.policy,
            self.rule_text(),
        );
        let files = table(
            ["file", "bytes", "digest"],
            self.files().map(|(path, size, digest)| {
                [path.to_owned(), size.to_string(), digest.to_string()]
            }),
        );
        let tools: Vec<_> = self.tools.iter().map(Reach::to_text).collect();
        let findings: Vec<_> = self.findings.iter().map(ToString::to_string).collect();
        [
            head,
            section("files", &[files]),
            section("tools and what each could reach", &tools),
            section("asks for (a wish grants nothing)", &self.asks()),
            section("claims that nothing enforces", &self.claims()),
            section("findings", &findings),
        ]
        .join("\n\n")
    }

    fn to_json(&self) -> Value {
        let files: Vec<_> = self
            .files()
            .map(|(path, size, digest)| json!({ "path": path, "size": size, "digest": digest.to_string() }))
            .collect();
        let tools: Vec<_> = self.tools.iter().map(Reach::to_json).collect();
        let rule = self
            .rule
            .as_ref()
            .ok()
            .and_then(|rule| rule.as_ref().map(ToString::to_string));
        json!({
            "skill": self.skill,
            "digest": self.contents.digest.to_string(),
            "policy": self.policy,
            "rule": rule,
            "refusal": self.rule.as_ref().err().map(Error::wire),
            "files": files,
            "tools": tools,
            "asks": self.asks(),
            "claims": self.claims(),
            "findings": self.findings,
        })
    }
}

impl Reach {
    fn to_text(&self) -> String {
        let tool = &self.tool;
        let (runs, nothing) = match &tool.kind {
            ToolKind::Script(script) => {
                let runs = format!("with {}({})", script.interpreter, names(&script.params));
                (runs, "its own workspace")
            }
            ToolKind::Isolated(form) => {
                let runs = match form {
                    IsolatedForm::Module => "as a module".to_owned(),
                    IsolatedForm::Arrow { params, .. } => {
                        format!("as an arrow function({})", names(params))
                    }
                };
                (runs, "nothing outside its guest")
            }
        };
        let mut lines = vec![format!("{} runs {} {runs}", tool.short, tool.path)];
        if self.reaches.is_empty() {
            lines.push(format!("  reaches {nothing}"));
        }
        lines.extend(self.reaches.iter().map(|line| format!("  reaches {line}")));
        lines.extend(self.holds.iter().map(|line| format!("  holds {line}")));
        lines.extend(self.limits.map(|limits| format!("  limits {limits}")));
        lines.join("\n")
    }

    fn to_json(&self) -> Value {
        let tool = &self.tool;
        let (script, isolated) = match &tool.kind {
            ToolKind::Script(script) => (json!(script), Value::Null),
            ToolKind::Isolated(IsolatedForm::Module) => {
                (Value::Null, json!({ "path": tool.path, "form": "module" }))
            }
            ToolKind::Isolated(IsolatedForm::Arrow {
                description,
                params,
            }) => {
                let isolated = json!({
                    "path": tool.path,
                    "form": "arrow",
                    "description": description,
                    "params": params,
                });
                (Value::Null, isolated)
            }
        };
        json!({
            "tool": tool.published,
            "tier": tool.tier(),
            "script": script,
            "isolated": isolated,
            "reaches": self.reaches,
            "holds": self.holds,
            "limits": self.limits,
        })
    }
}

fn names(params: &[Param]) -> String {
    let names: Vec<_> = params.iter().map(|param| param.name.as_str()).collect();
    names.join(", ")
}

fn reach(package: &Package, chosen: &Chosen, entry: Option<&SkillGrants>) -> Vec<Reach> {
    let file = chosen.policy.file();
    let tools = PackageTool::all(package).into_iter();
    tools
        .map(|tool| {
            let cli = chosen.policy.cli_grants();
            let grants = file.grants_for(entry, tool.published.as_ref(), cli);
            let (reaches, holds, limits) = match tool.tier() {
                Tier::Isolated => {
                    let reaches = grants.isolated_reach();
                    let mut holds = grants.isolated_lines();
                    holds.retain(|line| !reaches.contains(line));
                    (reaches, holds, Some(file.isolate_limits_for(entry)))
                }
                Tier::Script | Tier::Module => (lines(&grants), Vec::new(), None),
            };
            Reach {
                tool,
                reaches,
                holds,
                limits,
            }
        })
        .collect()
}

/// Lists what a script is granted, one line each, with its rule.
fn lines(grants: &Grants) -> Vec<String> {
    let paths = [
        ("read", grants.read()),
        ("write", grants.write()),
        ("read, where a call names it,", grants.param_read()),
        ("write, where a call names it,", grants.param_write()),
    ];
    let paths = paths.into_iter().flat_map(|(access, grants)| {
        grants
            .iter()
            .map(move |grant| format!("{access} {} ({})", grant.path(), grant.origin()))
    });
    let env = grants
        .env()
        .iter()
        .map(|(name, origin)| format!("env {name} ({origin})"));
    let net = grants
        .net()
        .filter(|(net, _)| **net != Net::None)
        .map(|(net, origin)| format!("network {net} ({origin})"));
    let undeclared = grants
        .undeclared_scripts()
        .map(|origin| format!("undeclared scripts ({origin})"));
    paths.chain(env).chain(net).chain(undeclared).collect()
}

/// Shows what a skill says on one line, so that it cannot look like a line of this page's.
fn said(key: &str, value: impl std::fmt::Display) -> String {
    one_line(&format!("{key}: {value}"), MOST)
}

/// The most characters that are shown of one thing that a skill says of itself.
const MOST: usize = 1024;

fn section(title: &str, lines: &[String]) -> String {
    let body = if lines.is_empty() {
        "none".to_owned()
    } else {
        lines.join("\n")
    };
    let body: Vec<_> = body.lines().map(|line| format!("  {line}")).collect();
    format!("{title}\n{}", body.join("\n"))
}
