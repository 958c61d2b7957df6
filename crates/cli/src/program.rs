//! From the command line to the exit code.

use std::future::Future;

use bailiwick::{Code, Error};
use clap::Parser as _;

use crate::cli::{Cli, Command, Global};
use crate::commands;
use crate::config::Config;
use crate::error::not_a_command;
use crate::output::Output;
use crate::weakening::Weakening;

/// Runs the program with the arguments and environment of this process, and returns its exit code.
pub fn run() -> u8 {
    match Cli::try_parse() {
        Ok(cli) => Program::start(cli, Weakening::none()),
        Err(error) => explain_usage(&error),
    }
}

/// Runs the program with what `BAILIWICK_WEAKEN` says left out; for tests alone.
#[cfg(feature = "weaken")]
pub fn run_weakened() -> u8 {
    match Cli::try_parse() {
        Err(error) => explain_usage(&error),
        Ok(cli) => match Weakening::from_environment() {
            Ok(weakening) => Program::start(cli, weakening),
            Err(error) => {
                Output::new(cli.global.json).error(&error);
                error.code().exit_code()
            }
        },
    }
}

/// What every command works with.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) global: Global,
    pub(crate) config: Config,
    pub(crate) output: Output,
    pub(crate) weakening: Weakening,
}

impl Program {
    fn start(cli: Cli, weakening: Weakening) -> u8 {
        let output = Output::new(cli.global.json);
        let result = Config::from_environment(cli.global.cwd.as_deref()).and_then(|config| {
            let program = Self {
                global: cli.global,
                config,
                output,
                weakening,
            };
            program.dispatch(&cli.command)
        });
        result.unwrap_or_else(|error| {
            output.error(&error);
            error.code().exit_code()
        })
    }

    fn dispatch(&self, command: &Command) -> Result<u8, Error> {
        match command {
            Command::Demo(arguments) => commands::demo::run(self, arguments),
            Command::Trust(arguments) => commands::trust::run(self, arguments),
            Command::List(arguments) => commands::list::run(self, arguments),
            Command::Check(arguments) => commands::check::run(self, arguments),
            Command::Inspect(arguments) => commands::inspect::run(self, arguments),
            Command::Call(arguments) => commands::call::run(self, arguments),
            Command::Explain(arguments) => commands::explain::run(self, arguments),
            Command::Doctor => commands::doctor::run(self),
            Command::Artifacts(arguments) => commands::artifacts::run(self, &arguments.action),
            Command::Init(arguments) => commands::init::run(self, arguments),
            Command::Completions { shell } => commands::completions::run(self, *shell),
        }
    }
}

/// Drives a future to its end. Work that nobody waits for any longer, such as a question on the
/// terminal whose deadline has passed, does not keep the program from ending.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Error::new(Code::WorkspaceFailed, "no thread can be started")
            .with_hint("raise the limit of processes")
            .with_source(error)
    })?;
    let result = runtime.block_on(future);
    // Dropping it would wait for threads that wait for a person.
    runtime.shutdown_background();
    result
}

/// The exit code of a command that did what it was asked to.
pub(crate) const DONE: u8 = 0;

/// Prints help to standard output, or what is wrong to standard error.
fn explain_usage(error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        // There is nowhere left to report a failure to.
        let _ = error.print();
        return DONE;
    }
    let problem = not_a_command(error);
    if wants_json() {
        Output::new(true).error(&problem);
    } else {
        let _ = error.print();
        Output::new(false).hint(&problem);
    }
    problem.code().exit_code()
}

/// Says whether `--json` is among the arguments, which could not be parsed.
fn wants_json() -> bool {
    std::env::args_os()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}
