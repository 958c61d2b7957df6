//! Artifacts in memory.

use std::fmt;
use std::io::{self, Cursor};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_core::{
    Artifact, ArtifactId, ArtifactStore, Line, NewArtifact, SkillError, SkillName,
};

use crate::config::{StoreConfig, charge};
use crate::error::StoreError;
use crate::id::fresh_id;
use crate::moment::now;
use crate::scan;

/// A store that lives as long as the value, for tests and small hosts.
///
/// It behaves as the durable one does, quotas and expiry included.
#[derive(Default)]
pub struct MemoryStore {
    config: StoreConfig,
    /// In the order of their arrival.
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    artifact: Artifact,
    /// Shared by artifacts of the same bytes.
    bytes: Arc<[u8]>,
}

impl MemoryStore {
    /// Creates an empty store.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for bounds with which nothing could be kept.
    pub fn new(config: StoreConfig) -> Result<Self, StoreError> {
        Ok(Self {
            config: config.check()?,
            kept: Mutex::default(),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        // Every change of the list is one push or one retain, so a panic leaves it whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find<T>(&self, id: &ArtifactId, look: impl FnOnce(&Kept) -> T) -> Result<T, StoreError> {
        let kept = self.kept();
        let found = kept.iter().find(|kept| kept.artifact.id == *id);
        let found = found.ok_or_else(|| StoreError::Unknown { id: id.clone() })?;
        if found.artifact.expires <= now() {
            return Err(StoreError::Expired { id: id.clone() });
        }
        Ok(look(found))
    }

    /// Reads an artifact's bytes without holding up anybody else.
    fn scan<T>(
        &self,
        id: &ArtifactId,
        read: impl FnOnce(Cursor<&[u8]>) -> io::Result<T>,
    ) -> Result<T, SkillError> {
        let bytes = self.find(id, |kept| Arc::clone(&kept.bytes))?;
        Ok(read(Cursor::new(&*bytes)).map_err(StoreError::io("read an artifact"))?)
    }
}

impl ArtifactStore for MemoryStore {
    fn put(&self, new: NewArtifact<'_>) -> Result<Artifact, SkillError> {
        let created = now();
        let (bytes, keep) = (new.bytes, self.config.keep(new.keep));
        let artifact = Artifact::describe(fresh_id(created)?, &new.keep(keep), created, keep);
        let mut kept = self.kept();
        kept.retain(|kept| kept.artifact.expires > created);
        let used = used_by(&kept, &artifact.source.skill);
        let wanted = charge(artifact.size);
        if used.saturating_add(wanted) > self.config.quota() {
            return Err(StoreError::Quota {
                skill: artifact.source.skill,
                used,
                wanted,
                quota: self.config.quota(),
            }
            .into());
        }
        let same = kept
            .iter()
            .find(|kept| kept.artifact.digest == artifact.digest);
        let bytes = same.map_or_else(|| Arc::from(bytes), |kept| Arc::clone(&kept.bytes));
        kept.push(Kept {
            artifact: artifact.clone(),
            bytes,
        });
        Ok(artifact)
    }

    fn stat(&self, id: &ArtifactId) -> Result<Artifact, SkillError> {
        Ok(self.find(id, |kept| kept.artifact.clone())?)
    }

    fn read(&self, id: &ArtifactId, offset: u64, length: u64) -> Result<Vec<u8>, SkillError> {
        self.scan(id, |bytes| scan::range(bytes, offset, length))
    }

    fn lines(&self, id: &ArtifactId, first: u64, count: u64) -> Result<Vec<Line>, SkillError> {
        self.scan(id, |bytes| scan::lines(bytes, first, count))
    }

    fn grep(&self, id: &ArtifactId, needle: &str, limit: usize) -> Result<Vec<Line>, SkillError> {
        self.scan(id, |bytes| scan::grep(bytes, needle, limit))
    }

    fn list(&self) -> Result<Vec<Artifact>, SkillError> {
        let now = now();
        let kept = self.kept();
        let current = kept.iter().rev().filter(|kept| kept.artifact.expires > now);
        Ok(current.map(|kept| kept.artifact.clone()).collect())
    }

    fn remove(&self, id: &ArtifactId) -> Result<(), SkillError> {
        self.find(id, |_| ())?;
        self.kept().retain(|kept| kept.artifact.id != *id);
        Ok(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("config", &self.config)
            .field("kept", &self.kept().len())
            .finish()
    }
}

fn used_by(kept: &[Kept], skill: &SkillName) -> u64 {
    kept.iter()
        .filter(|kept| kept.artifact.source.skill == *skill)
        .map(|kept| charge(kept.artifact.size))
        .sum()
}
