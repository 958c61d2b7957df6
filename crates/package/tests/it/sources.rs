//! The sources as a manager uses them.

use std::sync::Arc;

use bailiwick_core::{
    Arguments, BoxError, BoxFuture, CancelToken, Code, Digest, LiveContext, LiveTool, RawOutput,
    Scope, SkillSource,
};
use bailiwick_package::{DirectorySource, InMemorySkill, InMemorySource};
use serde_json::{Value, json};

use crate::support::Skill;

const SKILL: &str =
    "---\nname: s\ndescription: Does it.\nversion: 1.2.3\nallowed-tools: Read Grep\n---\nBody.\n";
const SIDECAR: &str = "failOnNonzeroExit: false\nscripts:\n  - {name: go, path: scripts/go.sh, description: Goes., interpreter: sh}\n";

fn on_disk() -> (Skill, DirectorySource) {
    let skill = Skill::empty()
        .file("SKILL.md", SKILL)
        .file("bailiwick.yaml", SIDECAR)
        .file("scripts/go.sh", "echo");
    let source = DirectorySource::open(skill.path().parent().unwrap()).unwrap();
    (skill, source)
}

fn in_memory() -> InMemorySource {
    let skill = InMemorySkill::new(SKILL)
        .file("bailiwick.yaml", SIDECAR)
        .file("scripts/go.sh", "echo");
    InMemorySource::new("memory").with(skill).unwrap()
}

/// What every source must do with the same skill.
async fn serves(source: &dyn SkillSource) -> Digest {
    let cancel = CancelToken::new;
    let discovery = source.discover(cancel()).await.unwrap();
    let skill = &discovery.skills[0];
    assert_eq!(
        (skill.name.as_str(), skill.version.as_deref()),
        ("s", Some("1.2.3"))
    );

    let descriptor = source.descriptor(skill, cancel()).await.unwrap();
    assert_eq!(descriptor.scripts[0].name, "go");
    assert_eq!(descriptor.fail_on_nonzero_exit, Some(false));
    assert_eq!(
        descriptor.notes,
        ["`allowed-tools` is a claim and grants nothing: Read Grep"]
    );

    let body = source.read(skill, None, cancel()).await.unwrap();
    assert_eq!(body, b"Body.\n");
    assert_eq!(source.stat(skill, None, cancel()).await.unwrap().size, 6);

    // Whoever copies the listed files can prove that they are the described ones.
    let mut files = Vec::new();
    for entry in source.list(skill, cancel()).await.unwrap() {
        let bytes = source
            .read(skill, Some(&entry.path), cancel())
            .await
            .unwrap();
        assert_eq!(
            source
                .stat(skill, Some(&entry.path), cancel())
                .await
                .unwrap()
                .size,
            entry.size
        );
        files.push((entry, Digest::of(&bytes)));
    }
    let digest = Digest::of_package(
        files
            .iter()
            .map(|(entry, digest)| (entry.path.as_str(), entry.mode, entry.size, *digest)),
    );
    assert_eq!(descriptor.digest, Some(digest));

    let missing = "none".parse().unwrap();
    let error = source
        .read(skill, Some(&missing), cancel())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    digest
}

#[tokio::test]
async fn folder_and_memory_serve_the_same_skill() {
    let (_skill, source) = on_disk();
    assert_eq!(serves(&source).await, serves(&in_memory()).await);
}

#[tokio::test]
async fn a_cancelled_question_is_answered_at_once() {
    let (_skill, source) = on_disk();
    let found = source.discover(CancelToken::new()).await.unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    assert_eq!(
        source.discover(cancel.clone()).await.unwrap_err().code(),
        Code::Cancelled
    );
    let error = source
        .descriptor(&found.skills[0], cancel)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
}

#[tokio::test]
async fn a_skill_that_broke_since_it_was_found_is_refused() {
    let (skill, source) = on_disk();
    let found = source.discover(CancelToken::new()).await.unwrap();
    let skill = skill.front("name: s\nname: s\n");
    let error = source
        .descriptor(&found.skills[0], CancelToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::ManifestInvalid);
    assert_eq!(error.details()["diagnostic"], "yaml-duplicate-key");
    skill.dir().remove_open_dir_all().unwrap();
    let error = source
        .descriptor(&found.skills[0], CancelToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::SourceFailed);
}

#[tokio::test]
async fn a_location_outside_the_sources_folders_is_never_opened() {
    let (_skill, source) = on_disk();
    let other = Skill::good();
    let mut found = source
        .discover(CancelToken::new())
        .await
        .unwrap()
        .skills
        .remove(0);
    found.location = other.path().to_str().unwrap().to_owned();
    let error = source
        .descriptor(&found, CancelToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::SourceFailed);
}

#[tokio::test]
async fn live_tools_come_from_the_host_alone() {
    let skill = InMemorySkill::named("echo".parse().unwrap(), "Echoes.").tool(Arc::new(Echo));
    let source = InMemorySource::new("host")
        .scope(Scope::User)
        .with(skill)
        .unwrap();
    let found = source.discover(CancelToken::new()).await.unwrap();
    let descriptor = source
        .descriptor(&found.skills[0], CancelToken::new())
        .await
        .unwrap();
    assert_eq!(descriptor.tools[0].name(), "echo");
    assert_eq!(descriptor.digest, None);
    assert_eq!(found.skills[0].scope, Scope::User);
}

#[test]
fn a_skill_in_memory_is_checked_when_it_joins() {
    let join = |skill| InMemorySource::new("host").with(skill).unwrap_err().code();
    assert_eq!(join(InMemorySkill::new("# S")), Code::ManifestInvalid);
    assert_eq!(
        join(InMemorySkill::new(SKILL).file("../x", "")),
        Code::SourcePathRejected
    );
    assert_eq!(
        join(InMemorySkill::new(SKILL).file("a", "").file("A", "")),
        Code::SourcePathRejected
    );
    let named = InMemorySkill::named("echo".parse().unwrap(), "Echoes.").file("a", "");
    assert_eq!(join(named), Code::ManifestInvalid);
    let twice = in_memory().with(InMemorySkill::new(SKILL));
    assert_eq!(twice.unwrap_err().code(), Code::ManifestInvalid);
}

struct Echo;

impl LiveTool for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn description(&self) -> &'static str {
        "Echoes."
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn call(
        &self,
        _arguments: Arguments,
        _context: LiveContext,
    ) -> BoxFuture<'static, Result<RawOutput, BoxError>> {
        Box::pin(async { Ok(RawOutput::Nothing) })
    }
}
