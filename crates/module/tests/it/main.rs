//! What a wrapper must hold against the tool inside it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stop the test, as the tests do"
)]

mod describing;
mod failing;
mod function;
mod reply;
mod stopping;

use std::sync::Arc;

use bailiwick_core::{CallContext, Gatekeeper, LiveTool, Outcome, Provenance, SkillError, call};
use bailiwick_module::{Boundary, WrappedTool, rewrap};
use bailiwick_testkit::gates;
use serde_json::json;

fn provenance() -> Provenance {
    Provenance::new("audit".parse().unwrap(), Some("1.2.0".to_owned()), None)
}

fn wrapped(tool: Arc<dyn LiveTool>) -> WrappedTool {
    rewrap(tool, provenance(), Boundary::default()).unwrap()
}

async fn called(tool: Arc<dyn LiveTool>) -> Outcome {
    called_with(&wrapped(tool), &CallContext::new("/")).await
}

async fn called_with(tool: &WrappedTool, context: &CallContext) -> Outcome {
    let (gate, _asked) = gates::allowing();
    call(tool, &Gatekeeper::new(gate), json!({}), context).await
}

fn failure(outcome: Outcome) -> SkillError {
    outcome.result.expect_err("the call fails")
}

#[test]
fn every_file_of_this_folder_is_a_module_of_it() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};\n")),
            "{name} is not listed"
        );
    }
}
