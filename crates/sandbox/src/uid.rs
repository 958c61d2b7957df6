//! Users for runs: each run of a privileged host gets a uid that owns nothing and that no other
//! run has, and granted folders are mapped to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};

use crate::error::SandboxError;
use crate::launch::Launcher;

/// The uids of one host.
///
/// A host reserves a block by locking the block's file in the state folder, so hosts that share
/// the folder never share a uid; the kernel lets go of the lock when the host ends, however it
/// ends. Within the block the lowest free uid is taken, so that mapped folders are reused.
#[derive(Debug)]
pub(crate) struct UidPool {
    block: Range<u32>,
    used: Mutex<BTreeSet<u32>>,
    maps: Mutex<BTreeMap<MapKey, Arc<OwnedFd>>>,
    /// Holds the lock.
    _lock: File,
}

/// The owner of a folder, and the run's uid that it is mapped to.
type MapKey = ((u32, u32), u32);

/// A uid that one run has.
#[derive(Debug)]
pub(crate) struct UidLease {
    pool: Arc<UidPool>,
    uid: u32,
}

impl UidPool {
    /// Reserves a free block of a range.
    ///
    /// The search begins at a block that differs from host to host: two that cannot share a folder,
    /// such as in two containers, rarely come to the same one, and the kernel counts processes by
    /// uid across both.
    pub(crate) fn reserve(state: &Path, range: &Range<u32>) -> Result<Self, SandboxError> {
        let blocks = range.clone().step_by(BLOCK as usize);
        let mut blocks: Vec<_> = blocks.filter(|start| range.end - start >= BLOCK).collect();
        if !blocks.is_empty() {
            let first = RandomState::new().hash_one(std::process::id());
            let first = usize::try_from(first % blocks.len() as u64).unwrap_or(0);
            blocks.rotate_left(first);
        }
        for start in blocks {
            let path = state.join(format!("uids-{start}.lock"));
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)
                .map_err(|errno| SandboxError::host("open a uid block's lock file", errno))?;
            let lock = File::from(file);
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Self {
                        block: start..start + BLOCK,
                        used: Mutex::default(),
                        maps: Mutex::default(),
                        _lock: lock,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => {
                    return Err(SandboxError::host("lock a block of uids", source));
                }
            }
        }
        Err(SandboxError::Host {
            doing: format!("reserve uids: every block of {range:?} is taken"),
            source: std::io::ErrorKind::AddrInUse.into(),
        })
    }

    /// Takes the lowest free uid.
    pub(crate) fn lease(self: &Arc<Self>) -> Result<UidLease, SandboxError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.block.clone().find(|uid| !used.contains(uid));
        let uid = free.ok_or_else(|| SandboxError::Host {
            doing: format!("find a free uid: {BLOCK} runs have one each"),
            source: std::io::ErrorKind::ResourceBusy.into(),
        })?;
        used.insert(uid);
        Ok(UidLease {
            pool: Arc::clone(self),
            uid,
        })
    }

    /// How many uids are in use.
    pub(crate) fn in_use(&self) -> usize {
        self.used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl UidLease {
    /// Returns the uid, which is the gid as well.
    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns a user namespace that maps the owner of a folder to this uid.
    pub(crate) fn map(
        &self,
        launcher: &Launcher,
        owner: (u32, u32),
    ) -> Result<Arc<OwnedFd>, SandboxError> {
        let key = (owner, self.uid);
        let mut maps = self
            .pool
            .maps
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = maps.get(&key) {
            return Ok(Arc::clone(map));
        }
        // On disk the owner's number is found; the map makes of it the run's.
        let map = launcher.user_namespace((owner.0, self.uid), (owner.1, self.uid))?;
        // Enough for every uid of a block with one owner; a host with more owners starts afresh.
        if maps.len() >= BLOCK as usize {
            maps.clear();
        }
        let map = Arc::new(map);
        maps.insert(key, Arc::clone(&map));
        Ok(map)
    }

    /// Keeps the uid from ever being taken again: something of the run may still be alive.
    pub(crate) fn quarantine(mut self) {
        self.uid = NOBODY;
    }
}

impl Drop for UidLease {
    fn drop(&mut self) {
        let mut used = self
            .pool
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        used.remove(&self.uid);
    }
}

/// How many uids a host reserves: the most runs that it has at one time.
const BLOCK: u32 = 256;
/// A uid that no block holds.
const NOBODY: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range<u32> = 2_000_000_000..2_000_000_512;

    #[test]
    fn two_hosts_never_share_a_block_and_a_third_finds_none() {
        let state = tempfile::tempdir().expect("a folder");
        let first = UidPool::reserve(state.path(), &RANGE).expect("a block");
        let second = UidPool::reserve(state.path(), &RANGE).expect("another block");
        assert_ne!(first.block, second.block);
        assert!(UidPool::reserve(state.path(), &RANGE).is_err());
        drop(first);
        UidPool::reserve(state.path(), &RANGE).expect("the block that was let go");
    }

    #[test]
    fn a_uid_comes_back_at_its_end_but_not_from_quarantine() {
        let state = tempfile::tempdir().expect("a folder");
        let pool = Arc::new(UidPool::reserve(state.path(), &RANGE).expect("a block"));
        let first = pool.lease().expect("a uid");
        let second = pool.lease().expect("a uid");
        assert_ne!(first.uid(), second.uid());
        let (low, next) = (first.uid(), second.uid());
        drop(first);
        assert_eq!(pool.lease().expect("a uid").uid(), low);
        second.quarantine();
        let again = [pool.lease().expect("a uid"), pool.lease().expect("a uid")];
        assert!(again.iter().all(|lease| lease.uid() != next));
    }
}
