//! The `bailiwick` program: skills on the command line.
//!
//! ```no_run
//! std::process::exit(i32::from(bailiwick_cli::run()));
//! ```
//!
//! # What it promises
//!
//! - Data goes to standard output, everything else to standard error; `--json` prints one object.
//! - Nothing that a skill wrote steers the terminal that shows it.
//! - An answer to a question, or `--yes`, lets one run happen and grants nothing.
//! - A project's policy file counts only after `bailiwick trust`, and only with the same bytes.
//! - The exit code tells what happened; `bailiwick help` lists the codes.
//!
//! # What it does not enforce
//!
//! Everything of enforcement is the library's; the program adds the person. Whoever may write the
//! user's own configuration folder may write the policy.

#![forbid(unsafe_code)]

mod apparmor;
mod cli;
mod commands;
mod config;
mod error;
mod folder;
mod gate;
mod output;
mod policy;
mod program;
mod session;
mod table;
mod target;
mod text;
mod tools;
mod weakening;

pub use crate::program::run;
#[cfg(feature = "weaken")]
pub use crate::program::run_weakened;
