//! What this crate refuses, and the code that each refusal has.

use std::fmt;
use std::io;
use std::path::PathBuf;

use bailiwick_core::{Capability, Code, SkillError, SkillName, Violation};
use serde_json::{Value, json};

/// A failure at the border between a guest and the services of its host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// An argument that its schema lets through cannot be used.
    #[error("`{member}`: {reason} ({pointer})")]
    Argument {
        /// The member.
        member: Capability,
        /// The JSON pointer of the argument.
        pointer: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A directory that paths are relative to is not absolute.
    #[error("the directory `{}` of the call is not absolute", path.display())]
    Cwd {
        /// The directory.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("`{member}`: `{path}` {fault}")]
    File {
        /// The member.
        member: Capability,
        /// The path, as the guest gave it.
        path: String,
        /// What stands in the way.
        fault: FileFault,
        /// What the system said.
        source: Option<io::Error>,
    },
    /// The handler of a member panicked.
    #[error("`{member}` failed inside the host")]
    HandlerPanicked {
        /// The member.
        member: Capability,
    },
    /// A member cannot be part of a registry.
    #[error("the member `{name}` cannot be registered: {reason}")]
    MemberRejected {
        /// The name, as it was given.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The call was made outside a tokio runtime.
    #[error("`{member}` was called outside a tokio runtime")]
    NoRuntime {
        /// The member.
        member: Capability,
    },
    /// The member exists and is not granted.
    #[error("`{member}` is not granted to `{skill}`")]
    NotGranted {
        /// The member.
        member: Capability,
        /// The skill that the call belongs to.
        skill: SkillName,
        /// What the skill is granted, each with the rule that says so.
        granted: Vec<(Capability, String)>,
    },
    /// A path lies beneath no root that the skill may read.
    #[error("`{member}`: `{path}` {} what `{skill}` may read", leaves(*.by_link))]
    OutsideRoots {
        /// The member.
        member: Capability,
        /// The skill that the call belongs to.
        skill: SkillName,
        /// The path, as the guest gave it.
        path: String,
        /// Whether a link on the way leaves the root, rather than the path itself.
        by_link: bool,
        /// The roots, each with the rule that grants it.
        roots: Vec<(PathBuf, String)>,
    },
    /// The member was called more often than one guest call may.
    #[error("`{member}` may be called {quota} times in one call of a tool, and was")]
    QuotaSpent {
        /// The member.
        member: Capability,
        /// How often it may be called.
        quota: u32,
    },
    /// A root cannot be opened.
    #[error("the root `{}` cannot be granted: {reason}", path.display())]
    Root {
        /// The root.
        path: PathBuf,
        /// The rule that names it.
        origin: String,
        /// What is wrong with it.
        reason: &'static str,
        /// What the system said.
        source: Option<io::Error>,
    },
    /// A grant names nothing that a guest can be granted.
    #[error("the grant `{capability}` ({origin}) names nothing of `context`")]
    UnknownGrant {
        /// The name.
        capability: Capability,
        /// The rule that grants it.
        origin: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The guest called a member that does not exist.
    #[error("`context` has no member `{member}`")]
    UnknownMember {
        /// The name, as the guest gave it, cut.
        member: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
}

impl From<HostError> for SkillError {
    fn from(error: HostError) -> Self {
        let text = error.to_string();
        match error {
            HostError::Argument {
                member,
                pointer,
                reason,
            } => {
                let violations = [Violation::new(pointer, &reason)];
                Self::new(Code::ArgumentsRejected, text)
                    .with_hint("correct the named value")
                    .with_detail("member", member.as_str())
                    .with_detail(
                        "violations",
                        serde_json::to_value(violations).unwrap_or_default(),
                    )
            }
            HostError::Cwd { path } => Self::new(Code::InvalidSkillsConfig, text)
                .with_hint("give the call's context an absolute `cwd`")
                .with_detail("path", path.display().to_string()),
            HostError::File {
                member,
                path,
                fault,
                source,
            } => {
                let error = Self::new(fault.code(), text)
                    .with_hint(fault.hint())
                    .with_detail("member", member.as_str())
                    .with_detail("path", path)
                    .with_detail("reason", fault.as_str());
                match source {
                    Some(source) => error.with_source(source),
                    None => error,
                }
            }
            HostError::HandlerPanicked { member } => Self::new(Code::ToolFailed, text)
                .with_hint("this is a fault of the host, not of the call; its log has the panic")
                .with_detail("member", member.as_str())
                .with_detail("reason", "panic"),
            HostError::MemberRejected { name, reason } => {
                Self::new(Code::InvalidSkillsConfig, text)
                    .with_hint("register each member once, as `namespace.member`")
                    .with_detail("member", name)
                    .with_detail("reason", reason)
            }
            HostError::NoRuntime { member } => Self::new(Code::InvalidSkillsConfig, text)
                .with_hint("drive the call from a task of a tokio runtime")
                .with_detail("member", member.as_str()),
            HostError::NotGranted {
                member,
                skill,
                granted,
            } => Self::new(Code::IsolatedCapabilityDenied, text)
                .with_hint(format!(
                    "grant it in the policy file with `grant.context = [\"{member}\"]`, or for \
                         one run with `--grant context={member}`"
                ))
                .with_detail("skill", skill.as_str())
                .with_detail("capability", member.as_str())
                .with_detail("member", member.as_str())
                .with_detail("granted", pairs("capability", granted)),
            HostError::OutsideRoots {
                member,
                skill,
                path,
                by_link,
                roots,
            } => {
                let roots = roots
                    .into_iter()
                    .map(|(path, origin)| (path.display().to_string(), origin));
                Self::new(Code::IsolatedCapabilityDenied, text)
                    .with_hint(outside_hint(&path, by_link))
                    .with_detail("skill", skill.as_str())
                    .with_detail("capability", member.as_str())
                    .with_detail("member", member.as_str())
                    .with_detail("path", path)
                    .with_detail("reason", if by_link { "link" } else { "outside" })
                    .with_detail("roots", pairs("path", roots))
            }
            HostError::QuotaSpent { member, quota } => Self::new(Code::ToolFailed, text)
                .with_hint("do more with each call, or split the work over several tool calls")
                .with_detail("capability", member.as_str())
                .with_detail("member", member.as_str())
                .with_detail("quota", quota),
            HostError::Root {
                path,
                origin,
                source,
                reason,
            } => {
                let error = Self::new(Code::InvalidSkillsConfig, text)
                    .with_hint(format!(
                        "see {origin}; a root is a directory or file, by its resolved path"
                    ))
                    .with_detail("path", path.display().to_string())
                    .with_detail("origin", origin)
                    .with_detail("reason", reason);
                match source {
                    Some(source) => error.with_source(source),
                    None => error,
                }
            }
            HostError::UnknownGrant {
                capability,
                origin,
                nearest,
            } => Self::new(Code::InvalidSkillsConfig, text)
                .with_hint(meant(nearest.as_deref()))
                .with_detail("capability", capability.as_str())
                .with_detail("origin", origin),
            HostError::UnknownMember { member, nearest } => Self::new(Code::NotFound, text)
                .with_hint(meant(nearest.as_deref()))
                .with_detail("member", member),
        }
    }
}

/// What stands between a guest and a file beneath its roots.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FileFault {
    /// Nothing has that name, or no longer.
    NotFound,
    /// The system denies it to the host itself.
    PermissionDenied,
    /// It is no regular file; carries what it is.
    NotRegular(&'static str),
    /// It is no directory.
    NotDirectory,
    /// It is information of the kernel about processes, this one included.
    ProcessInformation,
    /// Links lead to one another, or the path is too long to follow.
    Unresolvable,
    /// It is no UTF-8 text; carries the number of the first line that is not.
    NotText(u64),
    /// Reading it failed.
    Failed,
}

impl FileFault {
    /// Returns the fault's word in the error's details.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::PermissionDenied => "permission_denied",
            Self::NotRegular(_) => "not_regular",
            Self::NotDirectory => "not_directory",
            Self::ProcessInformation => "process_information",
            Self::Unresolvable => "unresolvable",
            Self::NotText(_) => "not_text",
            Self::Failed => "failed",
        }
    }

    const fn code(self) -> Code {
        match self {
            Self::NotRegular(_) | Self::NotDirectory | Self::NotText(_) => Code::ArgumentsRejected,
            Self::ProcessInformation => Code::IsolatedCapabilityDenied,
            Self::NotFound | Self::PermissionDenied | Self::Unresolvable | Self::Failed => {
                Code::ToolFailed
            }
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::NotFound => "list what there is with `fs.glob`, then name one of it",
            Self::PermissionDenied => "let the user that the host runs as read it, or leave it out",
            Self::NotRegular(_) => "name a regular file; `fs.glob` lists the files of a directory",
            Self::NotDirectory => "name a directory",
            Self::ProcessInformation => {
                "nothing grants it; a script sees the process information of its own sandbox"
            }
            Self::Unresolvable => "name the file itself instead of a link",
            Self::NotText(_) => "read it with `{ encoding: \"base64\" }`",
            Self::Failed => "try again; the host's log has what the system said",
        }
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("does not exist"),
            Self::PermissionDenied => f.write_str("may not be read by the host"),
            Self::NotRegular(kind) => write!(f, "is {kind}, not a regular file"),
            Self::NotDirectory => f.write_str("is no directory"),
            Self::ProcessInformation => {
                f.write_str("is information about processes, the host's own included")
            }
            Self::Unresolvable => f.write_str("cannot be followed to its end"),
            Self::NotText(line) => write!(f, "is no UTF-8 text (line {line})"),
            Self::Failed => f.write_str("cannot be read"),
        }
    }
}

const fn leaves(by_link: bool) -> &'static str {
    if by_link {
        "leads out of"
    } else {
        "is not beneath"
    }
}

