//! Folders that nobody else may write.

use std::fs::{DirBuilder, metadata};
use std::io;
use std::path::Path;

/// Makes a folder for this user alone, with those above it, and refuses one that is open to others.
///
/// What an engine keeps in a folder it later runs, so whoever can write there can be this process.
/// A folder that is there already keeps its mode.
///
/// # Errors
///
/// Those of the system; and [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a folder that
/// belongs to another user, or that its group or everybody may write.
///
/// # Not enforced
///
/// The folders above it are not looked at.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    refuse_open(folder)
}

#[cfg(unix)]
fn refuse_open(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = metadata(folder)?;
    let what = if metadata.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if metadata.mode() & 0o022 != 0 {
        "may be written by others"
    } else {
        return Ok(());
    };
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("`{}` {what}", folder.display()),
    ))
}

#[cfg(not(unix))]
fn refuse_open(folder: &Path) -> io::Result<()> {
    metadata(folder).map(|_| ())
}
