//! The self-test: what this machine really denies, found out by attacking.
//!
//! The attack program runs twice: as a control without confinement, where its attacks succeed, and
//! under the default policy, where they must not. The verdict of an operation is its own result in
//! that run, the errno that the kernel gave; neither the probe nor the configuration is asked, so
//! a layer that claims to be there and is not shows as an open class. A class counts as denied
//! when at least one operation proves it and none got through.

mod operations;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bailiwick_policy::{HostPath, Limits, SandboxPolicy, SyscallProfile, ThreatClass, derive};
use serde::Serialize;

use self::operations::{ALLOCATE, DAEMON, FORK, LOOP, OPERATIONS, Operation, Proof, WRITE};
use self::targets::{CONFINED, CONTROL, Targets, is_locked};
use crate::class::{Layer, LayerReport};
use crate::embedded::ATTACK;
use crate::error::SandboxError;
use crate::{
    Base, Compiled, Completion, ConfinedCommand, End, Host, Program, Session, Stream, spawn,
};

/// The program that attacks: statically linked, it needs nothing but itself.
///
/// It behaves like an interpreter (`attack FILE` runs the line in the file), so that a demonstration
/// can run the same attacks through a skill. Empty on machines that cannot be supported.
pub const fn attack_program() -> &'static [u8] {
    ATTACK
}

/// What one operation came to.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whether an attack got through must be matched in full"
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The kernel refused it.
    Denied,
    /// It worked, or got far enough to.
    Open,
    /// It proves nothing here: its control failed too, or it was not tried.
    Inconclusive,
}

/// One operation, tried in this run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The operation's name.
    pub name: &'static str,
    /// The class that it belongs to.
    pub class: ThreatClass,
    /// What it came to.
    pub verdict: Verdict,
    /// The errno that the kernel gave, where it gave one.
    pub errno: Option<i32>,
    /// The layers that are expected to deny it.
    pub layers: &'static [Layer],
    /// What was seen, when that is not an errno.
    pub seen: Option<String>,
}

/// All attempts of one self-test.
#[derive(Clone, Debug, Serialize)]
pub struct SelfTest {
    attempts: Vec<Attempt>,
    claimed: LayerReport,
}

impl SelfTest {
    /// Returns every attempt.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Returns the layers that the run claimed to have; the attempts show whether it had.
    pub const fn claimed(&self) -> &LayerReport {
        &self.claimed
    }

    /// Returns what a class came to: open when any attempt was, denied when one proves it.
    pub fn class(&self, class: ThreatClass) -> Verdict {
        let verdicts = || {
            let of_class = self
                .attempts
                .iter()
                .filter(move |attempt| attempt.class == class);
            of_class.map(|attempt| attempt.verdict)
        };
        if verdicts().any(|verdict| verdict == Verdict::Open) {
            Verdict::Open
        } else if verdicts().any(|verdict| verdict == Verdict::Denied) {
            Verdict::Denied
        } else {
            Verdict::Inconclusive
        }
    }

    /// Returns which of the required classes are not shown to be denied.
    ///
    /// The script tier refuses to start unless this is empty for the hard classes.
    pub fn not_denied(&self, required: impl IntoIterator<Item = ThreatClass>) -> Vec<ThreatClass> {
        required
            .into_iter()
            .filter(|class| self.class(*class) != Verdict::Denied)
            .collect()
    }
}

/// Attacks this machine in every class, first without and then with confinement. Takes about a
/// second.
///
/// No class is required of these runs, or an open one could not be shown; they execute nothing but
/// our own program, against targets that are made for it.
///
/// # Errors
///
/// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` when the targets cannot be made or a run cannot be started.
pub fn run(host: &Host) -> Result<SelfTest, SandboxError> {
    attack(host, &ThreatClass::ALL.into_iter().collect())
}

