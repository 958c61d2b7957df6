//! Reads a skill directory into a checked manifest; discovers, resolves and digests packages.
//!
//! # Examples
//!
//! ```
//! use bailiwick_package::{Manifest, Profile};
//!
//! let text = b"---\nname: notes\nname: other\ndescription: Keeps notes.\n---\n";
//! let (manifest, diagnostics) = Manifest::parse(text, Some("notes"), Profile::Tool);
//! assert!(manifest.is_none());
//! assert_eq!(
//!     diagnostics[0].to_string(),
//!     "SKILL.md:3:1: error: the key `name` stands twice [yaml-duplicate-key]",
//! );
//! ```
//!
//! # What it promises
//!
//! - A broken manifest never loads without its limits: either everything a package declares is
//!   understood, or the package is refused with a stable [`DiagnosticId`], file, line and column.
//! - [`Profile::Standard`] and [`Profile::Tool`] never stand for one another.
//! - A broken copy of a skill is an error and never a reason to take another copy.
//! - Files are reached by directory handle. No link below a package is followed, and a digest is
//!   that of the very bytes handed out with it ([`Package::read_all`]).
//! - Every read is bounded: 64 KiB of front matter, 1 MiB of `SKILL.md`, 256 KiB of
//!   `bailiwick.yaml`, 16 MiB a file, 64 MiB and 4,096 files and folders a package, 6 levels and
//!   2,000 folders a search.
//! - Nothing that an author wrote steers the terminal that shows a diagnostic.
//!
//! # What it does not enforce
//!
//! Whether an interpreter is on the host's allow-list, whether a name collides with another
//! skill's, and what a skill may reach is decided where that is known. `allowed-tools` and
//! `requests` are carried as claims and grant nothing. A hard link cannot be told from its file
//! and is read like one. The scripts themselves are not judged.

#![forbid(unsafe_code)]

mod characters;
mod check;
mod decode;
mod descriptor;
mod diagnostic;
mod discover;
mod disk;
mod error;
mod fence;
mod front_matter;
mod id;
mod inventory;
mod manifest;
mod memory;
mod package;
mod reader;
mod render;
mod scaffold;
mod sidecar;
mod source;
mod survey;
mod text;
mod thread;
mod walk;
mod yaml;

pub use crate::check::{CheckReport, check, check_all};
pub use crate::diagnostic::{Diagnostic, Severity};
pub use crate::error::PackageError;
pub use crate::front_matter::Profile;
pub use crate::id::DiagnosticId;
pub use crate::manifest::Manifest;
pub use crate::memory::{InMemorySkill, InMemorySource};
pub use crate::package::{Contents, Package};
pub use crate::reader::nearest;
pub use crate::scaffold::scaffold;
pub use crate::sidecar::{Channel, IsolatedDeclaration, Requests, Sidecar};
pub use crate::source::DirectorySource;
pub use crate::survey::{SkillCopy, Survey};
pub use crate::text::Position;
