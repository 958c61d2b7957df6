//! Files of a package on disk, by directory handle.
//!
//! Nothing here follows a link. Hard links are accepted: on disk they cannot be told from the file
//! itself, their bytes are copied and digested like any other's, and nothing is written through
//! them. A folder `.git` belongs to version control and is no part of a package.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use bailiwick_core::{CancelToken, FileEntry, ModeClass, SkillPath};
use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, DirEntry, File, FileType, Metadata, MetadataExt as _, OpenOptions};

use crate::diagnostic::Diagnostic;
use crate::error::PackageError;
use crate::id::DiagnosticId;

/// Lists the files of a package in byte order, and reports what is no part of one.
pub(crate) fn list(
    root: &Dir,
    cancel: &CancelToken,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<FileEntry>, PackageError> {
    let mut walk = Walk {
        cancel,
        found,
        files: Vec::new(),
        folded: BTreeMap::new(),
        seen: 0,
        bytes: 0,
    };
    walk.folder(root, "")?;
    walk.check_totals();
    let mut files = walk.files;
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Opens a regular file beneath a root without following a link in any segment and without
/// waiting for the other end of a pipe.
pub(crate) fn open(root: &Dir, path: &SkillPath) -> io::Result<(File, Metadata)> {
    let mut segments: Vec<&str> = path.segments().collect();
    let name = segments.pop().unwrap_or_default();
    let mut folder = None;
    for segment in segments {
        folder = Some(folder.as_ref().unwrap_or(root).open_dir_nofollow(segment)?);
    }
    open_name(folder.as_ref().unwrap_or(root), name)
}

/// Opens a regular file of one folder; the rules of [`open`] hold.
pub(crate) fn open_name(folder: &Dir, name: &str) -> io::Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options)?;
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok((file, metadata))
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ))
    }
}

/// Opens one file of a package that was checked before, without walking the package again.
pub(crate) fn open_listed(root: &Dir, path: &SkillPath) -> Result<(File, Metadata), PackageError> {
    if path.segments().any(|segment| segment == VERSION_CONTROL) {
        return Err(PackageError::NoSuchFile { path: path.clone() });
    }
    let opened = open(root, path).map_err(|source| {
        let path = path.clone();
        if source.kind() == io::ErrorKind::NotFound {
            PackageError::NoSuchFile { path }
        } else {
            PackageError::Read { path, source }
        }
    })?;
    if opened.1.len() > MAX_FILE_BYTES {
        return Err(PackageError::Changed { path: path.clone() });
    }
    Ok(opened)
}

