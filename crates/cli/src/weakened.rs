//! The `bailiwick` program with the means to leave layers out, for tests alone: see
//! `BAILIWICK_WEAKEN` in `weakening.rs`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bailiwick_cli::run_weakened())
}
