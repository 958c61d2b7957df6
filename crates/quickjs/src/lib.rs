//! JavaScript and TypeScript as tools: QuickJS-ng in wasm, each call in a fresh guest of
//! [`bailiwick_isolate`].
//!
//! A [`JsEngine`] starts once. [`JsEngine::compile`] turns the source of a tool, in one of two
//! forms ([`Form`]), into a [`Script`]; [`JsEngine::describe`] asks a module what it says of
//! itself. An [`IsolatedTool`] joins a script with what it holds ([`Holdings`]) and goes through
//! the call path of [`bailiwick_core`] like a tool of any other tier.
//!
//! # Examples
//!
//! A tool that holds nothing:
//!
//! ```
//! use std::time::Duration;
//!
//! use bailiwick_core::{
//!     CallContext, Decision, Gatekeeper, Provenance, Schema, Tier, ToolSpec, gate_fn,
//! };
//! use bailiwick_quickjs::{EngineSettings, Form, Holdings, IsolatedTool, JsEngine};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let engine = JsEngine::start(EngineSettings::default(), &[], None)?;
//! let source = "async (args) => ({ shouted: args.word.toUpperCase() })";
//! let path = "scripts/shout.js".parse()?;
//! let script = engine.compile(&path, source.as_bytes(), Form::Arrow).await?;
//!
//! let word = json!({ "type": "object", "properties": { "word": { "type": "string" } } });
//! let schema = Schema::from_author(word)?
//!     .with_timeout(Duration::from_secs(5), Duration::from_secs(60))?;
//! let origin = Provenance::new("example".parse()?, None, None);
//! let spec = ToolSpec::new("shout".parse()?, "Shouts a word.", Tier::Isolated, schema, origin);
//! let tool = IsolatedTool::new(spec, engine, script, Holdings::deny_all());
//!
//! let gate = Gatekeeper::new(gate_fn(|_| async { Decision::allow() }));
//! let arguments = json!({ "word": "hello" });
//! let outcome = bailiwick_core::call(&tool, &gate, arguments, &CallContext::new("/")).await;
//! assert_eq!(outcome.result?.structured, Some(json!({ "shouted": "HELLO" })));
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - A source is parsed before the engine sees it: it has the form that was asked for and reaches
//!   for no module, or it is refused with file, line and column. Types are blanked, so a stack
//!   names the lines of the author's file.
//! - Each call begins in the state in which the engine started, and nothing of it survives it.
//!   The top level of a module runs anew in each.
//! - A script finds the language, a world without effects (`console`, timers, `URL` and the like)
//!   and `context`. What its [`Services`] do not answer it cannot reach; clock and chance are
//!   denied unless [`Holdings`] give them.
//! - The code of an error is what the host observed. What a script throws is its own words, and
//!   `E_SKILL_TOOL_FAILED`, whatever code it carries.
//! - An answer is JSON within bounds or `E_SKILL_TOOL_BAD_RESPONSE`. One that is too long for a
//!   reply is kept whole as an artifact where the host keeps artifacts.
//! - Bytecode is read inside guests alone, and the native code that a folder keeps is never taken
//!   from one that others may write.
//!
//! # What it does not enforce
//!
//! - A guest is held by [`bailiwick_isolate`], and what that does not enforce is not enforced here.
//!   A fault of QuickJS-ng itself, on the other hand, stays inside the guest.
//! - What a member of `context` does is up to whoever answers it: [`Services`] decide what is
//!   granted, and this crate bounds only how often, how many at once and how large.
//! - `eval` and `Function` work. They make code of the same guest, with the same reach.
//! - The seed of the engine's hash tables is part of the started state and the same in every call,
//!   so chosen keys can make a script slow. Its deadline holds all the same.
//!
//! # Building
//!
//! The engine is C. A published package brings it as wasm; a build from the repository makes it
//! with clang 14 or newer. With `BAILIWICK_GUEST=build` in the environment it is always made, and
//! `BAILIWICK_CLANG` names another compiler. With `DOCS_RS` there is no engine, and
//! [`JsEngine::start`] fails.
//!
//! # Features
//!
//! None.

#![forbid(unsafe_code)]

mod answer;
mod configuration;
mod engine;
mod error;
mod operation;
mod outcome;
mod place;
mod script;
mod tool;
mod url;

pub use bailiwick_isolate::{Clock, EngineSettings, Limits, Random};
pub use bailiwick_js_syntax::Form;

pub use crate::engine::JsEngine;
pub use crate::error::QuickjsError;
pub use crate::script::{Description, Script};
pub use crate::tool::{Holdings, IsolatedTool, Services};
