//! `completions`: what a shell completes.

use bailiwick::Error;
use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::cli::Cli;
use crate::program::{DONE, Program};

pub(crate) fn run(program: &Program, shell: Shell) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bailiwick", &mut script);
    let script = String::from_utf8_lossy(&script);
    program.output.answer(
        || script.to_string(),
        || json!({ "shell": shell.to_string(), "script": script }),
    )?;
    Ok(DONE)
}