/// Reads a file to its end, or to one byte past a cap so that the caller sees the excess.
pub(crate) fn read_capped(file: File, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.into_std()
        .take(cap.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the class of a file's mode.
pub(crate) fn mode_class(metadata: &Metadata) -> ModeClass {
    if metadata.mode() & 0o111 == 0 {
        ModeClass::Regular
    } else {
        ModeClass::Executable
    }
}

struct Walk<'a> {
    cancel: &'a CancelToken,
    found: &'a mut Vec<Diagnostic>,
    files: Vec<FileEntry>,
    /// The paths so far, folded as file systems may.
    folded: BTreeMap<String, SkillPath>,
    seen: usize,
    bytes: u64,
}

impl Walk<'_> {
    /// Walks one folder; `prefix` is its path with a trailing `/`, or empty.
    fn folder(&mut self, folder: &Dir, prefix: &str) -> Result<(), PackageError> {
        let entries = match folder.entries() {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable(prefix.trim_end_matches('/'), &error);
                return Ok(());
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            if self.cancel.is_cancelled() {
                return Err(PackageError::Cancelled);
            }
            self.seen += 1;
            if self.seen > MAX_FILES {
                break;
            }
            match entry {
                Ok(entry) => names.extend(self.name(&entry, prefix)),
                Err(error) => self.unreadable(prefix.trim_end_matches('/'), &error),
            }
        }
        names.sort_unstable();
        for name in names {
            let path = format!("{prefix}{name}");
            match folder.symlink_metadata(&name) {
                Ok(metadata) => self.entry(folder, &name, &path, &metadata)?,
                Err(error) => self.unreadable(&path, &error),
            }
        }
        Ok(())
    }

    fn name(&mut self, entry: &DirEntry, prefix: &str) -> Option<String> {
        match entry.file_name().into_string() {
            Ok(name) if name == VERSION_CONTROL => None,
            Ok(name) => Some(name),
            Err(name) => {
                let shown = format!("{prefix}{}", name.to_string_lossy());
                let error = Diagnostic::error(
                    DiagnosticId::PackageNameNotUtf8,
                    format!("the file name `{}` is not UTF-8", name.display()),
                );
                self.found
                    .push(error.in_file(shown).help("rename the file"));
                None
            }
        }
    }

    fn entry(
        &mut self,
        folder: &Dir,
        name: &str,
        path: &str,
        metadata: &Metadata,
    ) -> Result<(), PackageError> {
        let kind = metadata.file_type();
        if kind.is_symlink() {
            self.link(folder, name, path);
            return Ok(());
        }
        if !kind.is_dir() && !kind.is_file() {
            self.special(path, kind);
            return Ok(());
        }
        let Some(path) = self.path(path) else {
            return Ok(());
        };
        if kind.is_dir() {
            match folder.open_dir_nofollow(name) {
                Ok(inner) => self.folder(&inner, &format!("{path}/"))?,
                Err(error) => self.unreadable(path.as_str(), &error),
            }
        } else {
            self.file(path, metadata);
        }
        Ok(())
    }

    fn path(&mut self, text: &str) -> Option<SkillPath> {
        let refused = match text.parse::<SkillPath>() {
            // A file named `a\b` must not be taken for `b` in a folder `a`.
            Ok(path) if path.as_str() == text => {
                return self.unique(path);
            }
            Ok(_) => "it is spelled with a separator that is not `/`".to_owned(),
            Err(error) => error.reason.to_string(),
        };
        let message = format!("the path {text:?} is rejected: {refused}");
        let error = Diagnostic::error(DiagnosticId::PackagePathRejected, message);
        self.found
            .push(error.in_file(text).help("rename the file or folder"));
        None
    }

    fn unique(&mut self, path: SkillPath) -> Option<SkillPath> {
        let Some(earlier) = self.folded.insert(path.fold(), path.clone()) else {
            return Some(path);
        };
        let message = format!("`{path}` and `{earlier}` are one file on some file systems");
        let error = Diagnostic::error(DiagnosticId::PackagePathCollision, message);
        self.found
            .push(error.in_file(path.as_str()).help("rename one of them"));
        None
    }

    fn file(&mut self, path: SkillPath, metadata: &Metadata) {
        let size = metadata.len();
        if size > MAX_FILE_BYTES {
            let message = format!("the file has {size} bytes and may have {MAX_FILE_BYTES}");
            let error = Diagnostic::error(DiagnosticId::FileTooLarge, message);
            self.found.push(
                error
                    .in_file(path.as_str())
                    .help("keep large data outside the skill"),
            );
        }
        self.bytes = self.bytes.saturating_add(size);
        self.files
            .push(FileEntry::new(path, size, mode_class(metadata)));
    }

    fn link(&mut self, folder: &Dir, name: &str, path: &str) {
        let message = format!("{} is no part of the package", describe_link(folder, name));
        let id = DiagnosticId::PackageLink;
        let diagnostic = if path == SCRIPTS || path.starts_with("scripts/") {
            Diagnostic::error(id, message)
        } else {
            Diagnostic::warning(id, message)
        };
        self.found
            .push(diagnostic.in_file(path).help("put the file itself there"));
    }

    fn special(&mut self, path: &str, kind: FileType) {
        let message = format!("{} is no part of a package", describe(kind));
        let error = Diagnostic::error(DiagnosticId::PackageSpecialFile, message);
        self.found.push(error.in_file(path).help("remove it"));
    }

    fn unreadable(&mut self, path: &str, error: &io::Error) {
        let error = Diagnostic::error(
            DiagnosticId::FileUnreadable,
            format!("cannot be read: {error}"),
        );
        self.found
            .push(error.in_file(path).help("check the permissions"));
    }

    fn check_totals(&mut self) {
        if self.seen > MAX_FILES {
            let error = Diagnostic::error(
                DiagnosticId::PackageTooManyFiles,
                format!("the package has more than {MAX_FILES} files and folders"),
            );
            self.found
                .push(error.help("keep caches and dependencies outside the skill"));
        }
        if self.bytes > MAX_PACKAGE_BYTES {
            let error = Diagnostic::error(
                DiagnosticId::PackageTooLarge,
                format!(
                    "the package has {} bytes and may have {MAX_PACKAGE_BYTES}",
                    self.bytes
                ),
            );
            self.found
                .push(error.help("keep large data outside the skill"));
        }
    }
}

/// Names a kind of file with its article.
pub(crate) fn describe(kind: FileType) -> &'static str {
    use cap_fs_ext::FileTypeExt as _;

    if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_file() {
        "a file"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "a special file"
    }
}

/// Describes a link by where it leads, with its article.
pub(crate) fn describe_link(folder: &Dir, name: &str) -> &'static str {
    match folder.metadata(name) {
        Ok(_) => "a symbolic link",
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "a symbolic link that leads nowhere"
        }
        // The handle refuses to look further than its folder.
        Err(_) => "a symbolic link that leads out of its folder",
    }
}

const VERSION_CONTROL: &str = ".git";
const SCRIPTS: &str = "scripts";

/// The largest file of a package, in bytes; the largest script found in public skills has 2.1 MB.
pub(crate) const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The largest package, in bytes; the largest public skill found has 5.5 MB.
pub(crate) const MAX_PACKAGE_BYTES: u64 = 64 * 1024 * 1024;

/// The most files and folders of a package; the largest public skill found has 165 files.
pub(crate) const MAX_FILES: usize = 4096;
