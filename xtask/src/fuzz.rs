//! `fuzz`: runs the fuzz targets for a while each.
//!
//! The sanitizers need a nightly compiler; coverage feedback alone works on the pinned stable one
//! (`--sanitizer none`), and it is what finds a panic, a hang or a broken property in safe code.

use xshell::{Shell, cmd};

use crate::Result;
use crate::setup::{self, Purpose};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    setup::ensure(workspace, Purpose::Ci)?;
    let mut seconds = 20_u32;
    let mut targets = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--seconds" => seconds = rest.next().ok_or("--seconds needs a number")?.parse()?,
            target => targets.push(target.to_owned()),
        }
    }
    let known = targets_of(workspace.sh())?;
    if let Some(unknown) = targets.iter().find(|target| !known.contains(target)) {
        return Err(format!("no fuzz target `{unknown}`; there are {}", known.join(", ")).into());
    }
    let targets = if targets.is_empty() { known } else { targets };
    fuzz(workspace, &targets, seconds)
}

/// Runs every target for `seconds` each.
pub(crate) fn smoke(workspace: &Workspace, seconds: u32) -> Result {
    let targets = targets_of(workspace.sh())?;
    fuzz(workspace, &targets, seconds)
}

fn fuzz(workspace: &Workspace, targets: &[String], seconds: u32) -> Result {
    let sh = workspace.sh();
    // A lock file of its own, checked like the workspace's: cargo-fuzz has no `--locked`.
    cmd!(
        sh,
        "cargo metadata --format-version 1 --locked --manifest-path fuzz/Cargo.toml"
    )
    .ignore_stdout()
    .run()?;
    for target in targets {
        let seeds = format!("fuzz/seeds/{target}");
        if sh.read_dir(&seeds).map_or(true, |seeds| seeds.is_empty()) {
            return Err(format!("{seeds} holds no seed").into());
        }
        // What is found goes into the corpus folder, which git ignores, never among the seeds.
        let corpus = format!("fuzz/corpus/{target}");
        sh.create_dir(&corpus)?;
        let time = format!("-max_total_time={seconds}");
        cmd!(sh, "cargo fuzz run --sanitizer none --dev {target} {corpus} {seeds} -- {time} -timeout=25 -rss_limit_mb=2048 -verbosity=0 -print_funcs=0 -print_final_stats=1")
            .env_remove("CARGO_TARGET_DIR")
            .run()?;
    }
    Ok(())
}

fn targets_of(sh: &Shell) -> Result<Vec<String>> {
    let list = cmd!(sh, "cargo fuzz list").quiet().read()?;
    Ok(list.lines().map(str::to_owned).collect())
}