/// Attacks this machine in some classes: what a host does before it runs its first script.
///
/// Attacks on limits take a run each; those of classes that are not asked for are left out, and
/// such a class comes out as inconclusive.
///
/// # Errors
///
/// As [`run`].
pub fn attack(host: &Host, classes: &BTreeSet<ThreatClass>) -> Result<SelfTest, SandboxError> {
    let targets = Targets::new()
        .map_err(|source| SandboxError::host("make the self-test's targets", source))?;
    let tester = Tester::new(host, &targets)?;
    let mut attempts = tester.operations()?;
    for (operation, verb, amount) in [
        (FORK, "fork", FORKS),
        (ALLOCATE, "allocate", MEBIBYTES),
        (WRITE, "write", WORKSPACE_MEBIBYTES),
    ] {
        if classes.contains(&operation.class) {
            attempts.push(tester.bounded(operation, verb, amount)?);
        }
    }
    if classes.contains(&LOOP.class) {
        attempts.push(tester.endless()?);
    }
    Ok(SelfTest {
        attempts,
        claimed: tester.compiled.layers().clone(),
    })
}

/// Both ways to run the attack program.
struct Tester<'a> {
    targets: &'a Targets,
    compiled: Compiled,
}

impl<'a> Tester<'a> {
    fn new(host: &Host, targets: &'a Targets) -> Result<Self, SandboxError> {
        let policy = default_policy();
        let policy = derive(&policy, &policy).map_err(|_| inconsistent())?;
        let program: HostPath = targets
            .program()
            .to_str()
            .and_then(|path| path.parse().ok())
            .ok_or_else(inconsistent)?;
        let program = Program::new(program, Vec::new(), Vec::new());
        let session = Session::open(policy.session_roots())?;
        let compiled = Compiled::new(
            host,
            &session,
            &policy,
            &program,
            targets.skill(),
            Base::Minimal,
        )?;
        Ok(Self { targets, compiled })
    }

    /// Runs the operations and the daemon, and judges them.
    fn operations(&self) -> Result<Vec<Attempt>, SandboxError> {
        let words = |place| self.targets.words(place).map_err(control_failed);
        let control_words = words(CONTROL)?;
        let mut control: Vec<&str> = vec!["control"];
        control.extend(control_words.iter().map(String::as_str));
        let control = self.targets.control(&control).map_err(control_failed)?;
        let control = Lines::of(&control.stdout);
        let daemon_lived = match control.daemon() {
            Some(pid) => self
                .targets
                .end_control_daemon(pid)
                .map_err(control_failed)?,
            None => false,
        };
        let mut confined = vec!["selftest".to_owned()];
        confined.extend(words(CONFINED)?);
        let completion = self.confined(confined, None)?;
        let lines = Lines::of(&completion.output.of(Stream::Stdout));
        let judged = OPERATIONS
            .iter()
            .map(|operation| judge(operation, &control, &lines));
        let mut attempts: Vec<Attempt> = judged.collect();
        attempts.push(judge_daemon(daemon_lived, &lines, &completion));
        Ok(attempts)
    }

    /// Runs an attack on a limit that succeeds without one.
    fn bounded(
        &self,
        operation: Operation,
        verb: &str,
        amount: &str,
    ) -> Result<Attempt, SandboxError> {
        let control = self
            .targets
            .control(&[verb, amount])
            .map_err(control_failed)?;
        let completion = self.confined(vec![verb.to_owned(), amount.to_owned()], None)?;
        let said = completion.output.of(Stream::Stdout);
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let verdict = match (control.status.success(), completion.end) {
            (_, End::Exited(0)) => Verdict::Open,
            (false, _) => Verdict::Inconclusive,
            (true, End::Exited(1) | End::Signalled { signal: SIGKILL } | End::Limit(_)) => {
                Verdict::Denied
            }
            (true, End::Exited(_) | End::Signalled { .. } | End::TimedOut | End::Cancelled) => {
                Verdict::Inconclusive
            }
        };
        let seen = if said.is_empty() {
            words(completion.end)
        } else {
            said
        };
        Ok(attempt(&operation, verdict, errno_in(&seen), Some(seen)))
    }

    /// Runs a loop without end, which only its deadline can end.
    fn endless(&self) -> Result<Attempt, SandboxError> {
        let mut control = self.targets.control_endless().map_err(control_failed)?;
        let completion = self.confined(vec!["loop".to_owned()], Some(SOON))?;
        let went_on = control.is_running().map_err(control_failed)?;
        let verdict = match (went_on, completion.end) {
            (true, End::TimedOut | End::Limit(_)) => Verdict::Denied,
            // Something ended it in the end, and it was not its deadline.
            (true, End::Signalled { .. }) if completion.usage.wall >= SOON * 20 => Verdict::Open,
            (_, End::Exited(_) | End::Signalled { .. } | End::Cancelled) | (false, _) => {
                Verdict::Inconclusive
            }
        };
        let seen = words(completion.end);
        Ok(attempt(&LOOP, verdict, None, Some(seen)))
    }

