//! What a person addresses: a tool, or a script that its skill does not declare.

use bailiwick::core::{SkillName, SkillPath};
use bailiwick::package::nearest;
use bailiwick::{CancelToken, Code, Error};

use crate::session::Skills;
use crate::tools::{self, PackageTool};

/// What an address means among the skills that were found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// A tool, under the name that means no other one of its skill.
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
    let tools = tools_of(skill, skills)?;
    match tools::find(&tools, tool) {
        Some(found) => Ok(target(skill, found)),
        None => Err(no_such_tool(skill, tool, &tools)),
    }
}

fn find_script(skill: &str, path: &str, skills: &Skills) -> Result<Target, Error> {
    let tools = tools_of(skill, skills)?;
    let real = path.parse::<SkillPath>().ok();
    let mut declared = tools
        .iter()
        .filter(|tool| Some(&tool.path) == real.as_ref());
    match declared.next() {
        Some(tool) => Err(not_found(
            format!(
                "`{path}` is declared: it is the tool `{skill}.{}`",
                tool.short
            ),
            format!("call `{skill}.{}` with one JSON object", tool.short),
        )),
        None => Ok(Target::Script {
            skill: skill.to_owned(),
            path: path.to_owned(),
        }),
    }
}

/// Finds a name under which a winning copy publishes a tool.
fn find_published(text: &str, skills: &Skills) -> Result<Target, Error> {
    let is_skill = text
        .parse::<SkillName>()
        .is_ok_and(|name| skills.lookup(name.as_str()).is_ok());
    if is_skill {
        let tools = tools_of(text, skills)?;
        // A tool may be called what its skill is called.
        if let Some(tool) = tools.iter().find(|tool| tool.is_published_as(text)) {
            return Ok(target(text, tool));
        }
        let hint = match addresses(text, &tools).as_slice() {
            [] => "it has no tools; `bailiwick inspect` shows what it holds".to_owned(),
            tools => format!("its tools: {}", tools.join(", ")),
        };
        return Err(not_found(format!("`{text}` is a skill and no tool"), hint));
    }
    let copies = skills.survey().copies.iter();
    for copy in copies.filter(|copy| copy.shadowed_by.is_none()) {
        // One that does not open publishes nothing.
        let Ok(tools) = tools_of(copy.name.as_str(), skills) else {
            continue;
        };
        if let Some(tool) = tools.iter().find(|tool| tool.is_published_as(text)) {
            return Ok(target(copy.name.as_str(), tool));
        }
    }
    Err(not_found(
        format!("`{text}` names no tool"),
        "write `SKILL.TOOL`; `bailiwick list` shows the skills and their tools",
    ))
}

fn tools_of(skill: &str, skills: &Skills) -> Result<Vec<PackageTool>, Error> {
    let found = skills.lookup(skill)?;
    let (package, _) = skills.source().package(found, &CancelToken::new())?;
    Ok(PackageTool::all(&package))
}

fn target(skill: &str, tool: &PackageTool) -> Target {
    Target::Tool {
        skill: skill.to_owned(),
        tool: tool.own_name().to_owned(),
    }
}

fn addresses(skill: &str, tools: &[PackageTool]) -> Vec<String> {
    tools
        .iter()
        .map(|tool| format!("{skill}.{}", tool.short))
        .collect()
}

fn not_found(message: impl AsRef<str>, hint: impl AsRef<str>) -> Error {
    Error::new(Code::NotFound, message).with_hint(hint)
}

fn no_such_tool(skill: &str, tool: &str, tools: &[PackageTool]) -> Error {
    let names: Vec<_> = tools.iter().map(|tool| tool.short.as_str()).collect();
    let hint = match (nearest(tool, &names), tools) {
        (Some(near), _) => format!("did you mean `{skill}.{near}`?"),
        (None, []) => format!("it has no tools; `bailiwick inspect {skill}` shows what it holds"),
        (None, _) => format!("its tools: {}", addresses(skill, tools).join(", ")),
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
