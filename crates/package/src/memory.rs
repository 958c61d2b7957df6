//! Skills that the host makes in memory.

use std::fmt;
use std::sync::Arc;

use bailiwick_core::{
    BoxFuture, CancelToken, DiscoveredSkill, Discovery, FileEntry, FileStat, LiveTool, ModeClass,
    Scope, SkillDescriptor, SkillError, SkillName, SkillPath, SkillSource,
};

use crate::descriptor::describe;
use crate::diagnostic::Diagnostic;
use crate::error::PackageError;
use crate::front_matter::Profile;
use crate::manifest::SKILL_FILE;
use crate::package::Package;

/// Skills that the host makes in memory, in the order it adds them.
///
/// This is the only place of the crate where live tools (tier 1) come in: from host Rust code,
/// never from the bytes of a package.
///
/// # Examples
///
/// ```
/// use bailiwick_package::{InMemorySkill, InMemorySource};
///
/// let skill = InMemorySkill::new("---\nname: notes\ndescription: Keeps notes.\n---\nBody.\n")
///     .file("references/format.md", "One note a line.");
/// let source = InMemorySource::new("host").with(skill)?;
/// # Ok::<_, bailiwick_core::SkillError>(())
/// ```
#[derive(Clone, Debug)]
pub struct InMemorySource {
    id: String,
    scope: Scope,
    skills: Vec<Arc<Entry>>,
}

