//! Turns a declared script and validated arguments into a confined run (tier 3).
//!
//! A script is a file that a skill ships for an allow-listed [`Interpreter`]. A [`Script`] can be
//! planned and [`ScriptTool`] makes it a tool of the call path: it renders argv from typed parameters ([`argv`]), derives the policy
//! of the run and proves it inside the session's, and hands both to the sandbox; what the run wrote
//! comes back capped, spooled and classified.
//!
//! # Examples
//!
//! ```
//! use bailiwick_script::Interpreters;
//!
//! let interpreters = Interpreters::presets();
//! let sh = interpreters.find("sh")?;
//! assert!(sh.program().as_str().starts_with('/'));
//! # Ok::<_, bailiwick_core::SkillError>(())
//! ```
//!
//! # What it promises
//!
//! - argv is a vector from end to end; no shell sees it, and no value can become an option.
//! - The environment is empty, then exactly what contracts 5.3 lists.
//! - The bytes that run are the bytes that were verified: a revision is copied once and read-only.
//! - A run to which hosts are granted reaches these and nothing else, through a proxy of its own,
//!   and the report lists what was refused.
//! - When a call answers, its process tree is dead, or the report says that it is not.
//! - Captured output is kept on success, failure, timeout and kill alike.
//!
//! # What it does not enforce
//!
//! The confinement itself is the sandbox's. Whatever the interpreter may read, the script may read.
//! What a script writes to its output or to `out/` is its own word and untrusted.

#![forbid(unsafe_code)]

pub mod argv;
mod collect;
mod environment;
mod error;
mod interpreter;
mod network;
mod output;
mod params;
mod run;
mod script;
mod tier;
mod tool;
mod workspace;

pub use crate::error::ScriptError;
pub use crate::interpreter::{Interpreter, Interpreters};
pub use crate::script::{Script, ScriptPlan, grant_lines, ungranted};
pub use crate::tier::{ScriptGrants, ScriptRunner, ScriptSettings, ScriptTier};
pub use crate::tool::ScriptTool;
pub use crate::workspace::{DirWorkspace, Revision, SkillWorkspace};
