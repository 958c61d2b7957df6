//! What a tool may answer.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::artifact::ArtifactId;
use crate::tool::Provenance;

/// The narrow result of a call, stamped with where it comes from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// What the tool answered.
    pub content: Content,
    /// The same as JSON, when the tool has it.
    pub structured: Option<Value>,
    /// Where the whole answer is kept.
    pub artifact: Option<ArtifactId>,
    /// The skill that answered.
    pub provenance: Provenance,
}

impl Response {
    /// Stamps content with its provenance.
    pub fn new(content: Content, provenance: Provenance) -> Self {
        Self {
            content,
            structured: None,
            artifact: None,
            provenance,
        }
    }

    /// Returns whether the answer may be taken as the host's own word: never.
    pub const fn trusted(&self) -> bool {
        false
    }

    /// Returns the answer as text; what is not text is described in one line.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Bytes(media) => Cow::Owned(media.describe()),
            Content::Media(list) if list.is_empty() => Cow::Borrowed("(no media)"),
            Content::Media(list) => Cow::Owned(
                list.iter()
                    .map(Media::describe)
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
        }
    }
}

/// The shapes a response may have (contracts 2.3).
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "contracts 2.3 fixes the shapes")]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes with a media type, `application/octet-stream` unless the tool says otherwise.
    Bytes(Media),
    /// Media, possibly none.
    Media(Vec<Media>),
}

/// Bytes and what they are.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Media {
    /// The media type.
    pub media_type: String,
    /// A file name for display.
    pub name: Option<String>,
    /// The bytes.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl Media {
    /// Pairs bytes with their media type.
    pub fn new(media_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            media_type: media_type.into(),
            name: None,
            bytes: bytes.into(),
        }
    }

    /// Sets the file name. None by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    fn describe(&self) -> String {
        let name = self.name.as_deref().unwrap_or("unnamed");
        format!("({}: {name}, {} bytes)", self.media_type, self.bytes.len())
    }
}
