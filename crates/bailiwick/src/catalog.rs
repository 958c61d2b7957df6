//! What the sources offer, and which copy of a name wins.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{
    CancelToken, Code, DiscoveredSkill, Discovery, SkillError, SkillSource, Skip, contain_panic,
};
use serde::Serialize;

/// A skill as a manager's catalog shows it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CatalogEntry {
    /// The skill.
    pub skill: DiscoveredSkill,
    /// The source that offers it.
    pub source: String,
    /// Whether it is loaded.
    pub loaded: bool,
    /// Where the copy lies that wins over this one.
    pub shadowed_by: Option<String>,
}

/// A source that could not be read; the others still work.
#[derive(Debug)]
#[non_exhaustive]
pub struct SourceFailure {
    /// The source.
    pub source: String,
    /// What it failed with.
    pub error: SkillError,
}

/// Everything that one discovery found.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) found: Vec<Found>,
    pub(crate) skipped: Vec<Skip>,
    pub(crate) failures: Vec<SourceFailure>,
}

/// A skill, its source, and who shadows it.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) skill: DiscoveredSkill,
    pub(crate) source: Arc<dyn SkillSource>,
    pub(crate) shadowed_by: Option<String>,
}

impl Catalog {
    /// Asks every source in turn, in the order of priority.
    pub(crate) async fn discover(sources: &[Arc<dyn SkillSource>], deadline: Duration) -> Self {
        let mut catalog = Self::default();
        for source in sources {
            let discovered =
                within(source.as_ref(), deadline, |cancel| source.discover(cancel)).await;
            match discovered {
                Ok(discovery) => catalog.add(source, discovery),
                Err(error) => catalog.failures.push(SourceFailure {
                    source: source.id().to_owned(),
                    error,
                }),
            }
        }
        catalog
    }

    /// Adds what a source offers. A name is taken by its first copy, also by a broken one: what a
    /// person edited never gives way to another copy without a word.
    fn add(&mut self, source: &Arc<dyn SkillSource>, discovery: Discovery) {
        for skill in discovery.skills {
            let winner = self
                .found
                .iter()
                .find(|found| found.skill.name == skill.name);
            let broken = self
                .skipped
                .iter()
                .find(|skip| skip.name.as_ref() == Some(&skill.name));
            let earlier = winner
                .map(|winner| &winner.skill.location)
                .or_else(|| broken.map(|skip| &skip.location))
                .cloned();
            let shadowed_by = earlier.or_else(|| skill.shadowed_by.clone());
            self.found.push(Found {
                skill,
                source: source.clone(),
                shadowed_by,
            });
        }
        self.skipped.extend(discovery.skipped);
    }

    /// Finds the copy that `name` or `name@scope` means.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` for a name that a broken copy takes, else `E_SKILL_NOT_FOUND`, naming
    /// what was found or the failed source that may explain it.
    pub(crate) fn find(&self, text: &str) -> Result<&Found, SkillError> {
        let (name, scope) = text
            .split_once('@')
            .map_or((text, None), |(name, scope)| (name, Some(scope)));
        let fits = |found: &&Found| {
            found.skill.name.as_str() == name
                && match scope {
                    Some(scope) => found.skill.scope.as_str() == scope,
                    None => found.shadowed_by.is_none(),
                }
        };
        self.found
            .iter()
            .find(fits)
            .ok_or_else(|| self.missing(text, name))
    }

    fn missing(&self, text: &str, name: &str) -> SkillError {
        let broken = |skip: &&Skip| {
            skip.name
                .as_ref()
                .is_some_and(|broken| broken.as_str() == name)
        };
        if let Some(skip) = self.skipped.iter().find(broken) {
            return SkillError::new(
                Code::ManifestInvalid,
                format!("the skill `{name}` is broken: {}", skip.reason),
            )
            .with_hint(&skip.fix)
            .with_detail("skill", name)
            .with_detail("location", skip.location.as_str());
        }
        let error = SkillError::new(Code::NotFound, format!("no skill is named `{text}`"))
            .with_detail("skill", text);
        if let Some(failure) = self.failures.first() {
            return error.with_hint(format!(
                "the source `{}` failed: {}",
                failure.source,
                failure.error.message()
            ));
        }
        let known: Vec<_> = self
            .found
            .iter()
            .map(|found| found.skill.name.as_str())
            .take(8)
            .collect();
        error.with_hint(if known.is_empty() {
            "no source offers any skill; name a folder that holds skills".to_owned()
        } else {
            format!("found here: {}", known.join(", "))
        })
    }
}

/// Waits for a source until its deadline, then cancels what it does and reports the failure.
///
/// # Errors
///
/// The source's own error where its code says more than that the source failed, and
/// `E_SKILL_SOURCE_FAILED` otherwise.
pub(crate) async fn within<'a, T>(
    source: &dyn SkillSource,
    deadline: Duration,
    ask: impl FnOnce(CancelToken) -> bailiwick_core::BoxFuture<'a, Result<T, SkillError>>,
) -> Result<T, SkillError> {
    let cancel = CancelToken::new();
    let failed = |reason: &str| {
        SkillError::new(
            Code::SourceFailed,
            format!("the source `{}` failed: {reason}", source.id()),
        )
        .with_hint("repair the source, or remove it; the other sources still work")
        .with_detail("source", source.id())
    };
    let asked = contain_panic(async { ask(cancel.clone()).await });
    match tokio::time::timeout(deadline, asked).await {
        Ok(Ok(Ok(value))) => Ok(value),
        Ok(Ok(Err(error))) if speaks_for_itself(error.code()) => Err(error),
        Ok(Ok(Err(error))) => Err(failed(error.message()).with_source(error)),
        Ok(Err(panicked)) => Err(failed(&panicked.to_string())),
        Err(_) => {
            cancel.cancel();
            Err(failed("it did not answer within its deadline"))
        }
    }
}

/// Returns whether a source's code tells the caller what to repair in the skill itself.
fn speaks_for_itself(code: Code) -> bool {
    matches!(
        code,
        Code::ManifestInvalid
            | Code::SourcePathRejected
            | Code::NotFound
            | Code::DigestMismatch
            | Code::SourceFailed
    )
}
