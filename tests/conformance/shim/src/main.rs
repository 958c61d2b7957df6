//! `bailiwick-conformance-shim`: answers the conformance suite's questions with our crates.
//!
//! It adds nothing of its own: each area's module turns a question into calls of the public API
//! and the API's answer into the protocol's. The protocol is written out here once more, so that
//! the suite's own code takes no part in what it judges (`docs/conformance.md`).
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a shim answers on stdout"
)]

mod answer;
mod argv;
mod isolated;
mod names;
mod paths;
mod wrap;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;

fn main() -> ExitCode {
    let mut lines = io::stdin().lock().lines().map_while(Result::ok);
    if lines.next().is_none() {
        return ExitCode::SUCCESS;
    }
    say(
        &json!({"protocol": 1, "implementation": concat!("bailiwick ", env!("CARGO_PKG_VERSION"))}),
    );
    for line in lines {
        match serde_json::from_str::<Request>(&line) {
            Ok(request) => say(&answer(&request.area, request.input).into_message(request.id)),
            Err(error) => {
                eprintln!("error: not a question: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn answer(area: &str, input: Value) -> Answer {
    match area {
        "argv" => argv::answer(input),
        "isolated" => isolated::answer(input),
        "names" => names::answer(input),
        "paths" => paths::answer(input),
        "wrap" => wrap::answer(input),
        other => Answer::unsupported(format!("no area {other:?}")),
    }
}

#[derive(Deserialize)]
struct Request {
    id: u64,
    area: String,
    input: Value,
}

fn say(message: &Value) {
    println!("{message}");
    // A runner that is gone reads no answer; the next line of stdin will not come either.
    let _gone = io::stdout().flush();
}
