//! `bailiwick-conformance-wrong`: passes questions on to a real shim and spoils its answers.
//!
//! It proves that the suite can fail: with `--wrong AREA`, every case of that area has to fail and
//! every case of the other areas has to pass. The changes are as small as a real mistake: another
//! code of the table, one character more in a result, an acceptance instead of a refusal.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a shim answers on stdout"
)]

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use bailiwick_conformance::ConformanceError;
use bailiwick_conformance::protocol::{Answer, Hello, Outcome, Refusal, Request};
use bailiwick_conformance::shim::Shim;
use serde_json::Value;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), ConformanceError> {
    let usage = || ConformanceError::Usage {
        problem: "usage: bailiwick-conformance-wrong --wrong AREA -- SHIM [ARGUMENT]…".into(),
    };
    let mut rest = arguments.into_iter();
    let (Some("--wrong"), Some(area), Some("--")) =
        (rest.next().as_deref(), rest.next(), rest.next().as_deref())
    else {
        return Err(usage());
    };
    let mut shim = Shim::start(&rest.collect::<Vec<_>>())?;
    let mut lines = io::stdin().lock().lines().map_while(Result::ok);
    let _greeting = lines.next().ok_or_else(usage)?;
    say(&Hello::new(format!(
        "{}, wrong in {area}",
        shim.implementation()
    )))?;
    for line in lines {
        let request: Request = parse(&line)?;
        let outcome = shim.ask(&request.area, &request.input)?;
        let outcome = if request.area == area {
            spoil(outcome)
        } else {
            outcome
        };
        say(&Answer::new(request.id, outcome))?;
    }
    shim.finish()
}

/// Changes an answer as little as a mistake would.
fn spoil(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Ok(value) => Outcome::Ok(spoil_value(value)),
        Outcome::Error(refusal) if refusal.code == OTHER_CODE => Outcome::Ok(Value::Null),
        Outcome::Error(refusal) => Outcome::Error(Refusal::new(OTHER_CODE, refusal.reason)),
        Outcome::Unsupported(why) => Outcome::Unsupported(why),
    }
}

fn spoil_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text + "x"),
        Value::Array(mut items) => {
            match items.pop() {
                Some(last) => items.push(spoil_value(last)),
                None => items.push(Value::Null),
            }
            Value::Array(items)
        }
        Value::Object(mut fields) => {
            match fields
                .iter()
                .next()
                .map(|(name, field)| (name.clone(), field.clone()))
            {
                Some((name, field)) => drop(fields.insert(name, spoil_value(field))),
                None => drop(fields.insert("unexpected".into(), Value::Null)),
            }
            Value::Object(fields)
        }
        Value::Bool(truth) => Value::Bool(!truth),
        Value::Null => Value::Bool(false),
        Value::Number(_) => Value::Null,
    }
}

/// A code that exists, so that a careless comparison would let it through.
const OTHER_CODE: &str = "E_SKILL_NOT_FOUND";

fn say<T: serde::Serialize>(message: &T) -> Result<(), ConformanceError> {
    let broken = |problem: String| ConformanceError::Shim { problem };
    let line = serde_json::to_string(message).map_err(|source| broken(source.to_string()))?;
    println!("{line}");
    io::stdout()
        .flush()
        .map_err(|source| broken(source.to_string()))
}

fn parse(line: &str) -> Result<Request, ConformanceError> {
    serde_json::from_str(line).map_err(|source| ConformanceError::Shim {
        problem: source.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_answer_is_changed() {
        let answers = [
            Outcome::Ok(json!("a")),
            Outcome::Ok(json!([])),
            Outcome::Ok(json!({})),
            Outcome::Ok(json!({"name": "a", "long": true})),
            Outcome::Ok(json!(null)),
            Outcome::Ok(json!(true)),
            Outcome::Ok(json!(1)),
            Outcome::Error(Refusal::new("E_SKILL_MANIFEST_INVALID", None)),
            Outcome::Error(Refusal::new(OTHER_CODE, None)),
        ];
        for answer in answers {
            assert_ne!(spoil(answer.clone()), answer);
        }
    }
}
