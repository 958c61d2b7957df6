//! Whether a loaded skill is still alive, and who still uses it.

use std::sync::{Arc, Mutex, PoisonError};

use bailiwick_core::{Code, SkillError, SkillName};
use tokio::sync::Notify;

/// The liveness of one loaded skill, shared by all its published tools.
#[derive(Debug)]
pub(crate) struct Record {
    skill: SkillName,
    state: Mutex<State>,
    idle: Notify,
}

#[derive(Debug, Default)]
struct State {
    retired: bool,
    active: usize,
}

impl Record {
    pub(crate) fn new(skill: SkillName) -> Arc<Self> {
        Arc::new(Self {
            skill,
            state: Mutex::default(),
            idle: Notify::new(),
        })
    }

    /// Enters a call, unless the skill left the loaded set.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_LOADED`, before any gate or handler.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Entered, SkillError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.retired {
            return Err(not_loaded(&self.skill));
        }
        state.active += 1;
        Ok(Entered(self.clone()))
    }

    /// Refuses every call from now on; calls in flight go on.
    pub(crate) fn retire(&self) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retired = true;
    }

    /// Waits until no call is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .active
                == 0
            {
                return;
            }
            notified.await;
        }
    }
}

/// A call in flight.
#[derive(Debug)]
pub(crate) struct Entered(Arc<Record>);

impl Drop for Entered {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.active -= 1;
        if state.active == 0 {
            self.0.idle.notify_waiters();
        }
    }
}

pub(crate) fn not_loaded(skill: &SkillName) -> SkillError {
    SkillError::new(
        Code::NotLoaded,
        format!("the skill `{skill}` is not loaded"),
    )
    .with_hint("load the skill, then call again")
    .with_detail("skill", skill.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_retired_record_refuses_new_calls_and_waits_for_those_in_flight() {
        let record = Record::new("a".parse().unwrap());
        let call = record.enter().unwrap();
        record.retire();
        assert_eq!(record.enter().unwrap_err().code(), Code::NotLoaded);
        let waiting = tokio::spawn({
            let record = record.clone();
            async move { record.idle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(call);
        waiting.await.unwrap();
    }
}