fn outside_hint(path: &str, by_link: bool) -> String {
    if by_link {
        return "a link is followed only within one root; grant its target, and name that"
            .to_owned();
    }
    let folder = match path.rsplit_once('/') {
        // Nobody is advised to grant everything.
        Some(("", _)) => path,
        Some((folder, _)) => folder,
        None => ".",
    };
    // The path is the guest's word, and the hint is for a person: it is repeated only when it
    // cannot pass for more than a path.
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let folder = if folder.chars().all(is_plain) && folder.len() <= MAX_ADVISED {
        folder
    } else {
        "DIR"
    };
    format!(
        "grant a directory that holds it, with `grant.read = [\"{folder}\"]` in the policy file or \
         `--grant read={folder}` for one run"
    )
}

fn meant(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`docs/isolated-tools.md` lists the members that come with the runtime".to_owned(),
    }
}

fn pairs(key: &str, list: impl IntoIterator<Item = (impl fmt::Display, String)>) -> Value {
    list.into_iter()
        .map(|(name, origin)| json!({ key: name.to_string(), "origin": origin }))
        .collect()
}

/// The longest path that a hint advises to grant, in bytes.
const MAX_ADVISED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_repeats_a_path_only_when_it_is_no_more_than_one() {
        let hint = |path: &str| outside_hint(path, false);
        assert!(hint("docs/a.md").contains("`grant.read = [\"docs\"]`"));
        assert!(hint("a.md").contains("`--grant read=.`"));
        assert!(hint("/etc").contains("`--grant read=/etc`"));
        assert!(hint("/\"], write = [\"/x").contains("`grant.read = [\"DIR\"]`"));
        assert!(hint("x --grant write=/ /y").contains("`--grant read=DIR`"));
    }
}
