//! What the confinement of tier 3 adds to starting a program.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bailiwick::sandbox::{
    Base, Compiled, ConfinedCommand, End, Host, HostConfig, Program, Session, spawn,
};
use bailiwick::sandbox_policy::{HostPath, Origin, SandboxPolicy, derive};
use bailiwick::scripts::Interpreter;
use bailiwick::{Decision, InMemorySkill, InMemorySource, SkillManager, gate_fn};
use serde_json::json;

use crate::measure::{BoxError, Sample, interleaved, timed};
use crate::report::Report;

pub(crate) fn measure(report: &mut Report, rounds: usize) -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    // The ordinary user of `script.user` reads the program and the bench itself from here.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let target = match build_target(folder.path()) {
        Ok(target) => target,
        Err(why) => {
            for name in [
                "spawn.raw",
                "script.default",
                "script.default.1gib_host",
                "script.user",
                "script.call",
            ] {
                report.absent(name, why.to_string());
            }
            return Ok(());
        }
    };
    let confined = Confined::new(folder.path(), &target)?;
    let caller = Caller::new(folder.path(), &target)?;
    report.add(interleaved(
        vec![
            ("spawn.raw", Box::new(|| raw(&target))),
            ("script.default", Box::new(|| confined.run())),
            ("script.call", Box::new(|| caller.call())),
        ],
        rounds,
    )?);
    report.compare("script.default", "spawn.raw", Some(4.0));
    report.compare("script.call", "spawn.raw", None);
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
                None,
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
    let confined = Confined::new(state.path(), &target)?;
    interleaved(
        vec![
            ("spawn.raw", Box::new(|| raw(&target))),
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
    next: std::cell::Cell<u64>,
    _skill: tempfile::TempDir,
}

impl Confined {
    fn new(folder: &Path, target: &Path) -> Result<Self, BoxError> {
        let program: HostPath = text(target)?.parse()?;
        let policy = SandboxPolicy::deny_all().allow_exec(program.clone(), Origin::Code);
        let policy = derive(&policy, &policy)?;
        let host = Host::probe(HostConfig::shared_or(folder.join("state")))?;
        let session = Session::open(policy.session_roots())?;
        let skill = tempfile::tempdir()?;
        for (link, to) in bailiwick::sandbox::SCRATCH_LINKS {
            std::os::unix::fs::symlink(to, skill.path().join(link))?;
        }
        let program = Program::new(program, Vec::new(), Vec::new());
        let compiled = Compiled::new(&host, &session, &policy, &program, skill.path(), Base::Usr)?;
        Ok(Self {
            compiled,
            target: text(target)?.to_owned(),
            next: std::cell::Cell::new(0),
            _skill: skill,
        })
    }

    fn run(&self) -> Result<Duration, BoxError> {
        let run = self.next.replace(self.next.get() + 1);
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
const NOBODY: u32 = 65_534;
const SIDECAR: &str = "scripts:\n  - name: nothing\n    path: scripts/nothing\n    description: Does nothing.\n    interpreter: nothing\n";
