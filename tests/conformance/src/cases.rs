//! The cases: how they are stored, read and judged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::ConformanceError;
use crate::protocol::{Outcome, Refusal};

/// One question with its expected answer and the sentence that decides it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// `area/id`, unique in the suite; what a baseline lists.
    pub name: String,
    /// The folder of `data/` that the case lies in.
    pub area: String,
    /// The rule of the contracts, such as `1.3`.
    pub rule: String,
    /// The sentence of that rule which the case holds an implementation to.
    pub sentence: String,
    /// What the shim is asked.
    pub input: Value,
    /// What it has to answer.
    pub expect: Expectation,
}

/// The answer that a case requires.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "an implementation accepts or refuses"
)]
pub enum Expectation {
    /// Acceptance with exactly this result.
    Ok(Value),
    /// Refusal with this code and, when given, this reason.
    Error(Refusal),
}

impl Expectation {
    /// Compares an answer with the expectation.
    pub fn judge(&self, outcome: &Outcome) -> Verdict {
        let as_expected = match (self, outcome) {
            (Self::Ok(expected), Outcome::Ok(value)) => expected == value,
            (Self::Error(expected), Outcome::Error(refusal)) => {
                expected.code == refusal.code
                    && (expected.reason.is_none() || expected.reason == refusal.reason)
            }
            (Self::Ok(_), Outcome::Error(_) | Outcome::Unsupported(_))
            | (Self::Error(_), Outcome::Ok(_) | Outcome::Unsupported(_)) => false,
        };
        if as_expected {
            Verdict::Pass
        } else {
            Verdict::Fail {
                expected: self.describe(),
                actual: describe_outcome(outcome),
            }
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Ok(value) => format!("ok {:.300}", value.to_string()),
            Self::Error(refusal) => describe_refusal(refusal),
        }
    }
}

/// The result of one case.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a case passes or fails")]
pub enum Verdict {
    /// The answer equals the expectation.
    Pass,
    /// It does not.
    Fail {
        /// What the contract requires, in a line.
        expected: String,
        /// What the implementation answered, in a line.
        actual: String,
    },
}

/// Reads every case below `data`, in a stable order; with `area`, only that area's.
///
/// # Errors
///
/// A file that cannot be read or parsed, a case listed twice, a rule without a sentence, an area
/// that has no case.
pub fn load(data: &Path, area: Option<&str>) -> Result<Vec<Case>, ConformanceError> {
    let mut cases = Vec::new();
    for folder in entries(data)?.into_iter().filter(|entry| entry.is_dir()) {
        let name = file_name(&folder);
        if area.is_some_and(|wanted| wanted != name) {
            continue;
        }
        for file in entries(&folder)? {
            if file
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                read_file(&file, &name, &mut cases)?;
            }
        }
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = cases.iter().find(|case| !seen.insert(case.name.as_str())) {
        return Err(inconsistent(
            data,
            format!("the case {} is listed twice", twice.name),
        ));
    }
    if cases.is_empty() {
        let wanted = area.unwrap_or("any area");
        return Err(inconsistent(data, format!("no case for {wanted}")));
    }
    Ok(cases)
}

/// Returns the areas that `cases` belong to, sorted, each once.
pub fn areas(cases: &[Case]) -> Vec<String> {
    let areas: BTreeSet<&str> = cases.iter().map(|case| case.area.as_str()).collect();
    areas.into_iter().map(str::to_owned).collect()
}

/// A data file: rules, each with the cases that follow from its sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataFile {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(rename = "rule")]
    number: String,
    sentence: String,
    cases: Vec<StoredCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCase {
    id: String,
    input: Value,
    expect: Expectation,
}

fn read_file(path: &Path, area: &str, cases: &mut Vec<Case>) -> Result<(), ConformanceError> {
    let text = fs::read_to_string(path).map_err(|source| ConformanceError::Read {
        path: path.display().to_string(),
        source,
    })?;
    let file: DataFile = serde_json::from_str(&text).map_err(|source| ConformanceError::Data {
        path: path.display().to_string(),
        source,
    })?;
    for rule in file.rules {
        if rule.sentence.trim().is_empty() || rule.number.trim().is_empty() || rule.cases.is_empty()
        {
            return Err(inconsistent(
                path,
                "a rule needs its number, its sentence and a case".into(),
            ));
        }
        cases.extend(rule.cases.into_iter().map(|stored| Case {
            name: format!("{area}/{}", stored.id),
            area: area.to_owned(),
            rule: rule.number.clone(),
            sentence: rule.sentence.clone(),
            input: expand(stored.input),
            expect: match stored.expect {
                Expectation::Ok(value) => Expectation::Ok(expand(value)),
                Expectation::Error(refusal) => Expectation::Error(refusal),
            },
        }));
    }
    Ok(())
}

