//! "Custom Tool skill": the seed's `echo-tool`, as its document gives it, is an example skill here.

use bailiwick::{
    CallRequest, Code, Decision, DirectorySource, InMemorySkill, InMemorySource, SkillManager,
    SkillSource, gate_fn,
};
use serde_json::{Value, json};

/// The document's two files.
const SKILL_MD: &str = "\
---
name: echo-tool
description: Echoes a message back via a small custom Tool.
version: 1.0.0
tools:
  - echo_message
---
# Echo

Publishes `echo_message`. See the Agent runtime docs or the `tarsk-agent` Skill.
";

const SCRIPT: &str = r#"export const description =
  "Echo a short message back to the conversation. Use for smoke-testing Tool skills.";

export const parameters = {
  type: "object",
  properties: {
    message: { type: "string", description: "Text to echo" },
  },
  required: ["message"],
};

export async function execute(args, context) {
  const text = String(args.message ?? "");
  return {
    content: [{ type: "text", text: `echo (${context.cwd}): ${text}` }],
    details: undefined,
  };
}
"#;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills");

async fn manager(source: impl SkillSource + 'static) -> SkillManager {
    SkillManager::builder()
        .gate(gate_fn(|_| async { Decision::allow() }))
        .engine_cache(bailiwick_testkit::private_folder("guests"))
        .source(source)
        .cwd("/")
        .build()
        .await
        .unwrap()
}

async fn echo(message: Value) -> bailiwick::Outcome {
    let manager = manager(DirectorySource::open(EXAMPLES).unwrap()).await;
    manager.load("echo-tool").await.unwrap();
    let request = CallRequest::new("echo_message", json!({ "message": message }));
    let outcome = manager.call_with(request).await;
    manager.shutdown().await;
    outcome
}

#[test]
fn the_example_skill_is_the_document_to_the_byte() {
    let skill = include_str!("../../../../examples/skills/echo-tool/SKILL.md");
    let script = include_str!("../../../../examples/skills/echo-tool/scripts/echo_message.js");
    assert_eq!((skill, script), (SKILL_MD, SCRIPT));
}

#[tokio::test]
async fn it_echoes() {
    let response = echo(json!("hi")).await.result.unwrap();
    assert_eq!(response.text(), "echo (/): hi");
}

#[tokio::test]
async fn a_message_that_is_no_text_is_rejected() {
    let error = echo(json!(5)).await.result.unwrap_err();
    assert_eq!(error.code(), Code::ArgumentsRejected);
}

#[tokio::test]
async fn a_script_that_imports_is_rejected_at_load() {
    let script = format!("import fs from \"node:fs\";\n{SCRIPT}");
    let skill = InMemorySkill::new(SKILL_MD).file("scripts/echo_message.js", script);
    let manager = manager(InMemorySource::new("seed").with(skill).unwrap()).await;
    let error = manager.load("echo-tool").await.unwrap_err();
    assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    let place = ["path", "line", "column"].map(|name| error.details()[name].clone());
    assert_eq!(
        place,
        [json!("scripts/echo_message.js"), json!(1), json!(1)]
    );
}
