//! What was measured, as a table and as JSON.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use crate::measure::Sample;

/// The results of one run.
#[derive(Debug)]
pub(crate) struct Report {
    machine: Value,
    samples: Vec<Sample>,
    ratios: Vec<Ratio>,
    absent: Vec<(&'static str, String)>,
}

#[derive(Debug)]
struct Ratio {
    name: &'static str,
    to: &'static str,
    value: f64,
    most: Option<f64>,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            machine: machine(),
            samples: Vec::new(),
            ratios: Vec::new(),
            absent: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, samples: impl IntoIterator<Item = Sample>) {
        self.samples.extend(samples);
    }

    /// Tells whether a variant was measured.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.samples.iter().any(|sample| sample.name == name)
    }

    /// Notes a variant that could not be measured here, and why.
    pub(crate) fn absent(&mut self, name: &'static str, why: impl Into<String>) {
        self.absent.push((name, why.into()));
    }

    /// Compares the medians of two variants of this run.
    pub(crate) fn compare(&mut self, name: &'static str, to: &'static str, most: Option<f64>) {
        let median = |name: &str| {
            self.samples
                .iter()
                .find(|sample| sample.name == name)
                .map(|sample| sample.p50_us)
        };
        if let (Some(value), Some(base)) = (median(name), median(to)) {
            self.add_ratio(name, to, value / base, most);
        }
    }

    pub(crate) fn add_ratio(
        &mut self,
        name: &'static str,
        to: &'static str,
        value: f64,
        most: Option<f64>,
    ) {
        self.ratios.push(Ratio {
            name,
            to,
            value,
            most,
        });
    }

    pub(crate) fn missed_targets(&self) -> Vec<String> {
        let missed = self
            .ratios
            .iter()
            .filter(|ratio| ratio.most.is_some_and(|most| ratio.value > most));
        missed
            .map(|r| {
                format!(
                    "{} is {:.2} of {}, at most {:.2} is promised",
                    r.name,
                    r.value,
                    r.to,
                    r.most.unwrap_or_default()
                )
            })
            .collect()
    }

    pub(crate) fn to_json(&self) -> Value {
        let results: Vec<Value> = self
            .samples
            .iter()
            .map(|sample| {
                let ratios: serde_json::Map<String, Value> = self
                    .ratios
                    .iter()
                    .filter(|ratio| ratio.name == sample.name)
                    .map(|ratio| (ratio.to.to_owned(), json!(ratio.value)))
                    .collect();
                json!({
                    "name": sample.name, "n": sample.n,
                    "p50_us": sample.p50_us, "p95_us": sample.p95_us, "p99_us": sample.p99_us,
                    "ratios": ratios,
                })
            })
            .collect();
        let absent: serde_json::Map<String, Value> = self
            .absent
            .iter()
            .map(|(name, why)| ((*name).to_owned(), json!(why)))
            .collect();
        json!({ "machine": self.machine, "results": results, "absent": absent })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header([
            "name",
            "n",
            "p50 µs",
            "p95 µs",
            "p99 µs",
            "ratio of medians",
        ]);
        for sample in &self.samples {
            let ratios: Vec<_> = self
                .ratios
                .iter()
                .filter(|ratio| ratio.name == sample.name)
                .map(|ratio| format!("{:.2} of {}", ratio.value, ratio.to))
                .collect();
            table.add_row([
                sample.name.clone(),
                sample.n.to_string(),
                format!("{:.1}", sample.p50_us),
                format!("{:.1}", sample.p95_us),
                format!("{:.1}", sample.p99_us),
                ratios.join(", "),
            ]);
        }
        for column in table.column_iter_mut().skip(1).take(4) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(f, "{}", self.machine)?;
        write!(f, "{table}")?;
        for (name, why) in &self.absent {
            write!(f, "\nabsent: {name}: {why}")?;
        }
        Ok(())
    }
}

/// Describes the machine by what the kernel says of it.
fn machine() -> Value {
    let text = |path: &str| {
        std::fs::File::open(path)
            .and_then(std::io::read_to_string)
            .unwrap_or_default()
    };
    let cpu = text("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or_default();
    json!({
        "kernel": text("/proc/sys/kernel/osrelease").trim(),
        "cpu": model.trim_start_matches(['\t', ' ', ':']),
        "cpus": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        "profile": if cfg!(debug_assertions) { "dev" } else { "release" },
    })
}
