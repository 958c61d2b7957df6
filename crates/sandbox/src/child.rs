//! A run from its start to the confirmed end of its last process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_policy::{LimitAxis, RunLimits};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::cgroup::Leaf;
use crate::class::LayerReport;
use crate::classify::{Cause, MainEnd, Observed, near};
use crate::completion::{Completion, Confirmed, Usage};
use crate::drain::{Captured, Drain, Stream};
use crate::error::SandboxError;
use crate::launch::{Heard, Launched, timespec};
use crate::message::{Message, TERMINATE};
use crate::run::{CONFIRM, Run};
use crate::scratch::Full;
use crate::uid::UidLease;
use crate::watchdog::{FIRST, INTERVAL, Sample, Watchdog, Watched};

/// A confined program that runs.
///
/// Dropping it kills the whole run.
#[derive(Debug)]
pub struct ConfinedChild {
    id: String,
    run: Run,
    drain: Drain,
    feed: Option<Feed>,
    listener: Option<OwnedFd>,
    cancel: Canceller,
    started: Instant,
    deadline: Instant,
    grace: Duration,
    limits: RunLimits,
    layers: LayerReport,
    watchdog: Option<Watchdog>,
    watched: Watched,
    #[cfg(weaken)]
    untimed: bool,
}

/// Ends a run from any thread. Cheap to clone.
///
/// A cancel after the end changes nothing. A cancelled run is killed at once, without grace.
#[derive(Clone, Debug)]
pub struct Canceller {
    event: Arc<OwnedFd>,
}

impl Canceller {
    /// Cancels the run.
    pub fn cancel(&self) {
        // The counter is full only after 2^64 cancels, and then the run has been cancelled.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }
}

/// What a launch gives.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) id: String,
    pub(crate) launched: Launched,
    pub(crate) init: OwnedFd,
    pub(crate) out: Option<OwnedFd>,
    pub(crate) listener: Option<OwnedFd>,
    pub(crate) leaf: Leaf,
    pub(crate) lease: Option<UidLease>,
    pub(crate) drain: Drain,
    pub(crate) feed: Option<(OwnedFd, Vec<u8>)>,
    pub(crate) at: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) limits: RunLimits,
    pub(crate) layers: LayerReport,
    /// Whether init's end is the end of every process.
    pub(crate) namespaced: bool,
    /// What the host must look at itself.
    pub(crate) watched: Watched,
    /// Whether the deadline is left out.
    #[cfg(weaken)]
    pub(crate) untimed: bool,
}

impl ConfinedChild {
    pub(crate) fn new(started: Started) -> Result<Self, SandboxError> {
        let watched = started.watched;
        let watchdog = watched.any().then(|| Watchdog::new(&started.init));
        // From here on a failure ends the run and waits for it.
        let run = Run {
            launched: Some(started.launched),
            init: started.init,
            out: started.out,
            leaf: Some(started.leaf),
            lease: started.lease,
            namespaced: started.namespaced,
            over: false,
        };
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| SandboxError::host("make the cancel event", errno))?;
        let time = time_left(started.at, started.limits.wall(), started.deadline);
        Ok(Self {
            id: started.id,
            run,
            drain: started.drain,
            feed: started
                .feed
                .map(|(pipe, bytes)| Feed::new(pipe, bytes))
                .transpose()?,
            listener: started.listener,
            cancel: Canceller {
                event: Arc::new(event),
            },
            started: started.at,
            deadline: started.at + time,
            grace: GRACE.min(time / 10),
            limits: started.limits,
            layers: started.layers,
            watchdog,
            watched,
            #[cfg(weaken)]
            untimed: started.untimed,
        })
    }

    /// Takes the socket that listens in the run's network, where its policy grants hosts.
    ///
    /// It is a TCP socket on 127.0.0.1 and [`LISTENER_PORT`](crate::LISTENER_PORT) of a network in
    /// which nobody else is, so that whoever accepts on it is the run's only way out. The program
    /// has no descriptor of it. What the run connects before somebody accepts waits; a socket that
    /// nobody takes is closed when the run is over.
    pub fn take_listener(&mut self) -> Option<OwnedFd> {
        self.listener.take()
    }

    /// Returns a handle that cancels this run.
    pub fn canceller(&self) -> Canceller {
        self.cancel.clone()
    }

    /// Waits until the run is over, and ends it where its limits say so.
    ///
    /// Blocks the calling thread: for no longer than the deadline, the grace time of 250 ms (at
    /// most a tenth of the deadline) and one second in which the end is confirmed.
    ///
    /// 1. When the main process ends, every other process of the run is killed at once.
    /// 2. At the deadline the main process is sent `SIGTERM`; after the grace time everything is
    ///    killed.
    /// 3. A cancel, and a limit that the host sees exceeded, kill everything at once.
    /// 4. After the kill, output is read for at most 100 ms, and never awaited to its end.
    pub fn wait(self) -> Completion {
        Watch::new(self).run()
    }
}

