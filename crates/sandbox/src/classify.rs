//! From what was observed to how a run ended.

use std::time::Duration;

use bailiwick_policy::{LimitAxis, RunLimits};
use rustix::process::Signal;

use crate::cgroup::Refusals;
use crate::completion::{End, Usage};
use crate::denial::Denial;
use crate::watchdog::Sample;

/// Why the host ended a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cause {
    /// The deadline passed.
    Deadline,
    /// The caller cancelled.
    Cancel,
    /// The host saw a limit exceeded.
    Limit(LimitAxis),
}

/// How the main process ended by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MainEnd {
    /// It exited.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Nobody saw: init died first.
    Unseen,
}

impl MainEnd {
    /// Reads a raw wait status.
    pub(crate) fn from_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited((status >> 8) & 0xff),
            signal => Self::Signalled(signal),
        }
    }
}

/// Everything that is known at the end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) cause: Option<Cause>,
    pub(crate) main: MainEnd,
    pub(crate) usage: Usage,
    /// What control groups counted.
    pub(crate) refusals: Refusals,
    /// The largest that the watchdog saw of each.
    pub(crate) seen: Sample,
    /// Whether the host must judge memory by what it saw.
    pub(crate) watched: bool,
    /// Whether the scratch has no space left, and no inodes.
    pub(crate) full: Full,
}

/// What a run's scratch has run out of.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Full {
    pub(crate) space: bool,
    pub(crate) inodes: bool,
}

impl Observed {
    /// Names the end.
    ///
    /// What the caller did comes first, then what the host did; then, for a run that did not exit
    /// with 0, a limit at which a refusal was observed; then the deadline; then the main process's
    /// own end.
    pub(crate) fn end(&self, limits: &RunLimits) -> End {
        match self.cause {
            Some(Cause::Cancel) => return End::Cancelled,
            Some(Cause::Limit(axis)) => return End::Limit(axis),
            Some(Cause::Deadline) => {
                let counted = [LimitAxis::Memory, LimitAxis::Processes];
                let hit = self
                    .hits(limits)
                    .into_iter()
                    .find(|axis| counted.contains(axis));
                return hit.map_or(End::TimedOut, End::Limit);
            }
            None => {}
        }
        if self.main == MainEnd::Exited(0) {
            return End::Exited(0);
        }
        match (self.hits(limits).first(), self.main) {
            (Some(axis), _) => End::Limit(*axis),
            (None, MainEnd::Exited(code)) => End::Exited(code),
            (None, MainEnd::Signalled(signal)) => End::Signalled { signal },
            (None, MainEnd::Unseen) => End::Signalled {
                signal: Signal::KILL.as_raw(),
            },
        }
    }

    /// Lists the limits at which a refusal was observed.
    pub(crate) fn hits(&self, limits: &RunLimits) -> Vec<LimitAxis> {
        LimitAxis::ALL
            .into_iter()
            .filter(|axis| self.hit(*axis, limits).is_some())
            .collect()
    }

    /// Lists what was refused.
    pub(crate) fn denials(&self, limits: &RunLimits) -> Vec<Denial> {
        let mut denials: Vec<_> = LimitAxis::ALL
            .into_iter()
            .filter_map(|axis| {
                let (layer, count) = self.hit(axis, limits)?;
                Some(Denial::at_limit(axis, layer, count, limits.amount(axis)))
            })
            .collect();
        if self.main == MainEnd::Signalled(Signal::SYS.as_raw()) {
            denials.push(Denial::bad_system_call());
        }
        denials
    }

    /// The layer that refused at a limit and how often, if that was observed.
    fn hit(&self, axis: LimitAxis, limits: &RunLimits) -> Option<(&'static str, u64)> {
        let once = |hit: bool, layer| hit.then_some((layer, 1));
        match axis {
            LimitAxis::Memory if self.refusals.memory > 0 => Some(("cgroup", self.refusals.memory)),
            LimitAxis::Memory => {
                let most = self.seen.memory.max(self.usage.peak_memory);
                once(self.watched && most >= near(limits.memory()), "rlimit")
            }
            LimitAxis::Processes if self.refusals.processes > 0 => {
                Some(("cgroup", self.refusals.processes))
            }
            LimitAxis::Processes => once(
                self.watched && self.seen.processes >= limits.processes().into(),
                "rlimit",
            ),
            LimitAxis::Cpu => once(self.cpu_exceeded(limits.cpu()), "rlimit"),
            LimitAxis::FileSize => once(
                self.main == MainEnd::Signalled(Signal::XFSZ.as_raw()),
                "rlimit",
            ),
            LimitAxis::Workspace => once(self.full.space, "scratch"),
            LimitAxis::Inodes => once(self.full.inodes, "scratch"),
            LimitAxis::Output => once(self.cause == Some(Cause::Limit(LimitAxis::Output)), "host"),
            // Nothing is refused at these: time ends a run, descriptors are the program's to
            // count, and the rest is what the host keeps.
            LimitAxis::Wall | LimitAxis::Files | LimitAxis::Flood | LimitAxis::Reply => None,
        }
    }

