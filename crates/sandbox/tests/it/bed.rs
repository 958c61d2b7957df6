//! A test bed: a host, a skill folder and a policy.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bailiwick_policy::{
    Limits, Net, Origin, Rights, RunLimits, SandboxPolicy, SyscallProfile, derive,
};
use bailiwick_sandbox::{
    Base, Compiled, Completion, ConfinedChild, ConfinedCommand, End, Host, HostConfig, Layer,
    Program, SCRATCH_LINKS, SandboxError, Session, Stream, spawn,
};
use bailiwick_testkit::require_sandbox;
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

    /// Beds on this machine's host and, where control groups count for it, on the same without them.
    pub(crate) fn with_and_without_groups() -> Vec<Self> {
        let layers = host().layers();
        let grouped = GROUPS.iter().any(|layer| layers.is_in_force(*layer));
        let without = grouped.then(|| Self::on(without(&GROUPS)));
        [Self::new()].into_iter().chain(without).collect()
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

    /// Compiles the policy for the shell.
    pub(crate) fn compile(&self) -> Result<Compiled, SandboxError> {
        self.compile_for("/bin/sh")
    }

    /// Compiles the policy for a program.
    pub(crate) fn compile_for(&self, program: &str) -> Result<Compiled, SandboxError> {
        let policy = derive(&self.policy, &self.policy).expect("a policy lies within itself");
        let session = Session::open(policy.session_roots())?;
        let program = Program::new(program.parse().expect("a path"), Vec::new(), Vec::new());
        Compiled::new(
            &self.host,
            &session,
            &policy,
            &program,
            self.skill.path(),
            self.base,
        )
    }

    /// Starts a program.
    pub(crate) fn start(&self, arguments: &[&str]) -> ConfinedChild {
        let program = arguments.first().expect("a program");
        let compiled = self.compile_for(program).expect("a compiled policy");
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
            // Every process that tests has a state folder, and so no lock, of its own; and where the
            // kernel counts processes by uid, two that shared one would be refused too early.
            let uids = 0x7000_8000 + std::process::id() % 4095 * 256;
            let config = HostConfig::new(state.path()).with_uids(uids..uids + 256);
            let host = Host::probe(config).expect("a host");
            (host, state)
        })
        .0
}

/// The machine's host with layers taken away.
pub(crate) fn without(layers: &[Layer]) -> Host {
    layers.iter().copied().fold(host().clone(), Host::without)
}

/// The layers that control groups are.
pub(crate) const GROUPS: [Layer; 4] = [
    Layer::CgroupKill,
    Layer::CgroupMemory,
    Layer::CgroupPids,
    Layer::CgroupCpu,
];

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

/// The names of the control groups that one process has made.
pub(crate) fn groups(pid: u32) -> Vec<String> {
    let memberships = fs::read_to_string("/proc/self/cgroup").expect("memberships");
    let own: BTreeSet<_> = memberships
        .lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .collect();
    let tops = ["unified", "pids", "memory", "cpuacct", ""];
    let folders = tops.iter().flat_map(|top| {
        own.iter()
            .map(move |group| format!("/sys/fs/cgroup/{top}{group}"))
    });
    let names = folders
        .filter_map(|path| fs::read_dir(path).ok())
        .flat_map(Iterator::flatten)
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mine = format!("-{pid}-");
    let names: BTreeSet<_> = names
        .filter(|name| name.starts_with("bailiwick.") && name.contains(&mine))
        .collect();
    names.into_iter().collect()
}

/// Says whether this process runs one test alone.
pub(crate) fn is_alone() -> bool {
    std::env::vars().any(|(name, _)| name == ALONE)
}

/// This very program, to run one test alone: what other tests do meanwhile would be counted too.
/// The words before it start it, such as `unshare` with its options.
pub(crate) fn alone(before: &[&str], test: &str) -> std::process::Command {
    let program = std::env::current_exe().expect("a path");
    let program = program.to_str().expect("text");
    let words = [before, &[program, "--exact", test, "--nocapture"]].concat();
    let (first, rest) = words.split_first().expect("a program");
    let mut command = std::process::Command::new(first);
    command.args(rest).env(ALONE, "1");
    command
}

/// Runs one test alone, which must succeed.
pub(crate) fn succeed_alone(before: &[&str], test: &str) {
    let output = alone(before, test).output().expect("a test run");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

const ALONE: &str = "BAILIWICK_TEST_ALONE";

/// Says whether a program that a test needs is on this machine. A missing one fails the test where
/// the sandbox is required, and is named on standard error elsewhere.
pub(crate) fn needs(program: &str) -> bool {
    require_sandbox(if has(program) { Ok(()) } else { Err(program) })
}

/// Says whether a layer that a test is about is in force. It must be where the sandbox is required,
/// unless only a privileged host can have it and this one is not.
#[expect(clippy::print_stderr, reason = "a skip must be loud")]
pub(crate) fn needs_layer(layer: Layer) -> bool {
    if host().layers().is_in_force(layer) {
        return true;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: {layer:?} needs a privileged host");
        return false;
    }
    require_sandbox(Err(format!("{layer:?} is not in force")))
}

/// Says whether a path is on this machine.
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

/// Waits for something that another process or thread is about to do; a loaded machine may take seconds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::yield_now();
    }
}

/// A time to sleep, in seconds, that no other test of this machine has: its processes are found by it.
pub(crate) fn nap() -> String {
    static NAP: AtomicU64 = AtomicU64::new(0);
    let number = NAP.fetch_add(1, Ordering::Relaxed);
    format!("66.{:010}{number:05}", std::process::id())
}
