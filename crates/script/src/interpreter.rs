//! The allow-list of interpreters. A file is never executed itself.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use bailiwick_core::{Code, SkillError, SkillPath};
use bailiwick_policy::{HostPath, Origin, SandboxPolicy};

/// A program that may run scripts, resolved to the real file.
#[derive(Clone, Debug)]
pub struct Interpreter {
    key: String,
    argv: Vec<String>,
    program: HostPath,
    read: Vec<HostPath>,
    exec: Vec<HostPath>,
    origin: Origin,
    identity: Identity,
}

impl Interpreter {
    /// Resolves an interpreter: follows links to the real program and refuses what is none.
    ///
    /// `argv` begins with the program's absolute path; fixed options follow. `read` and `exec` are
    /// what it needs beyond the base root.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when the program is relative, missing, not executable, or itself
    /// a script (such as a version manager's shim).
    pub fn resolve(
        key: impl Into<String>,
        argv: Vec<String>,
        read: Vec<HostPath>,
        exec: Vec<HostPath>,
        origin: Origin,
    ) -> Result<Self, SkillError> {
        let key = key.into();
        let fail = |reason: String| {
            SkillError::new(
                Code::InvalidSkillsConfig,
                format!("the interpreter `{key}` cannot be used: {reason}"),
            )
            .with_hint(format!(
                "name the real program in `[interpreters.{key}] argv`"
            ))
            .with_detail("field", format!("interpreters.{key}"))
            .with_detail("origin", origin.to_string())
        };
        let Some(first) = argv.first() else {
            return Err(fail("its argv is empty".to_owned()));
        };
        let (program, identity) = real_program(first).map_err(&fail)?;
        Ok(Self {
            key,
            argv,
            program,
            read,
            exec,
            origin,
            identity,
        })
    }

    /// Returns the key by which scripts name it.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the command's beginning, the program first.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Returns the real program.
    pub fn program(&self) -> &HostPath {
        &self.program
    }

    /// Returns what it reads beyond the base root.
    pub fn read(&self) -> &[HostPath] {
        &self.read
    }

    /// Returns which programs beyond the base a script of it may start.
    pub fn exec(&self) -> &[HostPath] {
        &self.exec
    }

    /// Returns the rule that allows it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Checks that the program is still the file that was found when the interpreter was resolved.
    ///
    /// What stands at the path may have been swapped since, by an update or by somebody else: a
    /// person allowed the program that was there first.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_INTERPRETER_UNKNOWN` where another file is there, a changed one, or none.
    pub fn check_unchanged(&self) -> Result<(), SkillError> {
        let found = self.program.as_path().symlink_metadata();
        let changed = match &found {
            Ok(metadata) if Identity::of(metadata) == self.identity => return Ok(()),
            Ok(_) => "another file stands there now".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(SkillError::new(
            Code::ScriptInterpreterUnknown,
            format!(
                "the program of the interpreter `{}`, `{}`, is not the one that was found at first: {changed}",
                self.key, self.program
            ),
        )
        .with_hint("if it was updated, start the host again; nothing was run")
        .with_detail("interpreter", self.key.as_str())
        .with_detail("program", self.program.as_str())
        .with_detail("origin", self.origin.to_string()))
    }

    /// Lets a policy start the program and what a script of it may start.
    #[must_use]
    pub fn allow(&self, policy: SandboxPolicy) -> SandboxPolicy {
        let programs = [&self.program].into_iter().chain(&self.exec);
        programs.fold(policy, |policy, program| {
            policy.allow_exec(program.clone(), self.origin.clone())
        })
    }

    /// Returns whether it is a Python, which finds the skill's modules through `PYTHONPATH`.
    pub fn is_python(&self) -> bool {
        self.program
            .as_path()
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("python"))
    }
}

