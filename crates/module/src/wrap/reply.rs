//! Answers that are too long for a reply.

use std::sync::Arc;

use bailiwick_core::{
    Artifact, ArtifactSource, CallReport, Content, Excerpt, NewArtifact, SkillError, ToolSpec,
};

use crate::boundary::Boundary;
use crate::wrap::contain::discard;

/// Fits content into a reply: a text beyond the inline limit goes to the store, and its two ends
/// are shown around a mark that says where the rest is.
///
/// A store that is absent or fails does not fail the call, whose effects have happened: the middle
/// is dropped, counted, and the report warns.
pub(crate) async fn fit(
    content: Content,
    boundary: &Boundary,
    spec: &ToolSpec,
    report: &mut CallReport,
) -> Content {
    let limit = boundary.inline_bytes();
    match content {
        Content::Text(text) if text.len() > limit => {
            let text: Arc<str> = text.into();
            match keep(&text, boundary, spec).await {
                Ok(Some(artifact)) => {
                    let place = format!("the whole answer is artifact `{}`", artifact.id);
                    report.artifact = Some(artifact.id);
                    Content::Text(Excerpt::of(&text, limit, &place).text)
                }
                Ok(None) => drop_middle(&text, limit, "this host keeps no artifacts", report),
                Err(error) => {
                    report.warnings.push(format!(
                        "the whole answer could not be kept: {}",
                        error.model_text()
                    ));
                    drop_middle(&text, limit, "the artifact store failed", report)
                }
            }
        }
        Content::Text(_) | Content::Bytes(_) | Content::Media(_) => content,
    }
}

/// Stores a text on a thread that may block; nothing when the host keeps no artifacts.
async fn keep(
    text: &Arc<str>,
    boundary: &Boundary,
    spec: &ToolSpec,
) -> Result<Option<Artifact>, StoreFailed> {
    let Some(store) = boundary.artifact_store() else {
        return Ok(None);
    };
    let (store, text) = (Arc::clone(store), Arc::clone(text));
    let source = ArtifactSource::new(spec.provenance.skill.clone(), spec.name.clone());
    let stored = tokio::task::spawn_blocking(move || {
        store.put(NewArtifact::new(text.as_bytes(), KIND, source))
    });
    match stored.await {
        Ok(stored) => Ok(Some(stored?)),
        Err(error) => {
            if let Ok(payload) = error.try_into_panic() {
                discard(payload);
            }
            Err(StoreFailed::Panicked)
        }
    }
}

enum StoreFailed {
    Refused(SkillError),
    Panicked,
}

impl StoreFailed {
    fn model_text(&self) -> String {
        match self {
            Self::Refused(error) => error.model_text(),
            Self::Panicked => "the artifact store panicked".to_owned(),
        }
    }
}

impl From<SkillError> for StoreFailed {
    fn from(error: SkillError) -> Self {
        Self::Refused(error)
    }
}

fn drop_middle(text: &str, limit: usize, why: &str, report: &mut CallReport) -> Content {
    let excerpt = Excerpt::of(text, limit, why);
    report.truncated = true;
    report.dropped = excerpt.left_out as u64;
    Content::Text(excerpt.text)
}

/// The kind of artifact that a module tool's answer becomes.
const KIND: &str = "tool-output";