    /// The kernel signals a process at its limit and kills it a second later; children that were
    /// ended so are seen in the time that their parent awaited.
    fn cpu_exceeded(&self, limit: Duration) -> bool {
        self.main == MainEnd::Signalled(Signal::XCPU.as_raw())
            || (self.main != MainEnd::Exited(0) && self.usage.user + self.usage.system >= limit)
    }
}

/// A process is refused the next piece before its resident set is exactly at the ceiling.
pub(crate) fn near(ceiling: u64) -> u64 {
    ceiling - ceiling / 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(main: MainEnd) -> Observed {
        Observed {
            cause: None,
            main,
            usage: Usage::default(),
            refusals: Refusals::default(),
            seen: Sample::default(),
            watched: false,
            full: Full::default(),
        }
    }

    fn end(observed: Observed) -> End {
        observed.end(&RunLimits::default())
    }

    #[test]
    fn reads_a_wait_status() {
        assert_eq!(MainEnd::from_status(3 << 8), MainEnd::Exited(3));
        assert_eq!(MainEnd::from_status(9), MainEnd::Signalled(9));
        assert_eq!(MainEnd::from_status(0x8b), MainEnd::Signalled(11));
    }

    #[test]
    fn a_refusal_counts_only_against_a_run_that_failed() {
        let refusals = Refusals {
            processes: 3,
            memory: 0,
        };
        let with = |main| Observed {
            refusals,
            ..observed(main)
        };
        assert_eq!(end(with(MainEnd::Exited(0))), End::Exited(0));
        assert_eq!(
            end(with(MainEnd::Exited(1))),
            End::Limit(LimitAxis::Processes)
        );
        let timed_out = Observed {
            cause: Some(Cause::Deadline),
            ..with(MainEnd::Signalled(15))
        };
        assert_eq!(end(timed_out), End::Limit(LimitAxis::Processes));
    }

    #[test]
    fn a_run_that_exits_in_the_grace_time_has_still_timed_out() {
        let timed_out = Observed {
            cause: Some(Cause::Deadline),
            ..observed(MainEnd::Exited(0))
        };
        assert_eq!(end(timed_out), End::TimedOut);
    }

    #[test]
    fn a_signal_of_a_limit_is_not_a_signal() {
        let signalled = |signal: Signal| end(observed(MainEnd::Signalled(signal.as_raw())));
        assert_eq!(signalled(Signal::XCPU), End::Limit(LimitAxis::Cpu));
        assert_eq!(signalled(Signal::XFSZ), End::Limit(LimitAxis::FileSize));
        assert_eq!(signalled(Signal::SEGV), End::Signalled { signal: 11 });
    }

    #[test]
    fn what_the_caller_did_comes_first() {
        let refusals = Refusals {
            processes: 3,
            memory: 3,
        };
        let main = MainEnd::Signalled(9);
        let cancelled = Observed {
            cause: Some(Cause::Cancel),
            refusals,
            ..observed(main)
        };
        assert_eq!(end(cancelled), End::Cancelled);
    }

    #[test]
    fn the_watchdog_judges_only_where_nothing_counts() {
        let seen = Sample {
            processes: 64,
            memory: 256 << 20,
        };
        let blind = Observed {
            seen,
            ..observed(MainEnd::Exited(1))
        };
        assert_eq!(end(blind), End::Exited(1));
        assert_eq!(
            end(Observed {
                watched: true,
                ..blind
            }),
            End::Limit(LimitAxis::Memory)
        );
    }

    #[test]
    fn every_refusal_is_listed_with_the_line_that_would_allow_it() {
        let full = Full {
            space: true,
            inodes: false,
        };
        let denials = Observed {
            full,
            ..observed(MainEnd::Exited(1))
        }
        .denials(&RunLimits::default());
        let shown = serde_json::to_string(&denials).expect("json");
        insta::assert_snapshot!(shown, @r#"[{"layer":"scratch","access":"exceed the bytes of all files in a run's scratch space","object":"limit workspace = 64MiB","count":1,"hint":"raise `workspace` under `[limits]`"}]"#);
    }
}