/// Replaces `{"$repeat": [text, count, …]}` by the joined text, so that a path of a thousand bytes
/// stays readable in the data.
fn expand(value: Value) -> Value {
    match value {
        Value::Object(fields) => match fields.get("$repeat").and_then(Value::as_array) {
            Some(parts) => Value::String(repeat(parts)),
            None => fields
                .into_iter()
                .map(|(name, field)| (name, expand(field)))
                .collect(),
        },
        Value::Array(items) => items.into_iter().map(expand).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn repeat(parts: &[Value]) -> String {
    parts
        .chunks(2)
        .map(|pair| {
            let text = pair.first().and_then(Value::as_str).unwrap_or_default();
            let count = pair.get(1).and_then(Value::as_u64).unwrap_or(1);
            text.repeat(usize::try_from(count).unwrap_or_default())
        })
        .collect()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ConformanceError> {
    let failed = |source| ConformanceError::Read {
        path: folder.display().to_string(),
        source,
    };
    let mut found = fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    found.sort();
    Ok(found)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn inconsistent(path: &Path, problem: String) -> ConformanceError {
    ConformanceError::Inconsistent {
        path: path.display().to_string(),
        problem,
    }
}

fn describe_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok(value) => format!("ok {:.300}", value.to_string()),
        Outcome::Error(refusal) => describe_refusal(refusal),
        Outcome::Unsupported(why) => format!("unsupported: {why}"),
    }
}

fn describe_refusal(refusal: &Refusal) -> String {
    match &refusal.reason {
        Some(reason) => format!("{} ({reason})", refusal.code),
        None => refusal.code.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(code: &str, reason: Option<&str>) -> Refusal {
        Refusal::new(code, reason.map(str::to_owned))
    }

    #[test]
    fn an_equal_result_passes_and_a_different_one_fails() {
        let expected = Expectation::Ok(json!(["a", "b"]));
        assert_eq!(
            expected.judge(&Outcome::Ok(json!(["a", "b"]))),
            Verdict::Pass
        );
        assert_ne!(expected.judge(&Outcome::Ok(json!(["a"]))), Verdict::Pass);
        assert_ne!(
            expected.judge(&Outcome::Error(refusal("E", None))),
            Verdict::Pass
        );
        assert_ne!(
            expected.judge(&Outcome::Unsupported("no".into())),
            Verdict::Pass
        );
    }

    #[test]
    fn a_reason_is_compared_only_when_the_case_gives_one() {
        let any = Expectation::Error(refusal("E", None));
        assert_eq!(
            any.judge(&Outcome::Error(refusal("E", Some("home")))),
            Verdict::Pass
        );
        let home = Expectation::Error(refusal("E", Some("home")));
        assert_eq!(
            home.judge(&Outcome::Error(refusal("E", Some("home")))),
            Verdict::Pass
        );
        assert_ne!(
            home.judge(&Outcome::Error(refusal("E", Some("empty")))),
            Verdict::Pass
        );
        assert_ne!(
            home.judge(&Outcome::Error(refusal("F", Some("home")))),
            Verdict::Pass
        );
    }

    #[test]
    fn repetition_keeps_long_inputs_readable() {
        assert_eq!(
            expand(json!({"path": {"$repeat": ["ab", 2, "/c", 1]}})),
            json!({"path": "abab/c"})
        );
    }

    #[test]
    fn a_case_listed_twice_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let area = data.path().join("names");
        fs::create_dir(&area).unwrap();
        let case = json!({"id": "x", "input": 1, "expect": {"ok": 1}});
        let file = json!({"rules": [{"rule": "1.1", "sentence": "S.", "cases": [case, case]}]});
        fs::write(area.join("a.json"), file.to_string()).unwrap();
        let error = load(data.path(), None).unwrap_err();
        assert!(
            error.to_string().contains("names/x is listed twice"),
            "{error}"
        );
    }
}
