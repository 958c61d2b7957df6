//! The `bailiwick` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bailiwick_cli::run())
}
