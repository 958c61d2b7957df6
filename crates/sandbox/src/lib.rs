//! Turns an effective policy into kernel enforcement around one child process.
//!
//! ```no_run
//! use bailiwick_policy::{HostPath, Origin, Rights, SandboxPolicy, derive};
//! use bailiwick_sandbox::{
//!     Base, Compiled, ConfinedCommand, End, Host, HostConfig, Program, Session, spawn,
//! };
//!
//! let docs: HostPath = "/home/ada/docs".parse()?;
//! let policy = SandboxPolicy::deny_all().grant(docs.clone(), Rights::READ_ONLY, Origin::Code);
//! let policy = derive(&policy, &policy)?;
//!
//! let host = Host::probe(HostConfig::new("/run/bailiwick"))?;
//! let session = Session::open(policy.session_roots())?;
//! let shell = Program::new("/bin/sh".parse()?, Vec::new(), Vec::new());
//! let skill = std::path::Path::new("/var/cache/bailiwick/skill");
//! let compiled = Compiled::new(&host, &session, &policy, &shell, skill, Base::Usr)?;
//!
//! let command = ConfinedCommand::new("run-1", ["/bin/sh", "scripts/count.sh"])?;
//! let completion = spawn(&compiled, command)?.wait();
//! assert_eq!(completion.end, End::Exited(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - A run sees a root that holds `/usr`, the interpreter's own places, a few devices, its own
//!   processes, the skill and what is granted; nothing else of the host's files exists there.
//! - Two Landlock layers (the session's and the run's), a default-deny filter of system calls,
//!   no privilege and no way to one, an environment and descriptors that are given, and nothing
//!   inherited. Each threat class has a closer, or the run is refused ([`class::coverage`]).
//! - When the main process ends, at the deadline, on a cancel and at a limit, every process of the
//!   run is killed, and the end is confirmed by the kernel. The death of the host ends its runs.
//! - The host process is never forked, restricted or moved: a static launcher does the work.
//!
//! # What it does not enforce
//!
//! - Without a mount namespace and a process namespace there is no run: it is refused, and neither a
//!   bare Landlock domain nor a sweep for left processes stands in.
//! - It shares the kernel with the run: a fault in the kernel's remaining surface is not contained.
//! - What an interpreter may read, a script may read.
//! - Timing and cache channels, `sysinfo(2)` and the number of processors are visible.
//! - Outputs are the script's own work and are not to be trusted.
//! - Only Linux on x86-64 is supported; elsewhere [`Host::probe`] refuses.
//!
//! # For hosts
//!
//! A program that uses this crate must not have `SIGPIPE` at its default, or a script that closes
//! its input early ends the host; Rust programs ignore it unless they ask for the default.

#![deny(unsafe_code)]

mod cgroup;
mod child;
pub mod class;
mod classify;
mod command;
mod compile;
mod completion;
mod denial;
mod drain;
mod embedded;
mod encode;
mod error;
mod host;
mod identity;
mod landlock;
mod launch;
mod limits;
mod maker;
#[path = "../launcher/message.rs"]
#[doc(hidden)]
pub mod message;
mod named;
mod place;
#[path = "../launcher/plan.rs"]
#[doc(hidden)]
pub mod plan;
mod plans;
mod probe;
mod root;
mod run;
mod scratch;
mod seccomp;
pub mod selftest;
mod session;
mod shape;
mod spawn;
mod template;
mod uid;
mod watchdog;
#[cfg(weaken)]
mod weaken;

pub use self::child::{Canceller, ConfinedChild};
pub use self::class::{Layer, LayerReport, LayerState};
pub use self::command::{ConfinedCommand, Stdin};
pub use self::compile::Compiled;
pub use self::completion::{Completion, Confirmed, End, Usage};
pub use self::denial::Denial;
pub use self::drain::{Captured, Chunk, Stream};
pub use self::error::SandboxError;
pub use self::host::{Host, HostConfig};
pub use self::landlock::LandlockFacts;
pub use self::message::LISTENER_PORT;
pub use self::named::PathKind;
pub use self::probe::Probe;
pub use self::root::{Base, Program};
pub use self::seccomp::{FilterFacts, Internet};
pub use self::session::Session;
pub use self::spawn::spawn;

/// The links that a materialised skill holds where it ships no file of that name: what they lead to
/// is the run's own.
pub const SCRATCH_LINKS: [(&str, &str); 2] = [("tmp", "/run/rw/tmp"), ("out", "/run/rw/out")];
