//! Artifacts in files, with an index.

mod blobs;
mod folder;
mod index;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use bailiwick_core::{Artifact, ArtifactId, ArtifactStore, Digest, Line, NewArtifact, SkillError};

use crate::config::{StoreConfig, charge};
use crate::error::{Damage, StoreError};
use crate::file::blobs::Blobs;
use crate::file::folder::Folder;
use crate::file::index::Index;
use crate::id::fresh_id;
use crate::moment::now;
use crate::scan;

/// A store that survives a restart: bytes in files named by their digest, the rest in SQLite.
///
/// Several processes may have the same folder open. Writers share a lock while bytes wait for
/// their entry in the index; bytes are deleted only under that lock held alone, so that nobody
/// sweeps away what another is about to index.
///
/// # Examples
///
/// ```no_run
/// use bailiwick_core::ArtifactStore;
/// use bailiwick_store::{FileStore, StoreConfig};
///
/// let store = FileStore::open("state/artifacts", StoreConfig::default())?;
/// for artifact in store.list()? {
///     println!("{} {} bytes of {}", artifact.id, artifact.size, artifact.kind);
/// }
/// # Ok::<_, bailiwick_core::SkillError>(())
/// ```
pub struct FileStore {
    config: StoreConfig,
    folder: Folder,
    blobs: Blobs,
    index: Index,
}

impl FileStore {
    /// Opens the store in a folder, which is made when it is not there, and sweeps it: expired
    /// artifacts go, and bytes that a crash left without an entry.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for impossible bounds, for a folder that others can enter or that
    /// cannot be made, and for an index of another program or of a newer version;
    /// `E_SKILL_ARTIFACT_UNAVAILABLE` when the disk or the index fails.
    pub fn open(path: impl AsRef<Path>, config: StoreConfig) -> Result<Self, StoreError> {
        let config = config.check()?;
        let folder = Folder::open(path.as_ref())?;
        let blobs = Blobs::open(&folder)?;
        let index = Index::open(&folder)?;
        let store = Self {
            config,
            folder,
            blobs,
            index,
        };
        store.sweep()?;
        Ok(store)
    }

    /// Deletes what nothing refers to; leaves it to another time when somebody is writing.
    fn sweep(&self) -> Result<(), StoreError> {
        let Some(_alone) = self.folder.try_alone()? else {
            return Ok(());
        };
        self.index.expire(now())?;
        let referred = self.index.digests()?;
        for digest in self
            .blobs
            .all()
            .map_err(StoreError::io("list the kept bytes"))?
        {
            if !referred.contains(&digest) {
                self.delete(&digest)?;
            }
        }
        self.blobs
            .clear_incoming()
            .map_err(StoreError::io("clear unfinished writes"))
    }

    /// Deletes those bytes to which nothing refers any more, once nobody is writing.
    fn collect(&self, digests: &[Digest]) -> Result<(), StoreError> {
        if digests.is_empty() {
            return Ok(());
        }
        let Some(_alone) = self.folder.alone()? else {
            return Ok(());
        };
        for digest in digests {
            if !self.index.refers(digest)? {
                self.delete(digest)?;
            }
        }
        Ok(())
    }

    fn delete(&self, digest: &Digest) -> Result<(), StoreError> {
        self.blobs
            .remove(digest)
            .map_err(StoreError::io("delete bytes"))
    }

    /// Writes the bytes, then their entry.
    fn keep(&self, artifact: &Artifact, bytes: &[u8]) -> Result<(), StoreError> {
        let _writing = self.folder.shared()?;
        let (quota, wanted) = (self.config.quota(), charge(artifact.size));
        // Asked twice: here so that a refusal costs no write, and with the entry so that it holds.
        self.index.check_quota(artifact, wanted, quota)?;
        self.blobs
            .write(&artifact.digest, bytes)
            .map_err(StoreError::io("keep the bytes"))?;
        self.index.insert(artifact, wanted, quota)
    }

    fn find(&self, id: &ArtifactId) -> Result<Artifact, StoreError> {
        let found = self.index.find(id)?;
        let artifact = found.ok_or_else(|| StoreError::Unknown { id: id.clone() })?;
        if artifact.expires <= now() {
            return Err(StoreError::Expired { id: id.clone() });
        }
        Ok(artifact)
    }

    fn scan<T>(
        &self,
        id: &ArtifactId,
        read: impl FnOnce(BufReader<File>) -> io::Result<T>,
    ) -> Result<T, SkillError> {
        let artifact = self.find(id)?;
        let opened = self.blobs.intact(&artifact.digest);
        match opened.map_err(StoreError::io("open the bytes"))? {
            Ok(file) => {
                let file = BufReader::with_capacity(BUFFER, file);
                Ok(read(file).map_err(StoreError::io("read the bytes"))?)
            }
            Err(Damage::Missing) => {
                // Somebody may have removed the artifact between the two looks.
                self.find(id)?;
                Err(StoreError::Damaged {
                    id: id.clone(),
                    damage: Damage::Missing,
                }
                .into())
            }
            Err(Damage::Altered) => Err(StoreError::Damaged {
                id: id.clone(),
                damage: Damage::Altered,
            }
            .into()),
        }
    }
}

impl ArtifactStore for FileStore {
    fn put(&self, new: NewArtifact<'_>) -> Result<Artifact, SkillError> {
        let created = now();
        let (bytes, keep) = (new.bytes, self.config.keep(new.keep));
        let artifact = Artifact::describe(fresh_id(created)?, &new.keep(keep), created, keep);
        // What cannot be forgotten or deleted now is when the store is next opened; the answer to
        // the caller stands either way.
        let mut loose = self.index.expire(created).unwrap_or_default();
        let kept = self.keep(&artifact, bytes);
        if kept.is_err() {
            loose.push(artifact.digest);
        }
        let _ = self.collect(&loose);
        kept?;
        Ok(artifact)
    }

    fn stat(&self, id: &ArtifactId) -> Result<Artifact, SkillError> {
        Ok(self.find(id)?)
    }

    fn read(&self, id: &ArtifactId, offset: u64, length: u64) -> Result<Vec<u8>, SkillError> {
        self.scan(id, |file| scan::range(file, offset, length))
    }

    fn lines(&self, id: &ArtifactId, first: u64, count: u64) -> Result<Vec<Line>, SkillError> {
        self.scan(id, |file| scan::lines(file, first, count))
    }

    fn grep(&self, id: &ArtifactId, needle: &str, limit: usize) -> Result<Vec<Line>, SkillError> {
        self.scan(id, |file| scan::grep(file, needle, limit))
    }

    fn list(&self) -> Result<Vec<Artifact>, SkillError> {
        Ok(self.index.list(now())?)
    }

    fn remove(&self, id: &ArtifactId) -> Result<(), SkillError> {
        let artifact = self.find(id)?;
        self.index.remove(id)?;
        Ok(self.collect(&[artifact.digest])?)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("config", &self.config)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// How much of a file is read at a time, in bytes.
const BUFFER: usize = 64 * 1024;
