//! Results that outlive a reply.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize};

use crate::digest::Digest;
use crate::error::SkillError;
use crate::name::{SkillName, ToolName};

/// A store of results.
///
/// Every method may block on a disk: call it from a thread of its own, never on an async executor.
///
/// # Errors
///
/// Every method fails with `E_SKILL_ARTIFACT_UNAVAILABLE` for an unknown or expired id, or when
/// the store itself cannot answer.
pub trait ArtifactStore: fmt::Debug + Send + Sync {
    /// Keeps bytes and returns what is known about them. The same bytes are stored once.
    fn put(&self, artifact: NewArtifact<'_>) -> Result<Artifact, SkillError>;

    /// Returns what is known about an artifact.
    fn stat(&self, id: &ArtifactId) -> Result<Artifact, SkillError>;

    /// Returns at most `length` bytes from `offset`; fewer only at the end.
    fn read(&self, id: &ArtifactId, offset: u64, length: u64) -> Result<Vec<u8>, SkillError>;

    /// Returns at most `count` lines from line `first` (the first line is 1).
    fn lines(&self, id: &ArtifactId, first: u64, count: u64) -> Result<Vec<Line>, SkillError>;

    /// Returns at most `limit` lines that contain `needle`, in order.
    fn grep(&self, id: &ArtifactId, needle: &str, limit: usize) -> Result<Vec<Line>, SkillError>;

    /// Lists every artifact that has not expired, newest first.
    fn list(&self) -> Result<Vec<Artifact>, SkillError>;

    /// Forgets an artifact; its bytes go when nothing else refers to them.
    fn remove(&self, id: &ArtifactId) -> Result<(), SkillError>;
}

/// Bytes on their way into a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewArtifact<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// What they are, such as `script-output`.
    pub kind: &'a str,
    /// Their media type, such as `text/plain`.
    pub media_type: &'a str,
    /// The file name that produced them, when there is one.
    pub name: Option<&'a str>,
    /// Who made them.
    pub source: ArtifactSource,
    /// How long they are kept; the store's own default when absent.
    pub keep: Option<Duration>,
}

impl<'a> NewArtifact<'a> {
    /// Describes bytes of a kind that a tool made, kept as `text/plain` for the store's default
    /// time.
    pub fn new(bytes: &'a [u8], kind: &'a str, source: ArtifactSource) -> Self {
        Self {
            bytes,
            kind,
            media_type: "text/plain",
            name: None,
            source,
            keep: None,
        }
    }

    /// Sets the media type. `text/plain` by default.
    #[must_use]
    pub fn media_type(mut self, media_type: &'a str) -> Self {
        self.media_type = media_type;
        self
    }

    /// Sets the file name. None by default.
    #[must_use]
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets how long the bytes are kept. The store's default by default.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = Some(keep);
        self
    }
}

/// What a store knows about an artifact.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Artifact {
    /// The id by which it is read.
    pub id: ArtifactId,
    /// What it is.
    pub kind: String,
    /// Its media type.
    pub media_type: String,
    /// The file name that produced it, when there is one.
    pub name: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// How many lines it has, counting an unended last one.
    pub lines: u64,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Who made it.
    pub source: ArtifactSource,
    /// When it was stored, in seconds since 1970.
    #[serde(serialize_with = "unix_seconds")]
    pub created: SystemTime,
    /// When it expires, in seconds since 1970.
    #[serde(serialize_with = "unix_seconds")]
    pub expires: SystemTime,
}

impl Artifact {
    /// Describes stored bytes; for implementors of [`ArtifactStore`].
    pub fn describe(
        id: ArtifactId,
        new: &NewArtifact<'_>,
        created: SystemTime,
        keep: Duration,
    ) -> Self {
        Self {
            id,
            kind: new.kind.to_owned(),
            media_type: new.media_type.to_owned(),
            name: new.name.map(str::to_owned),
            size: new.bytes.len() as u64,
            lines: count_lines(new.bytes),
            digest: Digest::of(new.bytes),
            source: new.source.clone(),
            created,
            expires: created + new.keep.unwrap_or(keep),
        }
    }
}

/// The skill and tool that made an artifact.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArtifactSource {
    /// The skill.
    pub skill: SkillName,
    /// The tool.
    pub tool: ToolName,
}

impl ArtifactSource {
    /// Names a skill and its tool.
    pub fn new(skill: SkillName, tool: ToolName) -> Self {
        Self { skill, tool }
    }
}

/// One line of an artifact.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// The line's number; the first is 1.
    pub number: u64,
    /// The text without its line end, invalid UTF-8 replaced.
    pub text: String,
}

impl Line {
    /// Makes a line from its number and bytes.
    pub fn new(number: u64, bytes: &[u8]) -> Self {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Self {
            number,
            text: String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// The id of an artifact: 1 to 64 of `[a-z0-9_-]`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ArtifactId {
    type Err = ArtifactIdRejected;

    fn from_str(text: &str) -> Result<Self, ArtifactIdRejected> {
        let fits = (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(ArtifactIdRejected)
        }
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ArtifactId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A text that is no artifact id.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("an artifact id is 1 to 64 lowercase letters, digits, `_` and `-`")]
#[non_exhaustive]
pub struct ArtifactIdRejected;

/// Counts lines, an unended last one included.
pub fn count_lines(bytes: &[u8]) -> u64 {
    let ended = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    ended + u64::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))
}

fn unix_seconds<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(
        time.duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unended_last_line_counts() {
        for (bytes, lines) in [
            (&b""[..], 0),
            (b"a", 1),
            (b"a\n", 1),
            (b"a\nb", 2),
            (b"\n\n", 2),
        ] {
            assert_eq!(count_lines(bytes), lines, "{bytes:?}");
        }
    }

    #[test]
    fn an_id_cannot_be_a_path() {
        for text in ["", "../x", "a/b", "A", "a b", &"a".repeat(65)] {
            assert!(text.parse::<ArtifactId>().is_err(), "{text:?}");
        }
    }
}
