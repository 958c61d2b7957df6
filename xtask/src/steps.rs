//! Named steps with their durations.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::Result;

/// A list of steps that go on after a failure, so that one run shows everything that is wrong.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
    from: Option<String>,
}

struct Step {
    name: &'static str,
    took: Duration,
    error: Option<String>,
}

impl Steps {
    /// Skips every step before the one named `from`. Nothing is skipped by default.
    pub(crate) fn starting_from(from: Option<String>) -> Self {
        Self {
            done: Vec::new(),
            from,
        }
    }

    /// Runs one step, announces it and keeps its duration and error.
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result) {
        if self.from.as_deref().is_some_and(|from| from != name) {
            eprintln!("== {name}: skipped ==");
            return;
        }
        self.from = None;
        eprintln!("\n== {name} ==");
        let start = Instant::now();
        let error = step().err().map(|error| error.to_string());
        if let Some(error) = &error {
            eprintln!("error: {name}: {error}");
        }
        self.done.push(Step {
            name,
            took: start.elapsed(),
            error,
        });
    }

    /// Prints the table of steps and fails if one of them failed or none ran.
    pub(crate) fn finish(self) -> Result {
        eprintln!("\n{}", self.table());
        if self.done.is_empty() {
            return Err(format!("no step is named `{}`", self.from.unwrap_or_default()).into());
        }
        let failed: Vec<_> = self
            .done
            .iter()
            .filter(|step| step.error.is_some())
            .map(|step| step.name)
            .collect();
        if failed.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "{} of {} steps failed: {}",
                failed.len(),
                self.done.len(),
                failed.join(", ")
            )
            .into())
        }
    }

    fn table(&self) -> String {
        let width = self
            .done
            .iter()
            .map(|step| step.name.len())
            .max()
            .unwrap_or_default();
        let total: Duration = self.done.iter().map(|step| step.took).sum();
        let mut table = String::new();
        for Step { name, took, error } in &self.done {
            let verdict = error.as_deref().map_or("ok", |_| "FAILED");
            let _infallible = writeln!(table, "{name:<width$}  {}  {verdict}", clock(*took));
        }
        let _infallible = write!(table, "{:<width$}  {}", "total", clock(total));
        table
    }
}

fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{:>3}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_does_not_hide_the_steps_after_it() {
        let mut steps = Steps::default();
        let mut ran = false;
        steps.run("first", || Err("broken".into()));
        steps.run("second", || {
            ran = true;
            Ok(())
        });
        assert!(ran);
        assert_eq!(
            steps.finish().unwrap_err().to_string(),
            "1 of 2 steps failed: first"
        );
    }

    #[test]
    fn a_run_can_start_in_the_middle() {
        let mut steps = Steps::starting_from(Some("second".into()));
        steps.run("first", || Err("must not run".into()));
        steps.run("second", || Ok(()));
        assert!(
            steps.table().starts_with("second    0:00  ok\n"),
            "{}",
            steps.table()
        );
        steps.finish().unwrap();
    }

    #[test]
    fn an_unknown_first_step_is_an_error() {
        let mut steps = Steps::starting_from(Some("thrid".into()));
        steps.run("first", || Ok(()));
        assert!(steps.finish().is_err());
    }
}
