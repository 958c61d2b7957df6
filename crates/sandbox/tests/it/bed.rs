//! A test bed: a host, a skill folder and a policy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bailiwick_policy::{
    Limits, Net, Origin, Rights, RunLimits, SandboxPolicy, SyscallProfile, derive,
};
use bailiwick_sandbox::{
    Base, Compiled, Completion, ConfinedChild, ConfinedCommand, End, Host, HostConfig, Program,
    SCRATCH_LINKS, SandboxError, Session, Stream, spawn,
};
use tempfile::TempDir;

/// What a test runs in.
pub(crate) struct Bed {
    pub(crate) host: Host,
    pub(crate) policy: SandboxPolicy,
    pub(crate) skill: TempDir,
    pub(crate) base: Base,
}

impl Bed {
    /// A bed on this machine's host, with the default policy and the system calls that tools need.
    pub(crate) fn new() -> Self {
        Self::on(host().clone())
    }

    /// A bed on a host with something taken away.
    pub(crate) fn on(host: Host) -> Self {
        let skill = open_folder();
        for (name, target) in SCRATCH_LINKS {
            std::os::unix::fs::symlink(target, skill.path().join(name)).expect("a link");
        }
        let policy = SandboxPolicy::deny_all().with_syscalls(SyscallProfile::Standard);
        Self {
            host,
            policy,
            skill,
            base: Base::Usr,
        }
    }

    /// Sets limits, starting from the defaults.
    pub(crate) fn limited(mut self, change: impl FnOnce(RunLimits) -> RunLimits) -> Self {
        self.policy = self
            .policy
            .with_limits(Limits::from(&change(RunLimits::default())));
        self
    }

    /// Grants a place.
    pub(crate) fn granted(mut self, path: &Path, rights: Rights) -> Self {
        let path = path.to_str().expect("text").parse().expect("a path");
        self.policy = self.policy.grant(path, rights, Origin::Code);
        self
    }

    /// Sets the network.
    pub(crate) fn networked(mut self, net: Net) -> Self {
        self.policy = self.policy.with_net(net, Origin::Code);
        self
    }

    /// Puts a file into the skill.
    pub(crate) fn file(&self, name: &str, content: &str) {
        let path = self.skill.path().join(name);
        fs::write(&path, content).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
    }

    /// Compiles the policy.
    pub(crate) fn compile(&self) -> Result<Compiled, SandboxError> {
        let policy = derive(&self.policy, &self.policy).expect("a policy lies within itself");
        let session = Session::open(policy.session_roots())?;
        let shell = Program::new("/bin/sh".parse().expect("a path"), Vec::new(), Vec::new());
        Compiled::new(
            &self.host,
            &session,
            &policy,
            &shell,
            self.skill.path(),
            self.base,
        )
    }

    /// Starts a program.
    pub(crate) fn start(&self, arguments: &[&str]) -> ConfinedChild {
        let compiled = self.compile().expect("a compiled policy");
        spawn(&compiled, command(arguments)).expect("a run")
    }

    /// Starts a shell script.
    pub(crate) fn start_script(&self, script: &str) -> ConfinedChild {
        self.start(&["/bin/sh", "-c", script])
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Completion {
        self.start(arguments).wait()
    }

    /// Runs a shell script to its end.
    pub(crate) fn script(&self, script: &str) -> Completion {
        self.start_script(script).wait()
    }

    /// Runs a shell script that must succeed and gives what it printed.
    pub(crate) fn prints(&self, script: &str) -> String {
        let completion = self.script(script);
        assert_eq!(
            completion.end,
            End::Exited(0),
            "{script}: {}",
            shown(&completion)
        );
        stdout(&completion)
    }

    /// Runs Python.
    pub(crate) fn python(&self, program: &str) -> Completion {
        self.run(&["/usr/bin/python3", "-B", "-c", program])
    }
}

/// The machine's host, probed once.
pub(crate) fn host() -> &'static Host {
    static HOST: OnceLock<(Host, TempDir)> = OnceLock::new();
    &HOST
        .get_or_init(|| {
            let state = tempfile::tempdir().expect("a folder");
            let host = Host::probe(HostConfig::new(state.path())).expect("a host");
            (host, state)
        })
        .0
}

/// A command with the environment that runs have.
pub(crate) fn command(arguments: &[&str]) -> ConfinedCommand {
    static RUN: AtomicU64 = AtomicU64::new(0);
    let run = format!("test-{}", RUN.fetch_add(1, Ordering::Relaxed));
    let mut command = ConfinedCommand::new(run, arguments.iter().copied()).expect("a command");
    for (name, value) in [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/run/rw/home"),
        ("TMPDIR", "/run/rw/tmp"),
        ("LANG", "C.UTF-8"),
    ] {
        command = command.with_env(name, value).expect("a variable");
    }
    command
}

/// A folder that every user can enter, as a materialised skill is.
pub(crate) fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
    folder
}

/// What a run wrote to standard output.
pub(crate) fn stdout(completion: &Completion) -> String {
    String::from_utf8_lossy(&completion.output.of(Stream::Stdout)).into_owned()
}

/// What a run wrote, for a failing assertion.
pub(crate) fn shown(completion: &Completion) -> String {
    format!(
        "{:?} out={:?} err={:?}",
        completion.end,
        stdout(completion),
        String::from_utf8_lossy(&completion.output.of(Stream::Stderr))
    )
}

/// Says whether a program is on this machine.
pub(crate) fn has(program: &str) -> bool {
    Path::new(program).exists()
}

/// The processes of this machine whose command line holds a word.
pub(crate) fn alive(word: &str) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(word))
        .count()
}
