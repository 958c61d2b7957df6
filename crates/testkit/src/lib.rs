//! Hostile tools, gates and scripts for our own tests.
//!
//! # Examples
//!
//! ```
//! use bailiwick_core::{Decision, Gate, LiveTool};
//! use bailiwick_testkit::{gates, hostile};
//!
//! let tool = hostile::throws("secret-error");
//! assert!(tool.claims().trusted, "a hostile tool claims to be trusted");
//! let (gate, asked) = gates::allowing();
//! assert!(asked.is_empty());
//! # let _: &dyn Gate = &gate;
//! ```
//!
//! # What it promises
//!
//! Every tool of [`hostile`] and every gate of [`gates`] does exactly the one bad thing that its
//! name says, so that a test reads as a sentence. [`Patience`] bounds a wait by a control that was
//! measured in the same run, never by a fixed time alone.
//!
//! # What it does not enforce
//!
//! Nothing: it is a dependency of tests only, and depends on `core` alone so that every other
//! crate can use it. With the feature `host` it also brings members of `context`, for tests of
//! guests.

#![forbid(unsafe_code)]

pub mod gates;
pub mod hostile;
#[cfg(feature = "host")]
pub mod members;

mod recorder;
mod sandbox;
mod shared;
mod wait;
mod workspace;

pub use crate::recorder::Recorder;
pub use crate::sandbox::require_sandbox;
pub use crate::shared::private_folder;
pub use crate::wait::{Patience, Release, wait_until};
pub use crate::workspace::TempWorkspace;
