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

    /// Returns the names of the libraries that are for others: all but the program and what only
    /// tests use.
    pub(crate) fn libraries(&self) -> Result<Vec<String>> {
        let mut names = self.packages()?;
        names.retain(|name| name != "bailiwick-cli");
        Ok(names)
    }

    /// Returns the names of the packages that are for others.
    pub(crate) fn packages(&self) -> Result<Vec<String>> {
        let metadata = self.metadata(false)?;
        let crates = self.root.join("crates");
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let names = packages.filter_map(|package| {
            let is_ours = Path::new(package["manifest_path"].as_str()?).starts_with(&crates);
            let name = package["name"].as_str()?;
            (is_ours && name != "bailiwick-testkit").then(|| name.to_owned())
        });
        Ok(names.collect())
    }

    /// Copies what git tracks or would track, as it is in the work tree, into a folder.
    pub(crate) fn copy_sources(&self, to: &Path) -> Result {
        let sh = &self.sh;
        let files = cmd!(sh, "git ls-files --cached --others --exclude-standard")
            .quiet()
            .read()?;
        // A file that was deleted but not committed is still listed.
        let files: Vec<_> = files
            .lines()
            .filter(|file| self.root.join(file).exists())
            .collect();
        for some in files.chunks(500) {
            cmd!(
                sh,
                "cp --parents --no-dereference --preserve=mode {some...} {to}"
            )
            .quiet()
            .run()?;
        }
        Ok(())
    }
}
