//! Where skills come from.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::cancel::CancelToken;
use crate::declaration::{IsolatedDeclaration, ScriptDeclaration};
use crate::digest::{Digest, ModeClass};
use crate::error::SkillError;
use crate::live::LiveTool;
use crate::name::SkillName;
use crate::path::SkillPath;
use crate::tool::{BoxFuture, Provenance};

/// A place that offers skills.
///
/// The manager asks under a deadline and passes a token that is cancelled when it stops waiting.
/// A source that fails degrades to a reported error; the others still work.
///
/// # Errors
///
/// Every method may fail with any code; the manager reports it as `E_SKILL_SOURCE_FAILED` unless
/// the code says more (a malformed manifest, a rejected path, an unknown skill).
pub trait SkillSource: Send + Sync {
    /// Returns the label of the source, unique within a manager.
    fn id(&self) -> &str;

    /// Lists what the source offers, in a stable order.
    fn discover(&self, cancel: CancelToken) -> BoxFuture<'_, Result<Discovery, SkillError>>;

    /// Returns everything that loading a skill needs.
    fn descriptor<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<SkillDescriptor, SkillError>>;

    /// Reads a file of a skill, or the skill's body when no path is given.
    fn read<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<u8>, SkillError>>;

    /// Returns what is known of a file (or of the body) without reading it.
    fn stat<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<FileStat, SkillError>>;

    /// Lists every file of a skill, `SKILL.md` and each script among them: read in this form they
    /// are what the descriptor's digest was made of.
    fn list<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<FileEntry>, SkillError>>;
}

/// What a source found, and what it passed over.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Discovery {
    /// The skills in the source's order, shadowed copies among them.
    pub skills: Vec<DiscoveredSkill>,
    /// What was passed over, each with reason and fix.
    pub skipped: Vec<Skip>,
}

/// Something that looked like a skill and was passed over.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Skip {
    /// Where it was found, as the source names places.
    pub location: String,
    /// Why it was passed over.
    pub reason: String,
    /// What would make it load.
    pub fix: String,
    /// The name that it takes although it is broken: no other copy is loaded in its place.
    pub name: Option<SkillName>,
}

impl Skip {
    /// Describes a skip.
    pub fn new(
        location: impl Into<String>,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            location: location.into(),
            reason: reason.into(),
            fix: fix.into(),
            name: None,
        }
    }

    /// Says that it is a broken copy of a skill, whose name it takes. None by default.
    #[must_use]
    pub fn of(mut self, name: SkillName) -> Self {
        self.name = Some(name);
        self
    }
}

/// A skill as a catalog shows it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DiscoveredSkill {
    /// The name, unique within its source.
    pub name: SkillName,
    /// The declared version.
    pub version: Option<String>,
    /// What it is for.
    pub description: String,
    /// Which scope it was found in.
    pub scope: Scope,
    /// Where it was found, as the source names places.
    pub location: String,
    /// The digest of its files, where the source has it without reading them all.
    pub digest: Option<Digest>,
    /// The location of the copy in the same source that wins over this one.
    pub shadowed_by: Option<String>,
}

impl DiscoveredSkill {
    /// Describes a skill that was found.
    pub fn new(
        name: SkillName,
        version: Option<String>,
        description: impl Into<String>,
        scope: Scope,
        location: impl Into<String>,
    ) -> Self {
        Self {
            name,
            version,
            description: description.into(),
            scope,
            location: location.into(),
            digest: None,
            shadowed_by: None,
        }
    }
}

/// Whose skill it is; a grant of the policy file names one (contracts 7.4).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the order of scopes decides which copy wins"
)]
pub enum Scope {
    /// In a project's `.agents/skills`; may come with a cloned repository.
    Project,
    /// In a directory that a person named.
    Path,
    /// In the user's own `~/.agents/skills`.
    User,
    /// Shipped with the runtime, or made in memory by the host.
    Bundled,
}

impl Scope {
    /// Returns the scope's word, such as `user`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Path => "path",
            Self::User => "user",
            Self::Bundled => "bundled",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everything that loading a skill needs.
#[derive(Clone)]
#[non_exhaustive]
pub struct SkillDescriptor {
    /// The name; it must equal the discovered one.
    pub name: SkillName,
    /// The declared version; it must equal the discovered one.
    pub version: Option<String>,
    /// What the skill is for.
    pub description: String,
    /// The digest of the skill's files; none when it has no files.
    pub digest: Option<Digest>,
    /// Live tools (tier 1), which only host Rust code can give.
    pub tools: Vec<Arc<dyn LiveTool>>,
    /// Isolated tools (tier 2).
    pub isolated: Vec<IsolatedDeclaration>,
    /// Declared scripts (tier 3).
    pub scripts: Vec<ScriptDeclaration>,
    /// Files of tools that the skill lists: they are tools of another tier and never run as
    /// scripts.
    pub listed: Vec<SkillPath>,
    /// Whether the package asks that a non-zero exit of its scripts is no failure.
    pub fail_on_nonzero_exit: Option<bool>,
    /// What the source wants told: warnings of the manifest, claims that grant nothing.
    pub notes: Vec<String>,
}

impl SkillDescriptor {
    /// Describes a skill that brings nothing executable.
    pub fn new(name: SkillName, version: Option<String>, description: impl Into<String>) -> Self {
        Self {
            name,
            version,
            description: description.into(),
            digest: None,
            tools: Vec::new(),
            isolated: Vec::new(),
            scripts: Vec::new(),
            listed: Vec::new(),
            fail_on_nonzero_exit: None,
            notes: Vec::new(),
        }
    }
}

impl SkillDescriptor {
    /// Returns what everything that the skill brings is stamped with.
    pub fn provenance(&self) -> Provenance {
        Provenance::new(self.name.clone(), self.version.clone(), self.digest)
    }
}

impl fmt::Debug for SkillDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| tool.name()).collect();
        f.debug_struct("SkillDescriptor")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("digest", &self.digest)
            .field("tools", &tools)
            .field("isolated", &self.isolated)
            .field("scripts", &self.scripts)
            .finish_non_exhaustive()
    }
}

/// One file of a skill.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileEntry {
    /// The path inside the skill.
    pub path: SkillPath,
    /// Its size in bytes.
    pub size: u64,
    /// The class of its mode.
    pub mode: ModeClass,
}

impl FileEntry {
    /// Describes a file.
    pub fn new(path: SkillPath, size: u64, mode: ModeClass) -> Self {
        Self { path, size, mode }
    }
}

/// One file of a skill together with its bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SkillFile {
    /// The path inside the skill.
    pub path: SkillPath,
    /// The class of its mode.
    pub mode: ModeClass,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl SkillFile {
    /// Describes a file.
    pub fn new(path: SkillPath, mode: ModeClass, bytes: Vec<u8>) -> Self {
        Self { path, mode, bytes }
    }

    /// Computes the digest of a skill from its files (contracts 7.10).
    pub fn digest(files: &[Self]) -> Digest {
        Digest::of_package(files.iter().map(|file| {
            (
                file.path.as_str(),
                file.mode,
                file.bytes.len() as u64,
                Digest::of(&file.bytes),
            )
        }))
    }
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FileStat {
    /// Its size in bytes.
    pub size: u64,
}

impl FileStat {
    /// States a file's size in bytes.
    pub fn new(size: u64) -> Self {
        Self { size }
    }
}