    fn confined(
        &self,
        words: Vec<String>,
        deadline: Option<Duration>,
    ) -> Result<Completion, SandboxError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let run = format!("selftest-{}-{number}", std::process::id());
        let program = self.targets.program().display().to_string();
        let command = ConfinedCommand::new(run, std::iter::once(program).chain(words))?;
        let command = match deadline {
            Some(deadline) => command.with_deadline(deadline),
            None => command,
        };
        Ok(spawn(&self.compiled, command)?.wait())
    }
}

/// Says how a run ended, for a reader.
fn words(end: End) -> String {
    match end {
        End::Exited(code) => format!("exited {code}"),
        End::Signalled { signal } => format!("ended by signal {signal}"),
        End::TimedOut => "ended at the deadline".to_owned(),
        End::Cancelled => "cancelled".to_owned(),
        End::Limit(axis) => format!("ended at the limit of {axis}"),
    }
}

/// The default policy with small limits, so that they are soon reached.
fn default_policy() -> SandboxPolicy {
    let limits = Limits::unlimited()
        .with_wall(Duration::from_secs(10))
        .with_memory(32 << 20)
        .with_processes(16)
        .with_file_size(1 << 20)
        .with_workspace(2 << 20);
    ThreatClass::ALL.into_iter().fold(
        SandboxPolicy::deny_all()
            .with_syscalls(SyscallProfile::Standard)
            .with_limits(limits),
        SandboxPolicy::without_requirement,
    )
}

/// More than the processes that the policy allows.
const FORKS: &str = "40";
/// More than the memory that the policy allows.
const MEBIBYTES: &str = "48";
/// More than the workspace that the policy allows, and less than the memory, to which it counts.
const WORKSPACE_MEBIBYTES: &str = "8";
/// The deadline of the loop.
const SOON: Duration = Duration::from_millis(50);
const SIGKILL: i32 = 9;

/// What the attack program said, by operation.
#[derive(Debug, Default)]
struct Lines {
    results: BTreeMap<String, Result<(), i32>>,
    daemon: Option<Result<i32, i32>>,
}

impl Lines {
    fn of(output: &[u8]) -> Self {
        let mut lines = Self::default();
        for line in String::from_utf8_lossy(output).lines() {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["daemon:", "left", pid] => lines.daemon = pid.parse().ok().map(Ok),
                ["daemon:", "errno", errno, _] => lines.daemon = errno.parse().ok().map(Err),
                [name, "open", _] => {
                    lines.results.insert((*name).to_owned(), Ok(()));
                }
                [name, "denied", errno] => {
                    if let Ok(errno) = errno.parse() {
                        lines.results.insert((*name).to_owned(), Err(errno));
                    }
                }
                _ => {}
            }
        }
        lines
    }

    fn result(&self, name: &str) -> Option<Result<(), i32>> {
        self.results.get(name).copied()
    }

    fn daemon(&self) -> Option<i32> {
        self.daemon.and_then(Result::ok)
    }
}

fn judge(operation: &Operation, control: &Lines, confined: &Lines) -> Attempt {
    let (verdict, errno) = match (confined.result(operation.name), operation.proof) {
        // Nothing was said: the run broke off, which is no denial.
        (None, _) => (Verdict::Inconclusive, None),
        (Some(Ok(())), _) => (Verdict::Open, None),
        (Some(Err(errno)), Proof::State) => (Verdict::Denied, Some(errno)),
        (Some(Err(errno)), Proof::Control) => match control.result(operation.name) {
            Some(Ok(())) => (Verdict::Denied, Some(errno)),
            Some(Err(_)) | None => (Verdict::Inconclusive, Some(errno)),
        },
        (Some(Err(errno)), Proof::Errno(refusals)) if refusals.contains(&errno) => {
            (Verdict::Denied, Some(errno))
        }
        (Some(Err(errno)), Proof::Errno(_)) => (Verdict::Open, Some(errno)),
    };
    attempt(operation, verdict, errno, None)
}

