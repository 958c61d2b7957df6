//! Skills on disk for the other modules.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bailiwick_package::{Diagnostic, DiagnosticId, Package, Profile, Severity};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tempfile::TempDir;

/// A skill named `s` in a folder of its own.
pub(crate) struct Skill {
    home: TempDir,
}

impl Skill {
    /// A folder without a file.
    pub(crate) fn empty() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("s")).unwrap();
        Self { home }
    }

    /// A skill that passes every check.
    pub(crate) fn good() -> Self {
        Self::empty().front("name: s\ndescription: Does it.\n")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("s")
    }

    pub(crate) fn dir(&self) -> Dir {
        Dir::open_ambient_dir(self.path(), ambient_authority()).unwrap()
    }

    /// Writes `SKILL.md` with this front matter.
    pub(crate) fn front(self, keys: &str) -> Self {
        self.file("SKILL.md", format!("---\n{keys}---\nBody.\n"))
    }

    pub(crate) fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        write(&self.path().join(path), bytes.as_ref());
        self
    }

    /// Makes a file that is large and costs nothing.
    pub(crate) fn sparse(self, path: &str, size: u64) -> Self {
        File::create(self.path().join(path))
            .unwrap()
            .set_len(size)
            .unwrap();
        self
    }

    pub(crate) fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    pub(crate) fn open(&self) -> (Option<Package>, Vec<Diagnostic>) {
        self.open_as(Profile::Tool)
    }

    pub(crate) fn open_as(&self, profile: Profile) -> (Option<Package>, Vec<Diagnostic>) {
        Package::open(&self.dir(), "s", profile)
    }

    /// Opens a package that must be in order.
    pub(crate) fn package(&self) -> Package {
        let (package, found) = self.open();
        package.unwrap_or_else(|| panic!("refused: {found:?}"))
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().write_all(bytes).unwrap();
}

/// Writes a skill that passes every check into a folder.
pub(crate) fn write_skill(folder: &Path, description: &str) {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
    write(&folder.join("SKILL.md"), text.as_bytes());
}

pub(crate) fn ids(found: &[Diagnostic]) -> Vec<&'static str> {
    found.iter().map(|d| d.id().as_str()).collect()
}

pub(crate) fn errors(found: &[Diagnostic]) -> Vec<DiagnosticId> {
    found
        .iter()
        .filter(|d| d.severity() == Severity::Error)
        .map(Diagnostic::id)
        .collect()
}