/// What tells a file from another at the same path, and from itself before a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// The interpreters of a host, by key.
#[derive(Clone, Debug, Default)]
pub struct Interpreters {
    known: BTreeMap<String, Interpreter>,
    absent: BTreeMap<String, String>,
}

impl Interpreters {
    /// Allows nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Allows `sh`, `bash`, `python3` and `node` where a real program of that name is installed.
    ///
    /// A preset whose program is absent is not offered; [`absent`](Self::absent) says why.
    pub fn presets() -> Self {
        let mut interpreters = Self::default();
        for (key, candidates, options) in PRESETS {
            let mut reasons = Vec::new();
            for candidate in *candidates {
                let argv = [*candidate]
                    .iter()
                    .chain(*options)
                    .map(|&item| item.to_owned())
                    .collect();
                match Interpreter::resolve(
                    *key,
                    argv,
                    Vec::new(),
                    Vec::new(),
                    Origin::builtin(*key),
                ) {
                    Ok(interpreter) => {
                        interpreters.known.insert((*key).to_owned(), interpreter);
                        break;
                    }
                    Err(error) => reasons.push(error.message().to_owned()),
                }
            }
            if !interpreters.known.contains_key(*key) {
                interpreters
                    .absent
                    .insert((*key).to_owned(), reasons.join("; "));
            }
        }
        interpreters
    }

    /// Allows an interpreter, replacing a preset of the same key.
    #[must_use]
    pub fn with(mut self, interpreter: Interpreter) -> Self {
        self.absent.remove(&interpreter.key);
        self.known.insert(interpreter.key.clone(), interpreter);
        self
    }

    /// Iterates over the allowed interpreters in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Interpreter> {
        self.known.values()
    }

    /// Iterates over presets that are not offered, each with the reason.
    pub fn absent(&self) -> impl Iterator<Item = (&str, &str)> {
        self.absent
            .iter()
            .map(|(key, reason)| (key.as_str(), reason.as_str()))
    }

    /// Looks an interpreter up by key.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_INTERPRETER_UNKNOWN`; the file itself is never run instead.
    pub fn find(&self, key: &str) -> Result<&Interpreter, SkillError> {
        self.known.get(key).ok_or_else(|| {
            let known: Vec<_> = self.known.keys().map(String::as_str).collect();
            let reason = if self.absent.contains_key(key) {
                "its program is not installed"
            } else {
                "it is not on the allow-list"
            };
            SkillError::new(Code::ScriptInterpreterUnknown, format!("no interpreter `{key}` is available: {reason}"))
                .with_hint(format!(
                    "allowed here: {}; install the program or add `[interpreters.{key}]` to the policy file",
                    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                ))
                .with_detail("interpreter", key)
        })
    }

    /// Chooses the interpreter of an undeclared script by its shebang's *name*, then by extension.
    ///
    /// The shebang's path and the execute bit are ignored.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_INTERPRETER_UNKNOWN`, with a hint of its own for native programs.
    pub fn for_file(&self, path: &SkillPath, head: &[u8]) -> Result<&Interpreter, SkillError> {
        let unknown = |reason: String, hint: &str| {
            SkillError::new(
                Code::ScriptInterpreterUnknown,
                format!("`{path}` cannot be run: {reason}"),
            )
            .with_hint(hint)
            .with_detail("path", path.as_str())
        };
        if head.starts_with(ELF_MAGIC) {
            return Err(unknown(
                "it is a native program, and files are never executed directly".to_owned(),
                "ship the source with a script for an allow-listed interpreter, or install the program on the host and name it in `exec`",
            ));
        }
        let by_shebang = shebang_name(head).and_then(|name| key_of_name(&name));
        let by_extension = path.extension().and_then(key_of_extension);
        let candidates = [by_shebang, by_extension];
        let mut candidates = candidates.iter().flatten();
        let allowed = candidates
            .clone()
            .find(|key| self.known.contains_key(**key));
        let named = allowed.or_else(|| candidates.next()).copied();
        match named {
            Some(key) => self.find(key),
            None => Err(unknown(
                "neither its shebang nor its extension names an interpreter".to_owned(),
                "use an extension such as `.py`, `.sh` or `.js`, or a shebang such as `#!/usr/bin/env python3`",
            )),
        }
    }
}

