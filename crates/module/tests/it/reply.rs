//! Answers that are too long for a reply.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bailiwick_core::{
    Artifact, ArtifactId, ArtifactStore, CallContext, Code, Line, NewArtifact, Outcome, SkillError,
};
use bailiwick_module::{Boundary, rewrap};
use bailiwick_testkit::hostile;

use crate::{called_with, provenance};

/// A store with room for one artifact, or one that refuses or panics.
#[derive(Debug)]
enum Shelf {
    Keeps(Mutex<Option<Box<Artifact>>>),
    Refuses,
    Panics,
}

impl ArtifactStore for Shelf {
    fn put(&self, new: NewArtifact<'_>) -> Result<Artifact, SkillError> {
        match self {
            Self::Keeps(place) => {
                let id = "a1".parse().unwrap();
                let hour = Duration::from_hours(1);
                let artifact = Artifact::describe(id, &new, SystemTime::now(), hour);
                *place.lock().unwrap() = Some(Box::new(artifact.clone()));
                Ok(artifact)
            }
            Self::Refuses => Err(SkillError::new(
                Code::ArtifactUnavailable,
                "the shelf is full",
            )),
            Self::Panics => panic!("secret-shelf"),
        }
    }

    fn stat(&self, _: &ArtifactId) -> Result<Artifact, SkillError> {
        unreachable!("a wrapper only puts")
    }

    fn read(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<u8>, SkillError> {
        unreachable!("a wrapper only puts")
    }

    fn lines(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<Line>, SkillError> {
        unreachable!("a wrapper only puts")
    }

    fn grep(&self, _: &ArtifactId, _: &str, _: usize) -> Result<Vec<Line>, SkillError> {
        unreachable!("a wrapper only puts")
    }

    fn list(&self) -> Result<Vec<Artifact>, SkillError> {
        unreachable!("a wrapper only puts")
    }

    fn remove(&self, _: &ArtifactId) -> Result<(), SkillError> {
        unreachable!("a wrapper only puts")
    }
}

const LIMIT: usize = 25 * 1024;

async fn flooded(bytes: usize, store: Option<Arc<Shelf>>) -> Outcome {
    let boundary = match store {
        Some(store) => Boundary::default().store(store),
        None => Boundary::default(),
    };
    let tool = rewrap(hostile::floods(bytes), provenance(), boundary).unwrap();
    called_with(&tool, &CallContext::new("/")).await
}

#[tokio::test]
async fn a_text_of_exactly_the_limit_is_shown_whole_and_stored_nowhere() {
    let shelf = Arc::new(Shelf::Keeps(Mutex::default()));
    let outcome = flooded(LIMIT, Some(Arc::clone(&shelf))).await;
    assert_eq!(outcome.result.unwrap().text().len(), LIMIT);
    assert!(outcome.report.artifact.is_none());
    let Shelf::Keeps(place) = &*shelf else {
        unreachable!()
    };
    assert!(place.lock().unwrap().is_none());
}

#[tokio::test]
async fn one_byte_more_is_kept_whole_and_shown_by_its_ends() {
    let shelf = Arc::new(Shelf::Keeps(Mutex::default()));
    let outcome = flooded(LIMIT + 1, Some(Arc::clone(&shelf))).await;
    let response = outcome.result.unwrap();
    let text = response.text();
    assert!(text.len() <= LIMIT);
    assert!(text.starts_with("line 1\nline 2\n"));
    assert!(
        text.contains("bytes left out; the whole answer is artifact `a1` …]"),
        "{text}"
    );
    assert_eq!(response.artifact, Some("a1".parse().unwrap()));
    assert_eq!(outcome.report.artifact, response.artifact);
    assert_eq!(outcome.report.bytes, LIMIT as u64 + 1);
    assert!(!outcome.report.truncated, "nothing is lost");
    let Shelf::Keeps(place) = &*shelf else {
        unreachable!()
    };
    let kept = place.lock().unwrap().clone().unwrap();
    assert_eq!(kept.size, LIMIT as u64 + 1);
    assert_eq!(
        kept.source.skill.as_str(),
        "audit",
        "the host's provenance, not the tool's claim"
    );
    assert_eq!(kept.source.tool.as_str(), "reports");
}

#[tokio::test]
async fn without_a_store_the_middle_is_dropped_and_counted() {
    let outcome = flooded(1_000_000, None).await;
    let response = outcome.result.unwrap();
    let text = response.text();
    assert!(text.len() <= LIMIT);
    let dropped = outcome.report.dropped;
    assert!(outcome.report.truncated);
    assert!(text.contains(&format!(
        "[… {dropped} bytes left out; this host keeps no artifacts …]"
    )));
    assert!(outcome.report.warnings.is_empty());
}

#[tokio::test]
async fn a_store_that_fails_costs_the_middle_and_not_the_call() {
    for (shelf, why) in [
        (
            Shelf::Refuses,
            "E_SKILL_ARTIFACT_UNAVAILABLE: the shelf is full",
        ),
        (Shelf::Panics, "the artifact store panicked"),
    ] {
        let outcome = flooded(LIMIT + 1, Some(Arc::new(shelf))).await;
        let response = outcome.result.unwrap();
        assert!(response.artifact.is_none() && outcome.report.truncated);
        assert_eq!(
            outcome.report.warnings,
            [format!("the whole answer could not be kept: {why}")]
        );
    }
}
