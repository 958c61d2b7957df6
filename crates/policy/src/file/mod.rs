//! The policy file: what a person writes once about every skill.

mod fields;
mod grants;
mod isolate;
mod paths;
mod reader;
mod settings;
mod shape;
mod skill;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{Digest, Scope, SkillName, ToolName};
use toml::de::DeTable;

use self::grants::{Ceiling, WrittenGrants};
use self::reader::Reader;
use self::settings::{Ceilings, Sandbox};
use self::source::{MOST_PROBLEMS, Source};
use crate::cli::CliGrants;
use crate::context;
use crate::error::PolicyWidened;
use crate::grants::Grants;
use crate::isolate::IsolateLimits;
use crate::limits::{Limits, RunLimits};
use crate::order::Widening;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::syscalls::SyscallProfile;

pub use self::fields::{Field, Mechanism, fields};
pub use self::settings::{Base, Interpreter};
pub use self::skill::{Ask, GrantSource, PinMismatch, SkillGrants, UnmatchedEntry};
pub use self::source::{PolicyFileError, Problem};

pub(crate) use self::grants::reach;
pub(crate) use self::paths::resolve;

/// A policy file that was read and checked, or the policy that holds without one.
///
/// Reading is strict: a key that is unknown, a value that makes no sense, a rule that could never
/// take effect and a grant beyond the ceiling are errors, all of them reported at once with their
/// place. What was read is therefore what holds.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::{HostPath, PolicyFile, Rights};
///
/// let text = r#"
/// version = 1
/// [session]
/// read = ["./docs"]
/// "#;
/// let folder: HostPath = "/home/ada/project".parse()?;
/// let file = PolicyFile::parse(text, "bailiwick.toml", &folder)?;
/// let docs: HostPath = "/home/ada/project/docs/a.md".parse()?;
/// assert_eq!(file.session_policy().effective_rights(&docs), Rights::READ_ONLY);
///
/// let error = PolicyFile::parse("version = 1\n[limit]\n", "bailiwick.toml", &folder).unwrap_err();
/// assert_eq!(error.problems()[0].hint(), Some("did you mean `limits`?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PolicyFile {
    label: Option<Arc<str>>,
    fail_on_nonzero_exit: bool,
    ceilings: Ceilings,
    gate_deadline: Option<Duration>,
    workspace_dir: Option<HostPath>,
    sandbox: Sandbox,
    interpreters: BTreeMap<String, Interpreter>,
    session: Grants,
    skills: Vec<SkillGrants>,
}

impl PolicyFile {
    /// Returns the policy that holds without a file: nothing is granted, and limits are small.
    pub fn built_in() -> Self {
        Self {
            label: None,
            fail_on_nonzero_exit: true,
            ceilings: Ceilings::built_in(),
            gate_deadline: None,
            workspace_dir: None,
            sandbox: Sandbox::built_in(),
            interpreters: BTreeMap::new(),
            session: Grants::default(),
            skills: Vec::new(),
        }
    }

    /// Reads the text of a policy file.
    ///
    /// `label` is how messages name the file; `folder` is the canonical folder that holds it, which
    /// its relative paths are relative to.
    ///
    /// # Errors
    ///
    /// [`PolicyFileError`] (`E_INVALID_SKILLS_CONFIG`, or `E_SKILL_SCRIPT_POLICY_WIDENED` when
    /// grants beyond the ceiling are all that is wrong) with every problem.
    pub fn parse(text: &str, label: &str, folder: &HostPath) -> Result<Self, PolicyFileError> {
        let source = Source::new(label, text);
        if text.len() > LARGEST {
            let message = format!("the file is larger than {LARGEST} bytes");
            return Err(PolicyFileError::from(source.problem(&(0..0), message)));
        }
        let (root, syntax) = DeTable::parse_recoverable(text);
        let root = root.get_ref();
        let syntax = syntax.iter().take(MOST_PROBLEMS).map(|error| {
            let span = error.span().unwrap_or(0..0);
            source.problem(&span, format!("this is not TOML: {}", error.message()))
        });
        if let Some(error) = PolicyFileError::from_problems(syntax.collect()) {
            return Err(error);
        }
        let problems = shape::check(&source, root);
        let mut reader = Reader::new(source, folder.clone(), problems);
        let file = Self::read(&mut reader, root, label);
        PolicyFileError::from_problems(reader.into_problems()).map_or(Ok(file), Err)
    }

