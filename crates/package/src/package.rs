//! A skill package: checked manifest, files, digest.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bailiwick_core::{
    CancelToken, Digest, FileEntry, FileStat, IsolatedDeclaration, ModeClass, SkillPath,
};
use cap_std::fs::Dir;

use crate::descriptor::isolated_tools;
use crate::diagnostic::{Diagnostic, is_loadable};
use crate::disk::{read_skill_file, read_text, skill_file_missing, unreadable};
use crate::error::PackageError;
use crate::front_matter::Profile;
use crate::id::DiagnosticId;
use crate::inventory;
use crate::manifest::{Manifest, SKILL_FILE};
use crate::sidecar::{SIDECAR_FILE, Sidecar};
use crate::walk;

/// A package whose manifest and inventory were checked.
///
/// Opening lists the files and reads `SKILL.md` and `bailiwick.yaml`; no other byte is read before
/// [`digest`](Self::digest), [`read`](Self::read) or [`read_all`](Self::read_all) asks for it.
/// What is read later must be what was checked: a file that changed in between is an error.
pub struct Package {
    manifest: Manifest,
    sidecar: Sidecar,
    skill_file: SkillPath,
    files: Vec<FileEntry>,
    /// The digests of the files that were parsed.
    parsed: BTreeMap<SkillPath, Digest>,
    store: Store,
}

/// Where the bytes of a package are.
enum Store {
    Directory(Dir),
    Memory(BTreeMap<SkillPath, Arc<[u8]>>),
}

impl Package {
    /// Opens and checks the package in a directory.
    ///
    /// `directory` is the name by which the directory was found, which the skill must bear. The
    /// package is absent exactly when a diagnostic is an error.
    pub fn open(dir: &Dir, directory: &str, profile: Profile) -> (Option<Self>, Vec<Diagnostic>) {
        match Self::open_cancellable(dir, directory, profile, &CancelToken::new()) {
            Ok(opened) => opened,
            Err(error) => (None, vec![unreadable("", &error)]),
        }
    }

    pub(crate) fn open_cancellable(
        dir: &Dir,
        directory: &str,
        profile: Profile,
        cancel: &CancelToken,
    ) -> Result<(Option<Self>, Vec<Diagnostic>), PackageError> {
        let mut found = Vec::new();
        let Some(skill) = read_skill_file(dir, &mut found) else {
            return Ok((None, found));
        };
        let files = walk::list(dir, cancel, &mut found)?;
        let mut sidecar = None;
        if files
            .iter()
            .any(|entry| entry.path.as_str() == SIDECAR_FILE)
        {
            sidecar = read_text(dir, SIDECAR_FILE, &mut found);
        }
        let store = match dir.try_clone() {
            Ok(dir) => Store::Directory(dir),
            Err(error) => {
                found.push(unreadable("", &error));
                return Ok((None, found));
            }
        };
        let package = assemble(
            Parts {
                files,
                skill,
                sidecar,
                store,
            },
            Some(directory),
            profile,
            &mut found,
        );
        Ok((package, found))
    }

