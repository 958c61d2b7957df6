//! Opening what lies beneath a handle, and refusing what is no file of text or bytes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, FileType, FileTypeExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{OFlags, PROC_SUPER_MAGIC};
use rustix::io::Errno;

use crate::error::FileFault;
use crate::roots::Location;

/// Why something beneath a root was not opened.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// A link on the way leaves the root.
    Escapes,
    /// It is not what was asked for, or cannot be read.
    Fault(FileFault, Option<io::Error>),
}

impl From<FileFault> for Obstacle {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault, None)
    }
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Self {
        // The handle's own refusal to leave carries no number of the system.
        if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
            return Self::Escapes;
        }
        let fault = match Errno::from_io_error(&error) {
            Some(Errno::XDEV) => return Self::Escapes,
            Some(Errno::NOENT | Errno::NOTDIR) => FileFault::NotFound,
            Some(Errno::ACCESS | Errno::PERM) => FileFault::PermissionDenied,
            Some(Errno::LOOP | Errno::NAMETOOLONG) => FileFault::Unresolvable,
            _ => FileFault::Failed,
        };
        Self::Fault(fault, Some(error))
    }
}

impl Location<'_> {
    /// Opens the regular file of this place and returns it with its size.
    pub(crate) fn open_file(&self) -> Result<(File, u64), Obstacle> {
        open_file(self.dir, &self.named(), self.follow)
    }

    /// Returns whether there is a directory here.
    pub(crate) fn is_dir(&self) -> Result<bool, Obstacle> {
        if !self.follow {
            return Ok(false);
        }
        Ok(self.dir.metadata(self.named())?.is_dir())
    }

    /// Opens the directory of this place.
    pub(crate) fn open_dir(&self) -> Result<Dir, Obstacle> {
        if !self.is_dir()? {
            return Err(FileFault::NotDirectory.into());
        }
        let dir = self.dir.open_dir(self.named())?;
        refuse_process_information(&dir)?;
        Ok(dir)
    }

    fn named(&self) -> PathBuf {
        if self.rest.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            self.rest.clone()
        }
    }
}

/// Opens a regular file beneath a handle and returns it with its size.
///
/// Opening a device can have an effect and opening a pipe can wait for ever, so the kind is looked
/// at before. Should the file be swapped in between, the open does not wait, and the kind is looked
/// at again.
pub(crate) fn open_file(dir: &Dir, path: &Path, follow: bool) -> Result<(File, u64), Obstacle> {
    let before = if follow {
        dir.metadata(path)?
    } else {
        dir.symlink_metadata(path)?
    };
    refuse_other_than_files(before.file_type())?;
    let follow = if follow {
        FollowSymlinks::Yes
    } else {
        FollowSymlinks::No
    };
    let mut options = OpenOptions::new();
    options.read(true).follow(follow).nonblock(true);
    // Not even a terminal that was swapped in becomes the host's.
    options.custom_flags(OFlags::NOCTTY.bits().cast_signed());
    let file = dir.open_with(path, &options)?;
    let metadata = file.metadata()?;
    refuse_other_than_files(metadata.file_type())?;
    let file = file.into_std();
    refuse_process_information(&file)?;
    Ok((file, metadata.len()))
}

/// Refuses what the kernel tells about processes: `self` there is the host, not the guest.
pub(crate) fn refuse_process_information(handle: impl rustix::fd::AsFd) -> Result<(), Obstacle> {
    let system = rustix::fs::fstatfs(handle).map_err(io::Error::from)?;
    if system.f_type == PROC_SUPER_MAGIC {
        return Err(FileFault::ProcessInformation.into());
    }
    Ok(())
}

fn refuse_other_than_files(kind: FileType) -> Result<(), Obstacle> {
    if kind.is_file() {
        return Ok(());
    }
    Err(FileFault::NotRegular(describe(kind)).into())
}

fn describe(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a link"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}
