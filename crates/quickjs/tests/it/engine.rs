//! Starting the engine, and what is kept between starts.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bailiwick_core::{Code, SkillError};
use bailiwick_quickjs::{EngineSettings, Form, JsEngine};

use crate::bed;

fn start(folder: &Path) -> Result<JsEngine, SkillError> {
    JsEngine::start(EngineSettings::default().slots(1), &[], Some(folder))
}

fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "a test breaks what is kept")]
fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn an_engine_starts_with_and_without_what_is_kept() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("made/here");
    let sum = bed::script(bed::SUM, Form::Arrow).await.unwrap();
    bed::works(&start(&folder).unwrap(), &sum).await;
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    let kept = snapshots(&folder);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let first = fs::metadata(&kept[0]).unwrap().ino();

    bed::works(&start(&folder).unwrap(), &sum).await;
    assert_eq!(
        fs::metadata(&kept[0]).unwrap().ino(),
        first,
        "it was made anew"
    );

    write(&kept[0], b"garbage");
    bed::works(&start(&folder).unwrap(), &sum).await;
    assert_ne!(
        fs::metadata(&kept[0]).unwrap().ino(),
        first,
        "it was not made anew"
    );
    assert_eq!(snapshots(&folder).len(), 1);

    // Wasm that is no engine is no reason to fail either.
    write(&kept[0], b"\0asm\x01\0\0\0");
    bed::works(&start(&folder).unwrap(), &sum).await;
}

#[test]
fn a_folder_that_cannot_be_trusted_or_used_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let refused = |folder: &Path| {
        let error = start(folder).unwrap_err();
        assert_eq!(error.code(), Code::InvalidSkillsConfig, "{error}");
        error.host_chain()
    };
    let file = temporary.path().join("file");
    write(&file, b"");
    refused(&file);
    refused(&file.join("below"));
    let open = temporary.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(refused(&open).contains("may be written by others"));
    assert!(snapshots(&open).is_empty());
}
