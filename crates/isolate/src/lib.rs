//! Runs guest wasm under fuel, epoch, memory, host-call quotas and cancellation.
//!
//! A guest is code that nobody trusts: each call runs in a fresh instance from a pool, can reach
//! what [`HostCalls`](bailiwick_core::HostCalls) answers and nothing else, and is dropped at its
//! end. Which language the guest speaks is not this crate's business: `bailiwick-quickjs` brings
//! JavaScript.
//!
//! # Examples
//!
//! A guest in wasm's text form that answers with its input:
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use bailiwick_isolate::{Ending, Engine, EngineSettings, Job};
//!
//! let echo = r#"(module
//!     (import "bailiwick" "done" (func $done (param i32 i32 i32)))
//!     (memory (export "memory") 1)
//!     (func (export "alloc") (param i32) (result i32) (i32.const 1024))
//!     (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
//!         (call $done (i32.const 1) (local.get 2) (local.get 3)) (i32.const 1))
//!     (func (export "settle") (param i32 i32 i32 i32) (result i32) (i32.const 0)))"#;
//! let engine = Engine::new(EngineSettings::default().slots(2))?;
//! let program = engine.compile(&wat::parse_str(echo)?)?;
//! let deadline = Instant::now() + Duration::from_secs(10);
//! let job = Job::new(0, [b"hello".as_slice().into(), [].into(), [].into()], deadline);
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! let completion = runtime.block_on(program.evaluate(job));
//! assert_eq!(completion.ending, Ending::Answered { kind: 1, bytes: b"hello".to_vec() });
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - Nothing of a call survives it: memory, tables and globals of the next are those of the module.
//! - A guest ends within two ticks ([`TICK`]) of its deadline or of its caller's wish, whatever it
//!   computes, and its host calls are dropped with it.
//! - Pointers, lengths and texts that come out of a guest are checked; a wrong one ends the call.
//! - Every field of [`Limits`] is enforced at the boundary.
//! - The end of a call is what the host observed, never what the guest says.
//!
//! # What it does not enforce
//!
//! - Host functions are not interrupted: whoever implements `HostCalls` must not block.
//! - Timing and cache side channels of the processor stay open. A guest without a clock still has
//!   timers, whose order tells it time to about a millisecond.
//! - A single wasm instruction that fills or copies memory runs to its end, bounded by the memory
//!   limit.
//! - A bug of the compiler is a bug of the containment.
//!
//! # Features
//!
//! None.

#![forbid(unsafe_code)]

mod abi;
mod clock;
mod completion;
mod engine;
mod error;
mod job;
mod json;
mod limits;
mod private;
mod program;
mod snapshot;
mod state;
mod ticker;

pub use crate::clock::{Clock, Random};
pub use crate::completion::{Completion, Ending, Observed};
pub use crate::engine::{Engine, EngineSettings};
pub use crate::error::IsolateError;
pub use crate::job::{Job, TICK, no_host};
pub use crate::limits::Limits;
pub use crate::private::make_private;
pub use crate::program::Program;
pub use crate::snapshot::snapshot;
