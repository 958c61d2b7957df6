//! A folder that the tests of one user share.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

/// Returns a folder of this user's own that outlives the test, for what is costly to make and the
/// same for all: compiled guests.
///
/// # Panics
///
/// Where the folder is another user's, or open to others.
#[expect(clippy::expect_used, reason = "a test cannot go on without its folder")]
pub fn private_folder(name: &str) -> PathBuf {
    let me = tempfile::tempfile()
        .and_then(|file| file.metadata())
        .map(|metadata| metadata.uid())
        .expect("a temporary file can be made");
    let folder = std::env::temp_dir().join(format!("bailiwick-tests-{me}-{name}"));
    // Another test may make it at the same time.
    let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
    let metadata = fs::symlink_metadata(&folder).expect("the folder is there");
    let for_others = metadata.permissions().mode() % 0o100;
    let is_private = metadata.uid() == me && for_others == 0;
    assert!(
        metadata.is_dir() && is_private,
        "{} is not private",
        folder.display()
    );
    folder
}
