//! The policy that a manager works under.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bailiwick_core::{Code, SkillError};
use bailiwick_policy::{CliGrants, HostPath, PolicyFile};

use crate::SkillManager;

/// A policy file, or what holds without one, and what a person grants for this run.
#[derive(Clone, Debug)]
pub struct Policy {
    file: PolicyFile,
    cli: CliGrants,
}

impl Policy {
    /// Returns the policy that holds without a file: nothing outside a skill's own workspace, under
    /// small limits.
    pub fn built_in() -> Self {
        Self {
            file: PolicyFile::built_in(),
            cli: CliGrants::default(),
        }
    }

    /// Reads and checks a policy file.
    ///
    /// Whoever calls this vouches for the file: one that came with a project counts only after a
    /// person trusted it.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` with every problem and its place, also for a file that lies inside
    /// what a skill may write.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SkillError> {
        let path = path.as_ref();
        let unreadable = |error: std::io::Error| {
            SkillError::new(
                Code::InvalidSkillsConfig,
                format!("the policy file cannot be read: {}", error.kind()),
            )
            .with_hint("name an existing policy file, or leave it out to grant nothing")
            .with_detail("path", path.to_string_lossy().as_ref())
            .with_source(error)
        };
        let real = path.canonicalize().map_err(unreadable)?;
        let mut bytes = Vec::new();
        File::open(&real)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        Self::read(&bytes, &path.to_string_lossy(), &real)
    }

    /// Checks a policy file that was read already; `path` is its canonical path.
    ///
    /// For callers that must know that the bytes they looked at are the bytes that count.
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file).
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Self, SkillError> {
        let path = path.as_ref();
        Self::read(bytes, &path.to_string_lossy(), path)
    }

    fn read(bytes: &[u8], label: &str, path: &Path) -> Result<Self, SkillError> {
        let place = host_path(path)?;
        let folder = place.parent().unwrap_or_else(HostPath::root);
        let file = PolicyFile::parse_bytes(bytes, label, &folder)?;
        bailiwick_policy::check_outside_grants(&place, &file.session_policy())?;
        Ok(Self {
            file,
            cli: CliGrants::default(),
        })
    }

    /// Adds what a person grants for this run: without a file it extends the ceiling, with one it
    /// must lie inside. Nothing by default.
    #[must_use]
    pub fn with_cli_grants(mut self, cli: CliGrants) -> Self {
        self.cli = cli;
        self
    }

    /// Returns the file.
    pub fn file(&self) -> &PolicyFile {
        &self.file
    }

    /// Returns what a person grants for this run.
    pub fn cli_grants(&self) -> &CliGrants {
        &self.cli
    }
}

impl SkillManager {
    /// Returns the policy that the manager works under.
    pub fn policy(&self) -> &Policy {
        self.inner().rules.policy()
    }

    /// Returns when a person should be asked about a tool of a loaded skill.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_FOUND` and `E_SKILL_NOT_LOADED`.
    pub fn ask(&self, tool: &str) -> Result<bailiwick_policy::Ask, SkillError> {
        let published = self.find_tool(tool)?;
        let spec = published.tool.spec();
        self.inner().with_loaded(&spec.provenance.skill, |loaded| {
            loaded
                .entry
                .as_ref()
                .map_or(bailiwick_policy::Ask::OncePerDigest, |entry| {
                    entry.ask(&spec.name)
                })
        })
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::built_in()
    }
}

/// Turns a real path of this machine into the policy's text.
pub(crate) fn host_path(path: &Path) -> Result<HostPath, SkillError> {
    let text = path.to_str().ok_or_else(|| {
        SkillError::new(
            Code::InvalidSkillsConfig,
            "a path that is not UTF-8 cannot stand in a policy",
        )
        .with_hint("rename the folder")
    })?;
    text.parse().map_err(|error: bailiwick_policy::PathError| {
        SkillError::new(Code::InvalidSkillsConfig, error.to_string()).with_source(error)
    })
}

/// One byte more than the parser takes, so that it is the parser that refuses.
const MAX_BYTES: u64 = 1 << 20;
