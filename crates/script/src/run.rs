//! Drives one confined run and turns how it ended into an outcome.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bailiwick_core::{
    ArtifactId, ArtifactSource, CallReport, CancelToken, Code, Content, NewArtifact, Outcome,
    Permit, Provenance, Response, SkillError, Tier, ToolName, Violation,
};
use bailiwick_policy::Access;
use bailiwick_sandbox::message::Stage;
use bailiwick_sandbox::{
    Canceller, Compiled, Completion, ConfinedChild, ConfinedCommand, End, SandboxError, Stdin,
    Stream,
};
use serde_json::json;
use tokio::sync::oneshot;

use crate::collect;
use crate::error::ScriptError;
use crate::network::{OpenExit, Traffic};
use crate::output::Transcript;
use crate::script::ScriptPlan;
use crate::tier::ScriptRunner;
use crate::tool::CompiledCache;
use crate::workspace::Revision;

/// Everything a run needs; it keeps the revision's files alive until it ends.
pub(crate) struct Run {
    pub(crate) provenance: Provenance,
    pub(crate) tool: ToolName,
    pub(crate) plan: ScriptPlan,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) fails_on_nonzero: bool,
    pub(crate) cache: Option<CompiledCache>,
    pub(crate) runner: Arc<ScriptRunner>,
    pub(crate) revision: Arc<Revision>,
    pub(crate) cancel: CancelToken,
}

/// Runs the script on a thread of its own; cancelling, or dropping the future, kills the tree.
pub(crate) async fn run(run: Run, permit: Permit) -> Outcome {
    let switch = Arc::new(StopSwitch::default());
    let _stop_when_dropped = StopOnDrop(switch.clone());
    let cancel = run.cancel.clone();
    let (send, mut receive) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("bailiwick-run".to_owned())
        .spawn({
            let switch = switch.clone();
            move || {
                let outcome = run.drive(&permit, &switch);
                let warm = run.to_keep_warm();
                // Whoever has the answer may take the skill's files away.
                drop(run);
                // The receiver is gone only when the caller dropped the call, which stopped the run.
                let _ = send.send(outcome);
                if let Some((compiled, count)) = warm {
                    // What stands in the way is told by the next run, which then starts its own.
                    let _ = compiled.keep_warm(count);
                }
            }
        });
    let failed = |action| {
        Outcome::new(
            Err(ScriptError::Thread { action }.into()),
            CallReport::new(Tier::Script),
        )
    };
    if thread.is_err() {
        return failed("start");
    }
    let ended = tokio::select! {
        ended = &mut receive => ended,
        () = cancel.cancelled() => {
            switch.stop();
            receive.await
        }
    };
    ended.unwrap_or_else(|_| failed("finish"))
}

/// Stops a run whether it has a process yet or not.
#[derive(Default)]
struct StopSwitch(Mutex<StopState>);

#[derive(Default)]
struct StopState {
    stopped: bool,
    canceller: Option<Canceller>,
}

impl StopSwitch {
    /// Fails when the run was stopped, so that nothing more is begun for it.
    fn check(&self) -> Result<(), SkillError> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            return Err(CancelToken::error());
        }
        Ok(())
    }

    fn stop(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.stopped = true;
        if let Some(canceller) = &state.canceller {
            canceller.cancel();
        }
    }

    /// Hands over the run's canceller, and uses it at once when the run was stopped before.
    fn arm(&self, canceller: Canceller) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            canceller.cancel();
        }
        state.canceller = Some(canceller);
    }
}

