//! What a person addresses: a tool, or a script that its skill does not declare.

use bailiwick::core::{ScriptDeclaration, SkillName, SkillPath, ToolName};
use bailiwick::package::{Package, nearest};
use bailiwick::{CancelToken, Code, Error};

use crate::session::Skills;

/// What an address means among the skills that were found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// A tool, under its short name.
    Tool {
        /// `NAME`, or `NAME@SCOPE`.
        skill: String,
        tool: String,
    },
    /// A file under `scripts/` that the skill does not declare.
    Script {
        /// `NAME`, or `NAME@SCOPE`.
        skill: String,
        path: String,
    },
}

impl Target {
    /// Finds what `SKILL.TOOL`, `SKILL:scripts/FILE` or a published name means.
    pub(crate) fn find(text: &str, skills: &Skills) -> Result<Self, Error> {
        match parts(text) {
            Some((skill, Kind::Tool, tool)) => find_tool(skill, tool, skills),
            Some((skill, Kind::Script, path)) => find_script(skill, path, skills),
            None => find_published(text, skills),
        }
    }

    pub(crate) fn skill(&self) -> &str {
        match self {
            Self::Tool { skill, .. } | Self::Script { skill, .. } => skill,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Tool,
    Script,
}

/// Cuts an address in two, neither of which is empty.
fn parts(text: &str) -> Option<(&str, Kind, &str)> {
    let at = text.find(['.', ':'])?;
    let kind = if text[at..].starts_with('.') {
        Kind::Tool
    } else {
        Kind::Script
    };
    let (skill, rest) = (&text[..at], &text[at + 1..]);
    (!skill.is_empty() && !rest.is_empty()).then_some((skill, kind, rest))
}

fn find_tool(skill: &str, tool: &str, skills: &Skills) -> Result<Target, Error> {
    let package = open(skill, skills)?;
    let declared = &package.sidecar().scripts;
    let found = declared
        .iter()
        .find(|script| is_named(&package, script, tool));
    match found {
        Some(script) => Ok(tool_of(skill, script)),
        None => Err(no_such_tool(skill, tool, declared)),
    }
}

fn find_script(skill: &str, path: &str, skills: &Skills) -> Result<Target, Error> {
    let package = open(skill, skills)?;
    let real = path.parse::<SkillPath>().ok();
    let declared = package.sidecar().scripts.iter();
    let mut declared = declared.filter(|script| Some(&script.path) == real.as_ref());
    match declared.next() {
        Some(script) => Err(not_found(
            format!(
                "`{path}` is declared: it is the tool `{skill}.{}`",
                script.name
            ),
            format!("call `{skill}.{}` with one JSON object", script.name),
        )),
        None => Ok(Target::Script {
            skill: skill.to_owned(),
            path: path.to_owned(),
        }),
    }
}

/// Finds a name under which a winning copy publishes a tool.
fn find_published(text: &str, skills: &Skills) -> Result<Target, Error> {
    if text
        .parse::<SkillName>()
        .is_ok_and(|name| skills.lookup(name.as_str()).is_ok())
    {
        let package = open(text, skills)?;
        let hint = match addresses(text, &package.sidecar().scripts).as_slice() {
            [] => "it has no tools; `bailiwick inspect` shows what it holds".to_owned(),
            tools => format!("its tools: {}", tools.join(", ")),
        };
        return Err(not_found(format!("`{text}` is a skill and no tool"), hint));
    }
    let copies = skills.survey().copies.iter();
    for copy in copies.filter(|copy| copy.shadowed_by.is_none()) {
        // One that does not open publishes nothing.
        let Ok(package) = open(copy.name.as_str(), skills) else {
            continue;
        };
        let mut declared = package.sidecar().scripts.iter();
        if let Some(script) = declared.find(|script| publishes(&package, script, text)) {
            return Ok(tool_of(copy.name.as_str(), script));
        }
    }
    Err(not_found(
        format!("`{text}` names no tool"),
        "write `SKILL.TOOL`; `bailiwick list` shows the skills and their tools",
    ))
}

fn open(skill: &str, skills: &Skills) -> Result<Package, Error> {
    let found = skills.lookup(skill)?;
    let (package, _) = skills.source().package(found, &CancelToken::new())?;
    Ok(package)
}

fn is_named(package: &Package, script: &ScriptDeclaration, tool: &str) -> bool {
    script.name == tool || publishes(package, script, tool)
}

fn publishes(package: &Package, script: &ScriptDeclaration, name: &str) -> bool {
    ToolName::for_script(&package.manifest().name, &script.name)
        .is_ok_and(|published| published.as_str() == name)
}

fn tool_of(skill: &str, script: &ScriptDeclaration) -> Target {
    Target::Tool {
        skill: skill.to_owned(),
        tool: script.name.clone(),
    }
}

fn addresses(skill: &str, scripts: &[ScriptDeclaration]) -> Vec<String> {
    scripts
        .iter()
        .map(|script| format!("{skill}.{}", script.name))
        .collect()
}

fn not_found(message: impl AsRef<str>, hint: impl AsRef<str>) -> Error {
    Error::new(Code::NotFound, message).with_hint(hint)
}

fn no_such_tool(skill: &str, tool: &str, declared: &[ScriptDeclaration]) -> Error {
    let names: Vec<_> = declared.iter().map(|script| script.name.as_str()).collect();
    let hint = match (nearest(tool, &names), declared) {
        (Some(near), _) => format!("did you mean `{skill}.{near}`?"),
        (None, []) => format!("it has no tools; `bailiwick inspect {skill}` shows what it holds"),
        (None, _) => format!("its tools: {}", addresses(skill, declared).join(", ")),
    };
    not_found(format!("`{skill}` has no tool `{tool}`"), hint).with_detail("tool", tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_two_parts() {
        assert_eq!(parts("a.b"), Some(("a", Kind::Tool, "b")));
        let script = Some(("a@user", Kind::Script, "scripts/x.py"));
        assert_eq!(parts("a@user:scripts/x.py"), script);
        for text in ["", "a", "a.", ".b", ":x", "a:"] {
            assert_eq!(parts(text), None, "{text:?}");
        }
    }
}
