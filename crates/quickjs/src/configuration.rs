//! What a guest is told before a tool's code runs: how large its JSON may be, and who calls.

use std::sync::Arc;

use bailiwick_core::CallContext;
use bailiwick_isolate::Limits;

/// Writes the configuration of one call, as `begin` of the shim reads it: two bounds, then a name
/// and a text for each identifier, with their lengths before them; all numbers are 32 bits, little
/// end first.
pub(crate) fn configuration<'a>(
    identifiers: impl IntoIterator<Item = (&'a str, &'a str)>,
    limits: &Limits,
) -> Arc<[u8]> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend(limits.json_depth.to_le_bytes());
    bytes.extend(limits.json_nodes.to_le_bytes());
    for text in identifiers.into_iter().flat_map(<[&str; 2]>::from) {
        // One too long for its length is longer than any guest's memory.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        bytes.extend(length.to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.into()
}

/// Returns the configuration of a guest that is called by nobody.
pub(crate) fn at_load() -> Arc<[u8]> {
    configuration([], &Limits::default())
}

/// Returns the configuration of a call: the identifiers of `context` are empty where the host does
/// not have them, or left out where the contract says so (contracts 8).
pub(crate) fn of_call(context: &CallContext, limits: &Limits) -> Arc<[u8]> {
    let CallContext {
        cwd,
        conversation,
        place,
        ..
    } = context;
    let cwd = cwd.to_string_lossy();
    let always = [
        ("cwd", Some(&*cwd)),
        ("projectId", place.project.as_deref()),
        ("threadId", place.thread.as_deref()),
        ("conversationId", conversation.as_deref()),
    ];
    let known = [
        ("messageId", place.message.as_deref()),
        ("threadPath", place.thread_path.as_deref()),
    ];
    let always = always.map(|(name, text)| (name, text.unwrap_or_default()));
    let known = known
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)));
    configuration(always.into_iter().chain(known), limits)
}
