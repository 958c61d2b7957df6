//! What the confinement of tier 3 adds to starting a program.

mod bwrap;
mod layers;
mod load;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bailiwick::sandbox::{
    Base, Compiled, ConfinedCommand, End, Host, HostConfig, Program, Session, spawn,
};
use bailiwick::sandbox_policy::{
    HostPath, Limits, Net, Origin, RunLimits, SandboxPolicy, ThreatClass, derive,
};
use bailiwick::scripts::Interpreter;
use bailiwick::{Decision, InMemorySkill, InMemorySource, SkillManager, gate_fn};
use serde_json::json;

use crate::measure::{BoxError, Sample, Variant, interleaved, timed};
use crate::report::Report;

pub(crate) fn measure(report: &mut Report, rounds: usize) -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    // The ordinary user of `script.user` reads the program and the bench itself from here.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let target = match build_target(folder.path()) {
        Ok(target) => target,
        Err(why) => {
            for name in [
                SPAWN,
                DEFAULT,
                "script.default.1gib_host",
                "script.network",
                "script.warm",
                "script.user",
                "script.call",
                "script.kill",
                "bwrap.strict",
            ] {
                report.absent(name, why.to_string());
            }
            return Ok(());
        }
    };
    let host = Host::probe(HostConfig::shared_or(folder.path().join("state")))?;
    let confined = Confined::new(&host, &target, &Net::None)?;
    let networked = Confined::new(&host, &target, &Net::Loopback)?;
    let warm = Confined::new(&host, &target, &Net::None)?;
    let caller = Caller::new(folder.path(), &target)?;
    let mut variants: Vec<Variant<'_>> = vec![
        (SPAWN, Box::new(|| raw(&target))),
        (DEFAULT, Box::new(|| confined.run())),
        ("script.network", Box::new(|| networked.run())),
        ("script.warm", Box::new(|| warm.run_warm())),
        ("script.call", Box::new(|| caller.call())),
    ];
    match bwrap::strict(&target) {
        Ok(run) => variants.push((BWRAP, run)),
        Err(why) => report.absent(BWRAP, why.to_string()),
    }
    report.add(interleaved(variants, rounds)?);
    report.compare(DEFAULT, SPAWN, Some(2.9));
    report.compare(DEFAULT, BWRAP, Some(0.35));
    report.compare("script.network", SPAWN, Some(4.2));
    report.compare("script.warm", SPAWN, Some(1.9));
    report.compare("script.call", SPAWN, None);
    layers::measure(report, &host, &target, rounds)?;
    let throughput = load::throughput(&confined, &target, rounds)?;
    // Told as a cost, as every other ratio: 0.4 of the throughput is 2.5 times the time.
    report.add_ratio(
        DEFAULT,
        "spawn.raw, four in flight",
        1.0 / throughput,
        Some(2.5),
    );
    report.add([load::kill(&host, Path::new("/bin/sh"), rounds)?]);
    let (small, big) = with_and_without_ballast(&confined, rounds)?;
    report.add_ratio(
        "script.default.1gib_host",
        "script.default",
        big.p50_us / small.p50_us,
        Some(MOST_FROM_A_BIG_HOST),
    );
    report.add([big]);
    match user_results(folder.path(), rounds) {
        Ok((raw, user)) => {
            report.add_ratio(
                "script.user",
                "spawn.raw (as that user)",
                user.p50_us / raw.p50_us,
                Some(4.0),
            );
            report.add([user]);
        }
        Err(why) => report.absent("script.user", why.to_string()),
    }
    Ok(())
}

/// Measures as the present user, from the program that is in the folder already.
pub(crate) fn as_user(folder: &Path, rounds: usize) -> Result<Vec<Sample>, BoxError> {
    let target = folder.join(TARGET);
    let state = tempfile::tempdir()?;
    let host = Host::probe(HostConfig::shared_or(state.path().join("state")))?;
    let confined = Confined::new(&host, &target, &Net::None)?;
    interleaved(
        vec![
            (SPAWN, Box::new(|| raw(&target))),
            ("script.user", Box::new(|| confined.run())),
        ],
        rounds,
    )
}

