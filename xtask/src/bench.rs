//! `bench`: builds the benchmark program and runs it.

use xshell::cmd;

use crate::Result;
use crate::setup::{self, Purpose};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    setup::ensure(workspace, Purpose::Demo)?;
    let (smoke, rest): (Vec<_>, Vec<_>) = arguments.iter().partition(|word| *word == "--smoke");
    let smoke = !smoke.is_empty();
    // A smoke run proves that every bench runs, on the build that the tests made already.
    let (profile, folder) = if smoke {
        ("dev", "debug")
    } else {
        ("release", "release")
    };
    let sh = workspace.sh();
    cmd!(sh, "cargo build --workspace --bin bailiwick-benches --bin bailiwick --profile {profile} --locked").run()?;
    let program = workspace.target()?.join(folder).join("bailiwick-benches");
    let smoke = smoke.then_some("--smoke");
    Ok(cmd!(sh, "{program} {smoke...} {rest...}").run()?)
}
