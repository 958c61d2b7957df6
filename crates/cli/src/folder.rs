//! Folders and files that belong to the person alone.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use bailiwick::Error;

use crate::error::cannot;

/// Makes a folder that only its owner can enter, or checks that nobody else can change the one
/// that is there.
pub(crate) fn private(path: &Path) -> Result<(), Error> {
    let failed = |error| {
        cannot(
            "keep anything in",
            path,
            "give it to yourself alone, or name another",
            error,
        )
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    let metadata = made.and_then(|()| path.metadata()).map_err(failed)?;
    if metadata.is_dir() && is_ours_alone(&metadata) {
        return Ok(());
    }
    Err(failed(io::ErrorKind::PermissionDenied.into()))
}

/// Reads a file of at most `cap` bytes; nothing where there is none.
pub(crate) fn read_capped(path: &Path, cap: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    capped(file, cap).map(Some)
}

/// Reads to the end, or fails past `cap` bytes.
pub(crate) fn capped(from: impl io::Read, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Replaces a file as a whole; it is readable by its owner alone.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name))?;
    File::open(folder)?.sync_all()
}

/// Says whether the owner is who runs this program and nobody else may write.
fn is_ours_alone(metadata: &Metadata) -> bool {
    metadata.uid() == nix::unistd::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("a/b");
        private(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(
            private(&folder).unwrap_err().code(),
            bailiwick::Code::InvalidSkillsConfig
        );
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_private() {
        let base = tempfile::tempdir().unwrap();
        replace(base.path(), "x", b"one").unwrap();
        replace(base.path(), "x", b"two").unwrap();
        let path = base.path().join("x");
        assert_eq!(read_capped(&path, 3).unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(
            read_capped(&path, 2).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(read_capped(&base.path().join("y"), 2).unwrap(), None);
    }
}
