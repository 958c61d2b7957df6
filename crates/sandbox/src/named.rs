//! Paths that a call names, looked at and made beneath a session's roots.

use std::os::fd::OwnedFd;

use bailiwick_policy::{EffectivePolicy, HostPath, RelPath, Rights};
use rustix::fs::{FileType, Gid, Mode, OFlags, ResolveFlags, Uid, fchown, fstat, openat};
use rustix::io::Errno;

use crate::error::SandboxError;
use crate::session::{Session, open, refuse, unreadable};

/// What stands at a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever asks must decide about each kind"
)]
pub enum PathKind {
    /// A folder.
    Directory,
    /// A regular file.
    File,
    /// Anything else, a link among them: links are not followed.
    Other,
}

impl Session {
    /// Returns what stands at a path that the policy grants, without following any link.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for a path outside the session's roots or one that cannot be
    /// looked at.
    pub fn kind_of(&self, path: &HostPath) -> Result<Option<PathKind>, SandboxError> {
        let (root, inside) = self.holder(path)?;
        let found = if inside.is_empty() {
            root.try_clone().map_err(|error| unreadable(path, &error))?
        } else {
            match open(root, inside.as_str(), BENEATH) {
                Ok(found) => found,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(Errno::LOOP | Errno::XDEV) => return Ok(Some(PathKind::Other)),
                Err(errno) => return Err(unreadable(path, &errno.into())),
            }
        };
        let stat = fstat(&found).map_err(|errno| unreadable(path, &errno.into()))?;
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => PathKind::Directory,
            FileType::RegularFile => PathKind::File,
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => PathKind::Other,
        }))
    }

    /// Makes an empty file at a path that the policy grants for writing, unless something stands
    /// there. It belongs to the owner of its folder.
    ///
    /// A grant needs something to stand on; this is for a file that a run is to write and that does
    /// not exist yet. Returns whether the file was made.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when the policy does not grant that, or the folder is not there.
    pub fn create_file(
        &self,
        policy: &EffectivePolicy,
        path: &HostPath,
    ) -> Result<bool, SandboxError> {
        if !policy
            .effective_rights(path)
            .contains(Rights::WRITE | Rights::CREATE)
        {
            return Err(refuse(path, "the policy does not let it be made"));
        }
        let (root, inside) = self.holder(path)?;
        let Some((folder, name)) = split(&inside) else {
            return Ok(false);
        };
        let failed = |errno: Errno| unreadable(path, &errno.into());
        let folder = open(root, folder, BENEATH).map_err(failed)?;
        match create(&folder, name) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }
}

fn create(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    let owner = fstat(folder)?;
    if fstat(&file)?.st_uid == owner.st_uid {
        return Ok(());
    }
    fchown(
        &file,
        Some(Uid::from_raw(owner.st_uid)),
        Some(Gid::from_raw(owner.st_gid)),
    )
}

/// Parts a place inside a root into its folder and its name; the root itself has none.
fn split(inside: &RelPath) -> Option<(&str, &str)> {
    match inside.as_str() {
        "" => None,
        path => Some(path.rsplit_once('/').unwrap_or((".", path))),
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

#[cfg(test)]
mod tests {
    use bailiwick_policy::{Origin, SandboxPolicy, derive};

    use super::*;

    fn host(path: &std::path::Path) -> HostPath {
        path.to_str().expect("UTF-8").parse().expect("a path")
    }

    #[test]
    fn looks_without_following_links_and_never_outside_the_session() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a folder");
        std::fs::create_dir(folder.join("sub")).expect("a folder");
        std::fs::File::create(folder.join("sub/file")).expect("a file");
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).expect("a link");
        std::os::unix::fs::symlink("/etc", folder.join("etc")).expect("a link");
        let session = Session::open(&[host(&folder)]).expect("a session");
        for (name, kind) in [
            ("", Some(PathKind::Directory)),
            ("sub", Some(PathKind::Directory)),
            ("sub/file", Some(PathKind::File)),
            ("link", Some(PathKind::Other)),
            ("etc/passwd", Some(PathKind::Other)),
            ("gone", None),
            ("sub/file/below", None),
        ] {
            let path = if name.is_empty() {
                folder.clone()
            } else {
                folder.join(name)
            };
            assert_eq!(session.kind_of(&host(&path)).expect(name), kind, "{name}");
        }
        assert!(
            session
                .kind_of(&host(std::path::Path::new("/etc/passwd")))
                .is_err()
        );
    }

    #[test]
    fn makes_only_what_the_policy_lets_be_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a folder");
        std::os::unix::fs::symlink("/etc", folder.join("etc")).expect("a link");
        let session = Session::open(&[host(&folder)]).expect("a session");
        let policy = |rights| {
            let policy = SandboxPolicy::deny_all().grant(host(&folder), rights, Origin::Code);
            derive(&policy, &policy).expect("a policy")
        };
        let new = host(&folder.join("new"));
        assert!(
            session
                .create_file(&policy(Rights::READ_ONLY), &new)
                .is_err()
        );
        let writing = policy(Rights::READ_WRITE);
        assert!(session.create_file(&writing, &new).expect("it is made"));
        assert!(!session.create_file(&writing, &new).expect("it is there"));
        assert!(
            session
                .create_file(&writing, &host(&folder.join("etc/new")))
                .is_err()
        );
    }
}
