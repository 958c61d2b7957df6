//! Single files of a skill's folder, read without walking the package.

use std::fmt;
use std::io;

use bailiwick_core::SkillPath;
use cap_std::fs::{Dir, FileType};

use crate::diagnostic::{Diagnostic, is_loadable};
use crate::error::PackageError;
use crate::front_matter::{MAX_FILE, Profile};
use crate::id::DiagnosticId;
use crate::manifest::{Manifest, SKILL_FILE};
use crate::walk;

impl Manifest {
    /// Reads only the `SKILL.md` of a directory: what a catalog needs, at the price of one file.
    ///
    /// The manifest is absent exactly when a diagnostic is an error. Whether the package's other
    /// files are in order is for [`Package::open`](crate::Package::open).
    pub fn read(dir: &Dir, directory: &str, profile: Profile) -> (Option<Self>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let Some((_, bytes)) = read_skill_file(dir, &mut found) else {
            return (None, found);
        };
        let (manifest, more) = Self::parse(&bytes, Some(directory), profile);
        found.extend(more);
        (manifest.filter(|_| is_loadable(&found)), found)
    }
}

/// Reads the body of a skill that was checked before, at the price of one file.
pub(crate) fn read_body(
    dir: &Dir,
    directory: &str,
    profile: Profile,
) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    if let Some((_, mut bytes)) = read_skill_file(dir, &mut found) {
        let (manifest, more) = Manifest::parse(&bytes, Some(directory), profile);
        found.extend(more);
        if let Some(manifest) = manifest {
            return Ok(bytes.split_off(manifest.body.start));
        }
    }
    Err(found)
}

/// Reads one file of a skill that was checked before.
pub(crate) fn read_file(dir: &Dir, path: &SkillPath) -> Result<Vec<u8>, PackageError> {
    let (file, metadata) = walk::open_listed(dir, path)?;
    let size = metadata.len();
    let bytes = walk::read_capped(file, size).map_err(|source| PackageError::Read {
        path: path.clone(),
        source,
    })?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(PackageError::Changed { path: path.clone() })
    }
}

/// Reads the file that makes a directory a skill, under either spelling of its name.
pub(crate) fn read_skill_file(
    dir: &Dir,
    found: &mut Vec<Diagnostic>,
) -> Option<(SkillPath, Vec<u8>)> {
    let (name, kind) = find_skill_file(dir, found)?;
    if name == LOWERCASE_SKILL_FILE {
        let warning = Diagnostic::warning(
            DiagnosticId::SkillFileLowercase,
            "the file is named `skill.md`, which some hosts do not find",
        );
        found.push(warning.in_file(name).help("rename it to `SKILL.md`"));
    }
    if kind.is_symlink() {
        let message = format!("`{name}` is {}", walk::describe_link(dir, name));
        let error = Diagnostic::error(DiagnosticId::SkillFileLink, message);
        found.push(error.in_file(name).help("put the file itself there"));
        return None;
    }
    if !kind.is_file() {
        let message = format!("`{name}` is {} and should be a file", walk::describe(kind));
        let error = Diagnostic::error(DiagnosticId::SkillFileNotRegular, message);
        found.push(error.in_file(name).help("put a file there"));
        return None;
    }
    read_text(dir, name, found)
}

fn find_skill_file(dir: &Dir, found: &mut Vec<Diagnostic>) -> Option<(&'static str, FileType)> {
    for name in [SKILL_FILE, LOWERCASE_SKILL_FILE] {
        match dir.symlink_metadata(name) {
            Ok(metadata) => return Some((name, metadata.file_type())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                found.push(unreadable(name, &error));
                return None;
            }
        }
    }
    found.push(skill_file_missing());
    None
}

/// Reads a text file of the folder itself, to one byte past its cap.
pub(crate) fn read_text(
    dir: &Dir,
    name: &str,
    found: &mut Vec<Diagnostic>,
) -> Option<(SkillPath, Vec<u8>)> {
    let read =
        walk::open_name(dir, name).and_then(|(file, _)| walk::read_capped(file, MAX_FILE as u64));
    match read {
        Ok(bytes) => Some((name.parse().ok()?, bytes)),
        Err(error) => {
            found.push(unreadable(name, &error));
            None
        }
    }
}

pub(crate) fn skill_file_missing() -> Diagnostic {
    Diagnostic::error(DiagnosticId::SkillFileMissing, "there is no `SKILL.md`")
        .help("`bailiwick init NAME` writes a skill to begin with")
}

pub(crate) fn unreadable(file: &str, error: &dyn fmt::Display) -> Diagnostic {
    Diagnostic::error(
        DiagnosticId::FileUnreadable,
        format!("cannot be read: {error}"),
    )
    .in_file(file)
    .help("check the permissions")
}

const LOWERCASE_SKILL_FILE: &str = "skill.md";
