//! What a policy file says about runs of every skill: limits, sandbox and interpreters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use toml::de::DeTable;

use super::grants::reject_interface;
use super::isolate;
use super::reader::{Located, Reader};
use super::skill::inner;
use crate::grants::PathGrant;
use crate::isolate::IsolateLimits;
use crate::limits::{LimitUnit, RunLimits};
use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::syscalls::SyscallProfile;
use crate::threat::ThreatClass;
use crate::units::TimeSpan;

/// What the root of a script holds besides grants.
#[expect(
    clippy::exhaustive_enums,
    reason = "a script has one root or the other"
)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Base {
    /// The host's `/usr` and what honest programs need around it.
    #[default]
    Usr,
    /// Only what the interpreter was configured to read.
    Minimal,
}

impl Base {
    /// Returns the name used in policy files and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Usr => "usr",
            Self::Minimal => "minimal",
        }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Base {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// An interpreter that a policy file defines.
#[derive(Clone, Debug)]
pub struct Interpreter {
    program: HostPath,
    flags: Vec<String>,
    read: Vec<PathGrant>,
    exec: Vec<PathGrant>,
    origin: Origin,
}

impl Interpreter {
    /// Returns the program.
    pub fn program(&self) -> &HostPath {
        &self.program
    }

    /// Returns the arguments that come before the script's path.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }

    /// Returns what it reads beyond the base.
    pub fn read(&self) -> &[PathGrant] {
        &self.read
    }

    /// Returns the programs beyond the base that a script of it may start.
    pub fn exec(&self) -> &[PathGrant] {
        &self.exec
    }

    /// Returns where it was written.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// The ceilings of `[limits]` and the deadline of a call that names none.
#[derive(Clone, Debug)]
pub(crate) struct Ceilings {
    pub(crate) limits: RunLimits,
    pub(crate) wall_default: Duration,
    pub(crate) isolate: IsolateLimits,
}

impl Ceilings {
    /// Returns the limits that hold without a policy file.
    pub(crate) fn built_in() -> Self {
        let limits = RunLimits::default();
        Self {
            wall_default: limits.wall(),
            limits: limits.with_wall(WALL_MAX),
            isolate: IsolateLimits::default(),
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Self {
        let Self {
            mut limits,
            wall_default,
            isolate,
        } = Self::built_in();
        let Some(table) = inner(root, "limits") else {
            return Self {
                limits,
                wall_default,
                isolate,
            };
        };
        let isolate = isolate::ceilings(reader, root);
        for (axis, amount) in reader.amounts(table) {
            limits = limits.with_amount(axis, amount.value);
        }
        let wall = limits.wall();
        let written = reader.amount(table, "wall_default", LimitUnit::Time);
        let Some(written) = written else {
            return Self {
                wall_default: wall_default.min(wall),
                limits,
                isolate,
            };
        };
        let wall_default = Duration::from_nanos(written.value);
        if wall_default > wall {
            let message = format!(
                "the default of {} is above the maximum of {}",
                TimeSpan::new(wall_default),
                TimeSpan::new(wall)
            );
            reader.reject_with(
                &written.span,
                message,
                "raise `wall`, or lower `wall_default`",
            );
        }
        Self {
            limits,
            wall_default,
            isolate,
        }
    }
}

/// The settings of `[sandbox]`.
#[derive(Clone, Debug)]
pub(crate) struct Sandbox {
    pub(crate) base: Base,
    pub(crate) syscalls: SyscallProfile,
    pub(crate) require: BTreeSet<ThreatClass>,
    pub(crate) cgroup: Option<HostPath>,
}

impl Sandbox {
    /// Returns the settings that hold without a policy file.
    pub(crate) fn built_in() -> Self {
        Self {
            base: Base::default(),
            syscalls: SyscallProfile::Standard,
            require: BTreeSet::new(),
            cgroup: None,
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Self {
        let mut sandbox = Self::built_in();
        let Some(table) = inner(root, "sandbox") else {
            return sandbox;
        };
        let bases = [("usr", Base::Usr), ("minimal", Base::Minimal)];
        if let Some(base) = reader.word(table, "base", &bases) {
            sandbox.base = base.value;
        }
        let profiles = SyscallProfile::ALL.map(|profile| (profile.as_str(), profile));
        if let Some(profile) = reader.word(table, "syscalls", &profiles) {
            sandbox.syscalls = profile.value;
        }
        let classes = ThreatClass::ALL.map(|class| (class.as_str(), class));
        for class in reader.words(table, "require", &classes) {
            if class.value.is_hard_by_default() {
                let message = format!(
                    "`{}` is required always, so this has no effect",
                    class.value
                );
                reader.reject_with(&class.span, message, "remove it");
            }
            sandbox.require.insert(class.value);
        }
        // An empty text is how the file says that there is no parent.
        if reader
            .text(table, "cgroup")
            .is_some_and(|text| !text.value.is_empty())
        {
            sandbox.cgroup = reader.path(table, "cgroup").map(|path| path.value);
        }
        sandbox
    }
}

/// Reads `[gate]`: how long an answer is waited for, if not for ever.
pub(crate) fn gate_deadline(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Option<Duration> {
    let table = inner(root, "gate")?;
    let text = table.get("deadline")?.get_ref().as_str();
    if text == Some("none") {
        return None;
    }
    reader
        .amount(table, "deadline", LimitUnit::Time)
        .map(|span| Duration::from_nanos(span.value))
}

/// Reads `[workspace]`, whose folder no skill may write to.
pub(crate) fn workspace_dir(
    reader: &mut Reader<'_>,
    root: &DeTable<'_>,
    session: &SandboxPolicy,
) -> Option<HostPath> {
    let dir = reader.path(inner(root, "workspace")?, "dir")?;
    reject_interface(reader, &dir);
    if let Some((root, origin)) = session.writable_over(&dir.value) {
        let message = format!(
            "the folder of the workspaces lies inside `{root}`, which {origin} makes writable"
        );
        reader.reject_with(&dir.span, message, "move it, or grant less");
    }
    Some(dir.value)
}

/// Reads `[interpreters]`.
pub(crate) fn interpreters(
    reader: &mut Reader<'_>,
    root: &DeTable<'_>,
    session: &SandboxPolicy,
) -> BTreeMap<String, Interpreter> {
    let mut interpreters = BTreeMap::new();
    let Some(table) = inner(root, "interpreters") else {
        return interpreters;
    };
    for (key, value) in table {
        let Some(table) = value.get_ref().as_table() else {
            continue;
        };
        let name: &str = key.get_ref();
        if !is_interpreter_key(name) {
            let message = format!("`{}` is no name for an interpreter", name.escape_debug());
            reader.reject_with(
                &key.span(),
                message,
                "use lower-case letters, digits, `.`, `-` and `_`",
            );
        }
        for needed in ["argv", "read", "exec"] {
            if !table.contains_key(needed) {
                let message = format!("`interpreters.{}` needs `{needed}`", name.escape_debug());
                let hint = match needed {
                    "argv" => "name the program by its absolute path",
                    _ => "an empty list means nothing, and is allowed",
                };
                reader.reject_with(&key.span(), message, hint);
            }
        }
        let argv = reader.texts(table, "argv");
        let read = reader.paths(table, "read").unwrap_or_default();
        let exec = reader.paths(table, "exec").unwrap_or_default();
        let command = argv.and_then(|argv| {
            let span = table
                .get("argv")
                .map_or_else(|| key.span(), toml::Spanned::span);
            command(reader, argv, &span)
        });
        for root in read.iter().chain(&exec) {
            reject_interface(reader, root);
        }
        for program in exec
            .iter()
            .chain(command.iter().map(|(program, _)| program))
        {
            reject_writable(reader, program, session);
        }
        if let Some((program, flags)) = command {
            let roots = |list: Vec<Located<HostPath>>| {
                list.into_iter()
                    .map(|root| PathGrant {
                        origin: reader.origin(&root.span),
                        path: root.value,
                    })
                    .collect()
            };
            let (read, exec) = (roots(read), roots(exec));
            let origin = reader.origin(&key.span());
            let interpreter = Interpreter {
                program: program.value,
                flags,
                read,
                exec,
                origin,
            };
            interpreters.insert(name.to_owned(), interpreter);
        }
    }
    interpreters
}

/// Splits an argv into the program, which is a path, and the arguments before the script.
fn command(
    reader: &mut Reader<'_>,
    argv: Vec<Located<String>>,
    span: &std::ops::Range<usize>,
) -> Option<(Located<HostPath>, Vec<String>)> {
    let mut argv = argv.into_iter();
    let Some(program) = argv.next() else {
        reader.reject(span, "`argv` is empty: its first item is the program");
        return None;
    };
    if !program.value.contains('/') {
        let message = format!(
            "`{}` is a name, and a program is a path",
            program.value.escape_debug()
        );
        reader.reject_with(
            &program.span,
            message,
            "write its absolute path: nothing is searched",
        );
        return None;
    }
    let program = reader.resolve(program)?;
    let mut flags = Vec::new();
    for flag in argv {
        if flag.value.contains('\0') {
            reader.reject(&flag.span, "an argument cannot hold NUL");
        }
        flags.push(flag.value);
    }
    Some((program, flags))
}

/// A program that a skill can rewrite would run as anything.
fn reject_writable(reader: &mut Reader<'_>, program: &Located<HostPath>, session: &SandboxPolicy) {
    if let Some((root, origin)) = session.writable_over(&program.value) {
        let message = format!(
            "`{}` lies inside `{root}`, which {origin} makes writable",
            program.value
        );
        reader.reject_with(
            &program.span,
            message,
            "a program must lie outside every writable grant",
        );
    }
}

fn is_interpreter_key(key: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    key.len() <= 64
        && key.bytes().next().is_some_and(plain)
        && key
            .bytes()
            .all(|b| plain(b) || matches!(b, b'.' | b'-' | b'_'))
}

/// The longest deadline that a call may ask for, without a policy file.
const WALL_MAX: Duration = Duration::from_secs(30);
