//! The private folder, and the locks that its users take.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilderExt as _, MetadataExt as _, OpenOptions, OpenOptionsExt as _};

use crate::error::StoreError;

/// A folder that only its owner can enter, by handle.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: Dir,
    path: PathBuf,
}

/// A lock on the folder; dropping it lets go, and so does the end of the process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Folder {
    /// Opens a folder, and makes it with those above it when it is not there.
    ///
    /// A folder that others can enter is refused and not repaired: it may not be ours to close.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let refuse = |reason: String| StoreError::Folder {
            path: path.to_owned(),
            reason,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_FOLDER)
            .create(path)
            .map_err(|error| refuse(format!("it cannot be made ({error})")))?;
        let path = path
            .canonicalize()
            .map_err(|error| refuse(format!("it cannot be found ({error})")))?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())
            .map_err(|error| refuse(format!("it cannot be opened ({error})")))?;
        let mode = dir
            .dir_metadata()
            .map_err(|error| refuse(format!("it cannot be looked at ({error})")))?
            .mode();
        if mode & OTHERS != 0 {
            return Err(refuse(format!(
                "others can enter it (mode {:o})",
                mode & 0o7777
            )));
        }
        Ok(Self { dir, path })
    }

    /// Returns the path of a file in the folder, for a library that opens files itself.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a folder inside, and makes it when it is not there.
    pub(crate) fn subfolder(&self, name: &str) -> io::Result<Dir> {
        subfolder(&self.dir, name)
    }

    /// Makes an empty private file when none has the name.
    pub(crate) fn touch(&self, name: &str) -> io::Result<File> {
        let file = self
            .dir
            .open_with(name, private_file().read(true).write(true).create(true))?;
        Ok(file.into_std())
    }

    /// Waits for the lock that writers share.
    pub(crate) fn shared(&self) -> Result<Lock, StoreError> {
        self.lock(WRITERS, File::try_lock_shared, PATIENCE)?
            .ok_or_else(busy)
    }

    /// Waits a moment for nobody to be writing; nothing when somebody always is.
    pub(crate) fn alone(&self) -> Result<Option<Lock>, StoreError> {
        self.lock(WRITERS, File::try_lock, MOMENT)
    }

    /// Takes the folder for oneself, when nobody is writing.
    pub(crate) fn try_alone(&self) -> Result<Option<Lock>, StoreError> {
        self.lock(WRITERS, File::try_lock, Duration::ZERO)
    }

    /// Waits for one's turn to open the index.
    pub(crate) fn opening(&self) -> Result<Lock, StoreError> {
        self.lock(OPENERS, File::try_lock, PATIENCE)?
            .ok_or_else(busy)
    }

    /// Tries for a lock until the patience ends. Each lock is a file of its own opening, so that
    /// threads of one process exclude each other as processes do.
    fn lock(
        &self,
        name: &str,
        attempt: impl Fn(&File) -> Result<(), TryLockError>,
        patience: Duration,
    ) -> Result<Option<Lock>, StoreError> {
        let file = self.touch(name).map_err(StoreError::io("open a lock"))?;
        let started = Instant::now();
        loop {
            match attempt(&file) {
                Ok(()) => return Ok(Some(Lock { _file: file })),
                Err(TryLockError::WouldBlock) if started.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(StoreError::io("take a lock")(error));
                }
            }
        }
    }
}

/// Opens a folder inside another without following a link, and makes it when it is not there.
pub(crate) fn subfolder(dir: &Dir, name: &str) -> io::Result<Dir> {
    let mut builder = cap_std::fs::DirBuilder::new();
    match dir.create_dir_with(name, builder.mode(PRIVATE_FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    dir.open_dir_nofollow(name)
}

/// Returns options that follow no link and make files that only their owner can open.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(FollowSymlinks::No).mode(PRIVATE_FILE);
    options
}

fn busy() -> StoreError {
    StoreError::Io {
        action: "wait for another process that has its folder locked",
        source: io::ErrorKind::TimedOut.into(),
    }
}

const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;
const WRITERS: &str = "writers.lock";
const OPENERS: &str = "openers.lock";
/// How long a lock is waited for that others hold only while they write or sweep.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a deletion waits for writers before it leaves the bytes to the next sweep.
const MOMENT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);