impl InMemorySource {
    /// Creates a source without skills, under a label that is unique within its manager.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            scope: Scope::Bundled,
            skills: Vec::new(),
        }
    }

    /// Sets whose skills they are. Defaults to [`Scope::Bundled`].
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Adds a skill.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` when the skill has errors or its name is taken,
    /// `E_SKILL_SOURCE_PATH_REJECTED` when a file's path breaks its rule.
    pub fn with(mut self, skill: InMemorySkill) -> Result<Self, SkillError> {
        let entry = skill.build()?;
        if self.find(entry.name.as_str()).is_some() {
            let message = format!(
                "the source `{}` has two skills named `{}`",
                self.id, entry.name
            );
            return Err(
                SkillError::new(bailiwick_core::Code::ManifestInvalid, message)
                    .with_hint("give each skill of a source a name of its own"),
            );
        }
        self.skills.push(Arc::new(entry));
        Ok(self)
    }

    fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.skills.iter().find(|entry| entry.name.as_str() == name)
    }

    fn entry(&self, skill: &DiscoveredSkill) -> Result<&Entry, PackageError> {
        let entry = self.find(skill.name.as_str());
        entry
            .map(AsRef::as_ref)
            .ok_or_else(|| PackageError::NoSuchSkill {
                skill: skill.name.to_string(),
                nearest: None,
            })
    }
}

/// A skill that the host makes in memory.
#[derive(Clone)]
pub struct InMemorySkill {
    origin: Origin,
    files: Vec<(String, ModeClass, Vec<u8>)>,
    tools: Vec<Arc<dyn LiveTool>>,
}

#[derive(Clone)]
enum Origin {
    Text(String),
    Named(SkillName, String),
}

impl InMemorySkill {
    /// Begins a skill with the text of its `SKILL.md`.
    pub fn new(skill_file: impl Into<String>) -> Self {
        Self::from_origin(Origin::Text(skill_file.into()))
    }

    /// Begins a skill without files, for live tools alone; it has no digest.
    pub fn named(name: SkillName, description: impl Into<String>) -> Self {
        Self::from_origin(Origin::Named(name, description.into()))
    }

    /// Adds a file. Its path is checked when the skill joins a source.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files
            .push((path.into(), ModeClass::Regular, bytes.into()));
        self
    }

    /// Adds a live tool (tier 1). The manager checks its name and rebuilds it.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn LiveTool>) -> Self {
        self.tools.push(tool);
        self
    }

    fn from_origin(origin: Origin) -> Self {
        Self {
            origin,
            files: Vec::new(),
            tools: Vec::new(),
        }
    }

    fn build(self) -> Result<Entry, SkillError> {
        let mut files = Vec::new();
        for (path, mode, bytes) in self.files {
            files.push((path.parse::<SkillPath>()?, mode, bytes));
        }
        let text = match self.origin {
            Origin::Named(name, description) => {
                if !files.is_empty() {
                    let message = format!("the skill `{name}` has files and no `SKILL.md`");
                    return Err(
                        SkillError::new(bailiwick_core::Code::ManifestInvalid, message)
                            .with_hint("begin a skill that has files with `InMemorySkill::new`"),
                    );
                }
                return Ok(Entry {
                    name,
                    description,
                    version: None,
                    package: None,
                    tools: self.tools,
                });
            }
            Origin::Text(text) => text,
        };
        files.push((SKILL_FILE.parse()?, ModeClass::Regular, text.into_bytes()));
        let (package, diagnostics) = Package::from_files(files, Profile::Tool);
        let Some(package) = package else {
            return Err(PackageError::Invalid {
                location: "memory".to_owned(),
                diagnostics,
            }
            .into());
        };
        let manifest = package.manifest();
        Ok(Entry {
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            version: manifest.version.clone(),
            package: Some((package, diagnostics)),
            tools: self.tools,
        })
    }
}

impl fmt::Debug for InMemorySkill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<_> = self.files.iter().map(|(path, _, _)| path).collect();
        f.debug_struct("InMemorySkill")
            .field("files", &files)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

/// A checked skill of a source.
struct Entry {
    name: SkillName,
    description: String,
    version: Option<String>,
    package: Option<(Package, Vec<Diagnostic>)>,
    tools: Vec<Arc<dyn LiveTool>>,
}

impl Entry {
    fn descriptor(&self, cancel: &CancelToken) -> Result<SkillDescriptor, PackageError> {
        let mut descriptor = match &self.package {
            None => SkillDescriptor::new(self.name.clone(), None, &self.description),
            Some((package, diagnostics)) => {
                let digest = package.digest(cancel)?;
                describe(package, Some(digest), diagnostics)
            }
        };
        descriptor.tools.clone_from(&self.tools);
        Ok(descriptor)
    }

    fn read(&self, path: Option<&SkillPath>) -> Result<Vec<u8>, PackageError> {
        match (&self.package, path) {
            (Some((package, _)), Some(path)) => package.read(path),
            (Some((package, _)), None) => package.body(),
            (None, Some(path)) => Err(PackageError::NoSuchFile { path: path.clone() }),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn stat(&self, path: Option<&SkillPath>) -> Result<FileStat, PackageError> {
        match (&self.package, path) {
            (Some((package, _)), path) => package.stat(path),
            (None, Some(path)) => Err(PackageError::NoSuchFile { path: path.clone() }),
            (None, None) => Ok(FileStat::new(0)),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl SkillSource for InMemorySource {
    fn id(&self) -> &str {
        &self.id
    }

    fn discover(&self, _cancel: CancelToken) -> BoxFuture<'_, Result<Discovery, SkillError>> {
        let mut discovery = Discovery::default();
        discovery.skills = self
            .skills
            .iter()
            .map(|entry| {
                DiscoveredSkill::new(
                    entry.name.clone(),
                    entry.version.clone(),
                    &entry.description,
                    self.scope,
                    format!("{}:{}", self.id, entry.name),
                )
            })
            .collect();
        ready(Ok(discovery))
    }

    fn descriptor<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<SkillDescriptor, SkillError>> {
        ready(
            self.entry(skill)
                .and_then(|entry| entry.descriptor(&cancel)),
        )
    }

    fn read<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<u8>, SkillError>> {
        ready(self.entry(skill).and_then(|entry| entry.read(path)))
    }

    fn stat<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<FileStat, SkillError>> {
        ready(self.entry(skill).and_then(|entry| entry.stat(path)))
    }

    fn list<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        _cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<FileEntry>, SkillError>> {
        let files = self.entry(skill).map(|entry| match &entry.package {
            Some((package, _)) => package.files().to_vec(),
            None => Vec::new(),
        });
        ready(files)
    }
}

fn ready<'a, T: Send + 'a>(
    answer: Result<T, PackageError>,
) -> BoxFuture<'a, Result<T, SkillError>> {
    Box::pin(std::future::ready(answer.map_err(SkillError::from)))
}
