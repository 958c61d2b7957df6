//! Results that outlive a reply: content-addressed bytes with kind, media type, lines and expiry.
//!
//! [`MemoryStore`] serves tests and small hosts. With feature `sqlite`, `FileStore` keeps bytes in
//! files named by their digest and what is known about them in an SQLite index, survives a restart,
//! and can be used by several processes at once.
//!
//! # Examples
//!
//! ```
//! use bailiwick_core::{ArtifactSource, ArtifactStore, NewArtifact};
//! use bailiwick_store::MemoryStore;
//!
//! let store = MemoryStore::default();
//! let source = ArtifactSource::new("text-tools".parse()?, "word_count".parse()?);
//! let kept = store.put(NewArtifact::new(b"one\ntwo\nthree\n", "tool-output", source))?;
//!
//! assert_eq!((kept.size, kept.lines), (14, 3));
//! assert_eq!(store.read(&kept.id, 4, 3)?, b"two");
//! assert_eq!(store.lines(&kept.id, 3, 10)?[0].text, "three");
//! assert_eq!(store.grep(&kept.id, "o", 10)?.len(), 2);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - The same bytes are stored once, and go when the last artifact that refers to them goes.
//! - An expired artifact is refused by every reader from that moment on; its bytes go with the
//!   next write, or when the store is next opened.
//! - A skill cannot keep more than its quota.
//! - `lines` and `grep` hold one line of at most 16 KiB at a time, however long a line is; the rest
//!   of a longer one is cut with a mark.
//! - `FileStore` writes bytes before it indexes them, through directory handles that follow no
//!   link, into a folder that only its owner can enter. A crash leaves an indexed artifact whole
//!   or not there. Bytes that are missing or do not match their digest are reported, never
//!   returned.
//!
//! # What it does not enforce
//!
//! - Nothing is encrypted, and nothing is secret from a process of the same user: that one can
//!   rewrite bytes and index together.
//! - Who may read an artifact is the host's decision; an id is hard to guess, not a permission.
//! - A file that has been verified is hashed again only when its inode, size or times change; a
//!   disk that alters bytes silently is noticed by the next process.
//! - The quota counts what the index lists, each artifact as at least 4 KiB. Bytes that a crash
//!   orphaned are outside it until they are swept.
//! - Power loss may lose the newest artifacts, never damage older ones. Network file systems
//!   without locks are not supported.

#![forbid(unsafe_code)]

mod config;
mod error;
#[cfg(feature = "sqlite")]
mod file;
mod id;
mod memory;
mod moment;
mod scan;

pub use crate::config::StoreConfig;
pub use crate::error::{Damage, StoreError};
#[cfg(feature = "sqlite")]
pub use crate::file::FileStore;
pub use crate::memory::MemoryStore;
