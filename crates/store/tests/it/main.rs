//! What both stores promise, and what the durable one adds.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests stop the test, as the tests do"
)]

#[cfg(feature = "sqlite")]
mod crashes;
#[cfg(feature = "sqlite")]
mod files;
mod suite;

use bailiwick_core::{ArtifactSource, ArtifactStore, NewArtifact, SkillError};
use bailiwick_store::{MemoryStore, StoreConfig};

fn source(skill: &str) -> ArtifactSource {
    ArtifactSource::new(skill.parse().unwrap(), "report".parse().unwrap())
}

/// Describes output of the tool `report` of the skill `audit`.
fn output(bytes: &[u8]) -> NewArtifact<'_> {
    NewArtifact::new(bytes, "script-output", source("audit"))
}

/// Returns the word in the details that says why.
fn reason<T>(result: Result<T, SkillError>) -> String {
    let error = result.err().expect("the store refuses");
    assert!(error.hint().is_some(), "{error} has a hint");
    error.details()["reason"].as_str().unwrap().to_owned()
}

mod memory {
    use super::*;

    crate::suite::cases!(|config| {
        let store = MemoryStore::new(config).unwrap();
        (Box::new(store) as Box<dyn ArtifactStore>, ())
    });
}

#[cfg(feature = "sqlite")]
mod file {
    use bailiwick_store::FileStore;
    use bailiwick_testkit::TempWorkspace;

    use super::*;

    crate::suite::cases!(|config| {
        let folder = TempWorkspace::new();
        let store = FileStore::open(folder.path().join("artifacts"), config).unwrap();
        (Box::new(store) as Box<dyn ArtifactStore>, folder)
    });
}

#[test]
fn every_file_of_this_folder_is_a_module_of_it() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};\n")),
            "{name} is not listed"
        );
    }
}

#[test]
fn a_store_in_which_nothing_could_be_kept_is_refused() {
    let config = StoreConfig::default().quota_per_skill(0);
    let error: SkillError = MemoryStore::new(config).unwrap_err().into();
    assert_eq!(error.code(), bailiwick_core::Code::InvalidSkillsConfig);
    insta::assert_snapshot!(
        error.message(),
        @"`quota_per_skill` of the artifact store is impossible: it is below 4 KiB, so that nothing could be kept"
    );
}
