//! A running shim: one process, one line out, one line back.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::ConformanceError;
use crate::cases::{Case, Verdict};
use crate::protocol::{Answer, Hello, Outcome, PROTOCOL, Request};

/// A started shim that has introduced itself.
#[derive(Debug)]
pub struct Shim {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    implementation: String,
    asked: u64,
}

impl Shim {
    /// Starts `command` (a program and its arguments) and exchanges greetings.
    ///
    /// # Errors
    ///
    /// The program cannot be started, says nothing within [`PATIENCE`], or speaks another
    /// version of the protocol.
    pub fn start(command: &[String]) -> Result<Self, ConformanceError> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| broken("command is empty".to_owned()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| broken(format!("{program} does not start: {source}")))?;
        let (stdin, lines) = (child.stdin.take(), read_lines(&mut child));
        let mut shim = Self {
            child,
            stdin,
            lines,
            implementation: String::new(),
            asked: 0,
        };
        let hello: Hello = shim.exchange(&Hello::new("bailiwick-conformance"), "the greeting")?;
        if hello.protocol != PROTOCOL {
            return Err(broken(format!(
                "speaks protocol {}, not {PROTOCOL}",
                hello.protocol
            )));
        }
        shim.implementation = hello.implementation;
        Ok(shim)
    }

    /// Returns the name that the implementation gave itself.
    pub fn implementation(&self) -> &str {
        &self.implementation
    }

    /// Asks one question and returns what the implementation did.
    ///
    /// # Errors
    ///
    /// The shim died, went silent, or answered another question.
    pub fn ask(
        &mut self,
        area: &str,
        input: &serde_json::Value,
    ) -> Result<Outcome, ConformanceError> {
        self.asked += 1;
        let request = Request::new(self.asked, area, input.clone());
        let answer: Answer = self.exchange(&request, &format!("{area} {input}"))?;
        if answer.id == request.id {
            Ok(answer.outcome)
        } else {
            Err(broken(format!(
                "answered question {} when asked {}",
                answer.id, request.id
            )))
        }
    }

    /// Puts every case to the shim, in order.
    ///
    /// # Errors
    ///
    /// As [`Shim::ask`].
    pub fn run(&mut self, cases: Vec<Case>) -> Result<Vec<(Case, Verdict)>, ConformanceError> {
        cases
            .into_iter()
            .map(|case| {
                let outcome = self.ask(&case.area, &case.input)?;
                let verdict = case.expect.judge(&outcome);
                Ok((case, verdict))
            })
            .collect()
    }

    /// Closes the shim's stdin and waits for its exit.
    ///
    /// # Errors
    ///
    /// It does not end with exit code 0.
    pub fn finish(mut self) -> Result<(), ConformanceError> {
        drop(self.stdin.take());
        match self.lines.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Disconnected) => {}
            Ok(line) => return Err(broken(format!("went on talking at the end: {line}"))),
            Err(RecvTimeoutError::Timeout) => {
                return Err(broken("did not end with its stdin".into()));
            }
        }
        let status = self
            .child
            .wait()
            .map_err(|source| broken(format!("is lost: {source}")))?;
        if status.success() {
            Ok(())
        } else {
            Err(broken(format!("ended with {status}")))
        }
    }

    fn exchange<Q: serde::Serialize, A: serde::de::DeserializeOwned>(
        &mut self,
        question: &Q,
        about: &str,
    ) -> Result<A, ConformanceError> {
        let mut line = serde_json::to_string(question)
            .map_err(|source| broken(format!("cannot be asked: {source}")))?;
        line.push('\n');
        let stdin = self
            .stdin
            .as_mut()
            .ok_or_else(|| broken("has no stdin".into()))?;
        stdin
            .write_all(line.as_bytes())
            .and_then(|()| stdin.flush())
            .map_err(|source| broken(format!("does not listen to {about}: {source}")))?;
        let answer = self.lines.recv_timeout(PATIENCE).map_err(|error| {
            broken(match error {
                RecvTimeoutError::Timeout => format!("is silent after {about}"),
                RecvTimeoutError::Disconnected => format!("died on {about}"),
            })
        })?;
        serde_json::from_str(&answer)
            .map_err(|source| broken(format!("answered {about} with {answer:?}: {source}")))
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // A shim that was finished is already gone; both calls then do nothing.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// How long one answer may take. Generous: it decides between an answer and a hang, not speed.
pub const PATIENCE: Duration = Duration::from_mins(1);

fn read_lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

fn broken(problem: String) -> ConformanceError {
    ConformanceError::Shim { problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Result<Shim, ConformanceError> {
        Shim::start(&["/bin/sh".into(), "-c".into(), script.into()])
    }

    const HELLO: &str = r#"read l; echo '{"protocol":1,"implementation":"sh"}'; "#;

    #[test]
    fn a_shim_that_dies_is_named_with_its_question() {
        let mut shim = sh(HELLO).unwrap();
        let error = shim.ask("names", &"x".into()).unwrap_err().to_string();
        assert!(error.contains("names \"x\""), "{error}");
    }

    #[test]
    fn a_shim_that_answers_another_question_is_refused() {
        let mut shim = sh(&format!(
            "{HELLO} read l; echo '{{\"id\":7,\"ok\":1}}'; read l"
        ))
        .unwrap();
        let error = shim.ask("names", &"x".into()).unwrap_err().to_string();
        assert!(
            error.contains("answered question 7 when asked 1"),
            "{error}"
        );
    }

    #[test]
    fn another_protocol_is_refused() {
        let error =
            sh(r#"read l; echo '{"protocol":2,"implementation":"sh"}'; read l"#).unwrap_err();
        assert!(error.to_string().contains("speaks protocol 2"), "{error}");
    }

    #[test]
    fn a_bad_exit_code_fails_the_run() {
        let shim = sh(&format!("{HELLO} read l; exit 3")).unwrap();
        assert!(
            shim.finish()
                .unwrap_err()
                .to_string()
                .contains("exit status: 3")
        );
    }
}
