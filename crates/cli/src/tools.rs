//! The tools of a package, whatever tier they are of.

use bailiwick::Tier;
use bailiwick::core::{IsolatedForm, ScriptDeclaration, SkillPath, ToolName};
use bailiwick::package::Package;

/// A tool that a package publishes.
#[derive(Clone, Debug)]
pub(crate) struct PackageTool {
    /// What it is called within its skill.
    pub(crate) short: String,
    /// What it is published as; nothing where that would be no name.
    pub(crate) published: Option<ToolName>,
    /// The file that runs.
    pub(crate) path: SkillPath,
    /// What the file is.
    pub(crate) kind: ToolKind,
}

/// What runs when a tool is called.
#[derive(Clone, Debug)]
pub(crate) enum ToolKind {
    /// A script, in a process.
    Script(ScriptDeclaration),
    /// JavaScript of one of the two forms, in a guest.
    Isolated(IsolatedForm),
}

impl PackageTool {
    /// Lists the tools of a package: the isolated ones, then the declared scripts.
    pub(crate) fn all(package: &Package) -> Vec<Self> {
        let isolated = package.isolated_tools().into_iter().map(|tool| Self {
            short: tool.name.to_string(),
            path: tool.path,
            kind: ToolKind::Isolated(tool.form),
            published: Some(tool.name),
        });
        let skill = &package.manifest().name;
        let scripts = package.sidecar().scripts.iter().map(|script| Self {
            short: script.name.clone(),
            published: ToolName::for_script(skill, &script.name).ok(),
            path: script.path.clone(),
            kind: ToolKind::Script(script.clone()),
        });
        isolated.chain(scripts).collect()
    }

    /// Returns where its code runs.
    pub(crate) fn tier(&self) -> Tier {
        match self.kind {
            ToolKind::Script(_) => Tier::Script,
            ToolKind::Isolated(_) => Tier::Isolated,
        }
    }

    /// Returns whether it is published under a name.
    pub(crate) fn is_published_as(&self, name: &str) -> bool {
        self.published
            .as_ref()
            .is_some_and(|published| published.as_str() == name)
    }

    /// Returns the name that means this tool and no other of its skill: two tools of different
    /// tiers may have the same short one.
    pub(crate) fn own_name(&self) -> &str {
        match &self.published {
            Some(published) => published.as_str(),
            None => &self.short,
        }
    }
}

/// Finds the tool that a name means: the published name goes before the short one.
pub(crate) fn find<'a>(tools: &'a [PackageTool], name: &str) -> Option<&'a PackageTool> {
    let published = tools.iter().find(|tool| tool.is_published_as(name));
    published.or_else(|| tools.iter().find(|tool| tool.short == name))
}