/// The daemon's lock tells whether it outlived the run.
fn judge_daemon(lived_in_control: bool, confined: &Lines, completion: &Completion) -> Attempt {
    let held = completion.out_dir.as_ref().map(is_locked);
    let (verdict, errno, seen) = match (confined.daemon, held) {
        (Some(Ok(_)), Some(Ok(true))) => (Verdict::Open, None, "it lives"),
        (Some(Ok(_)), Some(Ok(false))) if lived_in_control => (Verdict::Denied, None, "it is dead"),
        (Some(Ok(_)), Some(Ok(false))) => (Verdict::Inconclusive, None, "its control died too"),
        (Some(Ok(_)), Some(Err(_)) | None) => {
            (Verdict::Inconclusive, None, "its lock cannot be found")
        }
        (Some(Err(errno)), _) => (Verdict::Inconclusive, Some(errno), "it did not start"),
        (None, _) => (Verdict::Inconclusive, None, "it was not tried"),
    };
    attempt(&DAEMON, verdict, errno, Some(seen.to_owned()))
}

fn attempt(
    operation: &Operation,
    verdict: Verdict,
    errno: Option<i32>,
    seen: Option<String>,
) -> Attempt {
    let Operation {
        name,
        class,
        layers,
        proof: _,
    } = *operation;
    Attempt {
        name,
        class,
        verdict,
        errno,
        layers,
        seen,
    }
}

/// Finds `errno N` in what an attack said.
fn errno_in(said: &str) -> Option<i32> {
    let mut words = said.split(' ').skip_while(|word| *word != "errno").skip(1);
    words.next()?.parse().ok()
}

fn control_failed(source: io::Error) -> SandboxError {
    SandboxError::host("run the self-test's control", source)
}

fn inconsistent() -> SandboxError {
    SandboxError::Host {
        doing: "name the self-test's program".to_owned(),
        source: io::ErrorKind::InvalidInput.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read() -> &'static Operation {
        OPERATIONS
            .iter()
            .find(|operation| operation.name == "read")
            .expect("listed")
    }

    fn bpf() -> &'static Operation {
        OPERATIONS
            .iter()
            .find(|operation| operation.name == "bpf")
            .expect("listed")
    }

    fn verdict(operation: &Operation, control: &str, confined: &str) -> Verdict {
        let lines = |text: &str| Lines::of(text.as_bytes());
        judge(operation, &lines(control), &lines(confined)).verdict
    }

    #[test]
    fn a_denial_counts_only_when_its_control_succeeded() {
        assert_eq!(
            verdict(read(), "read open 0", "read denied 2"),
            Verdict::Denied
        );
        assert_eq!(
            verdict(read(), "read denied 13", "read denied 13"),
            Verdict::Inconclusive
        );
        assert_eq!(verdict(read(), "", "read denied 13"), Verdict::Inconclusive);
        assert_eq!(
            verdict(read(), "read denied 13", "read open 0"),
            Verdict::Open
        );
    }

    #[test]
    fn what_was_not_tried_is_not_denied() {
        assert_eq!(verdict(read(), "read open 0", ""), Verdict::Inconclusive);
        assert_eq!(
            verdict(read(), "read open 0", "read absent 0"),
            Verdict::Inconclusive
        );
        assert_eq!(
            verdict(read(), "read open 0", "read denied"),
            Verdict::Inconclusive
        );
    }

    #[test]
    fn an_errno_that_is_no_refusal_shows_that_the_kernel_got_further() {
        assert_eq!(verdict(bpf(), "", "bpf denied 1"), Verdict::Denied);
        assert_eq!(verdict(bpf(), "", "bpf denied 7"), Verdict::Open);
    }

    #[test]
    fn one_open_attempt_opens_its_class_and_none_proves_nothing() {
        let of = |verdicts: &[Verdict]| SelfTest {
            attempts: verdicts
                .iter()
                .map(|v| attempt(read(), *v, None, None))
                .collect(),
            claimed: LayerReport::nothing(),
        };
        let class = read().class;
        assert_eq!(
            of(&[Verdict::Denied, Verdict::Open]).class(class),
            Verdict::Open
        );
        assert_eq!(
            of(&[Verdict::Denied, Verdict::Inconclusive]).class(class),
            Verdict::Denied
        );
        assert_eq!(of(&[Verdict::Inconclusive]).not_denied([class]), [class]);
        assert_eq!(of(&[]).not_denied(ThreatClass::ALL), ThreatClass::ALL);
    }
}
