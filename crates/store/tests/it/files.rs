//! What only the durable store can get wrong.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bailiwick_core::{Artifact, ArtifactStore as _, Code, SkillError};
use bailiwick_store::{FileStore, StoreConfig};
use bailiwick_testkit::TempWorkspace;

use crate::{output, reason};

pub(crate) fn open(path: &Path) -> FileStore {
    FileStore::open(path, StoreConfig::default()).unwrap()
}

fn refused(path: &Path) -> SkillError {
    FileStore::open(path, StoreConfig::default())
        .unwrap_err()
        .into()
}

fn blob(path: &Path, artifact: &Artifact) -> PathBuf {
    let hex = artifact.digest.to_hex();
    path.join("blobs").join(&hex[..2]).join(&hex[2..])
}

/// Lists the files below `blobs` and `incoming`.
pub(crate) fn leftovers(path: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    };
    let mut found = entries(&path.join("incoming"));
    for shelf in entries(&path.join("blobs")) {
        found.extend(entries(&shelf));
    }
    found
}

fn overwrite(path: &Path, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn everything_survives_a_restart() {
    let folder = TempWorkspace::new();
    let kept = open(folder.path())
        .put(output(b"one\ntwo").name("out.txt"))
        .unwrap();
    let store = open(folder.path());
    assert_eq!(store.stat(&kept.id).unwrap(), kept);
    assert_eq!(store.read(&kept.id, 4, 9).unwrap(), b"two");
    assert_eq!(store.list().unwrap(), [kept]);
}

#[test]
fn nobody_but_the_owner_can_enter_or_read() {
    let folder = TempWorkspace::new();
    let path = folder.path().join("state/artifacts");
    let store = open(&path);
    let kept = store.put(output(b"text")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let shelf = blob(&path, &kept).parent().unwrap().to_owned();
    for folder in [&path, &path.join("blobs"), &path.join("incoming"), &shelf] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    for file in [
        blob(&path, &kept),
        path.join("index.db"),
        path.join("index.db-wal"),
    ] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_folder_that_others_can_enter_is_refused_and_not_changed() {
    let folder = TempWorkspace::new();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(folder.path());
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
    assert_eq!(
        error.message(),
        "the artifact folder cannot be used: others can enter it (mode 755)"
    );
    assert!(error.hint().unwrap().contains("chmod 700"));
    assert_eq!(
        fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777,
        0o755
    );
}

#[test]
fn bytes_that_were_altered_are_reported_and_never_returned() {
    let folder = TempWorkspace::new();
    let store = open(folder.path());
    let kept = store.put(output(b"honest bytes")).unwrap();
    assert!(store.read(&kept.id, 0, 9).is_ok(), "verified once");
    overwrite(&blob(folder.path(), &kept), b"HONEST BYTES");
    for store in [&store, &open(folder.path())] {
        assert_eq!(reason(store.read(&kept.id, 0, 1)), "altered");
        assert_eq!(reason(store.lines(&kept.id, 1, 1)), "altered");
        assert_eq!(reason(store.grep(&kept.id, "", 1)), "altered");
    }
    let error = store.read(&kept.id, 0, 1).unwrap_err();
    assert_eq!(error.code(), Code::ArtifactUnavailable);
    assert_eq!(
        error.message(),
        format!("the bytes of artifact `{}` are altered", kept.id)
    );
    assert!(store.stat(&kept.id).is_ok(), "what is known of it still is");

    let again = store.put(output(b"honest bytes")).unwrap();
    assert_eq!(store.read(&again.id, 0, 99).unwrap(), b"honest bytes");
    assert_eq!(
        store.read(&kept.id, 0, 99).unwrap(),
        b"honest bytes",
        "mended by the same bytes"
    );
}

#[test]
fn bytes_that_are_missing_are_reported() {
    let folder = TempWorkspace::new();
    let store = open(folder.path());
    let kept = store.put(output(b"text")).unwrap();
    fs::remove_file(blob(folder.path(), &kept)).unwrap();
    assert_eq!(reason(store.read(&kept.id, 0, 1)), "missing");
    fs::remove_dir(blob(folder.path(), &kept).parent().unwrap()).unwrap();
    assert_eq!(reason(store.read(&kept.id, 0, 1)), "missing");
    store.remove(&kept.id).unwrap();
}

#[test]
fn a_link_in_the_place_of_bytes_is_not_followed() {
    let folder = TempWorkspace::new();
    let secret = folder.write("secret", "text");
    let path = folder.path().join("artifacts");
    let store = open(&path);
    let kept = store.put(output(b"text")).unwrap();
    let place = blob(&path, &kept);
    fs::remove_file(&place).unwrap();
    symlink(&secret, &place).unwrap();
    // Even though what it points at has the right digest.
    assert_eq!(reason(store.read(&kept.id, 0, 1)), "altered");

    store.put(output(b"text")).unwrap();
    assert!(
        fs::symlink_metadata(&place).unwrap().is_file(),
        "replaced, not written through"
    );
    assert_eq!(store.read(&kept.id, 0, 9).unwrap(), b"text");
}

#[test]
fn a_link_in_the_place_of_a_folder_is_not_written_through() {
    let folder = TempWorkspace::new();
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let path = folder.path().join("artifacts");
    let store = open(&path);
    let digest = bailiwick_core::Digest::of(b"text").to_hex();
    symlink(&elsewhere, path.join("blobs").join(&digest[..2])).unwrap();
    assert_eq!(reason(store.put(output(b"text"))), "io");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(
        store.list().unwrap().is_empty(),
        "no entry without its bytes"
    );

    drop(store);
    let other = folder.path().join("other");
    drop(open(&other));
    fs::remove_file(other.join("index.db")).unwrap();
    symlink(path.join("index.db"), other.join("index.db")).unwrap();
    assert!(FileStore::open(&other, StoreConfig::default()).is_err());
}

#[test]
fn orphans_and_what_has_expired_go_when_the_store_is_opened() {
    let folder = TempWorkspace::new();
    let kept = {
        let store = open(folder.path());
        store.put(output(b"expires").keep(Duration::ZERO)).unwrap();
        store.put(output(b"stays")).unwrap()
    };
    let orphan = format!("blobs/ab/{}", "c".repeat(62));
    folder.write(&orphan, "what a crash left without an entry");
    folder.write("incoming/half", "what a crash left unfinished");
    folder.write("blobs/note", "what is not ours");
    let store = open(folder.path());
    assert_eq!(
        fs::read_dir(folder.path().join("incoming"))
            .unwrap()
            .count(),
        0
    );
    assert!(!folder.path().join(&orphan).exists());
    assert!(
        folder.path().join("blobs/note").exists(),
        "only what bears a digest is ours"
    );
    assert!(blob(folder.path(), &kept).exists());
    assert_eq!(store.list().unwrap(), [kept]);
    let hex = bailiwick_core::Digest::of(b"expires").to_hex();
    assert!(
        !folder
            .path()
            .join("blobs")
            .join(&hex[..2])
            .join(&hex[2..])
            .exists()
    );
}

#[test]
fn a_sweep_leaves_what_another_writer_has_not_indexed_yet() {
    let folder = TempWorkspace::new();
    drop(open(folder.path()));
    let orphan = format!("blobs/ab/{}", "c".repeat(62));
    let path = folder.write(&orphan, "bytes of a writer who is about to index them");
    let writer = fs::File::open(folder.path().join("writers.lock")).unwrap();
    writer.lock_shared().unwrap();
    drop(open(folder.path()));
    assert!(path.exists());
    writer.unlock().unwrap();
    drop(open(folder.path()));
    assert!(!path.exists(), "the control: swept once nobody writes");
}

#[test]
fn removing_and_refusing_leave_no_bytes_behind() {
    let folder = TempWorkspace::new();
    let config = StoreConfig::default().quota_per_skill(8192);
    let store = FileStore::open(folder.path(), config).unwrap();
    let kept = store.put(output(b"text")).unwrap();
    assert_eq!(leftovers(folder.path()).len(), 1);
    store.remove(&kept.id).unwrap();
    assert!(leftovers(folder.path()).is_empty());
    assert_eq!(reason(store.put(output(&[b'x'; 8193]))), "quota");
    assert!(leftovers(folder.path()).is_empty());
    store.put(output(b"gone").keep(Duration::ZERO)).unwrap();
    store.put(output(b"stays")).unwrap();
    assert_eq!(
        leftovers(folder.path()).len(),
        1,
        "expired bytes go with the next write"
    );
}

#[test]
fn two_handles_see_each_others_artifacts_and_share_a_quota() {
    let folder = TempWorkspace::new();
    let config = StoreConfig::default().quota_per_skill(2 * 4096);
    let [one, two] = [(); 2].map(|()| FileStore::open(folder.path(), config).unwrap());
    let first = one.put(output(b"same")).unwrap();
    let second = two.put(output(b"same")).unwrap();
    assert_eq!(two.read(&first.id, 0, 9).unwrap(), b"same");
    assert_eq!(reason(one.put(output(b"more"))), "quota");
    one.remove(&second.id).unwrap();
    assert_eq!(reason(two.stat(&second.id)), "unknown");
    assert_eq!(
        two.read(&first.id, 0, 9).unwrap(),
        b"same",
        "still referred to"
    );
}

#[test]
fn an_index_of_a_newer_version_or_of_another_program_is_refused_and_not_changed() {
    for (pragmas, message) in [
        (
            "PRAGMA user_version = 2",
            "its index is of version 2, newer than 1",
        ),
        (
            "PRAGMA application_id = 7",
            "its index belongs to another program",
        ),
    ] {
        let folder = TempWorkspace::new();
        drop(open(folder.path()));
        let index = folder.path().join("index.db");
        rusqlite::Connection::open(&index)
            .unwrap()
            .execute_batch(pragmas)
            .unwrap();
        let error = refused(folder.path());
        assert_eq!(error.code(), Code::InvalidSkillsConfig);
        assert!(error.message().ends_with(message), "{}", error.message());
    }
    let folder = TempWorkspace::new();
    let index = folder.write("index.db", "");
    rusqlite::Connection::open(&index)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x)")
        .unwrap();
    assert!(
        refused(folder.path())
            .message()
            .ends_with("its index belongs to another program")
    );
    folder.write(
        "index.db",
        "this is no database, and long enough to be looked at by its header",
    );
    assert!(FileStore::open(folder.path(), StoreConfig::default()).is_err());
}

#[test]
fn an_index_that_somebody_edited_cannot_smuggle_in_what_no_type_allows() {
    let folder = TempWorkspace::new();
    let store = open(folder.path());
    let kept = store.put(output(b"text")).unwrap();
    let index = rusqlite::Connection::open(folder.path().join("index.db")).unwrap();
    for change in [
        "UPDATE artifacts SET digest = 'sha256:../../secret'",
        "UPDATE artifacts SET skill = '../x'",
        "UPDATE artifacts SET size = -1",
    ] {
        index.execute_batch("SAVEPOINT before").unwrap();
        index.execute_batch(change).unwrap();
        index.execute_batch("RELEASE before").unwrap();
        assert_eq!(reason(store.read(&kept.id, 0, 1)), "index", "{change}");
    }
}

#[test]
fn an_error_names_no_path_of_the_host_to_a_model() {
    let folder = TempWorkspace::new();
    let path = folder.path().to_string_lossy().into_owned();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o750)).unwrap();
    assert!(!refused(folder.path()).model_text().contains(&path));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let store = open(folder.path());
    let kept = store.put(output(b"text")).unwrap();
    fs::remove_file(blob(folder.path(), &kept)).unwrap();
    assert!(
        !store
            .read(&kept.id, 0, 1)
            .unwrap_err()
            .model_text()
            .contains(&path)
    );
}
