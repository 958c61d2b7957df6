//! Pure algebra of sandbox policies, and the policy file.
//!
//! A [`SandboxPolicy`] says what a script may touch: subtrees of files, the network, programs,
//! variables, system calls, limits. Policies are ordered, so that "this run asks for no more than
//! the session allows" is decided and not hoped for: [`derive()`] proves it and returns the
//! [`EffectivePolicy`] that the sandbox takes, or refuses with a witness. A [`PolicyFile`] is how a
//! person writes policies down; every grant remembers the line it was written on.
//!
//! # Examples
//!
//! ```
//! use bailiwick_policy::{CliGrants, HostPath, PolicyFile, Rights, derive};
//!
//! let text = r#"
//! version = 1
//!
//! [session]
//! read = ["./docs"]
//!
//! [[skill]]
//! name = "release-notes"
//! source = "user"
//! grant.read = ["./docs/api"]
//! "#;
//! let folder: HostPath = "/home/ada/project".parse()?;
//! let file = PolicyFile::parse(text, "bailiwick.toml", &folder)?;
//!
//! let cli = CliGrants::none();
//! let session = file.ceiling(&cli)?;
//! let skill = &file.skills()[0];
//! let grants = file.grants_for(Some(skill), None, &cli);
//! let request = file.request(&grants, &file.limits_for(Some(skill)));
//! let policy = derive(&session, &request)?;
//!
//! let api: HostPath = "/home/ada/project/docs/api/index.md".parse()?;
//! let answer = policy.explain_path(&api, Rights::READ);
//! assert!(answer.allowed());
//! assert_eq!(answer.rules()[0].to_string(), "bailiwick.toml:10");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - The order is a lattice: reflexive, transitive, antisymmetric up to effect, and
//!   [`SandboxPolicy::meet`] is the greatest policy within both.
//! - Rights at a path are the union of the grants there and above, as in one Landlock layer; the
//!   model never says what the kernel cannot keep.
//! - Nothing is narrowed in silence: what is too wide is refused with axis, place, wanted and held.
//! - A proof can be checked again: [`prove()`] lists what it compared in a [`Certificate`], and
//!   [`Certificate::check`] trusts nothing of it; where there is no proof there is a
//!   [`CounterExample`], about which both policies can be asked.
//! - A policy file has no inert field: a key that is unknown or not built, a rule that can never
//!   take effect and a default above its maximum are errors with their place, reported together.
//!   [`fields()`] is the one list of keys.
//! - Parsing panics on no input.
//!
//! # What it does not enforce
//!
//! Nothing here touches the system. Paths are text: whether one is a link, who owns it and whether
//! it exists is found out by the sandbox, which opens each root once and enforces the rights. A
//! [`TrustStore`] is a value; keeping it in a file that no skill can write is the program's task.

#![forbid(unsafe_code)]

mod certificate;
mod cli;
mod compare;
mod context;
mod effective;
mod env;
mod error;
mod explain;
mod file;
mod grants;
mod host_port;
mod isolate;
mod isolated;
mod limits;
mod nearest;
mod network;
mod order;
mod origin;
mod path;
mod policy;
mod prove;
mod rights;
mod surroundings;
mod syscalls;
mod threat;
mod trust;
mod units;

pub use crate::certificate::{Certificate, CertificateError};
pub use crate::cli::{CliGrantError, CliGrants};
pub use crate::compare::Comparison;
pub use crate::effective::{EffectivePolicy, EffectiveRoot, derive};
pub use crate::env::{EnvName, EnvNameError};
pub use crate::error::{PolicyError, PolicyWidened};
pub use crate::explain::{Answer, Explanation, Verdict};
pub use crate::file::{
    Ask, Base, Field, GrantSource, Interpreter, Mechanism, PinMismatch, PolicyFile,
    PolicyFileError, Problem, SkillGrants, UnmatchedEntry, fields,
};
pub use crate::grants::{Access, Grants, PathGrant};
pub use crate::host_port::{HostPort, HostPortError, HostPorts};
pub use crate::isolate::{IsolateAxis, IsolateLimits};
pub use crate::limits::{LimitAxis, LimitUnit, Limits, RunLimits};
pub use crate::network::{Net, Unix};
pub use crate::order::{Axis, Widening};
pub use crate::origin::Origin;
pub use crate::path::{HostPath, PathError, PathErrorKind, RelPath};
pub use crate::policy::{Grant, SandboxPolicy};
pub use crate::prove::{CounterExample, Point, prove};
pub use crate::rights::Rights;
pub use crate::surroundings::{Surroundings, Whose};
pub use crate::syscalls::{SyscallProfile, UnknownSyscallProfile};
pub use crate::threat::{ThreatClass, UnknownThreatClass};
pub use crate::trust::{Binding, TrustError, TrustState, TrustStore, check_outside_grants};
pub use crate::units::{ByteSize, TimeSpan, UnitError};
