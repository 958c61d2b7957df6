//! `fs.glob`: the files whose paths match a pattern.

use std::ops::ControlFlow;

use bailiwick_core::SkillError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, ask};
use super::budget::{Bound, Budget, json_bytes};
use super::ignored::Rules;
use super::pattern::PathGlob;
use super::walk::{MAX_ENTRIES, Walk};
use crate::member::{Member, MemberCall, Needs, Parameter};

pub(crate) fn member() -> Result<Member, SkillError> {
    Member::builder(
        "fs.glob",
        "Lists the files whose paths match a glob, sorted, without what ignore files leave out.",
    )
    .parameter(Parameter::required(
        "pattern",
        "string",
        json!({ "type": "string", "minLength": 1, "maxLength": 1024 }),
    ))
    .parameter(Parameter::optional(
        "options",
        "{ cwd?: string; limit?: number; hidden?: boolean; ignored?: boolean }",
        json!({
            "type": "object",
            "properties": {
                "cwd": {
                    "type": "string", "minLength": 1, "maxLength": 4096,
                    "description": "Where to begin; the call's own directory by default.",
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_PATHS,
                    "description": "The most paths; 1,000 by default.",
                },
                "hidden": {
                    "type": "boolean",
                    "description": "Also names that begin with a dot; never `.git`.",
                },
                "ignored": {
                    "type": "boolean",
                    "description": "Also what `.gitignore` and `.ignore` leave out.",
                },
            },
            "additionalProperties": false,
        }),
    ))
    .returns("{ paths: string[]; skipped: number; truncated: boolean; truncatedBy?: string }")
    .needs(Needs::Roots)
    .build(glob)
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    options: Options,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    cwd: Option<String>,
    #[serde(deserialize_with = "super::pattern::whole")]
    limit: Option<u64>,
    hidden: bool,
    ignored: bool,
}

async fn glob(call: MemberCall) -> Result<Value, SkillError> {
    let Arguments { pattern, options } = call.parse()?;
    ask(call, move |ask| list(ask, &pattern, &options)).await
}

fn list(ask: &Ask<'_>, pattern: &str, options: &Options) -> Result<Value, SkillError> {
    let wanted = PathGlob::new(ask, pattern, "/pattern")?;
    let base = options.cwd.as_deref().unwrap_or(".");
    let place = ask.locate(base, "/options/cwd")?;
    let dir = place.open_dir().map_err(|o| ask.refuse(base, o))?;
    let rules = if options.ignored {
        Rules::default()
    } else {
        Rules::above(&place, ask.stop)?
    };
    let limit = options.limit.unwrap_or(DEFAULT_PATHS);
    let (mut budget, mut paths) = (Budget::new(), Vec::new());
    let walk = Walk {
        stop: ask.stop,
        rules,
        hidden: options.hidden,
        ignored: options.ignored,
        max_entries: MAX_ENTRIES,
    };
    let end = walk.run(
        &dir,
        |folder| wanted.reaches(folder),
        |found| {
            if !wanted.is_match(found.path) {
                return Ok(ControlFlow::Continue(()));
            }
            if paths.len() as u64 == limit {
                return Ok(ControlFlow::Break(Bound::Limit));
            }
            if !budget.take(json_bytes(found.path) + QUOTES) {
                return Ok(ControlFlow::Break(Bound::Bytes));
            }
            paths.push(found.path.to_owned());
            Ok(ControlFlow::Continue(()))
        },
    )?;
    let mut result = json!({ "paths": paths, "skipped": end.skipped });
    Bound::write(end.bound, &mut result);
    Ok(result)
}

/// What JSON puts around a text of a list.
const QUOTES: usize = 3;
const DEFAULT_PATHS: u64 = 1000;
const MAX_PATHS: u64 = 20_000;