    /// Reads the bytes of a policy file, as [`parse`](Self::parse) does.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse), and one for bytes that are not UTF-8.
    pub fn parse_bytes(
        bytes: &[u8],
        label: &str,
        folder: &HostPath,
    ) -> Result<Self, PolicyFileError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, label, folder),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let text = String::from_utf8_lossy(valid);
                let end = text.len();
                let source = Source::new(label, &text);
                Err(PolicyFileError::from(
                    source.problem(&(end..end), "the text is not UTF-8 here"),
                ))
            }
        }
    }

    /// Says whether there is no file, and this is the policy that holds without one.
    pub fn is_built_in(&self) -> bool {
        self.label.is_none()
    }

    /// Returns how messages name the file, if there is one.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Returns the ceilings: `wall` is the longest deadline that a call may ask for.
    ///
    /// Defaults to [`RunLimits::default`] with a `wall` of 30 s.
    pub fn limits(&self) -> &RunLimits {
        &self.ceilings.limits
    }

    /// Returns the ceilings for a skill: the file's, lowered where the skill has its own.
    pub fn limits_for(&self, skill: Option<&SkillGrants>) -> RunLimits {
        match skill {
            Some(skill) => skill
                .limits()
                .meet(&Limits::from(self.limits()))
                .or(self.limits()),
            None => self.limits().clone(),
        }
    }

    /// Returns the deadline of a call that names none. Defaults to 10 s.
    pub fn wall_default(&self) -> Duration {
        self.ceilings.wall_default
    }

    /// Returns the deadline of a call to a skill that names none, which its own `wall` may lower.
    pub fn wall_default_for(&self, skill: Option<&SkillGrants>) -> Duration {
        self.wall_default().min(self.limits_for(skill).wall())
    }

    /// Returns the ceilings of isolated tools, besides `wall`. Defaults to
    /// [`IsolateLimits::default`].
    pub fn isolate_limits(&self) -> IsolateLimits {
        self.ceilings.isolate
    }

    /// Returns the limits of a skill's isolated tools: the file's, lowered where the skill has its
    /// own.
    pub fn isolate_limits_for(&self, skill: Option<&SkillGrants>) -> IsolateLimits {
        match skill {
            Some(skill) => self.isolate_limits().lowered_by(skill.isolate_limits()),
            None => self.isolate_limits(),
        }
    }

    /// Returns how long the gate's answer is waited for; nothing means for ever, the default.
    pub fn gate_deadline(&self) -> Option<Duration> {
        self.gate_deadline
    }

    /// Returns the folder for workspaces, if the file names one.
    pub fn workspace_dir(&self) -> Option<&HostPath> {
        self.workspace_dir.as_ref()
    }

    /// Returns what the root of a script holds. Defaults to [`Base::Usr`].
    pub fn base(&self) -> Base {
        self.sandbox.base
    }

    /// Returns the profile of system calls. Defaults to [`SyscallProfile::Standard`].
    pub fn syscalls(&self) -> SyscallProfile {
        self.sandbox.syscalls
    }

    /// Returns the control group that the operator made for runs, if the file names one.
    pub fn cgroup(&self) -> Option<&HostPath> {
        self.sandbox.cgroup.as_ref()
    }

    /// Returns the interpreters that the file defines, by key; each replaces a preset of that key.
    pub fn interpreters(&self) -> &BTreeMap<String, Interpreter> {
        &self.interpreters
    }

    /// Returns what `[session]` lists, which no skill's grants exceed.
    pub fn session(&self) -> &Grants {
        &self.session
    }

    /// Returns every `[[skill]]` in the order of the file.
    pub fn skills(&self) -> &[SkillGrants] {
        &self.skills
    }

    /// Lists the entries that name none of `discovered`, each with the name that it most likely
    /// means.
    ///
    /// Such an entry grants nothing to anyone. It is no error of the file, which may be shared by
    /// projects with different skills; whoever discovered the skills tells it.
    pub fn entries_without(&self, discovered: &[SkillName]) -> Vec<UnmatchedEntry> {
        let idle = self
            .skills
            .iter()
            .filter(|entry| !discovered.contains(entry.name()));
        idle.map(|entry| UnmatchedEntry::new(entry, discovered))
            .collect()
    }

    /// Returns whether a non-zero exit fails the call, unless a skill says otherwise.
    ///
    /// Defaults to `true`.
    pub fn fail_on_nonzero_exit(&self) -> bool {
        self.fail_on_nonzero_exit
    }

    /// Returns the entry that grants to this very copy of a skill, if one does.
    ///
    /// `location` is the copy's folder, or the folder that a person named and that holds it. A copy
    /// from a project is granted by its digest alone. An entry that is pinned wins over one that
    /// names no digest.
    ///
    /// # Errors
    ///
    /// [`PinMismatch`] (`E_SKILL_DIGEST_MISMATCH`) where entries mean copies from there and every
    /// one of them is pinned to another digest.
    pub fn skill_grants(
        &self,
        name: &SkillName,
        scope: Scope,
        location: Option<&HostPath>,
        digest: &Digest,
    ) -> Result<Option<&SkillGrants>, PinMismatch> {
        let meant = || {
            self.skills
                .iter()
                .filter(|entry| entry.means(name, scope, location))
        };
        if let Some(entry) = meant().find(|entry| entry.digest() == Some(digest)) {
            return Ok(Some(entry));
        }
        let pinned = meant().find_map(|entry| entry.digest().map(|pinned| (entry, pinned)));
        match (meant().find(|entry| entry.digest().is_none()), pinned) {
            (Some(entry), _) => Ok(Some(entry)),
            (None, Some((entry, pinned))) => Err(PinMismatch::new(entry, *pinned, *digest)),
            (None, None) => Ok(None),
        }
    }

    /// Returns the ceiling of every derived policy.
    ///
    /// The host base (a run's scratch, the interpreter's own files) is the sandbox's and comes on
    /// top; so do the programs of interpreter presets, with
    /// [`SandboxPolicy::allow_exec`].
    pub fn session_policy(&self) -> SandboxPolicy {
        let mut policy = self
            .session
            .apply(self.settings(Limits::from(self.limits())));
        for interpreter in self.interpreters.values() {
            policy = policy.allow_exec(interpreter.program().clone(), interpreter.origin().clone());
            for program in interpreter.exec() {
                policy = policy.allow_exec(program.path().clone(), program.origin().clone());
            }
        }
        policy
    }

    /// Returns the ceiling for a run with a person's grants of the command line.
    ///
    /// Without a policy file they extend the ceiling; with one they must lie inside it.
    ///
    /// # Errors
    ///
    /// [`PolicyWidened`] (`E_SKILL_SCRIPT_POLICY_WIDENED`) for what lies outside `[session]`.
    pub fn ceiling(&self, cli: &CliGrants) -> Result<SandboxPolicy, PolicyWidened> {
        let session = self.session_policy();
        if self.is_built_in() {
            return Ok(cli.grants().apply_with_params(session));
        }
        let wanted = cli
            .grants()
            .apply_with_params(self.settings(session.limits().clone()));
        let mut witnesses = wanted.widens(&session);
        witnesses.extend(self.context_beyond(cli));
        PolicyWidened::from_witnesses(witnesses).map_or(Ok(session), Err)
    }

    /// Checks a person's grants of `context`, as [`ceiling`](Self::ceiling) does among others.
    ///
    /// For a program that replaces the ceiling of scripts, which says nothing about `context`.
    ///
    /// # Errors
    ///
    /// [`PolicyWidened`] (`E_SKILL_SCRIPT_POLICY_WIDENED`) for what lies outside `[session]`.
    pub fn check_context(&self, cli: &CliGrants) -> Result<(), PolicyWidened> {
        PolicyWidened::from_witnesses(self.context_beyond(cli).collect()).map_or(Ok(()), Err)
    }

    fn context_beyond(&self, cli: &CliGrants) -> impl Iterator<Item = Widening> {
        let wanted = cli.grants().context().iter();
        let bounded = wanted.filter(|_| !self.is_built_in());
        bounded.filter_map(|(name, origin)| {
            let widening = context::beyond(self.session.context(), name)?;
            Some(widening.asked_by(origin.clone()).under(self.label.clone()))
        })
    }

    /// Returns what a tool holds in one run: what the file grants it, and what a person adds.
    pub fn grants_for(
        &self,
        skill: Option<&SkillGrants>,
        tool: Option<&ToolName>,
        cli: &CliGrants,
    ) -> Grants {
        let held = match (skill, tool) {
            (Some(skill), Some(tool)) => skill.tool_grants(tool).clone(),
            (Some(skill), None) => skill.grants().clone(),
            (None, _) => Grants::default(),
        };
        held.union(cli.grants())
    }

    /// Returns the policy that a run asks for: these grants, under the file's settings.
    ///
    /// Parameters are opened on top of it with [`Grants::open`].
    pub fn request(&self, grants: &Grants, limits: &RunLimits) -> SandboxPolicy {
        grants.apply(self.settings(Limits::from(limits)))
    }

    fn settings(&self, limits: Limits) -> SandboxPolicy {
        let policy = SandboxPolicy::deny_all()
            .with_file(self.label.clone())
            .with_limits(limits)
            .with_syscalls(self.sandbox.syscalls);
        self.sandbox
            .require
            .iter()
            .fold(policy, |policy, class| policy.require(*class))
    }

    fn read(reader: &mut Reader<'_>, root: &DeTable<'_>, label: &str) -> Self {
        version(reader, root);
        let session = match skill::inner(root, "session") {
            Some(table) => WrittenGrants::read(reader, table).over(reader, &Grants::default()),
            None => Grants::default(),
        };
        let policy = session.apply(SandboxPolicy::deny_all());
        let ceiling = Ceiling {
            policy: &policy,
            params: &policy,
            context: session.context(),
            hint: "add it to [session], or grant less",
        };
        let ceilings = Ceilings::read(reader, root);
        let mut skills: Vec<SkillGrants> = Vec::new();
        for table in skill::tables(root) {
            let read = SkillGrants::read(reader, table.value, &table.span, ceiling, &ceilings);
            if let Some(skill) = read {
                for earlier in &skills {
                    skill.check_pair(reader, &table.span, earlier);
                }
                skills.push(skill);
            }
        }
        let fail = reader.flag(root, "fail_on_nonzero_exit");
        Self {
            label: Some(label.into()),
            fail_on_nonzero_exit: fail.is_none_or(|flag| flag.value),
            gate_deadline: settings::gate_deadline(reader, root),
            workspace_dir: settings::workspace_dir(reader, root, &policy),
            sandbox: Sandbox::read(reader, root),
            interpreters: settings::interpreters(reader, root, &policy),
            ceilings,
            session,
            skills,
        }
    }
}

fn version(reader: &mut Reader<'_>, root: &DeTable<'_>) {
    match reader.count(root, "version") {
        Some(version) if version.value == VERSION => {}
        Some(version) => {
            let message = format!("version {} is not known", version.value);
            reader.reject_with(&version.span, message, "this build reads `version = 1`");
        }
        None if root.contains_key("version") => {}
        None => reader.reject_with(
            &(0..0),
            "the file has no `version`",
            "begin it with `version = 1`",
        ),
    }
}

/// The version of the file's format.
const VERSION: u64 = 1;

/// Far more than any policy that a person reads, in bytes; the cap of a skill's front matter too.
const LARGEST: usize = 64 << 10;
