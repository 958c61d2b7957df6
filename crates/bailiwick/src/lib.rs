//! Runs the tools that agent skills bring, each inside an area of its own (its *bailiwick*).
//!
//! A skill may bring three kinds of capability, ordered by containment, and all of them are called
//! through one path, one gate, one error model and one policy:
//!
//! | tier | what it is | what holds it |
//! |---|---|---|
//! | module tool | a live Rust tool from a linked crate | a wrapper: bounded, not confined |
//! | isolated tool | JavaScript or TypeScript the skill carries, in a fresh guest | a wasm instance of its own, limits, declared host calls |
//! | script | a file the skill ships, in a child process | Landlock, seccomp, namespaces, cgroups, rlimits |
//!
//! # Examples
//!
#![cfg_attr(
    all(feature = "package", feature = "script"),
    doc = r#"
```no_run
use bailiwick::{Decision, DirectorySource, Policy, SkillManager, gate_fn};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), bailiwick::Error> {
    let manager = SkillManager::builder()
        .gate(gate_fn(|request| async move {
            if request.skill() == "text-tools" { Decision::allow() } else { Decision::deny("not today") }
        }))
        .policy(Policy::from_file("bailiwick.toml")?)
        .source(DirectorySource::open(".agents/skills")?)
        .build()
        .await?;
    manager.load("text-tools").await?;
    println!("{}", manager.tools().json_schema());
    let outcome = manager.call("text-tools.word-count", json!({ "path": "docs/a.md" })).await;
    println!("{} in {:?}", outcome.result?.text(), outcome.report.duration);
    manager.shutdown().await;
    Ok(())
}
```
"#
)]
//!
//! # What it promises
//!
//! - There is no manager without a [`Gate`], and a gate that does not answer is never a yes.
//! - A call runs what was verified at load, under a policy proven inside the session's.
//! - Everything a skill returns is untrusted and carries its provenance.
//! - An isolated tool reaches what its grants name and nothing else; nothing of a call survives it.
//! - Containment is lowered in one place, behind [`Builder::dangerous`], and every report says so.
//!
//! # What it does not enforce
//!
//! - A module tool runs in this process and can do whatever this process can.
//! - A guest is held by the compiler of its wasm: a fault there is a fault of the containment.
//! - The kernel is shared: a script that breaks the kernel breaks out.
//! - What the interpreter may read, its script may read; timing and cache channels stay open.
//! - `allowed-tools` of a skill grants nothing and restricts nothing.
//!
//! # Features
//!
//! `module` (default), `package`, `quickjs`, `script`, `store`, `full`; `isolate`, `host` and
//! `policy` are what tiers bring along. A feature adds API and never changes what was there. With
//! `quickjs` a build from the repository needs clang; a published package brings the engine.
//!
//! # Versions
//!
//! The minimum Rust version is 1.95. Before 1.0 a minor version may break API; the changelog says
//! how.

#![forbid(unsafe_code)]

mod builder;
mod catalog;
#[cfg(feature = "script")]
mod explain;
#[cfg(feature = "policy")]
mod files;
mod host_source;
#[cfg(feature = "quickjs")]
mod isolated;
mod manager;
#[cfg(feature = "policy")]
mod policy;
mod preflight;
mod record;
mod request;
#[cfg(feature = "policy")]
mod rules;
#[cfg(feature = "script")]
mod script;
mod tools;

pub use bailiwick_core as core;
pub use bailiwick_core::{
    Artifact, ArtifactId, ArtifactStore, CallReport, CancelToken, Code, Content, Decision, Effects,
    Gate, GateRequest, GateUnavailable, LiveTool, Media, Outcome, RawOutput, Response,
    SkillError as Error, SkillSource, Tier, gate_fn,
};
#[cfg(feature = "host")]
pub use bailiwick_host as host;
#[cfg(feature = "isolate")]
pub use bailiwick_isolate as isolate;
#[cfg(feature = "module")]
pub use bailiwick_module::{schemars, tool_fn};
#[cfg(feature = "package")]
pub use bailiwick_package as package;
#[cfg(feature = "package")]
pub use bailiwick_package::{DirectorySource, InMemorySkill, InMemorySource};
#[cfg(feature = "policy")]
pub use bailiwick_policy as sandbox_policy;
#[cfg(feature = "script")]
pub use bailiwick_sandbox as sandbox;
#[cfg(feature = "script")]
pub use bailiwick_script as scripts;
#[cfg(feature = "store")]
pub use bailiwick_store::FileStore;
pub use bailiwick_store::{MemoryStore, StoreConfig};

pub use crate::builder::{Builder, Dangerous, Guarded, WantsGate};
pub use crate::catalog::{CatalogEntry, SourceFailure};
#[cfg(feature = "script")]
pub use crate::explain::Explanation;
pub use crate::host_source::HostSource;
pub use crate::manager::{LoadReport, SkillManager};
#[cfg(feature = "policy")]
pub use crate::policy::Policy;
pub use crate::request::CallRequest;
pub use crate::tools::{ToolInfo, ToolList};
