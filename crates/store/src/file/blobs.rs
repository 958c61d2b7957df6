//! Bytes in files named by their digest.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bailiwick_core::Digest;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use crate::error::{Damage, StoreError};
use crate::file::folder::{Folder, private_file, subfolder};

/// The files of a store: `blobs/<two digits>/<the other 62>`, and `incoming/` for those that are
/// being written.
#[derive(Debug)]
pub(crate) struct Blobs {
    root: Dir,
    incoming: Dir,
    /// Files whose bytes matched their digest, as they looked then.
    verified: Mutex<HashMap<Digest, Stamp>>,
}

/// What changes when a file's bytes do, short of a failing disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Blobs {
    pub(crate) fn open(folder: &Folder) -> Result<Self, StoreError> {
        let inside = |name| {
            folder
                .subfolder(name)
                .map_err(StoreError::io("open its folder"))
        };
        Ok(Self {
            root: inside("blobs")?,
            incoming: inside("incoming")?,
            verified: Mutex::default(),
        })
    }

    /// Keeps bytes on the disk before it returns; does nothing when they are there and intact.
    ///
    /// They are written aside and renamed, so that no reader sees a part of them.
    pub(crate) fn write(&self, digest: &Digest, bytes: &[u8]) -> io::Result<()> {
        if self.intact(digest)?.is_ok() {
            return Ok(());
        }
        let (shelf, name) = place(digest);
        let shelf = subfolder(&self.root, &shelf)?;
        let aside = format!("{:016x}", getrandom::u64().map_err(io::Error::other)?);
        let mut file = self
            .incoming
            .open_with(&aside, private_file().write(true).create_new(true))?
            .into_std();
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| self.incoming.rename(&aside, &shelf, &name));
        if let Err(error) = written {
            // The first error is the one that says what happened; a remainder is swept later.
            let _ = self.incoming.remove_file(&aside);
            return Err(error);
        }
        sync(&shelf)?;
        sync(&self.root)
    }

    /// Opens bytes that are there and match their digest.
    pub(crate) fn intact(&self, digest: &Digest) -> io::Result<Result<File, Damage>> {
        let (shelf, name) = place(digest);
        // Looked at before they are opened: a link or a pipe in their place is damage, and must
        // not be waited for.
        let look = |dir: &Dir, name: &str| match dir.symlink_metadata(name) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        match look(&self.root, &shelf)? {
            Some(metadata) if metadata.is_dir() => {}
            Some(_) => return Ok(Err(Damage::Altered)),
            None => return Ok(Err(Damage::Missing)),
        }
        let shelf = self.root.open_dir_nofollow(&shelf)?;
        match look(&shelf, &name)? {
            Some(metadata) if metadata.is_file() => {}
            Some(_) => return Ok(Err(Damage::Altered)),
            None => return Ok(Err(Damage::Missing)),
        }
        let mut file = match shelf.open_with(&name, private_file().read(true)) {
            Ok(file) => file.into_std(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Err(Damage::Missing));
            }
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&file.metadata()?);
        if self.verified().get(digest) != Some(&stamp) {
            if hash(&mut file)? != *digest.as_bytes() {
                return Ok(Err(Damage::Altered));
            }
            file.rewind()?;
            let mut verified = self.verified();
            if verified.len() >= MAX_VERIFIED {
                verified.clear();
            }
            verified.insert(*digest, stamp);
        }
        Ok(Ok(file))
    }

    /// Deletes bytes, when they are there.
    pub(crate) fn remove(&self, digest: &Digest) -> io::Result<()> {
        let (shelf, name) = place(digest);
        self.verified().remove(digest);
        let removed = self
            .root
            .open_dir_nofollow(&shelf)
            .and_then(|shelf| shelf.remove_file(&name));
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Lists the digests by which files are named; what is named otherwise is not ours to touch.
    pub(crate) fn all(&self) -> io::Result<Vec<Digest>> {
        let mut found = Vec::new();
        for shelf in self.root.entries()? {
            let shelf = shelf?.file_name();
            let Some(start) = shelf.to_str() else {
                continue;
            };
            let Ok(inside) = self.root.open_dir_nofollow(start) else {
                continue;
            };
            for entry in inside.entries()? {
                let name = entry?.file_name();
                let Some(rest) = name.to_str() else { continue };
                found.extend(format!("sha256:{start}{rest}").parse::<Digest>());
            }
        }
        Ok(found)
    }

    /// Deletes what was never finished; only while nobody is writing.
    pub(crate) fn clear_incoming(&self) -> io::Result<()> {
        for entry in self.incoming.entries()? {
            self.incoming.remove_file(entry?.file_name())?;
        }
        Ok(())
    }

    fn verified(&self) -> MutexGuard<'_, HashMap<Digest, Stamp>> {
        // Whatever a panic left in it is checked against the file again.
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Returns the folder and the name under which a digest's bytes are kept.
fn place(digest: &Digest) -> (String, String) {
    let mut shelf = digest.to_hex();
    let name = shelf.split_off(2);
    (shelf, name)
}

fn hash(file: &mut File) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().into()),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes a folder's entries last; it is opened anew because a handle for names cannot be synced.
fn sync(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

const BUFFER: usize = 64 * 1024;
/// Beyond this many the list starts anew; each is about 100 bytes.
const MAX_VERIFIED: usize = 4096;