/// Builds the program that every variant executes.
pub(super) fn build_target(folder: &Path) -> Result<PathBuf, BoxError> {
    let (source, target) = (folder.join("raw.c"), folder.join(TARGET));
    std::io::Write::write_all(
        &mut std::fs::File::create(&source)?,
        b"int main(){return 0;}\n",
    )?;
    let built = command("cc")
        .arg("-O2")
        .arg("-static")
        .arg(&source)
        .arg("-o")
        .arg(&target)
        .status();
    match built {
        Ok(status) if status.success() => Ok(target),
        Ok(status) => Err(format!("`cc -O2 -static` ended with {status}").into()),
        Err(error) => Err(format!("`cc` cannot be run: {error}").into()),
    }
}

pub(super) fn raw(target: &Path) -> Result<Duration, BoxError> {
    timed(|| {
        let status = command(target).stdin(Stdio::null()).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("it ended with {status}").into())
        }
    })
}

/// The program under the default confinement, without any grant.
struct Confined {
    compiled: Compiled,
    target: String,
    next: AtomicU64,
    _skill: tempfile::TempDir,
}

impl Confined {
    fn new(host: &Host, target: &Path, net: &Net) -> Result<Self, BoxError> {
        Self::with(host, target, net, |limits| limits)
    }

    /// Requires no class, so that a host without a layer can be measured.
    fn with(
        host: &Host,
        target: &Path,
        net: &Net,
        limit: impl FnOnce(RunLimits) -> RunLimits,
    ) -> Result<Self, BoxError> {
        let program: HostPath = text(target)?.parse()?;
        let policy = SandboxPolicy::deny_all()
            .allow_exec(program.clone(), Origin::Code)
            .with_net(net.clone(), Origin::Code)
            .with_limits(Limits::from(&limit(RunLimits::default())));
        let policy = ThreatClass::ALL
            .into_iter()
            .fold(policy, SandboxPolicy::without_requirement);
        let policy = derive(&policy, &policy)?;
        let session = Session::open(policy.session_roots())?;
        let skill = tempfile::tempdir()?;
        for (link, to) in bailiwick::sandbox::SCRATCH_LINKS {
            std::os::unix::fs::symlink(to, skill.path().join(link))?;
        }
        let program = Program::new(program, Vec::new(), Vec::new());
        let compiled = Compiled::new(host, &session, &policy, &program, skill.path(), Base::Usr)?;
        Ok(Self {
            compiled,
            target: text(target)?.to_owned(),
            next: AtomicU64::new(0),
            _skill: skill,
        })
    }

    fn run(&self) -> Result<Duration, BoxError> {
        let run = self.next.fetch_add(1, Ordering::Relaxed);
        let command = ConfinedCommand::new(
            format!("bench-{}-{run}", std::process::id()),
            [self.target.clone()],
        )?;
        timed(|| {
            let completion = spawn(&self.compiled, command)?.wait();
            if completion.end == End::Exited(0) {
                Ok(())
            } else {
                Err(format!("{:?}", completion.end).into())
            }
        })
    }

    /// The same in a launcher that waits; to start it is not part of the cost.
    fn run_warm(&self) -> Result<Duration, BoxError> {
        self.compiled.keep_warm(1)?;
        // It comes as far as it can before there is a command.
        std::thread::sleep(Duration::from_millis(3));
        self.run()
    }
}

/// The same program as a script's interpreter, through the whole call path.
struct Caller {
    runtime: tokio::runtime::Runtime,
    manager: SkillManager,
}

