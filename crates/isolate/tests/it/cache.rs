//! Compiled code that is kept between engines.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bailiwick_core::{Code, SkillError};
use bailiwick_isolate::{Engine, EngineSettings};
use bailiwick_testkit::wait_until;

use crate::bed;

fn keeping(folder: &Path) -> EngineSettings {
    EngineSettings::default().slots(1).cache(folder)
}

/// Every file that is kept below a folder, with its number, which changes when it is written anew,
/// and bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // The cache's own marks, and what it has not finished writing.
            if name.starts_with('.') || name.contains(".wip-") {
                continue;
            }
            // The cache's own thread may be renaming what it has written.
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = read(&path) {
                found.insert(path, (metadata.ino(), bytes));
            }
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "a test looks at what is kept")]
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    fs::read(path)
}

#[expect(clippy::disallowed_methods, reason = "a test breaks what is kept")]
fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

fn code(files: &BTreeMap<PathBuf, (u64, Vec<u8>)>) -> Vec<(PathBuf, u64)> {
    let is_code = |path: &&PathBuf| path.extension().is_none();
    let code = files.keys().filter(is_code);
    code.map(|path| (path.clone(), files[path].0)).collect()
}

#[tokio::test]
async fn code_is_kept_used_again_and_made_anew_when_it_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    bed::works(&bed::on(keeping(folder.path()))).await;
    wait_until("the code and its statistics are kept", || {
        let files = files(folder.path());
        files.len() == 2 && code(&files).len() == 1
    })
    .await;
    let first = files(folder.path());

    bed::works(&bed::on(keeping(folder.path()))).await;
    // A hit is noted in the statistics; a miss would write the code anew.
    wait_until("the use is noted", || files(folder.path()) != first).await;
    let second = files(folder.path());
    assert_eq!(code(&second), code(&first), "it was compiled again");

    for garbage in [&b""[..], b"garbage", &[0; 4096]] {
        for (path, _) in code(&second) {
            write(&path, garbage);
        }
        bed::works(&bed::on(keeping(folder.path()))).await;
    }
}

#[test]
fn a_folder_that_cannot_be_trusted_or_used_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path, why: &str| {
        let error: SkillError = Engine::new(keeping(path)).unwrap_err().into();
        assert_eq!(error.code(), Code::InvalidSkillsConfig);
        assert!(error.host_chain().contains(why), "{}", error.host_chain());
    };
    let file = folder.path().join("file");
    write(&file, b"");
    refused(&file, "");
    refused(&file.join("below"), "");

    let made = folder.path().join("made/by/the/engine");
    Engine::new(keeping(&made)).unwrap();
    assert_eq!(fs::metadata(&made).unwrap().mode() & 0o777, 0o700);
    for mode in [0o770, 0o777, 0o702] {
        fs::set_permissions(&made, fs::Permissions::from_mode(mode)).unwrap();
        refused(&made, "may be written by others");
    }
    fs::set_permissions(&made, fs::Permissions::from_mode(0o755)).unwrap();
    Engine::new(keeping(&made)).unwrap();
    // Only root can give a folder away; for others this refusal is not to be seen.
    if std::os::unix::fs::chown(&made, Some(1), None).is_ok() {
        refused(&made, "belongs to another user");
    }
}
