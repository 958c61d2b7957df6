//! What this crate refuses, and the code that each refusal has.

use std::fmt;
use std::io;
use std::path::PathBuf;

use bailiwick_core::{ArtifactId, BoxError, Code, SkillError, SkillName};

/// A failure of an artifact store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A bound of the configuration is impossible.
    #[error("`{field}` of the artifact store is impossible: {reason}")]
    Config {
        /// The setting.
        field: &'static str,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// The kept bytes are not what was stored.
    #[error("the bytes of artifact `{id}` are {damage}")]
    Damaged {
        /// The artifact.
        id: ArtifactId,
        /// What is wrong with them.
        damage: Damage,
    },
    /// The artifact was kept for its time, which is over.
    #[error("artifact `{id}` has expired")]
    Expired {
        /// The artifact.
        id: ArtifactId,
    },
    /// The folder cannot hold a private store.
    #[error("the artifact folder cannot be used: {reason}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The index failed.
    #[error("the artifact index could not {action}")]
    Index {
        /// What it was to do.
        action: &'static str,
        /// The cause.
        source: BoxError,
    },
    /// The file system failed.
    #[error("the artifact store could not {action}")]
    Io {
        /// What it was to do.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The skill has used up what it may keep.
    #[error(
        "skill `{skill}` keeps {used} bytes of artifacts and may keep {quota}; {wanted} more do not fit"
    )]
    Quota {
        /// The skill.
        skill: SkillName,
        /// What it keeps.
        used: u64,
        /// What the new artifact counts.
        wanted: u64,
        /// What it may keep.
        quota: u64,
    },
    /// The operating system gave no randomness for an id.
    #[error("the operating system gave no randomness for an artifact id")]
    Random {
        /// The cause.
        source: BoxError,
    },
    /// There is no such artifact.
    #[error("no artifact is named `{id}`")]
    Unknown {
        /// The id as given.
        id: ArtifactId,
    },
}

/// What is wrong with kept bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Damage {
    /// They are not there.
    Missing,
    /// They do not match their digest.
    Altered,
}

impl Damage {
    /// Returns the word, `missing` or `altered`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Altered => "altered",
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl StoreError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// Returns the error's word in the details of the wire form.
    fn reason(&self) -> &'static str {
        match self {
            Self::Config { .. } => "config",
            Self::Damaged { damage, .. } => damage.as_str(),
            Self::Expired { .. } => "expired",
            Self::Folder { .. } => "folder",
            Self::Index { .. } => "index",
            Self::Io { .. } => "io",
            Self::Quota { .. } => "quota",
            Self::Random { .. } => "random",
            Self::Unknown { .. } => "unknown",
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Config { .. } | Self::Folder { .. } => Code::InvalidSkillsConfig,
            Self::Damaged { .. }
            | Self::Expired { .. }
            | Self::Index { .. }
            | Self::Io { .. }
            | Self::Quota { .. }
            | Self::Random { .. }
            | Self::Unknown { .. } => Code::ArtifactUnavailable,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Config { field, .. } => format!("give `{field}` a larger value"),
            Self::Damaged { .. } => "run the tool again to make the artifact anew".to_owned(),
            Self::Expired { .. } => {
                "run the tool again, or have the host keep artifacts for longer".to_owned()
            }
            Self::Folder { path, .. } => format!(
                "name a folder of your own that nobody else can enter, for instance after \
                 `chmod 700 {}`",
                path.display()
            ),
            Self::Index { .. } => {
                "look for a full disk or a lost permission; where `index.db` in the \
                 artifact folder is damaged, move the folder away to begin an empty one"
                    .to_owned()
            }
            Self::Io { .. } => "look for a full disk or a lost permission".to_owned(),
            Self::Quota { .. } => {
                "remove artifacts that are no longer needed, or have the host raise the quota"
                    .to_owned()
            }
            Self::Random { .. } => "call again".to_owned(),
            Self::Unknown { .. } => "list the artifacts to see which ids there are".to_owned(),
        }
    }
}

impl From<StoreError> for SkillError {
    fn from(error: StoreError) -> Self {
        let made = Self::new(error.code(), error.to_string())
            .with_hint(error.hint())
            .with_detail("reason", error.reason());
        let made = match &error {
            StoreError::Damaged { id, .. }
            | StoreError::Expired { id }
            | StoreError::Unknown { id } => made.with_detail("artifact", id.as_str()),
            StoreError::Config { field, .. } => made.with_detail("field", *field),
            StoreError::Folder { path, .. } => {
                made.with_detail("path", path.to_string_lossy().as_ref())
            }
            StoreError::Quota {
                skill,
                used,
                wanted,
                quota,
            } => made
                .with_detail("skill", skill.as_str())
                .with_detail("used", *used)
                .with_detail("wanted", *wanted)
                .with_detail("quota", *quota),
            StoreError::Index { .. } | StoreError::Io { .. } | StoreError::Random { .. } => made,
        };
        made.with_source(error)
    }
}
