//! Paths inside a package (contracts 1.3).

use bailiwick_core::{PathReason, PathRejected, SkillPath};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, finish, read};

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Question {
    One { path: String },
    List { list: Vec<String> },
}

pub(crate) fn answer(input: Value) -> Answer {
    finish(read(input).and_then(|question| decide(question).map_err(refused)))
}

fn decide(question: Question) -> Result<Value, PathRejected> {
    Ok(match question {
        Question::One { path } => json!({"path": path.parse::<SkillPath>()?}),
        Question::List { list } => json!({"paths": SkillPath::parse_list(list)?}),
    })
}

fn refused(error: PathRejected) -> Answer {
    let reason = match &error.reason {
        PathReason::Absolute => Some("absolute"),
        PathReason::Control => Some("control"),
        PathReason::Drive => Some("drive"),
        PathReason::Duplicate(_) => Some("duplicate"),
        PathReason::Empty => Some("empty"),
        PathReason::Home => Some("home"),
        PathReason::Nothing => Some("nothing"),
        PathReason::TooDeep => Some("too-deep"),
        PathReason::TooLong => Some("too-long"),
        PathReason::Traversal => Some("traversal"),
        _ => None,
    };
    Answer::refused(error, reason.map(str::to_owned))
}
