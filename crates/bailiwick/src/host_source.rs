//! Skills that the host itself makes of live tools.

use std::sync::Arc;

use bailiwick_core::{
    BoxFuture, CancelToken, Code, DiscoveredSkill, Discovery, FileEntry, FileStat, LiveTool, Scope,
    SkillDescriptor, SkillError, SkillName, SkillPath, SkillSource,
};

/// A source of skills that consist of live Rust tools and nothing else.
///
/// Live tools come only from here or from a source that the host wrote itself; no package can name
/// one.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use bailiwick::{HostSource, tool_fn};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Nothing {}
///
/// let tool = tool_fn::<Nothing>("version", "Returns the host's version.", |_| async {
///     Ok::<_, std::convert::Infallible>("1.0.0")
/// });
/// let source = HostSource::new("host").skill("about", "Says what this host is.", [tool])?;
/// # let _ = source;
/// # Ok::<_, bailiwick::Error>(())
/// ```
pub struct HostSource {
    id: String,
    skills: Vec<(DiscoveredSkill, Vec<Arc<dyn LiveTool>>)>,
}

impl HostSource {
    /// Creates a source without skills under a label.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            skills: Vec::new(),
        }
    }

    /// Adds a skill of live tools.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` for a name that is none, `E_INVALID_SKILLS_CONFIG` for one that
    /// the source has already.
    pub fn skill(
        mut self,
        name: &str,
        description: impl Into<String>,
        tools: impl IntoIterator<Item = Arc<dyn LiveTool>>,
    ) -> Result<Self, SkillError> {
        let name: SkillName = name.parse()?;
        if self.skills.iter().any(|(skill, _)| skill.name == name) {
            return Err(SkillError::new(
                Code::InvalidSkillsConfig,
                format!("the source `{}` has a skill `{name}` already", self.id),
            )
            .with_hint("give each skill of a source its own name"));
        }
        let location = format!("{}:{name}", self.id);
        let skill = DiscoveredSkill::new(name, None, description, Scope::Bundled, location);
        self.skills.push((skill, tools.into_iter().collect()));
        Ok(self)
    }

    fn no_files<T>(&self, skill: &DiscoveredSkill) -> Result<T, SkillError> {
        Err(SkillError::new(
            Code::NotFound,
            format!("the skill `{}` has no files", skill.name),
        )
        .with_detail("source", self.id.as_str()))
    }
}

impl SkillSource for HostSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn discover(&self, _cancel: CancelToken) -> BoxFuture<'_, Result<Discovery, SkillError>> {
        let mut discovery = Discovery::default();
        discovery.skills = self.skills.iter().map(|(skill, _)| skill.clone()).collect();
        Box::pin(std::future::ready(Ok(discovery)))
    }

    fn descriptor<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<SkillDescriptor, SkillError>> {
        let known = self.skills.iter().find(|(own, _)| own.name == skill.name);
        let descriptor = match known {
            None => self.no_files(skill),
            Some((own, tools)) => {
                let mut descriptor =
                    SkillDescriptor::new(own.name.clone(), own.version.clone(), &own.description);
                descriptor.tools.clone_from(tools);
                Ok(descriptor)
            }
        };
        Box::pin(std::future::ready(descriptor))
    }

    fn read<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<u8>, SkillError>> {
        let body = match path {
            None => Ok(Vec::new()),
            Some(_) => self.no_files(skill),
        };
        Box::pin(std::future::ready(body))
    }

    fn stat<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<FileStat, SkillError>> {
        let stat = match path {
            None => Ok(FileStat::new(0)),
            Some(_) => self.no_files(skill),
        };
        Box::pin(std::future::ready(stat))
    }

    fn list<'a>(
        &'a self,
        _skill: &'a DiscoveredSkill,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<FileEntry>, SkillError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

impl std::fmt::Debug for HostSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let skills: Vec<_> = self
            .skills
            .iter()
            .map(|(skill, _)| skill.name.as_str())
            .collect();
        f.debug_struct("HostSource")
            .field("id", &self.id)
            .field("skills", &skills)
            .finish()
    }
}
