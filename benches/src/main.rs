//! Measures what the tiers cost, as ratios within one run.
//!
//! Variants that are compared run interleaved, so that a busy machine is busy for all of them.
//! Ratios are of medians. What is not installed is listed as absent, never invented.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

mod groups;
mod measure;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::report::Report;

/// Measures what the tiers cost, as ratios within one run.
#[derive(Debug, Parser)]
#[command(name = "bench", about)]
struct Options {
    /// What to measure; everything by default.
    groups: Vec<Group>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Take few samples: shows that everything runs, not what it costs.
    #[arg(long)]
    smoke: bool,
    /// Fail when a ratio misses the target that the project commits to.
    #[arg(long)]
    check: bool,
    /// Measure as the present user from the files in a folder, and print raw results (internal).
    #[arg(long, hide = true, value_name = "FOLDER")]
    as_user: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Group {
    Cli,
    Isolate,
    Module,
    Script,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let rounds = if options.smoke { 10 } else { 300 };
    if let Some(folder) = &options.as_user {
        println!(
            "{}",
            serde_json::to_string(&groups::script::as_user(folder, rounds)?)?
        );
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = |group| options.groups.is_empty() || options.groups.contains(&group);
    let mut report = Report::new();
    if wanted(Group::Module) {
        groups::module::measure(&mut report, rounds)?;
    }
    if wanted(Group::Script) {
        groups::script::measure(&mut report, rounds)?;
    }
    if wanted(Group::Isolate) {
        groups::isolate::measure(&mut report, rounds)?;
    }
    if wanted(Group::Cli) {
        groups::cli::measure(&mut report, rounds)?;
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report.to_json())?);
    } else {
        println!("{report}");
    }
    let missed = report.missed_targets();
    for target in &missed {
        eprintln!("missed: {target}");
    }
    Ok(if options.check && !missed.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
