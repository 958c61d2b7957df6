//! The roots beneath which a skill reads, as directory handles.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use bailiwick_core::SkillError;
use cap_std::fs::Dir;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::HostError;

/// The directories and files that a skill may read, opened once.
///
/// A handle stays with the directory that was granted: renaming it, or putting a link in its
/// place, changes nothing for who holds the handle. Paths of a guest are compared with the roots
/// as text first, after `.` and `..` are resolved, and then opened beneath the handle, where
/// neither `..` nor a link leads out. A link that stays within its root is followed.
///
/// # Not enforced
///
/// A hard link beneath a root cannot be told from the file, and what is mounted beneath a root
/// belongs to it. Information about processes (`/proc`) is refused under any root.
#[derive(Default)]
pub struct Roots {
    list: Vec<Root>,
}

impl Roots {
    /// Holds nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Opens every root, each with the rule that grants it.
    ///
    /// A root is an absolute path with no link on the way: a directory with all beneath it, or
    /// one file.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for a root that does not exist, is neither file nor directory, or
    /// is not a resolved path.
    pub fn open(roots: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, SkillError> {
        let opened = roots.into_iter().map(|(path, origin)| {
            Root::open(&path)
                .map_err(|(reason, source)| HostError::Root {
                    path,
                    origin: origin.clone(),
                    reason,
                    source,
                })
                .map(|root| Root { origin, ..root })
        });
        let mut list = opened.collect::<Result<Vec<_>, _>>()?;
        // The widest root comes first, so that a link from one root to a nested one stays inside.
        list.sort_by_key(|root| (root.only.is_some(), root.path.components().count()));
        Ok(Self { list })
    }

    /// Returns each root with the rule that grants it.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.list
            .iter()
            .map(|root| (root.path.as_path(), root.origin.as_str()))
    }

    /// Finds the root that holds a path which a guest gave, without looking at the disk.
    pub(crate) fn locate(&self, cwd: &Path, asked: &str) -> Option<Location<'_>> {
        let path = resolve(cwd, Path::new(asked));
        self.list.iter().find_map(|root| {
            let rest = path.strip_prefix(&root.path).ok()?;
            let is_held = root.only.is_none() || rest.as_os_str().is_empty();
            is_held.then(|| Location {
                dir: &root.dir,
                rest: root
                    .only
                    .as_ref()
                    .map_or_else(|| rest.to_owned(), PathBuf::from),
                follow: root.only.is_none(),
            })
        })
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

struct Root {
    path: PathBuf,
    origin: String,
    dir: Dir,
    /// The name of the only file of `dir` that is granted.
    only: Option<OsString>,
}

impl Root {
    fn open(path: &Path) -> Result<Self, (&'static str, Option<io::Error>)> {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) {
            return Err(("it is not an absolute, resolved path", None));
        }
        let path: PathBuf = path.components().collect();
        let handle = open_without_links(&path)?;
        let kind = rustix::fs::fstat(&handle)
            .map(|stat| FileType::from_raw_mode(stat.st_mode))
            .map_err(|error| ("it cannot be looked at", Some(error.into())))?;
        let (dir, only) = match (kind, path.parent(), path.file_name()) {
            (FileType::Directory, _, _) => (handle, None),
            (FileType::RegularFile, Some(parent), Some(name)) => {
                (open_without_links(parent)?, Some(name.to_owned()))
            }
            _ => return Err(("it is neither a directory nor a regular file", None)),
        };
        Ok(Self {
            dir: Dir::from_std_file(dir),
            only,
            origin: String::new(),
            path,
        })
    }
}

/// A path beneath a root; nothing of it has been looked at yet.
pub(crate) struct Location<'a> {
    pub(crate) dir: &'a Dir,
    /// Relative and without `.` and `..`; empty for the root itself.
    pub(crate) rest: PathBuf,
    /// Whether links are followed, as far as they stay beneath the handle.
    pub(crate) follow: bool,
}

/// Resolves `.` and `..` as text; what stands above the top stays at the top.
fn resolve(cwd: &Path, asked: &Path) -> PathBuf {
    let mut path = PathBuf::from("/");
    // Joining an absolute path replaces what it is joined to.
    for part in cwd.join(asked).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                path.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    path
}

/// Opens a path of the host's configuration as a place to begin from, without reading it.
fn open_without_links(path: &Path) -> Result<File, (&'static str, Option<io::Error>)> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(handle) => Ok(File::from(handle)),
        Err(error) => {
            let reason = match error {
                Errno::NOENT | Errno::NOTDIR => "it does not exist",
                Errno::LOOP => "there is a link on the way to it",
                _ => "it cannot be opened",
            };
            Err((reason, Some(error.into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_resolves_against_the_directory_and_never_above_the_top() {
        let at = |asked: &str| resolve(Path::new("/w/sub"), Path::new(asked));
        assert_eq!(at("a"), Path::new("/w/sub/a"));
        assert_eq!(at("./../a//b/"), Path::new("/w/a/b"));
        assert_eq!(at("/etc/./passwd"), Path::new("/etc/passwd"));
        assert_eq!(at("../../../../etc"), Path::new("/etc"));
        assert_eq!(at(""), Path::new("/w/sub"));
    }

    proptest! {
        #[test]
        fn a_resolved_path_is_absolute_and_plain(asked in "[a./]{0,24}") {
            let path = resolve(Path::new("/w"), Path::new(&asked));
            prop_assert!(path.is_absolute());
            prop_assert!(path.components().skip(1).all(|c| matches!(c, Component::Normal(_))));
        }
    }
}
