//! The services behind `context`: one registry of members, and reading files as the first of them.
//!
//! A guest asks its host by the name of a member, such as `fs.read`. A [`Member`] is declared once,
//! with its name, its parameters, the shape of its result, what it needs and how often it may be
//! called; a [`Registry`] lists the members; [`Services`] adds what one skill is granted; and
//! [`CallServices`] answers one guest call as its [`HostCalls`](bailiwick_core::HostCalls).
//!
//! # Examples
//!
//! ```
//! use bailiwick_core::{CallContext, CancelToken, HostCall, HostCalls};
//! use bailiwick_host::{Grant, Registry, Roots, Services};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! # let folder = bailiwick_testkit::TempWorkspace::new();
//! # folder.write("todo.txt", "one\ntwo\n");
//! # let docs = folder.path().canonicalize()?;
//! let roots = Roots::open([(docs.clone(), "policy.toml:4".to_owned())])?;
//! let grants = vec![Grant::new("fs.read".parse()?, "policy.toml:3")];
//! let services = Services::new(Registry::standard()?, "notes".parse()?, grants, roots)?;
//!
//! let host = services.for_call(&CallContext::new(docs))?;
//! let options = json!({ "offset": 2 });
//! let call = HostCall::new("fs.read", vec![json!("todo.txt"), options], CancelToken::new());
//! assert_eq!(host.begin(call).await?["text"], "two\n");
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - A member that is not granted is denied with the grant that is missing, and its handler never
//!   runs. Arguments are checked before a handler sees them. Quotas hold per guest call.
//! - A file member needs both its name and a root. A path is opened beneath the root's handle, from
//!   which neither `..` nor a link leads out.
//! - Pipes, sockets, devices and directories are refused before they are opened. No pattern of a
//!   guest takes more than linear time, and no result more than 1 MiB of JSON.
//! - Work ends soon after its call is cancelled or dropped, between files and chunks.
//!
//! # What it does not enforce
//!
//! The number of host calls, their concurrency and their sizes belong to whoever runs the guest.
//! A hard link beneath a root is the file itself, and what is mounted beneath a root belongs to it.
//! A read that the system itself does not finish, as on a dead network mount, keeps its thread.

#![forbid(unsafe_code)]

mod error;
mod fs;
mod member;
mod nearest;
mod open;
mod registry;
mod roots;
mod scope;
mod services;
mod work;

pub use crate::error::{FileFault, HostError};
pub use crate::member::{Member, MemberBuilder, MemberCall, Needs, Parameter};
pub use crate::registry::Registry;
pub use crate::roots::Roots;
pub use crate::scope::CallScope;
pub use crate::services::{CallServices, Grant, Services};
