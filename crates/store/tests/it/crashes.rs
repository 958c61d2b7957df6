//! Several processes on one folder, and processes that are killed in the middle.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use bailiwick_core::{ArtifactStore as _, Digest};
use bailiwick_testkit::TempWorkspace;

use crate::files::{leftovers, open};
use crate::output;

/// Names the folder that the writer of another process works on.
const FOLDER: &str = "BAILIWICK_TEST_STORE_FOLDER";
/// Says how many artifacts it writes; without end when absent.
const COUNT: &str = "BAILIWICK_TEST_STORE_COUNT";

/// Not a test of its own: what the tests below start in another process.
#[test]
#[ignore = "runs in another process, started by the tests of this file"]
#[expect(
    clippy::disallowed_methods,
    reason = "the parent tells its child by the environment"
)]
fn writer() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("started by a test"));
    let count = std::env::var(COUNT)
        .ok()
        .map(|count| count.parse().unwrap());
    let store = open(&folder);
    for number in 0..count.unwrap_or(u32::MAX) {
        let bytes = format!("{} {}", std::process::id(), number % 50).repeat(200);
        let kept = store.put(output(bytes.as_bytes())).unwrap();
        assert_eq!(store.read(&kept.id, 0, u64::MAX).unwrap(), bytes.as_bytes());
        if number % 3 == 0 {
            store.remove(&kept.id).unwrap();
        }
        println!("wrote");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test is a process that starts another"
)]
fn start_writer(folder: &TempWorkspace, count: Option<u32>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crashes::writer", "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped());
    if let Some(count) = count {
        command.env(COUNT, count.to_string());
    }
    command.spawn().unwrap()
}

/// Waits until a writer has written that many artifacts.
fn wait_for_writes(writer: &mut Child, count: usize) {
    let output = BufReader::new(writer.stdout.as_mut().unwrap());
    let seen = output
        .lines()
        .filter(|line| line.as_ref().unwrap().contains("wrote"));
    assert_eq!(
        seen.take(count).count(),
        count,
        "the writer went on writing"
    );
}

fn assert_whole(folder: &TempWorkspace) -> usize {
    let store = open(folder.path());
    let listed = store.list().unwrap();
    let mut digests = std::collections::BTreeSet::new();
    for artifact in &listed {
        let bytes = store.read(&artifact.id, 0, u64::MAX).unwrap();
        assert_eq!(Digest::of(&bytes), artifact.digest);
        digests.insert(artifact.digest);
    }
    assert_eq!(
        leftovers(folder.path()).len(),
        digests.len(),
        "no bytes without an entry"
    );
    listed.len()
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let folder = TempWorkspace::new();
    let writers: Vec<_> = (0..3).map(|_| start_writer(&folder, Some(30))).collect();
    for mut writer in writers {
        wait_for_writes(&mut writer, 30);
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(assert_whole(&folder), 3 * 20);
}

#[test]
fn a_process_killed_while_it_writes_leaves_whole_artifacts_or_none() {
    let folder = TempWorkspace::new();
    for writes in [1, 2, 5, 11] {
        let mut writer = start_writer(&folder, None);
        wait_for_writes(&mut writer, writes);
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert_whole(&folder);
    }
}
