//! Members of `context` that misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_host::Member;
use serde_json::json;

/// How often a member was started, finished, and dropped before it finished.
#[derive(Clone, Debug, Default)]
pub struct MemberCounters(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    started: AtomicUsize,
    finished: AtomicUsize,
    dropped: AtomicUsize,
}

impl MemberCounters {
    /// Returns how many calls began.
    pub fn started(&self) -> usize {
        self.0.started.load(Ordering::SeqCst)
    }

    /// Returns how many calls answered.
    pub fn finished(&self) -> usize {
        self.0.finished.load(Ordering::SeqCst)
    }

    /// Returns how many calls were dropped before they answered.
    pub fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }
}

/// Returns the member `test.slow`, which answers `"slow"` after a while and counts its calls.
///
/// # Panics
///
/// When it breaks a rule of members, which the tests of this module rule out.
#[expect(clippy::expect_used, reason = "a test cannot go on without its member")]
pub fn slow_member(duration: Duration, counters: &MemberCounters) -> Member {
    let counters = counters.clone();
    Member::builder("test.slow", "Answers after a while.")
        .returns("string")
        .build(move |_| {
            let pending = Pending::begin(&counters);
            async move {
                tokio::time::sleep(duration).await;
                pending.finish();
                Ok(json!("slow"))
            }
        })
        .expect("the member keeps the rules")
}

struct Pending {
    counters: MemberCounters,
    is_finished: bool,
}

impl Pending {
    fn begin(counters: &MemberCounters) -> Self {
        counters.0.started.fetch_add(1, Ordering::SeqCst);
        Self {
            counters: counters.clone(),
            is_finished: false,
        }
    }

    fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let counts = &self.counters.0;
        let count = if self.is_finished {
            &counts.finished
        } else {
            &counts.dropped
        };
        count.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_member_keeps_the_rules_of_members() {
        let member = slow_member(Duration::ZERO, &MemberCounters::default());
        assert_eq!(member.signature(), "test.slow(): Promise<string>");
    }
}
