//! What a run adds up to.

use std::collections::BTreeMap;
use std::fmt;

use crate::baseline::Baseline;
use crate::cases::{Case, Verdict};

/// The verdicts of a run, weighed against a baseline.
#[derive(Debug)]
pub struct Report {
    implementation: String,
    areas: BTreeMap<String, Tally>,
    problems: Vec<String>,
}

/// The counts of one area.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    known: usize,
}

impl Report {
    /// Weighs `results` against `baseline`.
    ///
    /// `complete` tells whether every area was run: only then is a listed case that does not exist
    /// a problem.
    pub fn new(
        implementation: impl Into<String>,
        results: &[(Case, Verdict)],
        baseline: &Baseline,
        complete: bool,
    ) -> Self {
        let mut report = Self {
            implementation: implementation.into(),
            areas: BTreeMap::new(),
            problems: Vec::new(),
        };
        for (case, verdict) in results {
            report.add(case, verdict, baseline.lists(&case.name));
        }
        if complete {
            for name in baseline.names() {
                if !results.iter().any(|(case, _)| case.name == name) {
                    report.problems.push(format!(
                        "{name}: in the baseline, but there is no such case"
                    ));
                }
            }
        }
        report
    }

    /// Tells whether every case passed or failed as the baseline says.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, case: &Case, verdict: &Verdict, listed: bool) {
        let tally = self.areas.entry(case.area.clone()).or_default();
        match (verdict, listed) {
            (Verdict::Pass, false) => tally.passed += 1,
            (Verdict::Pass, true) => {
                tally.failed += 1;
                self.problems
                    .push(format!("{}: passes, take it off the baseline", case.name));
            }
            (Verdict::Fail { .. }, true) => tally.known += 1,
            (Verdict::Fail { expected, actual }, false) => {
                tally.failed += 1;
                self.problems.push(format!(
                    "{}: expected {expected}, got {actual}\n    rule {}: {}\n    input {:.300}",
                    case.name,
                    case.rule,
                    case.sentence,
                    case.input.to_string()
                ));
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "  {problem}")?;
        }
        writeln!(f, "conformance of {}", self.implementation)?;
        for (area, tally) in &self.areas {
            let Tally {
                passed,
                failed,
                known,
            } = tally;
            writeln!(
                f,
                "  {area:<8} {passed:>4} passed {failed:>4} failed {known:>4} known to fail"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cases::Expectation;

    fn case(name: &str) -> Case {
        Case {
            name: format!("names/{name}"),
            area: "names".into(),
            rule: "1.1".into(),
            sentence: "A sentence.".into(),
            input: json!(name),
            expect: Expectation::Ok(json!(name)),
        }
    }

    fn fail() -> Verdict {
        Verdict::Fail {
            expected: "ok".into(),
            actual: "error".into(),
        }
    }

    #[test]
    fn an_unlisted_failure_fails_the_run() {
        let report = Report::new("it", &[(case("a"), fail())], &Baseline::default(), true);
        assert!(!report.is_ok());
        assert!(report.to_string().contains("rule 1.1: A sentence."));
    }

    #[test]
    fn a_listed_failure_does_not() {
        let baseline = Baseline::parse("names/a");
        assert!(Report::new("it", &[(case("a"), fail())], &baseline, true).is_ok());
    }

    #[test]
    fn a_listed_pass_is_stale_and_fails_the_run() {
        let baseline = Baseline::parse("names/a");
        let report = Report::new("it", &[(case("a"), Verdict::Pass)], &baseline, true);
        assert!(!report.is_ok());
    }

    #[test]
    fn a_listed_case_that_does_not_exist_fails_a_complete_run_only() {
        let baseline = Baseline::parse("paths/gone");
        let results = [(case("a"), Verdict::Pass)];
        assert!(!Report::new("it", &results, &baseline, true).is_ok());
        assert!(Report::new("it", &results, &baseline, false).is_ok());
    }
}
