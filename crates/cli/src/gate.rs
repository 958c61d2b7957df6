//! The person at the terminal, as a gate.

use std::io::IsTerminal as _;
use std::sync::{Arc, OnceLock};

use bailiwick::core::{BoxFuture, one_line};
use bailiwick::sandbox_policy::Ask;
use bailiwick::{CancelToken, Decision, Effects, Gate, GateRequest, GateUnavailable};
use inquire::{Confirm, InquireError};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};

use crate::text::printable;

/// Asks the person at the terminal about calls that reach something.
///
/// A call that is contained runs without a question, and `--yes` answers every question of a run.
/// Where nobody can be asked the gate is unavailable, which is no refusal.
#[derive(Clone, Debug)]
pub(crate) struct TerminalGate {
    yes: bool,
    cancel: CancelToken,
    ask: Arc<OnceLock<Ask>>,
}

impl TerminalGate {
    /// Puts a person in charge; `yes` answers for them, and Ctrl-C at a question cancels.
    pub(crate) fn new(yes: bool, cancel: CancelToken) -> Self {
        Self {
            yes,
            cancel,
            ask: Arc::default(),
        }
    }

    /// Says what the policy says of asking about the tool; once per digest until then.
    pub(crate) fn set_ask(&self, ask: Ask) {
        // A run calls one tool, so there is one answer.
        let _ = self.ask.set(ask);
    }
}

impl Gate for TerminalGate {
    fn check(&self, request: GateRequest) -> BoxFuture<'_, Result<Decision, GateUnavailable>> {
        let ask = self.ask.get().copied().unwrap_or_default();
        let step = next_step(
            ask,
            request.effects.is_contained(),
            self.yes,
            somebody_is_there(),
        );
        Box::pin(async move {
            match step {
                Step::Allow => Ok(Decision::allow()),
                Step::Unanswered => Err(GateUnavailable::new("there is no terminal to ask at")
                    .hint("answer with `--yes`, which grants nothing, or run it on a terminal")),
                Step::Ask => {
                    let _settings = TerminalSettings::kept();
                    let cancel = self.cancel.clone();
                    let answer = tokio::task::spawn_blocking(move || put(&request, &cancel)).await;
                    answer.unwrap_or_else(|_| Err(GateUnavailable::new("the question was lost")))
                }
            }
        })
    }
}

/// The terminal's settings, which a question changes; put back even when nobody waits for its
/// answer any longer.
struct TerminalSettings(Option<Termios>);

impl TerminalSettings {
    fn kept() -> Self {
        Self(tcgetattr(std::io::stdin()).ok())
    }
}

impl Drop for TerminalSettings {
    fn drop(&mut self) {
        if let Some(settings) = &self.0 {
            // A terminal that has gone away needs no settings.
            let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, settings);
        }
    }
}

/// What a gate does about a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    Allow,
    Ask,
    Unanswered,
}

/// Decides from what the policy says, what the call reaches, and who can be asked.
fn next_step(ask: Ask, is_contained: bool, yes: bool, somebody_is_there: bool) -> Step {
    let wants_a_person = match ask {
        Ask::Always => true,
        // Durable approvals do not exist yet, so that every call is the first.
        Ask::OncePerDigest => !is_contained,
        Ask::Never => false,
    };
    match (wants_a_person, yes, somebody_is_there) {
        (false, _, _) | (true, true, _) => Step::Allow,
        (true, false, true) => Step::Ask,
        (true, false, false) => Step::Unanswered,
    }
}

fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Puts the question; blocks until it is answered.
fn put(request: &GateRequest, cancel: &CancelToken) -> Result<Decision, GateUnavailable> {
    let question = printable(&describe(request)).into_owned();
    crate::output::Output::new(false).note(&question);
    match Confirm::new("Let it run?").with_default(false).prompt() {
        Ok(true) => Ok(Decision::allow()),
        Ok(false) => Ok(Decision::deny("the person at the terminal said no")),
        Err(InquireError::OperationCanceled) => {
            Ok(Decision::deny("the person at the terminal waved it off"))
        }
        Err(InquireError::OperationInterrupted) => {
            cancel.cancel();
            Err(GateUnavailable::new("the person at the terminal cancelled"))
        }
        Err(error) => Err(
            GateUnavailable::new(format!("the question could not be put: {error}"))
                .hint("answer with `--yes`, which grants nothing"),
        ),
    }
}

/// Describes a call: tool, arguments, argv and what it can reach.
fn describe(request: &GateRequest) -> String {
    let arguments = serde_json::to_string(&request.arguments).unwrap_or_default();
    // What a skill says of itself may not look like a line of this program's.
    let skill = one_line(&request.provenance.to_string(), 100);
    let mut lines = vec![
        format!("{} of {skill} wants to run", request.tool),
        format!("  arguments  {arguments}"),
    ];
    match &request.effects {
        Effects::Script {
            argv,
            stdin,
            grants,
            ..
        } => {
            lines.push(format!("  argv       {argv:?}"));
            lines.push(format!("  stdin      {stdin} bytes"));
            if grants.is_empty() {
                lines.push("  reaches    its own workspace".to_owned());
            }
            lines.extend(grants.iter().map(|grant| format!("  reaches    {grant}")));
        }
        Effects::Isolated { grants, .. } => {
            if grants.is_empty() {
                lines.push("  reaches    nothing outside its guest".to_owned());
            }
            lines.extend(grants.iter().map(|grant| format!("  reaches    {grant}")));
        }
        Effects::Module => lines.push("  reaches    everything that this program can".to_owned()),
        _ => lines.push("  reaches    something that this program cannot describe".to_owned()),
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contained_call_runs_without_a_question_unless_the_policy_wants_one() {
        assert_eq!(
            next_step(Ask::OncePerDigest, true, false, false),
            Step::Allow
        );
        assert_eq!(next_step(Ask::Never, true, false, false), Step::Allow);
        assert_eq!(next_step(Ask::Always, true, false, true), Step::Ask);
        assert_eq!(next_step(Ask::Always, true, false, false), Step::Unanswered);
    }

    #[test]
    fn a_call_that_reaches_something_is_asked_about() {
        assert_eq!(next_step(Ask::OncePerDigest, false, false, true), Step::Ask);
        assert_eq!(
            next_step(Ask::OncePerDigest, false, false, false),
            Step::Unanswered
        );
        assert_eq!(
            next_step(Ask::OncePerDigest, false, true, false),
            Step::Allow
        );
        assert_eq!(next_step(Ask::Never, false, false, false), Step::Allow);
    }
}