struct StopOnDrop(Arc<StopSwitch>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Run {
    fn drive(&self, permit: &Permit, switch: &StopSwitch) -> Outcome {
        let report = CallReport::new(Tier::Script);
        let (completion, traffic) = match self.start(permit, switch) {
            Ok(ended) => ended,
            Err(error) => return Outcome::new(Err(error), report),
        };
        self.finish(completion, traffic.as_ref(), report)
    }

    /// Launches and awaits the run. A cancel during the launch ends it as soon as it is there, and
    /// the deadline counts from the permit, so that the launch is part of it.
    fn start(
        &self,
        permit: &Permit,
        switch: &StopSwitch,
    ) -> Result<(Completion, Option<Traffic>), SkillError> {
        // Whoever was asked may have taken long to answer.
        self.plan.interpreter.check_unchanged()?;
        switch.check()?;
        for named in &self.plan.named {
            if named.access == Access::Write {
                self.runner
                    .tier
                    .session
                    .create_file(&self.plan.policy, &named.path)?;
            }
        }
        let left = self
            .plan
            .deadline
            .saturating_sub(permit.granted_at().elapsed());
        let mut command =
            ConfinedCommand::new(run_id(), self.plan.argv.iter().cloned())?.with_deadline(left);
        for (name, value) in &self.environment {
            command = command.with_env(name, value)?;
        }
        if let Some(bytes) = &self.plan.stdin {
            command = command.with_stdin(Stdin::Bytes(bytes.to_vec()));
        }
        let exit = self.runner.exits.prepare(self.plan.policy.net())?;
        let mut child = match self.launch(command, switch) {
            Ok(child) => child,
            // Whoever cancelled is told so, and not what else went wrong meanwhile.
            Err(error) => return Err(switch.check().err().unwrap_or(error)),
        };
        switch.arm(child.canceller());
        let exit = exit.zip(child.take_listener());
        let exit = exit.map(|(exit, listener)| exit.open(listener));
        let completion = child.wait();
        Ok((completion, exit.map(OpenExit::close)))
    }

    /// Starts the command. A granted folder that was replaced since the confinement was compiled is
    /// looked up again, once, beneath the session's root.
    fn launch(
        &self,
        command: ConfinedCommand,
        switch: &StopSwitch,
    ) -> Result<ConfinedChild, SkillError> {
        let first = self.spawn(command.clone());
        let (true, Some(cache)) = (first.as_ref().is_err_and(is_replaced), &self.cache) else {
            return first.map_err(|error| self.explain(error));
        };
        // To drop it may take a while, in which others need the cache.
        let old = cache.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(old);
        switch.check()?;
        self.spawn(command).map_err(|error| self.explain(error))
    }

    fn spawn(&self, command: ConfinedCommand) -> Result<ConfinedChild, SandboxError> {
        bailiwick_sandbox::spawn(&*self.compiled()?, command)
    }

    /// Compiles the confinement, once per tool for runs that name no path.
    fn compiled(&self) -> Result<Arc<Compiled>, SandboxError> {
        let compile = || {
            self.runner
                .compile(&self.plan.policy, &self.plan.interpreter, &self.revision)
                .map(Arc::new)
        };
        let Some(cache) = &self.cache else {
            return compile();
        };
        let mut slot = cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = &*slot {
            return Ok(compiled.clone());
        }
        Ok(slot.insert(compile()?).clone())
    }

    /// Tells what changed under a run before it began from what this machine lacks.
    fn explain(&self, error: SandboxError) -> SkillError {
        let is_named = if let SandboxError::Root { path, .. } = &error {
            let mut named = self.plan.named.iter();
            named.any(|named| named.path.as_str() == path)
        } else {
            is_replaced(&error) && !self.plan.named.is_empty()
        };
        if is_named {
            let reason = "a path that the call names changed before the run began";
            return Violation::reject(&[Violation::new("", reason)])
                .with_hint("call again; nothing was run")
                .with_source(error);
        }
        if is_replaced(&error) {
            let message = "a folder that the session grants was replaced";
            return SkillError::new(Code::ScriptSandboxUnavailable, message)
                .with_hint("its grant is to the folder that was there first; start the host again")
                .with_source(error);
        }
        error.into()
    }

    /// The confinement for whose next runs launchers wait, and how many, where the host wants some.
    fn to_keep_warm(&self) -> Option<(Arc<Compiled>, usize)> {
        let count = self.runner.tier.settings.warm;
        let cache = self.cache.as_ref().filter(|_| count > 0)?;
        let slot = cache.lock().unwrap_or_else(PoisonError::into_inner);
        Some((slot.clone()?, count))
    }

    fn finish(
        &self,
        mut completion: Completion,
        traffic: Option<&Traffic>,
        mut report: CallReport,
    ) -> Outcome {
        let transcript = Self::transcript(&mut completion);
        self.observe(&completion, &transcript, &mut report);
        if let Some(traffic) = traffic {
            traffic.observe(&mut report);
        }
        let source = ArtifactSource::new(self.provenance.skill.clone(), self.tool.clone());
        let stored = transcript.stored();
        let kept =
            self.runner
                .artifacts
                .put(NewArtifact::new(&stored, OUTPUT_KIND, source.clone()));
        let artifact = match kept {
            Ok(artifact) => Some(artifact.id),
            Err(error) => {
                report
                    .warnings
                    .push(format!("the output was not kept: {}", error.message()));
                None
            }
        };
        report.artifact.clone_from(&artifact);
        // A caller that gave up waits for no files.
        if let Some(folder) = completion.out_dir
            && completion.end != End::Cancelled
        {
            let budget = self.plan.policy.limits().workspace();
            let (files, warnings) =
                collect::collect(folder, budget, &*self.runner.artifacts, &source);
            report.files = files;
            report.warnings.extend(warnings);
        }
        let result = self.judge(completion.end, &transcript, &report);
        Outcome::new(result, report)
    }

    /// Takes the output out of a completion: it may be large, and is held once.
    fn transcript(completion: &mut Completion) -> Transcript {
        let output = std::mem::take(&mut completion.output);
        let transcript = Transcript {
            stdout: output.of(Stream::Stdout),
            stderr: output.of(Stream::Stderr),
            merged: output.into_bytes(),
            dropped: completion.dropped,
        };
        transcript.finish()
    }

    fn observe(&self, completion: &Completion, transcript: &Transcript, report: &mut CallReport) {
        match &completion.end {
            End::Exited(code) => report.exit = Some(*code),
            End::Signalled { signal } => report.signal = Some(*signal),
            End::Limit(axis) => report.limit_hit = Some(axis.to_string()),
            End::TimedOut => report.limit_hit = Some("wall".to_owned()),
            End::Cancelled => {}
        }
        report.bytes = transcript.merged.len() as u64;
        report.dropped = transcript.dropped;
        report.truncated = transcript.dropped > 0;
        report.limits = json!(self.plan.policy.limits());
        report.sandbox = json!(completion.layers);
        report.denials = completion
            .denials
            .iter()
            .map(|denial| json!(denial))
            .collect();
        report.confirmed = completion.confirmed_dead.confirmed;
        report.confirmed_dead = Some(completion.confirmed_dead.after);
    }

    /// Turns how the run ended into a response or the error with its code.
    fn judge(
        &self,
        end: End,
        transcript: &Transcript,
        report: &CallReport,
    ) -> Result<Response, SkillError> {
        let (code, message, hint) = match end {
            End::Exited(exit) if exit == 0 || !self.fails_on_nonzero => {
                return Ok(self.response(exit, transcript, report));
            }
            End::Exited(exit) => (
                Code::ScriptFailed,
                format!("`{}` exited {exit}", self.tool),
                "read its output; if a file or an address was refused, `bailiwick explain` says by which rule".to_owned(),
            ),
            End::Signalled { signal } => (
                Code::ScriptFailed,
                format!("`{}` was ended by signal {signal}", self.tool),
                "read its output; signal 31 is a system call that no profile allows".to_owned(),
            ),
            End::TimedOut => (
                Code::ScriptTimeout,
                format!("`{}` ran past its deadline of {:?}", self.tool, self.plan.deadline),
                "ask for more with `timeout_seconds`, up to the maximum of the policy".to_owned(),
            ),
            End::Cancelled => return Err(self.detail(CancelToken::error(), transcript, report)),
            End::Limit(axis) => (
                Code::ScriptLimit,
                format!("`{}` hit its limit of {axis}: {}", self.tool, axis.show(self.plan.policy.limits().amount(axis))),
                format!("raise `limits.{axis}` in the policy file, or have the script use less"),
            ),
        };
        let error = SkillError::new(code, message).with_hint(hint);
        let error = match end {
            End::Limit(axis) => error.with_detail("axis", axis.to_string()),
            End::Cancelled | End::Exited(_) | End::Signalled { .. } | End::TimedOut => error,
        };
        Err(self.detail(error, transcript, report))
    }

    fn detail(
        &self,
        error: SkillError,
        transcript: &Transcript,
        report: &CallReport,
    ) -> SkillError {
        error
            .with_detail("skill", self.provenance.skill.as_str())
            .with_detail("tool", self.tool.as_str())
            .with_detail("exit", report.exit)
            .with_detail("signal", report.signal)
            .with_detail("artifact", report.artifact.as_ref().map(ArtifactId::as_str))
            .with_detail(
                "output",
                transcript.shown(
                    self.reply_limit(),
                    &artifact_text(report),
                    &self.hide_root(),
                ),
            )
    }

    fn response(&self, exit: i32, transcript: &Transcript, report: &CallReport) -> Response {
        let acknowledgement = format!(
            "{}: exit {exit}, {} bytes, {}, artifact {}",
            self.tool,
            report.bytes,
            if report.truncated {
                "truncated"
            } else {
                "complete"
            },
            artifact_text(report),
        );
        let room = self.reply_limit().saturating_sub(acknowledgement.len() + 1);
        let shown = transcript.shown(room, &artifact_text(report), &self.hide_root());
        let mut response = Response::new(
            Content::Text(format!("{acknowledgement}\n{shown}")),
            self.provenance.clone(),
        );
        response.artifact.clone_from(&report.artifact);
        let (stdout, stderr) = transcript.streams(
            self.reply_limit(),
            &artifact_text(report),
            &self.hide_root(),
        );
        response.structured = Some(json!({
            "exit": exit,
            "stdout": stdout,
            "stderr": stderr,
            "files": report.files,
        }));
        response
    }

    fn reply_limit(&self) -> usize {
        usize::try_from(self.plan.policy.limits().reply()).unwrap_or(usize::MAX)
    }

    /// Replaces the workspace's host path with paths inside the skill (contracts 5.11).
    fn hide_root(&self) -> impl Fn(String) -> String {
        let root = self.revision.root().to_string_lossy().into_owned();
        move |text| text.replace(&format!("{root}/"), "").replace(&root, ".")
    }
}

fn artifact_text(report: &CallReport) -> String {
    report
        .artifact
        .as_ref()
        .map_or_else(|| "(not kept)".to_owned(), ToString::to_string)
}

/// Returns whether a granted place is no longer what was opened.
fn is_replaced(error: &SandboxError) -> bool {
    matches!(
        error,
        SandboxError::Launch {
            stage: Stage::Source,
            ..
        }
    )
}

/// Names a run uniquely on this machine while it lives.
pub(crate) fn run_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

const OUTPUT_KIND: &str = "script-output";