/// Returns the program's name of a shebang line, looking through `env` and its options.
fn shebang_name(head: &[u8]) -> Option<String> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let first = base(words.next()?);
    if first == "env" {
        words
            .find(|word| !word.starts_with('-') && !word.contains('='))
            .map(base)
    } else {
        Some(first)
    }
}

fn key_of_name(name: &str) -> Option<&'static str> {
    match name {
        "sh" | "dash" | "ash" => Some("sh"),
        "bash" => Some("bash"),
        "node" | "nodejs" => Some("node"),
        name if name.starts_with("python") => Some("python3"),
        _ => None,
    }
}

fn key_of_extension(extension: &str) -> Option<&'static str> {
    match extension {
        "sh" => Some("sh"),
        "bash" => Some("bash"),
        "py" => Some("python3"),
        "js" | "mjs" | "cjs" => Some("node"),
        "ts" => Some("ts"),
        _ => None,
    }
}

/// Follows a configured path to a real, executable, native program.
fn real_program(path: &str) -> Result<(HostPath, Identity), String> {
    let given: HostPath = path.parse().map_err(|error| format!("{error}"))?;
    let real = given
        .as_path()
        .canonicalize()
        .map_err(|error| format!("`{given}`: {error}"))?;
    let real: HostPath = real
        .to_str()
        .ok_or("its path is not UTF-8")?
        .parse()
        .map_err(|error| format!("{error}"))?;
    let identity = check_native(real.as_path()).map_err(|reason| format!("`{given}` {reason}"))?;
    Ok((real, identity))
}

