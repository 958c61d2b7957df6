//! Handlers that fail, and answers that no response may have.

use std::error::Error as _;
use std::sync::Arc;

use bailiwick_core::{CallContext, Code, Gatekeeper, LiveTool, call};
use bailiwick_module::HandlerFault;
use bailiwick_testkit::{gates, hostile};
use serde_json::json;

use crate::{called, failure, wrapped};

const NAMES_ONLY: &str = "E_SKILL_TOOL_FAILED: tool `reports` of skill `audit` failed";

#[tokio::test]
async fn a_handlers_error_stays_in_the_host_chain() {
    let error = failure(called(hostile::throws("secret-error")).await);
    assert_eq!(error.model_text(), NAMES_ONLY);
    assert!(
        !serde_json::to_string(&error.wire())
            .unwrap()
            .contains("secret")
    );
    insta::assert_snapshot!(error.host_chain(), @r"
    E_SKILL_TOOL_FAILED: tool `reports` of skill `audit` failed
      caused by: secret-error
    ");
}

#[tokio::test]
async fn an_error_of_ours_that_a_handler_returns_is_a_handlers_error() {
    for code in Code::ALL {
        let error = failure(called(hostile::throws_our_own(*code, "secret-error")).await);
        assert_eq!(error.code(), Code::ToolFailed, "{code}");
        assert_eq!(error.model_text(), NAMES_ONLY);
        let source = error.source().unwrap();
        assert!(source.is::<HandlerFault>() && source.to_string().contains("secret-error"));
    }
}

#[tokio::test]
async fn a_panic_anywhere_in_the_handler_is_a_failure_and_its_payload_is_shown_nowhere() {
    let tools: [(&str, Arc<dyn LiveTool>); 4] = [
        ("in call itself", hostile::panics_at_once("secret-panic")),
        ("after an await", hostile::panics_later("secret-panic")),
        ("with a payload that panics", hostile::panics_with_a_bomb()),
        ("when its future is dropped", hostile::panics_on_drop()),
    ];
    for (when, tool) in tools {
        let error = failure(called(tool).await);
        assert_eq!(error.model_text(), NAMES_ONLY, "{when}");
        assert_eq!(error.details()["reason"], "panic", "{when}");
        assert!(!error.host_chain().contains("secret"), "{when}");
        assert!(!format!("{error:?}").contains("secret"), "{when}");
    }
}

#[tokio::test]
async fn an_error_that_panics_when_shown_cannot_reach_the_hosts_log() {
    let error = failure(called(hostile::throws_a_trap()).await);
    assert_eq!(error.code(), Code::ToolFailed);
    insta::assert_snapshot!(error.host_chain(), @r"
    E_SKILL_TOOL_FAILED: tool `reports` of skill `audit` failed
      caused by: (the handler's error panicked when it was displayed)
    ");
}

#[tokio::test]
async fn a_tool_that_panics_when_it_is_unloaded_does_not_take_the_host_along() {
    let tool = wrapped(hostile::panics_when_unloaded());
    drop(tool);
}

#[tokio::test]
async fn every_other_shape_is_a_bad_response_and_none_of_it_is_shown() {
    for (shape, raw) in hostile::bad_shapes() {
        let error = failure(called(hostile::returns(raw)).await);
        assert_eq!(error.code(), Code::ToolBadResponse, "{shape}");
        assert!(
            error
                .message()
                .starts_with("tool `reports` of skill `audit` answered with "),
            "{shape}: {}",
            error.message()
        );
    }
}

#[tokio::test]
async fn no_handler_runs_before_the_gate_allows_it() {
    let (tool, events) = hostile::never_settles();
    let tool = wrapped(tool);
    let (gate, asked) = gates::denying("not today");
    let outcome = call(
        &tool,
        &Gatekeeper::new(gate),
        json!({}),
        &CallContext::new("/"),
    )
    .await;
    assert_eq!(failure(outcome).code(), Code::GateDenied);
    assert_eq!(asked.len(), 1);
    assert!(events.is_empty());

    for gate in [
        Gatekeeper::new(gates::erroring("away")),
        Gatekeeper::new(gates::panicking()),
        Gatekeeper::new(gates::panicking_later()),
        Gatekeeper::new(gates::silent()).with_deadline(Some(std::time::Duration::from_millis(1))),
    ] {
        let outcome = call(&tool, &gate, json!({}), &CallContext::new("/")).await;
        assert_eq!(failure(outcome).code(), Code::GateUnavailable);
        assert!(events.is_empty());
    }
}

#[tokio::test]
async fn arguments_that_do_not_match_never_reach_the_handler() {
    let (tool, events) = hostile::never_settles();
    let (gate, asked) = gates::allowing();
    let outcome = call(
        &wrapped(tool),
        &Gatekeeper::new(gate),
        json!({ "undeclared": 1 }),
        &CallContext::new("/"),
    )
    .await;
    assert_eq!(failure(outcome).code(), Code::ArgumentsRejected);
    assert!(events.is_empty() && asked.is_empty());
}
