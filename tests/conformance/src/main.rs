//! `bailiwick-conformance`: puts the cases to a shim and weighs the answers.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program talks to its user"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use bailiwick_conformance::ConformanceError;
use bailiwick_conformance::baseline::Baseline;
use bailiwick_conformance::cases::{self, Verdict};
use bailiwick_conformance::report::Report;
use bailiwick_conformance::shim::Shim;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Options::parse(arguments).and_then(|options| options.map_or(Ok(true), |it| run(&it))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool, ConformanceError> {
    let mut cases = cases::load(&options.data, options.area.as_deref())?;
    if options.list {
        for case in &cases {
            println!("{:<40} {:<5} {}", case.name, case.rule, case.sentence);
        }
        return Ok(true);
    }
    if let Some(only) = &options.only {
        cases.retain(|case| &case.name == only);
    }
    let baseline = match &options.baseline {
        Some(path) => Baseline::read(path)?,
        None => Baseline::default(),
    };
    let mut shim = Shim::start(&options.command)?;
    let results = shim.run(cases)?;
    let complete = options.area.is_none() && options.only.is_none();
    let verdict = if options.all_must_fail {
        let passed: Vec<_> = results
            .iter()
            .filter(|(_, verdict)| *verdict == Verdict::Pass)
            .collect();
        for (case, _) in &passed {
            println!(
                "  {}: passes against an implementation that is wrong on purpose",
                case.name
            );
        }
        println!(
            "{} of {} cases failed, all must",
            results.len() - passed.len(),
            results.len()
        );
        passed.is_empty() && !results.is_empty()
    } else {
        let report = Report::new(shim.implementation(), &results, &baseline, complete);
        print!("{report}");
        report.is_ok()
    };
    shim.finish()?;
    Ok(verdict)
}

/// The command line.
struct Options {
    data: PathBuf,
    baseline: Option<PathBuf>,
    area: Option<String>,
    only: Option<String>,
    all_must_fail: bool,
    list: bool,
    command: Vec<String>,
}

impl Options {
    /// Returns `None` when the user asked for help and got it.
    fn parse(arguments: Vec<String>) -> Result<Option<Self>, ConformanceError> {
        let usage = |problem: String| ConformanceError::Usage { problem };
        let mut options = Self {
            data: PathBuf::from("tests/conformance/data"),
            baseline: None,
            area: None,
            only: None,
            all_must_fail: false,
            list: false,
            command: Vec::new(),
        };
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .ok_or_else(|| usage(format!("{argument} needs a value")))
            };
            match argument.as_str() {
                "--data" => options.data = value()?.into(),
                "--baseline" => options.baseline = Some(value()?.into()),
                "--area" => options.area = Some(value()?),
                "--case" => options.only = Some(value()?),
                "--all-must-fail" => options.all_must_fail = true,
                "--list" => options.list = true,
                "--help" | "-h" => {
                    println!("{HELP}");
                    return Ok(None);
                }
                "--" => options.command = rest.by_ref().collect(),
                other => return Err(usage(format!("unknown argument {other:?}; see --help"))),
            }
        }
        if options.command.is_empty() && !options.list {
            return Err(usage("no shim given; put its command after --".into()));
        }
        Ok(Some(options))
    }
}

const HELP: &str = "\
Puts the conformance cases to an implementation.

usage: bailiwick-conformance [OPTIONS] -- SHIM [ARGUMENT]…

  --data DIR        the cases (default: tests/conformance/data)
  --baseline FILE   cases known to fail; strict in both directions
  --area AREA       only this area
  --case AREA/ID    only this case
  --all-must-fail   succeed only if every case fails (for a shim that is wrong on purpose)
  --list            list the cases with their rule and sentence

exit codes: 0 as expected, 1 not as expected, 2 the run could not be made";
