//! A world of its own for each test, and the program run in it.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A temporary home with a project in it.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What a run of the program came to.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Interrupts a program as a person at a terminal does, and returns what it came to.
pub(crate) fn interrupted(mut child: Child) -> Ran {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, Signal::SIGINT).unwrap();
    let mut stdout = String::new();
    let mut stream = child.stdout.take().unwrap();
    stream.read_to_string(&mut stdout).unwrap();
    Ran {
        exit: child.wait().unwrap().code().unwrap(),
        stdout,
        stderr: String::new(),
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["home", "project/.git", "project/.agents/skills"] {
            std::fs::create_dir_all(world.path(folder)).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a skill of the project with one script for `sh`, named `run`, without parameters.
    pub(crate) fn skill(&self, name: &str, script: &str) {
        self.skill_with(name, script, "");
    }

    /// Writes a skill whose script has parameters, given as lines of YAML.
    pub(crate) fn skill_with(&self, name: &str, script: &str, params: &str) {
        let folder = format!("project/.agents/skills/{name}");
        self.write(
            &format!("{folder}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: Runs a script.\nversion: 1.0.0\n---\n"),
        );
        let params = if params.is_empty() {
            String::new()
        } else {
            format!("    params:\n{params}")
        };
        self.write(
            &format!("{folder}/bailiwick.yaml"),
            &format!(
                "scripts:\n  - name: run\n    path: scripts/run.sh\n    description: Runs.\n    interpreter: sh\n{params}"
            ),
        );
        self.write(&format!("{folder}/scripts/run.sh"), script);
    }

    /// Writes a skill of the project with one isolated tool.
    pub(crate) fn tool_skill(&self, name: &str, tool: &str, source: &str) {
        let folder = format!("project/.agents/skills/{name}");
        self.write(
            &format!("{folder}/SKILL.md"),
            &format!(
                "---\nname: {name}\ndescription: Has a tool.\nversion: 1.0.0\ntools: [{tool}]\n---\n"
            ),
        );
        self.write(&format!("{folder}/scripts/{tool}.js"), source);
    }

    /// Prepares a run of the program in the project, with an environment of its own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(
            built("bailiwick", env!("CARGO_BIN_EXE_bailiwick")),
            arguments,
        )
    }

    pub(crate) fn command_of(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear();
        command
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    /// Returns the folder that the program is in.
    pub(crate) fn program_folder(&self) -> PathBuf {
        let program = self.command(&[]).get_program().to_owned();
        Path::new(&program).parent().unwrap().to_owned()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let path = self.write("input", input);
        let file = std::fs::File::open(path).unwrap();
        Ran::of(&self.command(arguments).stdin(file).output().unwrap())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Returns a word that only processes of this world carry.
    pub(crate) fn mark(&self) -> String {
        format!(
            "mark-{}",
            self.folder
                .path()
                .file_name()
                .unwrap()
                .to_string_lossy()
                .trim_start_matches('.')
        )
    }

    /// Returns the digest of a skill, as `list --digests` computes it.
    pub(crate) fn digest_of(&self, skill: &str) -> String {
        let value = self
            .run(&["list", "--digests", "--json"])
            .succeeded()
            .json();
        let skills = value["skills"].as_array().unwrap();
        let found = skills.iter().find(|row| row["name"] == skill).unwrap();
        found["digest"].as_str().unwrap().to_owned()
    }

    /// Replaces what differs from world to world and from run to run.
    pub(crate) fn settled(&self, text: &str) -> String {
        let base = self.folder.path().canonicalize().unwrap();
        let text = text.replace(&*base.to_string_lossy(), "[world]");
        let mut settled = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find("sha256:") {
            let digest = at + "sha256:".len();
            settled.push_str(&rest[..at]);
            settled.push_str("[digest]");
            rest = rest[digest..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
        }
        settled + rest
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            exit: output.status.code().unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns the one object of `--json`.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Returns the code of the error in the one object.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {self}"))
            .to_owned()
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.exit, 0, "{self}");
        self
    }

    #[track_caller]
    pub(crate) fn ended(self, exit: i32) -> Self {
        assert_eq!(self.exit, exit, "{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n{}\n{}", self.exit, self.stdout, self.stderr)
    }
}

/// Returns where a program is now: an archive of tests may have moved it since it was built.
pub(crate) fn built(name: &str, then: &str) -> PathBuf {
    let now = std::env::var_os(format!("NEXTEST_BIN_EXE_{name}"));
    now.map_or_else(|| PathBuf::from(then), PathBuf::from)
}

/// Returns where the sources of this crate are now.
pub(crate) fn manifest_folder() -> PathBuf {
    let now = std::env::var_os("CARGO_MANIFEST_DIR");
    now.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
}

/// Returns the command lines of the processes that carry a mark.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        // A process may end between the listing and the reading.
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        if arguments.contains(mark) && entry.path() != Path::new("/proc/self") {
            found.push(arguments);
        }
    }
    found
}
