//! Answers that are too long for a reply.

use std::sync::Arc;

use bailiwick_core::{
    Artifact, ArtifactSource, CallReport, Content, NewArtifact, SkillError, ToolSpec,
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
                    Content::Text(ends(&text, limit, &place).0)
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
    let (shown, left_out) = ends(text, limit, why);
    report.truncated = true;
    report.dropped = left_out as u64;
    Content::Text(shown)
}

/// Shows the head (two thirds) and the tail (one third) of a text, at most `limit` bytes with the
/// mark between them, and returns how many bytes were left out.
fn ends(text: &str, limit: usize, place: &str) -> (String, usize) {
    let mark = |left_out: usize| format!("\n[… {left_out} bytes left out; {place} …]\n");
    // The number in the final mark is smaller than this one, so the mark is never longer.
    let room = limit.saturating_sub(mark(text.len()).len());
    let head = text.floor_char_boundary(room * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - room / 3);
    let left_out = tail - head;
    (
        format!("{}{}{}", &text[..head], mark(left_out), &text[tail..]),
        left_out,
    )
}

/// The kind of artifact that a module tool's answer becomes.
const KIND: &str = "tool-output";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_mark_says_how_much_is_left_out_and_where_it_is() {
        let text = format!("{}{}", "é".repeat(100), "z".repeat(300));
        let (shown, left_out) = ends(&text, 120, "it is gone");
        assert!(shown.len() <= 120);
        assert!(shown.starts_with('é') && shown.ends_with('z'));
        assert!(
            shown.contains(&format!("[… {left_out} bytes left out; it is gone …]")),
            "{shown}"
        );
    }

    proptest! {
        #[test]
        fn ends_fit_and_account_for_every_byte(text in "\\PC{300,600}", limit in 100_usize..300) {
            let (shown, left_out) = ends(&text, limit, "elsewhere");
            prop_assert!(shown.len() <= limit);
            let mark = format!("\n[… {left_out} bytes left out; elsewhere …]\n");
            prop_assert_eq!(shown.len() - mark.len() + left_out, text.len());
        }
    }
}
