//! `demo`: from a fresh clone to `bailiwick demo`.

use xshell::cmd;

use crate::Result;
use crate::setup::{self, Purpose};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    setup::ensure(workspace, Purpose::Demo)?;
    let sh = workspace.sh();
    cmd!(sh, "cargo build --workspace --bin bailiwick --locked").run()?;
    let program = workspace.target()?.join("debug/bailiwick");
    Ok(cmd!(sh, "{program} demo {arguments...}").run()?)
}
