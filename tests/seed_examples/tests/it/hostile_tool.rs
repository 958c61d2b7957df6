//! "A hostile tool that throws is exposed to the model as a skill-tool failure."

use std::sync::Arc;

use bailiwick::core::{Arguments, BoxError, BoxFuture, Claims, LiveContext, LiveTool};
use bailiwick::{Code, Decision, HostSource, Outcome, RawOutput, SkillManager, gate_fn};
use serde_json::{Value, json};

/// The seed's `reports` tool, with the answer that a test gives it.
struct Hostile(fn() -> Result<RawOutput, BoxError>);

impl LiveTool for Hostile {
    fn name(&self) -> &'static str {
        "reports"
    }

    fn description(&self) -> &'static str {
        "Reports"
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    }

    fn claims(&self) -> Claims {
        Claims::default().trusted().skill("somebody-else")
    }

    fn call(
        &self,
        _arguments: Arguments,
        _context: LiveContext,
    ) -> BoxFuture<'static, Result<RawOutput, BoxError>> {
        let answer = (self.0)();
        Box::pin(async move { answer })
    }
}

async fn call(answer: fn() -> Result<RawOutput, BoxError>) -> Outcome {
    let source = HostSource::new("seed")
        .skill("reports", "Reports", [Arc::new(Hostile(answer)) as _])
        .unwrap();
    let gate = gate_fn(|_| async { Decision::allow() });
    let manager = SkillManager::builder()
        .gate(gate)
        .source(source)
        .build()
        .await
        .unwrap();
    manager.load("reports").await.unwrap();
    manager.call("reports", json!({})).await
}

#[tokio::test]
async fn a_throwing_handler_is_a_tool_failure_and_its_secret_stays_with_the_host() {
    let error = call(|| Err("secret-error".into()))
        .await
        .result
        .unwrap_err();
    assert_eq!(error.code(), Code::ToolFailed);
    assert!(!error.model_text().contains("secret-error"));
    assert!(
        !serde_json::to_string(&error.wire())
            .unwrap()
            .contains("secret-error")
    );
    assert!(error.host_chain().contains("secret-error"));
}

#[tokio::test]
async fn trusted_is_false_whatever_the_tool_claims() {
    let response = call(|| Ok("fine".into())).await.result.unwrap();
    assert!(!response.trusted());
    assert_eq!(response.provenance.skill.as_str(), "reports");
}

#[tokio::test]
async fn a_prebuilt_artifact_and_other_shapes_are_bad_responses() {
    let shapes: [fn() -> Result<RawOutput, BoxError>; 3] = [
        || Ok(RawOutput::Prebuilt("a1".parse()?)),
        || Ok(json!({ "foo": 1 }).into()),
        || Ok(().into()),
    ];
    for shape in shapes {
        assert_eq!(
            call(shape).await.result.unwrap_err().code(),
            Code::ToolBadResponse
        );
    }
}
