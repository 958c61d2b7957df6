//! Live tools of tier 1, as their authors write them.

use serde_json::Value;

use crate::arguments::Arguments;
use crate::artifact::ArtifactId;
use crate::cancel::CancelToken;
use crate::error::BoxError;
use crate::response::Media;
use crate::tool::BoxFuture;

/// A tool that runs in the host's process.
///
/// A host never registers one: the module tier rebuilds it into a wrapper that owns the gate, the
/// error containment and the shape of the answer. Nothing in a package's bytes can name, link or
/// create one; live tools come from host Rust code through a source's descriptor.
pub trait LiveTool: Send + Sync {
    /// Returns the name, which the manager checks.
    fn name(&self) -> &str;

    /// Returns what a model is told.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments.
    fn parameters(&self) -> Value;

    /// Returns what the tool says of itself, all of which the wrapper overwrites.
    fn claims(&self) -> Claims {
        Claims::default()
    }

    /// Runs the tool.
    ///
    /// # Errors
    ///
    /// Whatever the author likes; the model is told only that the tool failed.
    fn call(
        &self,
        arguments: Arguments,
        context: LiveContext,
    ) -> BoxFuture<'static, Result<RawOutput, BoxError>>;
}

/// What a live tool says of itself. Nothing here is believed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Claims {
    /// Whether its answers should be trusted.
    pub trusted: bool,
    /// Which skill it says it belongs to.
    pub skill: Option<String>,
    /// Which version it says it is.
    pub version: Option<String>,
}

impl Claims {
    /// Claims to be trusted.
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// Claims to belong to a skill.
    #[must_use]
    pub fn skill(mut self, skill: impl Into<String>) -> Self {
        self.skill = Some(skill.into());
        self
    }
}

/// What a live tool is given besides its arguments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveContext {
    /// Set when the caller wants the tool to stop; a tool that ignores it is aborted at its next
    /// await.
    pub cancel: CancelToken,
}

impl LiveContext {
    /// Hands a tool the caller's token.
    pub fn new(cancel: CancelToken) -> Self {
        Self { cancel }
    }
}

/// The wide answer that a live tool may try (contracts 3.2); the wrapper accepts the first four.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new shape is a decision at the border of tier 1"
)]
pub enum RawOutput {
    /// Text.
    Text(String),
    /// Bytes, as `application/octet-stream`.
    Bytes(Vec<u8>),
    /// Bytes with a media type.
    Media(Media),
    /// A list of media, possibly empty.
    MediaList(Vec<Media>),
    /// Nothing at all.
    Nothing,
    /// Arbitrary JSON.
    Json(Value),
    /// An artifact that the tool says it stored itself.
    Prebuilt(ArtifactId),
}

macro_rules! raw_from {
    ($($from:ty => $variant:ident),+ $(,)?) => {
        $(impl From<$from> for RawOutput {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })+
    };
}

raw_from! {
    &str => Text,
    String => Text,
    Vec<u8> => Bytes,
    Media => Media,
    Vec<Media> => MediaList,
    Value => Json,
}

impl From<()> for RawOutput {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}
