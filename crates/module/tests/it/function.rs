//! Live tools from functions.

use std::io;

use bailiwick_core::{CallContext, Code, Gatekeeper, Media, Outcome, Tool as _, call};
use bailiwick_module::{Boundary, rewrap, schemars, tool_fn};
use bailiwick_testkit::gates;
use serde_json::{Value, json};

use crate::{failure, provenance, wrapped};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    /// The text whose words are counted.
    text: String,
    /// Words shorter than this are passed over.
    least: Option<u8>,
}

fn count() -> std::sync::Arc<dyn bailiwick_core::LiveTool> {
    tool_fn::<Count>("word_count", "Counts words.", |count| async move {
        let least = usize::from(count.least.unwrap_or(0));
        let words = count
            .text
            .split_whitespace()
            .filter(|word| word.len() >= least);
        match words.count() {
            0 => Err(io::Error::other("secret-error")),
            number => Ok(number.to_string()),
        }
    })
}

async fn called_on(raw: Value) -> Outcome {
    let (gate, _asked) = gates::allowing();
    call(
        &wrapped(count()),
        &Gatekeeper::new(gate),
        raw,
        &CallContext::new("/"),
    )
    .await
}

#[test]
fn the_schema_of_the_type_is_what_a_model_is_shown() {
    let schema = serde_json::to_string_pretty(wrapped(count()).spec().schema.json()).unwrap();
    insta::assert_snapshot!(schema, @r#"
    {
      "type": "object",
      "properties": {
        "text": {
          "type": "string",
          "description": "The text whose words are counted."
        },
        "least": {
          "type": [
            "integer",
            "null"
          ],
          "format": "uint8",
          "minimum": 0,
          "maximum": 255,
          "description": "Words shorter than this are passed over."
        }
      },
      "required": [
        "text"
      ],
      "unevaluatedProperties": false
    }
    "#);
}

#[tokio::test]
async fn a_function_answers_fails_and_is_guarded_like_any_live_tool() {
    assert_eq!(
        called_on(json!({ "text": "a bb", "least": 2 }))
            .await
            .result
            .unwrap()
            .text(),
        "1"
    );
    for bad in [
        json!({}),
        json!({ "text": 1 }),
        json!({ "text": "a", "least": 256 }),
        json!({ "text": "a", "x": 1 }),
    ] {
        assert_eq!(
            failure(called_on(bad.clone()).await).code(),
            Code::ArgumentsRejected,
            "{bad}"
        );
    }
    let error = failure(called_on(json!({ "text": "" })).await);
    assert_eq!(error.code(), Code::ToolFailed);
    assert!(!error.model_text().contains("secret"));
}

#[tokio::test]
async fn a_function_may_answer_with_media_and_take_nothing() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let tool = tool_fn::<Nothing>("plot", "Plots.", |_| async {
        Ok::<_, &str>(Media::new("image/png", vec![1_u8, 2]).name("plot.png"))
    });
    let (gate, _asked) = gates::allowing();
    let outcome = call(
        &wrapped(tool),
        &Gatekeeper::new(gate),
        json!({}),
        &CallContext::new("/"),
    )
    .await;
    assert_eq!(
        outcome.result.unwrap().text(),
        "(image/png: plot.png, 2 bytes)"
    );
    assert_eq!(outcome.report.bytes, 2);
}

#[test]
fn arguments_that_are_no_object_are_refused_when_wrapped() {
    let tool = tool_fn::<String>("echo", "Echoes.", |text| async { Ok::<_, &str>(text) });
    let error = rewrap(tool, provenance(), Boundary::default()).unwrap_err();
    assert_eq!(error.code(), Code::ManifestInvalid);
}
