//! A folder that is gone when nobody needs it any more.

use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;

/// A new folder among the system's temporary files, removed at the end.
///
/// It is not below the target folder: the way to that may be closed to other users.
pub(crate) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    pub(crate) fn create(sh: &Shell) -> Result<Self> {
        let made = cmd!(sh, "mktemp -d /tmp/bailiwick-xtask.XXXXXX")
            .quiet()
            .read()?;
        Ok(Self {
            folder: made.into(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays among the temporary files.
        let _left = std::fs::remove_dir_all(&self.folder);
    }
}
