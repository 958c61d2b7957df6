//! Modules that are no guests.

use bailiwick_core::{Code, SkillError};
use bailiwick_isolate::{Engine, EngineSettings, IsolateError};

use crate::bed::INTERPRETER;

/// A guest that does nothing, with something put in the place of something.
fn minimal(from: &str, to: &str) -> String {
    const MINIMAL: &str = r#"(module
        (import "bailiwick" "drop" (func (param i32)))
        (memory (export "memory") 1)
        (func (export "alloc") (param i32) (result i32) (i32.const 0))
        (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 0))
        (func (export "settle") (param i32 i32 i32 i32) (result i32) (i32.const 0)))"#;
    assert!(MINIMAL.contains(from), "{from}");
    MINIMAL.replace(from, to)
}

#[test]
fn what_is_no_guest_is_refused_when_it_is_compiled() {
    let engine = Engine::new(EngineSettings::default().slots(1).memory(1 << 20)).unwrap();
    engine
        .compile(&wat::parse_str(minimal("(module", "(module")).unwrap())
        .unwrap();
    let cases = [
        ("(export \"alloc\")", "", "does not export `alloc`"),
        ("(export \"run\")", "", "does not export `run`"),
        ("(export \"settle\")", "", "does not export `settle`"),
        (
            "(export \"memory\")",
            "",
            "does not export a 32-bit `memory`",
        ),
        (
            "(param i32) (result i32)",
            "(result i32)",
            "does not export `alloc`",
        ),
        (
            "(param i32) (result i32)",
            "(param i64) (result i32)",
            "does not export `alloc`",
        ),
        (
            "(param i32) (result i32)",
            "(param f32) (result i32)",
            "does not export `alloc`",
        ),
        (
            "(param i32) (result i32) (i32.const 0)",
            "(param i32) (result f64) (f64.const 0)",
            "does not export `alloc`",
        ),
        (
            "(param i32 i32 i32 i32 i32 i32)",
            "(param i32 i32 i32 i32 i32 i64)",
            "does not export `run`",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") i64 1)",
            "",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") 1 1 shared)",
            "no module that this engine takes",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") 17)",
            "no module that this engine takes",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") 1) (memory 1)",
            "no module that this engine takes",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") 1) (table 100001 funcref)",
            "no module that this engine takes",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(memory (export \"memory\") 1) (table 1 funcref) (table 1 funcref)",
            "no module that this engine takes",
        ),
        (
            "(memory (export \"memory\") 1)",
            "(global (export \"memory\") i32 (i32.const 0))",
            "`memory`",
        ),
        ("\"drop\"", "\"exit\"", "imports what no guest is given"),
        (
            "\"bailiwick\"",
            "\"wasi_snapshot_preview1\"",
            "imports what no guest is given",
        ),
        (
            "(func (param i32))",
            "(func (param i64))",
            "imports what no guest is given",
        ),
        ("(func (param i32))", "(memory 1)", ""),
        (
            "(func (param i32))",
            "(global (mut i32))",
            "imports what no guest is given",
        ),
    ];
    for (from, to, reason) in cases {
        let wasm = wat::parse_str(minimal(from, to)).unwrap();
        let error = engine.compile(&wasm).expect_err(&format!("{from} => {to}"));
        assert!(
            matches!(error, IsolateError::Guest { .. }),
            "{from} => {to}: {error:?}"
        );
        let error = SkillError::from(error);
        assert_eq!(error.code(), Code::IsolatedGuestInvalid);
        assert!(error.message().contains(reason), "{from} => {to}: {error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    let engine = Engine::new(EngineSettings::default().slots(1)).unwrap();
    let whole = wat::parse_str(INTERPRETER).unwrap();
    let component = wat::parse_str("(component)").unwrap();
    let cut = &whole[..whole.len() - 40];
    let text = minimal("(module", "(module");
    for bytes in [
        b"",
        b"\0asm".as_slice(),
        b"#!/bin/sh",
        &component,
        cut,
        text.as_bytes(),
    ] {
        let error: SkillError = engine.compile(bytes).unwrap_err().into();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    }
}

#[test]
fn an_engine_that_no_machine_can_have_is_a_problem_of_its_settings() {
    for settings in [
        EngineSettings::default().slots(u32::MAX).memory(1 << 40),
        EngineSettings::default().stack(0),
        EngineSettings::default().memory(usize::MAX),
    ] {
        let error: SkillError = Engine::new(settings).unwrap_err().into();
        assert_eq!(error.code(), Code::InvalidSkillsConfig, "{error}");
    }
}
