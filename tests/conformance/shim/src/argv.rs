//! How declared parameters and verbatim arguments become argv (contracts 5.1, 5.2).

use bailiwick_core::{Param, ParamKind, PathRejected, Schema, ScriptDeclaration, SkillError};
use bailiwick_script::argv;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, finish, read};

#[derive(Deserialize)]
#[serde(untagged)]
enum Question {
    Verbatim {
        interpreter: Vec<String>,
        path: String,
        verbatim: Vec<String>,
    },
    Declared {
        interpreter: Vec<String>,
        path: String,
        params: Vec<Declared>,
        args: Value,
    },
}

/// A parameter as a package's author writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    required: bool,
    flag: Option<String>,
    values: Option<Vec<String>>,
}

pub(crate) fn answer(input: Value) -> Answer {
    finish(read(input).and_then(|question| {
        match question {
            Question::Verbatim {
                interpreter,
                path,
                verbatim,
            } => argv::verbatim(&interpreter, &path, &verbatim)
                .map(|argv| argv_value(&argv))
                .map_err(refused),
            Question::Declared {
                interpreter,
                path,
                params,
                args,
            } => declared(&interpreter, &path, params, args),
        }
    }))
}

fn declared(
    interpreter: &[String],
    path: &str,
    params: Vec<Declared>,
    args: Value,
) -> Result<Value, Answer> {
    let params = params
        .into_iter()
        .map(param)
        .collect::<Result<Vec<_>, _>>()?;
    let file = path
        .parse()
        .map_err(|error: PathRejected| Answer::refused(error, None))?;
    let script = ScriptDeclaration::new("script", file, "A script.", "interpreter", params)
        .map_err(|error| Answer::refused(error, None))?;
    let arguments = Schema::from_params(&script.params)
        .and_then(|schema| schema.check(args))
        .map_err(refused)?;
    argv::render(
        interpreter,
        script.path.as_str(),
        &script.params,
        &arguments,
        |_, path| {
            // No case of this area has a path parameter: what one resolves to is not argv's business.
            Ok(path.to_owned())
        },
    )
    .map(|argv| argv_value(&argv))
    .map_err(refused)
}

fn param(declared: Declared) -> Result<Param, Answer> {
    let kind = match (declared.kind.as_str(), declared.values) {
        ("string", None) => ParamKind::String,
        ("number", None) => ParamKind::Number,
        ("integer", None) => ParamKind::Integer,
        ("boolean", None) => ParamKind::Boolean,
        ("enum", Some(values)) => ParamKind::Enum { values },
        (other, _) => {
            return Err(Answer::unsupported(format!(
                "no parameter of type {other:?} here"
            )));
        }
    };
    let flag = declared.flag.map(|flag| flag.parse()).transpose();
    flag.and_then(|flag| Param::new(declared.name, "A parameter.", kind, declared.required, flag))
        .map_err(|error| Answer::refused(error, None))
}

fn refused(error: SkillError) -> Answer {
    Answer::refused(error, None)
}

fn argv_value(argv: &[String]) -> Value {
    json!({"argv": argv})
}
