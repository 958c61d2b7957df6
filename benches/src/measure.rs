//! Interleaved sampling.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// What one round of a variant costs; the work is timed by the variant itself.
pub(crate) type Variant<'a> = (
    &'static str,
    Box<dyn FnMut() -> Result<Duration, BoxError> + 'a>,
);

pub(crate) type BoxError = Box<dyn std::error::Error>;

/// The distribution of one variant.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) n: usize,
    pub(crate) p50_us: f64,
    pub(crate) p95_us: f64,
    pub(crate) p99_us: f64,
}

impl Sample {
    pub(crate) fn of(name: &str, mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        let at = |percent: usize| {
            let index = (durations.len() * percent).div_ceil(100).saturating_sub(1);
            durations
                .get(index)
                .map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e6)
        };
        Self {
            name: name.to_owned(),
            n: durations.len(),
            p50_us: at(50),
            p95_us: at(95),
            p99_us: at(99),
        }
    }
}

/// Times a piece of work.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T, BoxError>) -> Result<Duration, BoxError> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

/// Gives every variant a turn a round, after a few rounds that do not count. A turn begins with one
/// run that does not count either, so that no variant pays for the caches that the one before it
/// left.
pub(crate) fn interleaved(
    mut variants: Vec<Variant<'_>>,
    rounds: usize,
) -> Result<Vec<Sample>, BoxError> {
    let mut durations = vec![Vec::with_capacity(rounds); variants.len()];
    for round in 0..rounds + WARM_UP {
        for (index, (name, work)) in variants.iter_mut().enumerate() {
            let mut run = || work().map_err(|error| format!("{name}: {error}"));
            run()?;
            let took = run()?;
            if round >= WARM_UP {
                durations[index].push(took);
            }
        }
    }
    Ok(variants
        .iter()
        .zip(durations)
        .map(|((name, _), durations)| Sample::of(name, durations))
        .collect())
}

const WARM_UP: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let sample = Sample::of("x", (1..=100).map(Duration::from_micros).collect());
        assert_eq!(
            (
                sample.p50_us.round(),
                sample.p95_us.round(),
                sample.p99_us.round()
            ),
            (50.0, 95.0, 99.0)
        );
    }

    #[test]
    fn variants_take_turns_and_warm_up_does_not_count() {
        let order = std::cell::RefCell::new(String::new());
        let turn = |name: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(Duration::ZERO)
            }
        };
        let samples = interleaved(
            vec![("a", Box::new(turn('a'))), ("b", Box::new(turn('b')))],
            2,
        )
        .unwrap();
        assert_eq!(order.borrow().as_str(), "aabb".repeat(5));
        assert!(samples.iter().all(|sample| sample.n == 2));
    }
}
