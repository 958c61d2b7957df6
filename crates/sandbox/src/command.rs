//! What is to be executed inside.

use std::time::{Duration, Instant};

use crate::error::SandboxError;
use crate::plan::{MAX_ARGUMENTS, MAX_VARIABLES};

/// A program with its arguments, environment and input.
///
/// # Examples
///
/// ```
/// use bailiwick_sandbox::ConfinedCommand;
///
/// let command = ConfinedCommand::new("run-1", ["/bin/sh", "/skill/scripts/hello.sh"])?
///     .with_env("LANG", "C.UTF-8")?;
/// assert!(ConfinedCommand::new("run-1", ["/bin/sh", "a\0b"]).is_err());
/// # drop(command);
/// # Ok::<(), bailiwick_sandbox::SandboxError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConfinedCommand {
    pub(crate) run: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) stdin: Stdin,
    pub(crate) deadline: Option<Instant>,
}

/// What a program reads from standard input.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
}

impl ConfinedCommand {
    /// Names a run and its arguments. The first is what the program is told it is called, an
    /// absolute path; what is executed is the program that the policy was compiled for.
    ///
    /// The id is the caller's name for the run, which its [`Completion`](crate::Completion) carries.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED` when an item contains NUL, when there is no program, when there
    /// are more than 4096 items or they exceed 128 KiB together, or when the id is not 1 to 64
    /// letters, digits and `-`.
    pub fn new<T: Into<String>>(
        run: impl Into<String>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self, SandboxError> {
        let run = run.into();
        let arguments: Vec<String> = arguments.into_iter().map(Into::into).collect();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if run.is_empty() || run.len() > 64 || !run.bytes().all(plain) {
            return Err(refused(
                "the run's id is not 1 to 64 letters, digits and `-`",
            ));
        }
        if !arguments
            .first()
            .is_some_and(|program| program.starts_with('/'))
        {
            return Err(refused("the program is not named by an absolute path"));
        }
        if arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(refused("an argument contains NUL"));
        }
        if is_over(arguments.len(), MAX_ARGUMENTS) {
            return Err(refused("there are more than 4096 arguments"));
        }
        if arguments
            .iter()
            .map(|argument| argument.len() + 1)
            .sum::<usize>()
            > MAX_BYTES
        {
            return Err(refused("the arguments exceed 128 KiB"));
        }
        Ok(Self {
            run,
            arguments,
            environment: Vec::new(),
            cwd: crate::root::SKILL.to_owned(),
            stdin: Stdin::Null,
            deadline: None,
        })
    }

    /// Adds a variable to the environment, which is empty otherwise.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED` when the name is empty or contains `=`, when either contains NUL,
    /// or when there are more than 256 variables or they exceed 128 KiB together.
    pub fn with_env(mut self, name: &str, value: &str) -> Result<Self, SandboxError> {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(refused("a variable's name or value cannot be passed on"));
        }
        self.environment.push(format!("{name}={value}"));
        if is_over(self.environment.len(), MAX_VARIABLES) {
            return Err(refused("there are more than 256 variables"));
        }
        if self
            .environment
            .iter()
            .map(|item| item.len() + 1)
            .sum::<usize>()
            > MAX_BYTES
        {
            return Err(refused("the environment exceeds 128 KiB"));
        }
        Ok(self)
    }

    /// Sets where the program starts, by its path inside. Defaults to the skill's root.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED` when the path is not absolute or contains NUL.
    pub fn with_cwd(mut self, cwd: impl Into<String>) -> Result<Self, SandboxError> {
        self.cwd = cwd.into();
        if !self.cwd.starts_with('/') || self.cwd.contains('\0') {
            return Err(refused("the working directory is not an absolute path"));
        }
        Ok(self)
    }

    /// Sets what the program reads. Defaults to nothing.
    #[must_use]
    pub fn with_stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Sets when the run is ended, counted from this call, so that the launch is part of it. Defaults
    /// to the policy's `wall`, which counts from the start and which it cannot exceed.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        // What no clock can show is later than every limit.
        self.deadline = Instant::now().checked_add(deadline);
        self
    }
}

/// Says whether the launcher, which makes no more room than this, would refuse a list.
fn is_over(length: usize, most: u32) -> bool {
    u32::try_from(length).map_or(true, |length| length > most)
}

fn refused(why: &str) -> SandboxError {
    SandboxError::Command {
        why: why.to_owned(),
    }
}

/// The most bytes of arguments, and of environment. The kernel takes 128 KiB per item and more in
/// total, so that neither is ever refused there.
const MAX_BYTES: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_what_cannot_be_executed_as_it_stands() {
        let new = |run: &str, arguments: &[&str]| {
            ConfinedCommand::new(run, arguments.iter().copied()).is_ok()
        };
        assert!(new("r-1", &["/bin/sh"]));
        assert!(!new("", &["/bin/sh"]));
        assert!(!new("../x", &["/bin/sh"]));
        assert!(!new("r", &["sh"]));
        assert!(!new("r", &[]));
        assert!(!new("r", &["/bin/sh", &"x".repeat(MAX_BYTES)]));
    }

    #[test]
    fn rejects_more_items_than_the_launcher_has_room_for() {
        let with = |count: u32| {
            let words = (0..count).map(|_| "/bin/sh");
            ConfinedCommand::new("r", words)
        };
        assert!(with(MAX_ARGUMENTS).is_ok());
        let refused = with(MAX_ARGUMENTS + 1).expect_err("one too many");
        assert_eq!(refused.code(), bailiwick_core::Code::ArgumentsRejected);

        let command = with(1).expect("a command");
        let full = (0..MAX_VARIABLES).try_fold(command, |command, number| {
            command.with_env(&format!("V{number}"), "")
        });
        let refused = full.expect("as many as fit").with_env("ONE_MORE", "");
        let refused = refused.expect_err("one too many");
        assert_eq!(refused.code(), bailiwick_core::Code::ArgumentsRejected);
    }

    #[test]
    fn rejects_a_variable_that_would_become_another() {
        let command = ConfinedCommand::new("r", ["/bin/sh"]).expect("a command");
        for name in ["", "A=B", "A\0"] {
            assert!(command.clone().with_env(name, "x").is_err(), "{name:?}");
        }
        assert!(command.with_env("A", "x\0").is_err());
    }
}
