//! `completions`: what a shell completes.

use bailiwick::Error;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::program::{DONE, Program};

pub(crate) fn run(program: &Program, shell: Shell) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bailiwick", &mut script);
    program.output.bytes(&script)?;
    Ok(DONE)
}
