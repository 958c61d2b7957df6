//! The answers of the prelude and the engine, as JSON that nobody trusts.

use bailiwick_isolate::{Completion, Ending, Limits};
use serde::Deserialize;
use serde_json::Value;

/// What a guest's own code answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It returned a value.
    Returned(Returned),
    /// It threw, and nobody caught it.
    Threw(Threw),
    /// It returned what has no JSON.
    Unfit(Unfit),
    /// The engine compiled a source.
    Compiled(Vec<u8>),
}

/// A value, and what of it JSON has no form for.
#[derive(Debug, Deserialize)]
pub(crate) struct Returned {
    pub(crate) value: Value,
    #[serde(default)]
    pub(crate) encoded: Vec<Encoded>,
}

/// A number that is given as text.
#[derive(Debug, Deserialize)]
pub(crate) struct Encoded {
    pub(crate) path: String,
    pub(crate) was: String,
}

/// A thrown value, as the prelude describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Threw {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) stack: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The host call whose error it is.
    pub(crate) call: Option<u32>,
    pub(crate) out_of_memory: bool,
}

impl Threw {
    /// Says what was thrown, in one line.
    pub(crate) fn describe(&self) -> String {
        match (self.name.is_empty(), self.message.is_empty()) {
            (false, false) => format!("{}: {}", self.name, self.message),
            (false, true) => self.name.clone(),
            (true, false) => format!("the {} `{}`", self.kind, self.message),
            (true, true) if self.kind.is_empty() => "a value that cannot be described".to_owned(),
            (true, true) => format!("a value of type {}", self.kind),
        }
    }
}

/// A value without JSON, and where in the answer it stands.
#[derive(Debug, Deserialize)]
pub(crate) struct Unfit {
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) path: String,
}

impl Answer {
    /// Reads the answer of a call that came to one.
    ///
    /// # Errors
    ///
    /// What is wrong with it; a guest that answers so has broken its own prelude.
    pub(crate) fn read(kind: u32, bytes: Vec<u8>, limits: &Limits) -> Result<Self, String> {
        let malformed = |error: serde_json::Error| format!("its answer is malformed: {error}");
        if kind != COMPILED {
            // The prelude has the same bounds and tells the author where they are exceeded; this is
            // the check that nothing in the guest can undo.
            let mut limits = *limits;
            limits.json_depth = limits.json_depth.saturating_add(ENVELOPE_DEPTH);
            limits.json_nodes = limits.json_nodes.saturating_add(ENVELOPE_NODES);
            limits
                .check_json(&bytes)
                .map_err(|excess| format!("its answer is malformed: {excess}"))?;
        }
        match kind {
            RETURNED => serde_json::from_slice(&bytes)
                .map(Self::Returned)
                .map_err(malformed),
            THREW => serde_json::from_slice(&bytes)
                .map(Self::Threw)
                .map_err(malformed),
            UNFIT => serde_json::from_slice(&bytes)
                .map(Self::Unfit)
                .map_err(malformed),
            COMPILED => Ok(Self::Compiled(bytes)),
            _ => Err("its answer is of no kind that there is".to_owned()),
        }
    }
}

/// Returns the answer of a completion, or how else the call ended.
pub(crate) fn of(completion: &mut Completion, limits: &Limits) -> Result<Answer, Ending> {
    let ending = std::mem::replace(&mut completion.ending, Ending::Stalled);
    if let Ending::Answered { kind, bytes } = ending {
        Answer::read(kind, bytes, limits).map_err(|what| Ending::Violated { what })
    } else {
        Err(ending)
    }
}

/// Levels and values that an answer has around what the script returned: its members and its notes,
/// of which the prelude writes at most a hundred; or the members of a description.
const ENVELOPE_DEPTH: u32 = 3;
const ENVELOPE_NODES: u32 = 400;

const RETURNED: u32 = 1;
const THREW: u32 = 2;
const UNFIT: u32 = 3;
const COMPILED: u32 = 4;