impl Caller {
    fn new(folder: &Path, target: &Path) -> Result<Self, BoxError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let argv = vec![text(target)?.to_owned()];
        let interpreter =
            Interpreter::resolve("nothing", argv, Vec::new(), Vec::new(), Origin::Code)?;
        let skill = InMemorySkill::new("---\nname: bench\ndescription: Measures.\n---\n")
            .file("bailiwick.yaml", SIDECAR)
            .file("scripts/nothing", "");
        let source = InMemorySource::new("bench").with(skill)?;
        let manager = runtime.block_on(async {
            let manager = SkillManager::builder()
                .gate(gate_fn(|_| async { Decision::allow() }))
                .source(source)
                .interpreter(interpreter)
                .workspace(folder.join("call"))
                .build()
                .await?;
            manager.load("bench").await?;
            Ok::<_, bailiwick::Error>(manager)
        })?;
        Ok(Self { runtime, manager })
    }

    fn call(&self) -> Result<Duration, BoxError> {
        timed(|| {
            Ok(self
                .runtime
                .block_on(self.manager.call("bench.nothing", json!({})))
                .result?)
        })
    }
}

/// Measures the same run from a small and from a big host, in turns of a few rounds each: filling
/// a gibibyte takes longer than a round.
fn with_and_without_ballast(
    confined: &Confined,
    rounds: usize,
) -> Result<(Sample, Sample), BoxError> {
    const TURNS: usize = 5;
    let mut durations = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for big in [false, true] {
            let ballast = big.then(Ballast::new);
            for _ in 0..rounds.div_ceil(TURNS) {
                durations[usize::from(big)].push(confined.run()?);
            }
            if let Some(ballast) = ballast {
                ballast.release();
            }
        }
    }
    let [small, big] = durations;
    Ok((
        Sample::of("script.default", small),
        Sample::of("script.default.1gib_host", big),
    ))
}

/// A gibibyte of resident memory, as a large host has it.
struct Ballast(Vec<u8>);

impl Ballast {
    fn new() -> Self {
        let mut bytes = vec![0_u8; 1 << 30];
        bytes.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        Self(bytes)
    }

    fn release(self) {
        std::hint::black_box(&self.0);
    }
}

/// Runs this program again as a user without privileges, when this one has them.
fn user_results(folder: &Path, rounds: usize) -> Result<(Sample, Sample), BoxError> {
    let own = folder.join("bench");
    std::fs::hard_link(std::env::current_exe()?, &own).or_else(|_| {
        let mut from = std::fs::File::open(std::env::current_exe()?)?;
        std::io::copy(&mut from, &mut std::fs::File::create(&own)?).map(drop)
    })?;
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755))?;
    let mut bench = command(&own);
    bench
        .arg("--as-user")
        .arg(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .env("TMPDIR", "/tmp");
    if rounds < 100 {
        bench.arg("--smoke");
    }
    let id = command("id").arg("-u").output()?;
    if id.stdout.trim_ascii() == b"0" {
        bench.uid(NOBODY).gid(NOBODY);
    }
    let output = bench.output()?;
    if !output.status.success() {
        return Err(format!("the run as a user ended with {}", output.status).into());
    }
    let samples: Vec<Sample> = serde_json::from_slice(&output.stdout)?;
    match <[Sample; 2]>::try_from(samples) {
        Ok([raw, user]) => Ok((raw, user)),
        Err(_) => Err("the run as a user reported something else".into()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark starts what it compares with"
)]
pub(super) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

pub(super) fn text(path: &Path) -> Result<&str, BoxError> {
    path.to_str().ok_or_else(|| "a path is not UTF-8".into())
}

/// A tenth is what two medians of one variant differ by on a busy machine.
const MOST_FROM_A_BIG_HOST: f64 = 1.1;
const TARGET: &str = "raw";
const SPAWN: &str = "spawn.raw";
const DEFAULT: &str = "script.default";
const BWRAP: &str = "bwrap.strict";
const NOBODY: u32 = 65_534;
const SIDECAR: &str = "scripts:\n  - name: nothing\n    path: scripts/nothing\n    description: Does nothing.\n    interpreter: nothing\n";
