//! `ci`: the whole gate.
//!
//! One profile makes code (dev, its dependencies optimised), and every cargo call is `--workspace`
//! so that features resolve once: tests, doctests, conformance, demo and the bench smoke share
//! what the first of them compiled; clippy and the documentation share the checked metadata.

use xshell::cmd;

use crate::setup::{self, Purpose};
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{Result, bench, conformance, demo, fuzz, guest, notices, package, test, tidy};

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let mut advisories = false;
    let mut from = None;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--advisories" => advisories = true,
            "--from" => {
                from = Some(
                    rest.next()
                        .ok_or("--from needs the name of a step")?
                        .clone(),
                );
            }
            other => {
                return Err(format!("unknown argument `{other}`; see `cargo xtask help`").into());
            }
        }
    }
    let sh = workspace.sh();
    sh.set_var("BAILIWICK_REQUIRE_SANDBOX", "1");
    // Incremental files help nobody here: each crate is built once.
    sh.set_var("CARGO_INCREMENTAL", "0");

    let mut steps = Steps::starting_from(from);
    steps.run("setup", || setup::ensure(workspace, Purpose::Ci));
    steps.run("fmt", || {
        cmd!(sh, "cargo fmt --all --check").run()?;
        Ok(cmd!(sh, "cargo fmt --manifest-path fuzz/Cargo.toml --check").run()?)
    });
    steps.run("clippy", || {
        Ok(cmd!(
            sh,
            "cargo clippy --workspace --all-targets --locked -- -D warnings"
        )
        .run()?)
    });
    steps.run("tidy", || tidy::run(workspace, &[]));
    steps.run("notices", || notices::check(workspace));
    let mut engine = None;
    steps.run("guest", || {
        engine = Some(guest::check(workspace)?);
        Ok(())
    });
    steps.run("deny", || deny(workspace, advisories));
    steps.run("features", || features(workspace));
    steps.run("docs", || {
        Ok(cmd!(sh, "cargo doc --workspace --no-deps --locked")
            .env("RUSTDOCFLAGS", "-D warnings")
            .run()?)
    });
    steps.run("test", || {
        test::as_invoked(workspace, &["--profile".into(), "ci".into()])
    });
    steps.run("test-user", || {
        if test::is_root(sh)? {
            test::as_plain_user(workspace, &[])
        } else {
            Ok(())
        }
    });
    steps.run("doctests", || test::doctests(workspace));
    steps.run("test-weakened", || test::weakened(workspace));
    steps.run("conformance", || conformance::prove(workspace));
    steps.run("demo", || demo::run(workspace, &[]));
    steps.run("bench-smoke", || bench::run(workspace, &["--smoke".into()]));
    steps.run("package", || match engine {
        Some(engine) => package::prove(workspace, &engine),
        None => package::run(workspace, &[]),
    });
    steps.run("fuzz-smoke", || fuzz::smoke(workspace, 20));
    steps.finish()
}

/// Checks that every choice of the facade's features compiles without a warning; `tidy` checks what
/// each of them brings.
///
/// The facade's parts are selected beside it, so that the crates of others have the features that
/// they have everywhere here, and none of the large ones is checked again for each choice.
fn features(workspace: &Workspace) -> Result {
    let sh = workspace.sh();
    let mut beside = Vec::new();
    for package in workspace.libraries()? {
        beside.extend(["-p".to_owned(), package]);
    }
    let beside = &beside;
    for choice in CHOICES {
        let features = choice
            .iter()
            .map(|feature| format!("bailiwick/{feature}"))
            .collect::<Vec<_>>()
            .join(",");
        cmd!(
            sh,
            "cargo clippy {beside...} --lib --no-default-features --features {features} --locked -- -D warnings"
        )
        .run()?;
    }
    Ok(())
}

/// Nothing, each tier and each shared part alone; everything is what the program has.
const CHOICES: [&[&str]; 9] = [
    &[],
    &["module"],
    &["package"],
    &["policy"],
    &["host"],
    &["store"],
    &["script"],
    &["isolate"],
    &["quickjs"],
];

/// Checks licences, bans and sources; advisories only for those who can reach their database.
fn deny(workspace: &Workspace, advisories: bool) -> Result {
    let sh = workspace.sh();
    let advisories = advisories.then_some("advisories");
    Ok(cmd!(
        sh,
        "cargo deny --workspace --all-features --locked check {advisories...} licenses bans sources"
    )
    .run()?)
}
