//! From what was observed to how a run ended.
//!
//! A run that exited with 0 has not failed, and its end is that, whatever it met on the way. Any
//! other end that neither the caller nor the deadline made is named after a limit only if one of
//! these was observed:
//!
//! | limit | what is observed | what is not |
//! |---|---|---|
//! | memory | the control group killed for want of it; else a look, or the main process's peak, at the ceiling | a refusal that came and went between two looks |
//! | processes | the control group refused one; else a look at the ceiling | the same |
//! | cpu | the tree's time is at the limit, by its control group or by looks; the main process died of `SIGXCPU` | time of processes that nobody awaited, where no group counts |
//! | file size | the main process died of `SIGXFSZ`, or exited as a shell does whose child did; a file of exactly that size is in the scratch | `EFBIG` on a file in a grant, or on one that the run removed |
//! | workspace, inodes | a look at the scratch, or the one at the end, found it above its limit | a run that freed the space between two looks |
//! | output | the host counted it | |
//! | files | nothing: `EMFILE` is the program's to handle | every refusal |
//!
//! The exit status of a shell is its own word, so `153` counts only as what it says there; for
//! processor time, which can be measured, the measure alone counts.

use std::time::Duration;

use bailiwick_policy::{LimitAxis, RunLimits};
use rustix::process::Signal;

use crate::cgroup::Refusals;
use crate::completion::{End, Usage};
use crate::denial::Denial;
use crate::scratch::Full;
use crate::watchdog::{Sample, Watched};

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

    /// Says whether a signal ended it, or, by the exit status that shells have then, its child.
    fn is_of(self, signal: Signal) -> bool {
        const OF_A_CHILD: i32 = 128;
        let signal = signal.as_raw();
        self == Self::Signalled(signal) || self == Self::Exited(OF_A_CHILD + signal)
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
    /// What the host must judge by what it saw.
    pub(crate) watched: Watched,
    /// What the scratch has run out of, now or when the host looked.
    pub(crate) full: Full,
    /// The processor time of the whole run.
    pub(crate) time: Duration,
    /// Whether a file in the scratch is as large as one may be.
    pub(crate) largest_file: bool,
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
                once(
                    self.watched.memory && most >= near(limits.memory()),
                    "rlimit",
                )
            }
            LimitAxis::Processes if self.refusals.processes > 0 => {
                Some(("cgroup", self.refusals.processes))
            }
            LimitAxis::Processes => once(
                self.watched.processes && self.seen.processes >= limits.processes().into(),
                "rlimit",
            ),
            LimitAxis::Cpu if self.cause == Some(Cause::Limit(axis)) => once(true, "host"),
            LimitAxis::Cpu => once(self.cpu_exceeded(limits.cpu()), "rlimit"),
            LimitAxis::FileSize => {
                once(self.main.is_of(Signal::XFSZ) || self.largest_file, "rlimit")
            }
            LimitAxis::Workspace => once(self.full.space, "scratch"),
            LimitAxis::Inodes => once(self.full.inodes, "scratch"),
            LimitAxis::Output => once(self.cause == Some(Cause::Limit(LimitAxis::Output)), "host"),
            // Nothing is refused at these: time ends a run, descriptors are the program's to
            // count, and the rest is what the host keeps.
            LimitAxis::Wall | LimitAxis::Files | LimitAxis::Flood | LimitAxis::Reply => None,
        }
    }

    /// The kernel signals a process at its limit, by a clock of its own that may differ a little from
    /// the one that is read here, and kills it a second later.
    fn cpu_exceeded(&self, limit: Duration) -> bool {
        self.main == MainEnd::Signalled(Signal::XCPU.as_raw())
            || (self.main != MainEnd::Exited(0) && self.time >= limit / 16 * 15)
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
            watched: Watched::default(),
            full: Full::default(),
            time: Duration::ZERO,
            largest_file: false,
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
            time: Duration::ZERO,
        };
        let blind = Observed {
            seen,
            ..observed(MainEnd::Exited(1))
        };
        assert_eq!(end(blind), End::Exited(1));
        assert_eq!(
            end(Observed {
                watched: Watched {
                    memory: true,
                    ..Watched::default()
                },
                ..blind
            }),
            End::Limit(LimitAxis::Memory)
        );
    }

    #[test]
    fn a_shell_whose_child_met_the_size_of_a_file_has_met_it() {
        assert_eq!(
            end(observed(MainEnd::Exited(153))),
            End::Limit(LimitAxis::FileSize)
        );
        let failed = observed(MainEnd::Exited(1));
        assert_eq!(end(failed), End::Exited(1));
        let cut = Observed {
            largest_file: true,
            ..failed
        };
        assert_eq!(end(cut), End::Limit(LimitAxis::FileSize));
    }

    #[test]
    fn time_is_measured_and_not_told() {
        let limit = RunLimits::default().cpu();
        assert_eq!(end(observed(MainEnd::Exited(152))), End::Exited(152));
        let spent = |main| Observed {
            time: limit,
            ..observed(main)
        };
        assert_eq!(end(spent(MainEnd::Exited(1))), End::Limit(LimitAxis::Cpu));
        assert_eq!(end(spent(MainEnd::Exited(0))), End::Exited(0));
        assert_eq!(spent(MainEnd::Exited(0)).hits(&RunLimits::default()), []);
        let late = Observed {
            cause: Some(Cause::Deadline),
            ..spent(MainEnd::Unseen)
        };
        assert_eq!(end(late), End::TimedOut);
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
