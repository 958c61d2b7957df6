//! Gates that answer, and gates that break in every way a gate can.

use std::future::pending;

use bailiwick_core::{Decision, Gate, GateRequest, GateUnavailable, gate_fn};

use crate::recorder::Recorder;

/// Returns a gate that allows everything, and the requests that it was shown.
pub fn allowing() -> (impl Gate, Recorder<GateRequest>) {
    answering(Decision::allow())
}

/// Returns a gate that denies everything with a reason, and the requests that it was shown.
pub fn denying(reason: &str) -> (impl Gate, Recorder<GateRequest>) {
    answering(Decision::deny(reason))
}

/// Returns a gate that says that it cannot decide, and why.
pub fn erroring(reason: &'static str) -> impl Gate {
    gate_fn(move |_request| async move { Err::<Decision, _>(GateUnavailable::new(reason)) })
}

/// Returns a gate that panics before it has a future to wait for.
pub fn panicking() -> impl Gate {
    gate_fn(|request| {
        blow_up(&request);
        async { Decision::allow() }
    })
}

/// Returns a gate that panics after an await.
pub fn panicking_later() -> impl Gate {
    gate_fn(|request| async move {
        tokio::task::yield_now().await;
        blow_up(&request);
        Decision::allow()
    })
}

/// Returns a gate that never answers.
pub fn silent() -> impl Gate {
    gate_fn(|_request| pending::<Decision>())
}

fn answering(decision: Decision) -> (impl Gate, Recorder<GateRequest>) {
    let requests = Recorder::new();
    let seen = requests.clone();
    let gate = gate_fn(move |request| {
        seen.record(request);
        let decision = decision.clone();
        async move { decision }
    });
    (gate, requests)
}

#[expect(clippy::panic, reason = "panicking is what these gates are for")]
fn blow_up(request: &GateRequest) {
    panic!("the gate of `{}` panics with secret-gate", request.tool());
}
