//! What the host sees of a run's scratch, through the descriptor of its `out`.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, fstatvfs, openat, statat};
use rustix::io::Errno;

/// What a scratch has run out of.
///
/// Its ceilings lie above the limits ([`scratch_ceilings`](crate::limits::scratch_ceilings)): a run
/// that only fills its workspace has not reached them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Full {
    pub(crate) space: bool,
    pub(crate) inodes: bool,
}

impl Full {
    /// Looks once. What a run freed before is not seen.
    pub(crate) fn look(out: impl AsFd) -> Self {
        fstatvfs(out).map_or_else(
            |_| Self::default(),
            |status| Self {
                space: status.f_bfree == 0,
                inodes: status.f_ffree == 0,
            },
        )
    }

    /// Adds what was seen at another time.
    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self {
            space: self.space || other.space,
            inodes: self.inodes || other.inodes,
        }
    }
}

/// Says whether a file is as large as the limit lets a file be: a write was cut there, or could not
/// go on.
///
/// The files are the run's own work: no link is followed, and what is too deep or too much is left
/// unseen.
pub(crate) fn holds_file_of(out: &OwnedFd, size: u64) -> bool {
    let mut looks = LOOKS;
    above(out).is_ok_and(|scratch| search(&scratch, size, DEPTH, &mut looks))
}

/// Opens the top of the scratch, of which `out` is a folder.
fn above(out: &OwnedFd) -> Result<OwnedFd, Errno> {
    let top = openat(out, "..", FLAGS, Mode::empty())?;
    if fstat(&top)?.st_dev == fstat(out)?.st_dev {
        return Ok(top);
    }
    openat(out, ".", FLAGS, Mode::empty())
}

fn search(folder: &OwnedFd, size: u64, depth: u32, looks: &mut u32) -> bool {
    let Ok(entries) = Dir::read_from(folder) else {
        return false;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Some(left) = looks.checked_sub(1) else {
            return false;
        };
        *looks = left;
        let Ok(status) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => {
                if u64::try_from(status.st_size).is_ok_and(|found| found >= size) {
                    return true;
                }
            }
            FileType::Directory if depth > 0 => {
                let inner = openat(folder, name, FLAGS, Mode::empty());
                if inner.is_ok_and(|inner| search(&inner, size, depth - 1, looks)) {
                    return true;
                }
            }
            FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }
    false
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Each level holds two descriptors.
const DEPTH: u32 = 16;
/// Twice the entries that a scratch has by default.
const LOOKS: u32 = 8192;

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files of their own in a folder of their own"
)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use super::*;

    fn folder_of(path: &Path) -> OwnedFd {
        File::open(path).expect("a folder").into()
    }

    #[test]
    fn a_file_of_the_size_is_found_beneath_the_scratch_and_not_through_a_link() {
        let place = tempfile::tempdir().expect("a folder");
        let scratch = place.path().join("scratch");
        let out = scratch.join("out");
        fs::create_dir_all(out.join("a/b")).expect("folders");
        fs::create_dir_all(scratch.join("tmp")).expect("a folder");
        fs::write(place.path().join("foreign"), [0; 100]).expect("a file");
        std::os::unix::fs::symlink("../../foreign", out.join("link")).expect("a link");
        std::os::unix::fs::symlink("../..", out.join("up")).expect("a link");
        let holds = || holds_file_of(&folder_of(&out), 100);
        fs::write(out.join("a/b/small"), [0; 99]).expect("a file");
        assert!(!holds());
        fs::write(scratch.join("tmp/large"), [0; 100]).expect("a file");
        assert!(holds());
        fs::remove_file(scratch.join("tmp/large")).expect("removed");
        assert!(!holds());
        fs::write(out.join("a/b/large"), [0; 100]).expect("a file");
        assert!(holds());
    }

    #[test]
    fn a_tree_that_is_too_deep_is_left_unseen() {
        let place = tempfile::tempdir().expect("a folder");
        let out = place.path().join("scratch/out");
        let deep = out.join("d/".repeat(200));
        fs::create_dir_all(&deep).expect("folders");
        fs::write(deep.join("large"), [0; 100]).expect("a file");
        assert!(!holds_file_of(&folder_of(&out), 100));
    }
}
