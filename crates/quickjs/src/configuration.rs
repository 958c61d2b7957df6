//! What the prelude is told before a tool's code runs: who calls, and how large its JSON may be.

use std::sync::Arc;

use bailiwick_core::CallContext;
use bailiwick_isolate::Limits;
use serde_json::{Value, json};

/// Writes the configuration of one call.
pub(crate) fn configuration(identity: &Value, limits: &Limits) -> Arc<[u8]> {
    let configuration = json!({
        "identity": identity,
        "limits": { "jsonDepth": limits.json_depth, "jsonNodes": limits.json_nodes },
    });
    configuration.to_string().into_bytes().into()
}

/// Returns the identifiers of `context`; a member that the host does not have is left out where
/// the contract says so, and empty elsewhere (contracts 8).
pub(crate) fn identity(context: &CallContext) -> Value {
    let CallContext {
        cwd,
        conversation,
        place,
        ..
    } = context;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut identity = json!({
        "cwd": cwd.to_string_lossy(),
        "projectId": text(&place.project),
        "threadId": text(&place.thread),
        "conversationId": text(conversation),
    });
    for (name, value) in [
        ("messageId", &place.message),
        ("threadPath", &place.thread_path),
    ] {
        if let Some(value) = value {
            identity[name] = json!(value);
        }
    }
    identity
}
