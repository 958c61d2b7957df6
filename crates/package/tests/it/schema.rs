//! The JSON schema that editors use says what the parser says.

use bailiwick_package::Sidecar;
use serde_json::{Value, json};

fn schema() -> jsonschema::Validator {
    let text = include_str!("../../schema/bailiwick.schema.json");
    jsonschema::validator_for(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
}

/// JSON is YAML in flow form, so one text serves both readers.
fn agree(value: &Value, accepted: bool) {
    let (sidecar, found) = Sidecar::parse(value.to_string().as_bytes());
    assert_eq!(sidecar.is_some(), accepted, "parser on {value}: {found:?}");
    assert_eq!(schema().is_valid(value), accepted, "schema on {value}");
}

fn script(change: impl FnOnce(&mut Value)) -> Value {
    let mut script = json!({
        "name": "go", "path": "scripts/go.sh", "description": "Goes.", "interpreter": "sh",
        "params": [{ "name": "a", "type": "string", "description": "A." }],
    });
    change(&mut script);
    json!({ "scripts": [script] })
}

fn param(change: impl FnOnce(&mut Value)) -> Value {
    script(|script| change(&mut script["params"][0]))
}

#[test]
fn both_accept_what_is_in_order() {
    for value in [
        json!({}),
        script(|_| {}),
        script(|s| s["description"] = json!("x".repeat(16 * 1024))),
        param(|p| p["description"] = json!("x".repeat(4 * 1024))),
        script(|s| s["path"] = json!("./scripts//go.sh")),
        script(|s| s["params"] = json!([])),
        param(|p| p["flag"] = json!("--level")),
        param(|p| {
            p["flag"] = json!("level");
            p["required"] = json!(true);
        }),
        param(|p| {
            p["type"] = json!("enum");
            p["values"] = json!(["x", "y"]);
        }),
        json!({ "isolated": [{ "name": "sum", "description": "Sums.", "source": "sum.js" }] }),
        json!({ "requests": { "read": ["./docs"], "undeclared_scripts": false } }),
        json!({ "channel": "handle", "artifactKind": "markdown", "failOnNonzeroExit": true }),
    ] {
        agree(&value, true);
    }
}

#[test]
fn both_refuse_what_is_not() {
    for value in [
        json!([]),
        json!({ "script": [] }),
        json!({ "scripts": {} }),
        json!({ "channel": "loud" }),
        json!({ "artifactKind": " " }),
        json!({ "failOnNonzeroExit": "true" }),
        json!({ "requests": { "reads": [] } }),
        json!({ "requests": { "read": "./docs" } }),
        json!({ "isolated": [{ "name": "sum", "description": "Sums." }] }),
        script(|s| s["extra"] = json!("x")),
        script(|s| s["name"] = json!("a b")),
        script(|s| s["description"] = json!("")),
        script(|s| s["description"] = json!("x".repeat(16 * 1024 + 1))),
        param(|p| p["description"] = json!("x".repeat(4 * 1024 + 1))),
        script(|s| s["interpreter"] = json!("/bin/sh")),
        script(|s| s["path"] = json!("/bin/sh")),
        script(|s| s["path"] = json!("a/../b")),
        script(|s| s["path"] = json!("C:x")),
        script(|s| s["path"] = json!("~/x")),
        param(|p| p["type"] = json!("text")),
        param(|p| p["name"] = json!("timeout_seconds")),
        param(|p| p["name"] = json!("1")),
        param(|p| p["required"] = json!(false)),
        param(|p| p["flag"] = json!("-v")),
        param(|p| p["values"] = json!(["x"])),
        param(|p| p["type"] = json!("enum")),
        param(|p| {
            p["type"] = json!("enum");
            p["values"] = json!(["-x"]);
        }),
    ] {
        agree(&value, false);
    }
}