fn check_native(path: &Path) -> Result<Identity, String> {
    let mut file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let metadata = file
        .metadata()
        .map_err(|error| format!("cannot be looked at: {error}"))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err("is not an executable file".to_owned());
    }
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Ok(()) if magic == ELF_MAGIC => Ok(Identity::of(&metadata)),
        Ok(()) if magic.starts_with(b"#!") => {
            Err("is a script itself, not the real program".to_owned())
        }
        Ok(()) | Err(_) => Err("is not a program".to_owned()),
    }
}

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Key, where the program is looked for, and its fixed options.
const PRESETS: &[(&str, &[&str], &[&str])] = &[
    ("sh", &["/bin/sh", "/usr/bin/sh"], &[]),
    (
        "bash",
        &["/usr/bin/bash", "/bin/bash", "/usr/local/bin/bash"],
        &[],
    ),
    // `-B` writes no byte code into the read-only skill; `-I` would ignore PYTHONPATH.
    (
        "python3",
        &["/usr/bin/python3", "/usr/local/bin/python3"],
        &["-B"],
    ),
    ("node", &["/usr/bin/node", "/usr/local/bin/node"], &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SkillPath {
        text.parse().unwrap()
    }

    #[test]
    fn the_shebang_counts_by_name_and_looks_through_env() {
        for (line, name) in [
            ("#!/usr/bin/env python3\n", "python3"),
            ("#!/usr/bin/env -S A=b bash -e\n", "bash"),
            ("#! /opt/odd/bin/node --x\r\n", "node"),
            ("#!/bin/sh", "sh"),
        ] {
            assert_eq!(
                shebang_name(line.as_bytes()).as_deref(),
                Some(name),
                "{line:?}"
            );
        }
        assert_eq!(shebang_name(b"echo hi"), None);
    }

    #[test]
    fn sh_is_found_on_every_host_and_is_a_real_program() {
        let presets = Interpreters::presets();
        let sh = presets.find("sh").unwrap();
        assert!(check_native(sh.program().as_path()).is_ok());
    }

    #[test]
    fn an_unknown_interpreter_never_falls_through_to_the_file() {
        let none = Interpreters::none();
        assert_eq!(
            none.find("sh").unwrap_err().code(),
            Code::ScriptInterpreterUnknown
        );
        for (name, head) in [
            ("scripts/x", &b"#!/usr/bin/perl\n"[..]),
            ("scripts/x", b""),
            ("scripts/a.py", b""),
        ] {
            assert_eq!(
                none.for_file(&path(name), head).unwrap_err().code(),
                Code::ScriptInterpreterUnknown
            );
        }
    }

    #[test]
    fn a_native_program_is_refused_whatever_it_is_called() {
        let error = Interpreters::presets()
            .for_file(&path("scripts/tool.sh"), b"\x7fELF\x02")
            .unwrap_err();
        assert!(error.message().contains("native program"), "{error}");
    }

    #[test]
    fn a_shebang_chooses_bash_for_a_file_called_sh() {
        let bash =
            Interpreter::resolve("bash", vec!["/bin/sh".into()], vec![], vec![], Origin::Code)
                .unwrap();
        let known = Interpreters::presets().with(bash);
        assert_eq!(
            known
                .for_file(&path("a.sh"), b"#!/bin/bash\n")
                .unwrap()
                .key(),
            "bash"
        );
        assert_eq!(
            known.for_file(&path("a.sh"), b"echo\n").unwrap().key(),
            "sh"
        );
    }

    #[test]
    fn a_program_that_was_replaced_changed_or_removed_is_not_the_one_that_was_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("sh");
        let put = |name: &str, more: &[u8]| {
            let mut options = std::fs::OpenOptions::new();
            let options = options.write(true).create(true).truncate(true);
            std::os::unix::fs::OpenOptionsExt::mode(options, 0o755);
            let mut file = options.open(folder.path().join(name)).unwrap();
            std::io::Write::write_all(&mut file, &[ELF_MAGIC, more].concat()).unwrap();
        };
        let resolve = || {
            let argv = vec![program.to_str().unwrap().to_owned()];
            Interpreter::resolve("sh", argv, vec![], vec![], Origin::Code).unwrap()
        };
        let refusal = |interpreter: &Interpreter| {
            let error = interpreter.check_unchanged().unwrap_err();
            assert_eq!(error.code(), Code::ScriptInterpreterUnknown);
            error.message().to_owned()
        };
        put("sh", b"one");
        let first = resolve();
        first.check_unchanged().unwrap();
        put("other", b"one");
        std::fs::rename(folder.path().join("other"), &program).unwrap();
        let message = refusal(&first);
        assert!(
            message.contains("`sh`") && message.contains("another file"),
            "{message}"
        );
        let second = resolve();
        put("sh", b"longer");
        assert!(refusal(&second).contains("another file"));
        let third = resolve();
        std::fs::rename(&program, folder.path().join("moved")).unwrap();
        assert!(refusal(&third).contains("No such file"));
        std::os::unix::fs::symlink("moved", &program).unwrap();
        assert!(refusal(&third).contains("another file"));
    }

    #[test]
    fn a_shim_is_not_taken_for_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let shim = folder.path().join("python3");
        std::os::unix::fs::symlink("/nonexistent", folder.path().join("dangling")).unwrap();
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create_new(true), 0o755);
        std::io::Write::write_all(&mut options.open(&shim).unwrap(), b"#!/bin/sh\nexec x\n")
            .unwrap();
        for (program, reason) in [("python3", "script itself"), ("dangling", "No such file")] {
            let argv = vec![folder.path().join(program).to_str().unwrap().to_owned()];
            let error =
                Interpreter::resolve("python3", argv, vec![], vec![], Origin::Code).unwrap_err();
            assert_eq!(error.code(), Code::InvalidSkillsConfig);
            assert!(error.message().contains(reason), "{error}");
        }
    }
}
