//! The vocabulary of Bailiwick and the one call path that every tier shares.
//!
//! A skill's capability, whatever tier it runs in, is a [`Tool`]. Nobody runs one directly:
//! [`call()`] validates the arguments against the tool's [`Schema`], lets the tool prepare (and
//! refuse) without an effect, asks the [`Gate`], and only then hands out the [`Permit`] that
//! running requires.
//!
//! # Examples
//!
//! ```
//! use bailiwick_core::{SkillName, SkillPath, ToolName};
//!
//! let skill: SkillName = "text-tools".parse()?;
//! assert_eq!(ToolName::for_script(&skill, "count")?.as_str(), "run_text-tools_count");
//! assert!("../../etc/passwd".parse::<SkillPath>().is_err());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - A [`Permit`], an [`Arguments`] and every name, path and digest have one way in, which checks.
//! - The gate runs before any effect, sees the final request, and a broken gate is *unavailable*,
//!   never a refusal and never a permission.
//! - Errors carry a stable [`Code`]; what a model may see of them is one sanitised line.
//!
//! # What it does not enforce
//!
//! This crate does no I/O and confines nothing: containment belongs to the tiers. A [`SkillPath`]
//! is lexical and says nothing about links on disk.

#![forbid(unsafe_code)]

mod arguments;
mod artifact;
mod call;
mod cancel;
mod capability;
mod code;
mod contain;
mod declaration;
mod digest;
mod error;
mod excerpt;
mod gate;
mod host_calls;
mod live;
mod name;
mod outcome;
mod path;
mod response;
mod schema;
mod source;
mod tier;
mod tool;
mod unfold;

pub use crate::arguments::{Arguments, Violation};
pub use crate::artifact::{
    Artifact, ArtifactId, ArtifactIdRejected, ArtifactSource, ArtifactStore, Line, NewArtifact,
    count_lines,
};
pub use crate::call::{Permit, call};
pub use crate::cancel::CancelToken;
pub use crate::capability::{Capability, CapabilityRejected};
pub use crate::code::Code;
pub use crate::contain::{Panicked, contain_panic};
pub use crate::declaration::{
    DeclarationRejected, FlagName, IsolatedDeclaration, IsolatedForm, Param, ParamKind,
    ScriptDeclaration, TIMEOUT_PARAM,
};
pub use crate::digest::{Digest, DigestRejected, ModeClass};
pub use crate::error::{
    BoxError, MODEL_TEXT_CHARS, SkillError, WireError, is_unprintable, one_line,
};
pub use crate::excerpt::Excerpt;
pub use crate::gate::{
    Decision, Effects, Gate, GateRequest, GateUnavailable, Gatekeeper, IntoAnswer, gate_fn,
};
pub use crate::host_calls::{HostCall, HostCalls, Updates};
pub use crate::live::{Claims, LiveContext, LiveTool, RawOutput};
pub use crate::name::{NameRejected, Reserved, SkillName, ToolName};
pub use crate::outcome::{CallReport, LogEvent, Outcome};
pub use crate::path::{PathReason, PathRejected, SkillPath};
pub use crate::response::{Content, Media, Response};
pub use crate::schema::Schema;
pub use crate::source::{
    DiscoveredSkill, Discovery, FileEntry, FileStat, Scope, SkillDescriptor, SkillFile,
    SkillSource, Skip,
};
pub use crate::tier::Tier;
pub use crate::tool::{BoxFuture, CallContext, Place, Prepared, Provenance, Tool, ToolSpec};
