//! Every developer and CI task, as code: `cargo xtask <COMMAND>`.
//!
//! Each command is a file, and every step prints its name and the command it runs, so that anyone
//! can run that step alone. It depends on none of our crates: it has to work before they compile.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool runs programs, reads the repository and talks to its user"
)]

mod bench;
mod ci;
mod conformance;
mod demo;
mod fuzz;
mod guest;
mod notices;
mod package;
#[path = "../../crates/quickjs/build/recipe.rs"]
mod recipe;
mod scratch;
mod setup;
mod steps;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use crate::workspace::Workspace;

/// What a command ends with; the text of an error is meant for a developer.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = arguments.collect();
    match Workspace::open().and_then(|workspace| run(&workspace, &command, &rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(workspace: &Workspace, command: &str, rest: &[String]) -> Result {
    let asks_for_help = rest
        .first()
        .is_some_and(|word| word == "--help" || word == "-h");
    match command {
        _ if asks_for_help && command != "demo" => help(),
        "bench" => bench::run(workspace, rest),
        "ci" => ci::run(workspace, rest),
        "conformance" => conformance::run(workspace, rest),
        "demo" => demo::run(workspace, rest),
        "fuzz" => fuzz::run(workspace, rest),
        "guest" => guest::run(workspace, rest),
        "notices" => notices::run(workspace, rest),
        "package" => package::run(workspace, rest),
        "setup" => setup::run(workspace, rest),
        "test" => test::run(workspace, rest),
        "tidy" => tidy::run(workspace, rest),
        "help" | "--help" | "-h" => help(),
        other => Err(format!("no command `{other}`; see `cargo xtask help`").into()),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is one arm of a match of commands"
)]
fn help() -> Result {
    println!("{HELP}");
    Ok(())
}

const HELP: &str = "\
Every developer and CI task: cargo xtask <COMMAND>

  setup [--for demo|test|ci]     install what is missing, or print the line that does
  demo [ARGUMENT]…               set up, build and run `bailiwick demo`
  test [--no-user] [ARGUMENT]…   every test as you and, when you are root, as a plain user; doctests
                                 (arguments go to `cargo nextest run`)
  tidy                           the invariants of docs/architecture.md, as code
  conformance [--area A] [--impl CMD]
                                 put the cases of tests/conformance to an implementation
  bench [GROUP]… [--json] [--smoke]
                                 measure; --smoke only proves that the benches run
  fuzz [TARGET]… [--seconds N]   fuzz each target for N seconds (default 20)
  guest [--check]                make the JavaScript engine as wasm and write its digest, or compare it
  notices [--check]              write THIRD-PARTY-NOTICES.md, or compare it with the tree
  package                        pack the crates and build the packed ones without clang
  ci [--advisories] [--from STEP]
                                 the whole gate
";
