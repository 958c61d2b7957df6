//! Guests that have started before their first call.

use bailiwick_core::{Code, SkillError};
use bailiwick_isolate::{Engine, EngineSettings, snapshot};

use crate::bed::{job, numbers};
use crate::script::Script;

const COUNTER: &str = include_str!("../guests/counter.wat");

#[tokio::test]
async fn a_snapshot_is_a_guest_in_the_state_that_its_start_left() {
    let wasm = snapshot(&wat::parse_str(COUNTER).unwrap(), "").unwrap();
    let engine = Engine::new(EngineSettings::default().slots(1)).unwrap();
    let program = engine.compile(&wasm).unwrap();
    for _ in 0..3 {
        let completion = program.evaluate(job(&Script::new())).await;
        assert_eq!(numbers(&completion), [42, 7]);
    }
}

#[test]
fn a_guest_that_cannot_start_is_refused() {
    let without = COUNTER.replace("wizer-initialize", "another");
    let trapping = COUNTER.replace(
        "(i32.store (i32.const 8)",
        "(unreachable) (i32.store (i32.const 8)",
    );
    let calling = COUNTER.replace(
        "(i32.store (i32.const 8)",
        "(call $done (i32.const 1) (i32.const 0) (i32.const 0)) (i32.store (i32.const 8)",
    );
    let recursing = COUNTER.replace(
        "(func (export \"wizer-initialize\")",
        "(func $start (export \"wizer-initialize\") (call $start)",
    );
    for (name, text) in [
        ("no start", without),
        ("a start that traps", trapping),
        ("a start that calls its host", calling),
        ("a start without end", recursing),
    ] {
        let error: SkillError = snapshot(&wat::parse_str(&text).unwrap(), "")
            .unwrap_err()
            .into();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid, "{name}");
        assert!(
            error.host_chain().contains("caused by"),
            "{name}: {}",
            error.host_chain()
        );
    }
    for bytes in [&b""[..], b"(module)", b"\0asm\x01\0\0"] {
        let error: SkillError = snapshot(bytes, "").unwrap_err().into();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    }
}