/// Bytes on their way to standard input.
#[derive(Debug)]
struct Feed {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed {
    fn new(pipe: OwnedFd, bytes: Vec<u8>) -> Result<Self, SandboxError> {
        fcntl_getfl(&pipe)
            .and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK))
            .map_err(|errno| SandboxError::host("prepare the input pipe", errno))?;
        Ok(Self {
            pipe,
            bytes,
            written: 0,
        })
    }

    /// Writes what fits. False when all is written, or nobody reads any more.
    fn write(&mut self) -> bool {
        while let Some(rest) = self
            .bytes
            .get(self.written..)
            .filter(|rest| !rest.is_empty())
        {
            match rustix::io::write(&self.pipe, rest) {
                Ok(written) => self.written += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
        false
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// It runs.
    Running,
    /// It was told to end.
    Grace { until: Instant },
    /// It was killed.
    Killed { at: Instant, group_killed: bool },
}

/// A descriptor that woke the loop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Source {
    Launcher,
    Init,
    Cancel,
    Feed,
    Output(Stream),
}

/// The loop that waits.
struct Watch {
    child: ConfinedChild,
    phase: Phase,
    cause: Option<Cause>,
    main: MainEnd,
    usage: Usage,
    seen: Sample,
    full: Full,
    pause: Duration,
    next_look: Instant,
    launcher_open: bool,
    init_ended: bool,
}

impl Watch {
    fn new(child: ConfinedChild) -> Self {
        Self {
            phase: Phase::Running,
            cause: None,
            main: MainEnd::Unseen,
            usage: Usage::default(),
            seen: Sample::default(),
            full: Full::default(),
            pause: FIRST,
            next_look: child.started + FIRST,
            launcher_open: true,
            init_ended: false,
            child,
        }
    }

    fn run(mut self) -> Completion {
        loop {
            let now = Instant::now();
            self.look_at_clock(now);
            if let Phase::Killed { at, .. } = self.phase {
                let drained = self.child.drain.is_finished() || now >= at + DRAIN;
                if (self.init_ended && drained) || now >= at + CONFIRM {
                    return self.complete(at, now);
                }
            }
            for source in self.wait(now) {
                self.handle(source);
            }
        }
    }

    /// Does what is due.
    fn look_at_clock(&mut self, now: Instant) {
        match self.phase {
            #[cfg(weaken)]
            Phase::Running if self.child.untimed => {
                if now >= self.child.deadline + crate::weaken::OVERRUN {
                    self.kill();
                }
            }
            Phase::Running if now >= self.child.deadline => {
                self.cause = Some(Cause::Deadline);
                if let Some(launched) = &self.child.run.launched {
                    launched.order(TERMINATE);
                }
                self.phase = Phase::Grace {
                    until: now + self.child.grace,
                };
            }
            Phase::Grace { until } if now >= until => self.kill(),
            // Init's end takes everything with it; if that is slow, the group is killed as well.
            Phase::Killed {
                at,
                group_killed: false,
            } if now >= at + ESCALATE => {
                self.child.run.kill_group();
                self.phase = Phase::Killed {
                    at,
                    group_killed: true,
                };
            }
            Phase::Running | Phase::Grace { .. } | Phase::Killed { .. } => {}
        }
        if matches!(self.phase, Phase::Running | Phase::Grace { .. }) && now >= self.next_look {
            self.look(now);
        }
    }

    /// Looks at what the kernel tells nobody: how full the scratch is, how much time the run has
    /// used, and what no group counts.
    fn look(&mut self, now: Instant) {
        self.pause = (self.pause * 2).min(INTERVAL);
        self.next_look = now + self.pause;
        self.full = self.full.or(self.child.run.full());
        self.look_at_tree();
        // Past the deadline it is the deadline that ended the run.
        if self.phase_is_running() && self.time() >= self.child.limits.cpu() {
            self.end(Cause::Limit(LimitAxis::Cpu));
        }
    }

    fn look_at_tree(&mut self) {
        let Some(watchdog) = &self.child.watchdog else {
            return;
        };
        let limits = &self.child.limits;
        let watched = self.child.watched;
        let doubtful = if watched.memory {
            near(limits.memory())
        } else {
            u64::MAX
        };
        let sample = watchdog.look(doubtful);
        self.seen = self.seen.max(sample);
        if watched.memory && sample.memory >= limits.memory() {
            // A bomb that forks fills memory on its way, and is named by what it is.
            let forked = sample.processes >= limits.processes().into();
            self.end(Cause::Limit(if forked {
                LimitAxis::Processes
            } else {
                LimitAxis::Memory
            }));
        }
    }

    fn phase_is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// The processor time of the run: by its group, or the most that was seen of it.
    fn time(&self) -> Duration {
        let seen = self.seen.time.max(self.usage.user + self.usage.system);
        self.child.run.time().unwrap_or(seen)
    }

    /// Waits until something happens or is due.
    fn wait(&self, now: Instant) -> Vec<Source> {
        let watched = self.watched();
        let mut polled: Vec<_> = watched
            .iter()
            .map(|(source, descriptor)| {
                let flags = if *source == Source::Feed {
                    PollFlags::OUT
                } else {
                    PollFlags::IN
                };
                PollFd::from_borrowed_fd(*descriptor, flags)
            })
            .collect();
        let left = self.due().saturating_duration_since(now);
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(_) => watched
                .iter()
                .zip(&polled)
                .filter(|(_, polled)| !polled.revents().is_empty())
                .map(|((source, _), _)| *source)
                .collect(),
            // Interrupted: everything is looked at again.
            Err(_) => Vec::new(),
        }
    }

    fn watched(&self) -> Vec<(Source, BorrowedFd<'_>)> {
        let child = &self.child;
        let mut watched: Vec<_> = child
            .drain
            .open()
            .map(|(stream, pipe)| (Source::Output(stream), pipe))
            .collect();
        if let Some(launched) = child.run.launched.as_ref().filter(|_| self.launcher_open) {
            watched.push((Source::Launcher, launched.socket()));
        }
        if !self.init_ended {
            watched.push((Source::Init, child.run.init.as_fd()));
        }
        if self.cause != Some(Cause::Cancel) {
            watched.push((Source::Cancel, child.cancel.event.as_fd()));
        }
        if let Some(feed) = &child.feed {
            watched.push((Source::Feed, feed.pipe.as_fd()));
        }
        watched
    }

    /// When something is due next.
    fn due(&self) -> Instant {
        let due = match self.phase {
            #[cfg(weaken)]
            Phase::Running if self.child.untimed => self.child.deadline + crate::weaken::OVERRUN,
            Phase::Running => self.child.deadline,
            Phase::Grace { until } => until,
            Phase::Killed {
                at,
                group_killed: false,
            } => return at + ESCALATE,
            Phase::Killed {
                at,
                group_killed: true,
            } => {
                return if self.init_ended {
                    at + DRAIN
                } else {
                    at + CONFIRM
                };
            }
        };
        due.min(self.next_look)
    }

    fn handle(&mut self, source: Source) {
        match source {
            Source::Launcher => self.hear(),
            Source::Init => {
                // What init said before its end is still in the socket.
                self.hear();
                self.init_ended = true;
                self.finish();
            }
            Source::Cancel => self.end(Cause::Cancel),
            Source::Feed => {
                let unfinished = self.child.feed.as_mut().is_some_and(Feed::write);
                if !unfinished {
                    self.child.feed = None;
                }
            }
            Source::Output(stream) => {
                self.child.drain.read(stream);
                if self.child.drain.dropped() > self.child.limits.flood() {
                    self.end(Cause::Limit(LimitAxis::Output));
                }
            }
        }
    }

    /// Reads everything that the launcher has said.
    fn hear(&mut self) {
        while let Some(launched) = &self.child.run.launched {
            match launched.receive() {
                Ok(Heard::Message(received)) => {
                    if let Message::Exited {
                        status,
                        user,
                        system,
                        peak,
                    } = received.message
                    {
                        self.main = MainEnd::from_status(status);
                        self.usage.wall = self.child.started.elapsed();
                        self.usage.user = Duration::from_micros(user);
                        self.usage.system = Duration::from_micros(system);
                        self.usage.peak_memory = peak.saturating_mul(1024);
                        self.finish();
                    }
                }
                Ok(Heard::Silence) => return,
                Ok(Heard::Closed) | Err(_) => {
                    self.launcher_open = false;
                    return;
                }
            }
        }
    }

    /// Ends the run for a reason, unless it has ended for another.
    fn end(&mut self, cause: Cause) {
        let killed = matches!(self.phase, Phase::Killed { .. });
        if !killed && self.cause.is_none_or(|earlier| earlier == Cause::Deadline) {
            self.cause = Some(cause);
        }
        // A late cancel must not keep waking the loop.
        if cause == Cause::Cancel {
            let _ = rustix::io::read(&self.child.cancel.event, &mut [0; 8]);
        }
        self.kill();
    }

    /// Kills everything: by its group where there is one, which takes one write whatever the run
    /// forks meanwhile, and by its init.
    fn kill(&mut self) {
        if matches!(self.phase, Phase::Killed { .. }) {
            return;
        }
        let group_killed = self.child.run.kill_group();
        self.child.run.kill();
        self.phase = Phase::Killed {
            at: Instant::now(),
            group_killed,
        };
    }

    /// Kills what a program that has ended by itself left behind. Init is about to end, and its end
    /// takes everything with it.
    fn finish(&mut self) {
        if matches!(self.phase, Phase::Killed { .. }) {
            return;
        }
        self.child.run.kill();
        self.phase = Phase::Killed {
            at: Instant::now(),
            group_killed: false,
        };
    }

    fn complete(mut self, killed: Instant, now: Instant) -> Completion {
        let streams: Vec<_> = self.child.drain.open().map(|(stream, _)| stream).collect();
        for stream in streams {
            self.child.drain.read(stream);
        }
        if self.main == MainEnd::Unseen {
            self.usage.wall = self.child.started.elapsed();
        }
        let confirmed = self.init_ended && self.child.run.namespaced;
        let limits = &self.child.limits;
        // A program that ignores the signal is told by an errno, which is its own to know.
        let failed = matches!(self.main, MainEnd::Exited(code) if code != 0);
        let largest_file = failed && self.child.run.holds_file_of(limits.file_size());
        let observed = Observed {
            cause: self.cause,
            main: self.main,
            usage: self.usage,
            refusals: self.child.run.refusals(),
            seen: self.seen,
            watched: self.child.watched,
            full: self.full.or(self.child.run.full()),
            time: self.time(),
            largest_file,
        };
        let (end, limits_hit, denials) = (
            observed.end(limits),
            observed.hits(limits),
            observed.denials(limits),
        );
        self.child.run.release(confirmed);
        let output: Captured = self.child.drain.finish();
        Completion {
            run: self.child.id,
            end,
            dropped: output.dropped(),
            truncated: output.dropped() > 0,
            output,
            usage: self.usage,
            confirmed_dead: Confirmed {
                after: now.saturating_duration_since(killed),
                confirmed,
            },
            layers: self.child.layers,
            denials,
            limits_hit,
            out_dir: self.child.run.out.take(),
        }
    }
}

/// How long a run may take from its start: its wall time, and no later than its deadline, which may
/// have passed while it was launched.
fn time_left(start: Instant, wall: Duration, deadline: Option<Instant>) -> Duration {
    deadline.map_or(wall, |deadline| {
        wall.min(deadline.saturating_duration_since(start))
    })
}

/// How long a program has after `SIGTERM`.
const GRACE: Duration = Duration::from_millis(250);
/// How long output is read after the kill.
const DRAIN: Duration = Duration::from_millis(100);
/// How long the end of init may take before the control group is killed too.
const ESCALATE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_launch_takes_is_part_of_the_deadline() {
        let wall = Duration::from_secs(10);
        let set = Instant::now();
        let left = |launch: u64, deadline: u64| {
            let deadline = set + Duration::from_secs(deadline);
            time_left(set + Duration::from_secs(launch), wall, Some(deadline))
        };
        assert_eq!(left(0, 4), Duration::from_secs(4));
        assert_eq!(left(3, 4), Duration::from_secs(1));
        assert_eq!(left(5, 4), Duration::ZERO);
        assert_eq!(left(0, 60), wall);
        assert_eq!(time_left(set, wall, None), wall);
    }
}
