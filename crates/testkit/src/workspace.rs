//! A folder for one test.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A temporary folder that only its owner can enter; it goes with the value.
#[derive(Debug)]
pub struct TempWorkspace(tempfile::TempDir);

impl TempWorkspace {
    /// Creates an empty folder.
    ///
    /// # Panics
    ///
    /// When it cannot be made.
    #[expect(clippy::expect_used, reason = "a test cannot go on without its folder")]
    pub fn new() -> Self {
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().permissions(private).tempdir();
        Self(folder.expect("a temporary folder can be made"))
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file beneath the folder, with the folders above it, and returns its path.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[expect(
        clippy::expect_used,
        clippy::disallowed_methods,
        reason = "a test's own folder, whose paths the test wrote itself"
    )]
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the folder can be made");
        }
        fs::write(&path, bytes).expect("the file can be written");
        path
    }
}

impl Default for TempWorkspace {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_beneath_and_goes_with_the_workspace() {
        let workspace = TempWorkspace::new();
        let path = workspace.write("a/b.txt", "text");
        assert_eq!(fs::metadata(&path).unwrap().len(), 4);
        drop(workspace);
        assert!(!path.exists());
    }
}