    /// Checks a package whose files are in memory; its name is the declared one.
    ///
    /// The rules of files on disk hold. The package is absent exactly when a diagnostic is an
    /// error.
    pub fn from_files(
        files: impl IntoIterator<Item = (SkillPath, ModeClass, Vec<u8>)>,
        profile: Profile,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let mut entries = Vec::new();
        let mut store = BTreeMap::new();
        for (path, mode, bytes) in files {
            entries.push(FileEntry::new(path.clone(), bytes.len() as u64, mode));
            store.insert(path, Arc::from(bytes));
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        check_memory(&entries, &mut found);
        let bytes = |name: &str| {
            let path = entries
                .iter()
                .find(|entry| entry.path.as_str() == name)?
                .path
                .clone();
            let bytes: &Arc<[u8]> = store.get(&path)?;
            Some((path, bytes.to_vec()))
        };
        let sidecar = bytes(SIDECAR_FILE);
        let Some(skill) = bytes(SKILL_FILE) else {
            found.push(skill_file_missing());
            return (None, found);
        };
        let parts = Parts {
            files: entries,
            skill,
            sidecar,
            store: Store::Memory(store),
        };
        let package = assemble(parts, None, profile, &mut found);
        (package, found)
    }

    /// Returns the checked front matter.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the checked `bailiwick.yaml`; empty when the package has none.
    pub fn sidecar(&self) -> &Sidecar {
        &self.sidecar
    }

    /// Returns the isolated tools that the skill publishes: those that `tools` lists, then those of
    /// `bailiwick.yaml`.
    pub fn isolated_tools(&self) -> Vec<IsolatedDeclaration> {
        isolated_tools(self)
    }

    /// Returns every file in byte order, `SKILL.md` among them.
    pub fn files(&self) -> &[FileEntry] {
        &self.files
    }

    /// Computes the digest of the package (contracts 7.10), reading every file.
    ///
    /// # Errors
    ///
    /// As for [`read_all`](Self::read_all).
    pub fn digest(&self, cancel: &CancelToken) -> Result<Digest, PackageError> {
        let mut digests = Vec::with_capacity(self.files.len());
        for entry in &self.files {
            digests.push(Digest::of(&self.read_entry(entry, cancel)?));
        }
        Ok(digest_of(self.files.iter().zip(digests)))
    }

    /// Reads one file.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_FOUND` for a path that is no file of the package, `E_SKILL_DIGEST_MISMATCH`
    /// when the file is not the one that was listed, `E_SKILL_SOURCE_FAILED` when it cannot be
    /// read.
    pub fn read(&self, path: &SkillPath) -> Result<Vec<u8>, PackageError> {
        self.read_entry(self.entry(path)?, &CancelToken::new())
    }

    /// Returns the text of `SKILL.md` below its front matter.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub fn body(&self) -> Result<Vec<u8>, PackageError> {
        let mut bytes = self.read(&self.skill_file)?;
        // The file is the one that was parsed, so the body begins where it began then.
        Ok(bytes.split_off(self.manifest.body.start.min(bytes.len())))
    }

    /// Returns what is known of a file, or of the body, without reading it.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_FOUND` for a path that is no file of the package.
    pub fn stat(&self, path: Option<&SkillPath>) -> Result<FileStat, PackageError> {
        match path {
            None => Ok(FileStat::new(self.manifest.body.len() as u64)),
            Some(path) => self.entry(path).map(|entry| FileStat::new(entry.size)),
        }
    }

    /// Reads every file once and returns the bytes with the digest of exactly those bytes, so
    /// that what runs is what was verified.
    ///
    /// # Errors
    ///
    /// `E_SKILL_DIGEST_MISMATCH` when a file is not the one that was checked, `E_SKILL_CANCELLED`
    /// between two files, `E_SKILL_SOURCE_FAILED` when one cannot be read.
    pub fn read_all(&self, cancel: &CancelToken) -> Result<Contents, PackageError> {
        let mut files = Vec::with_capacity(self.files.len());
        for entry in &self.files {
            let bytes = self.read_entry(entry, cancel)?;
            files.push((entry.path.clone(), entry.mode, bytes));
        }
        let digests = files.iter().map(|(_, _, bytes)| Digest::of(bytes));
        let digest = digest_of(self.files.iter().zip(digests));
        Ok(Contents { files, digest })
    }

    fn entry(&self, path: &SkillPath) -> Result<&FileEntry, PackageError> {
        match self.files.binary_search_by(|entry| entry.path.cmp(path)) {
            Ok(place) => Ok(&self.files[place]),
            Err(_) => Err(PackageError::NoSuchFile { path: path.clone() }),
        }
    }

