//! Where the repository is and what cargo says about it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;

/// The repository, with a shell whose working directory is its root.
pub(crate) struct Workspace {
    sh: Shell,
    root: PathBuf,
}

impl Workspace {
    /// Finds the repository that the working directory lies in.
    pub(crate) fn open() -> Result<Self> {
        let sh = Shell::new()?;
        let manifest = cmd!(
            sh,
            "cargo locate-project --workspace --message-format plain"
        )
        .quiet()
        .read()?;
        let root = Path::new(&manifest)
            .parent()
            .ok_or("the manifest has no folder")?
            .to_path_buf();
        sh.change_dir(&root);
        Ok(Self { sh, root })
    }

    /// Returns the shell; commands run in the root of the repository.
    pub(crate) fn sh(&self) -> &Shell {
        &self.sh
    }

    /// Returns the root of the repository.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns what `cargo metadata` prints for the locked dependency tree.
    ///
    /// Without `deps` only the packages of the workspace are listed.
    pub(crate) fn metadata(&self, deps: bool) -> Result<Value> {
        let no_deps = (!deps).then_some("--no-deps");
        let sh = &self.sh;
        let text = cmd!(
            sh,
            "cargo metadata --format-version 1 --locked {no_deps...}"
        )
        .quiet()
        .read()?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Returns the folder that cargo builds into.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        let metadata = self.metadata(false)?;
        Ok(metadata["target_directory"]
            .as_str()
            .ok_or("cargo names no target folder")?
            .into())
    }
}