    fn read_entry(&self, entry: &FileEntry, cancel: &CancelToken) -> Result<Vec<u8>, PackageError> {
        if cancel.is_cancelled() {
            return Err(PackageError::Cancelled);
        }
        let changed = || PackageError::Changed {
            path: entry.path.clone(),
        };
        let bytes = match &self.store {
            Store::Memory(store) => store.get(&entry.path).ok_or_else(changed)?.to_vec(),
            Store::Directory(dir) => {
                let failed = |source| PackageError::Read {
                    path: entry.path.clone(),
                    source,
                };
                let (file, metadata) = walk::open(dir, &entry.path).map_err(failed)?;
                if walk::mode_class(&metadata) != entry.mode {
                    return Err(changed());
                }
                walk::read_capped(file, entry.size).map_err(failed)?
            }
        };
        let is_as_listed = bytes.len() as u64 == entry.size;
        let is_as_parsed = self
            .parsed
            .get(&entry.path)
            .is_none_or(|parsed| *parsed == Digest::of(&bytes));
        if is_as_listed && is_as_parsed {
            Ok(bytes)
        } else {
            Err(changed())
        }
    }
}

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Package")
            .field("manifest", &self.manifest)
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

/// Every file of a package and the digest of exactly those bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contents {
    /// Path, mode class and bytes of each file, in byte order of the paths.
    pub files: Vec<(SkillPath, ModeClass, Vec<u8>)>,
    /// The digest of the package.
    pub digest: Digest,
}

/// What a package is assembled from.
struct Parts {
    files: Vec<FileEntry>,
    skill: (SkillPath, Vec<u8>),
    sidecar: Option<(SkillPath, Vec<u8>)>,
    store: Store,
}

fn assemble(
    parts: Parts,
    directory: Option<&str>,
    profile: Profile,
    found: &mut Vec<Diagnostic>,
) -> Option<Package> {
    let (manifest, more) = Manifest::parse(&parts.skill.1, directory, profile);
    found.extend(more);
    let sidecar = match &parts.sidecar {
        None => Some(Sidecar::default()),
        Some((_, bytes)) => {
            let (sidecar, more) = Sidecar::parse(bytes);
            found.extend(more);
            sidecar
        }
    };
    let (manifest, sidecar) = (manifest?, sidecar?);
    inventory::check(&manifest, &sidecar, &parts.files, found);
    let skill_file = parts.skill.0.clone();
    let parsed = [Some(parts.skill), parts.sidecar]
        .into_iter()
        .flatten()
        .map(|(path, bytes)| (path, Digest::of(&bytes)))
        .collect();
    is_loadable(found).then_some(Package {
        manifest,
        sidecar,
        skill_file,
        files: parts.files,
        parsed,
        store: parts.store,
    })
}

fn digest_of<'a>(files: impl Iterator<Item = (&'a FileEntry, Digest)>) -> Digest {
    Digest::of_package(
        files.map(|(entry, digest)| (entry.path.as_str(), entry.mode, entry.size, digest)),
    )
}

/// Holds files in memory to the rules that the walk of a directory enforces.
fn check_memory(entries: &[FileEntry], found: &mut Vec<Diagnostic>) {
    if let Err(error) = SkillPath::parse_list(entries.iter().map(|entry| entry.path.as_str())) {
        let diagnostic = Diagnostic::error(DiagnosticId::PackagePathCollision, error.to_string());
        found.push(diagnostic.in_file(&error.path).help("rename one of them"));
    }
    if entries.len() > walk::MAX_FILES {
        let message = format!("the package has {} files", entries.len());
        found.push(Diagnostic::error(
            DiagnosticId::PackageTooManyFiles,
            message,
        ));
    }
    for entry in entries
        .iter()
        .filter(|entry| entry.size > walk::MAX_FILE_BYTES)
    {
        let message = format!(
            "the file has {} bytes and may have {}",
            entry.size,
            walk::MAX_FILE_BYTES
        );
        let diagnostic = Diagnostic::error(DiagnosticId::FileTooLarge, message);
        found.push(diagnostic.in_file(entry.path.as_str()));
    }
    let bytes: u64 = entries.iter().map(|entry| entry.size).sum();
    if bytes > walk::MAX_PACKAGE_BYTES {
        let message = format!(
            "the package has {bytes} bytes and may have {}",
            walk::MAX_PACKAGE_BYTES
        );
        found.push(Diagnostic::error(DiagnosticId::PackageTooLarge, message));
    }
}
