//! What becomes of a live tool's answer (contracts 2.3, 3.1, 3.2).

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use bailiwick_core::{
    Arguments, ArtifactId, BoxError, BoxFuture, CallContext, Claims, Code, Content, Decision,
    Gatekeeper, LiveContext, LiveTool, Media, Provenance, RawOutput, Response, SkillError, gate_fn,
};
use bailiwick_module::{Boundary, rewrap};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, finish, read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    skill: String,
    returns: Returns,
}

/// What the handler does: exactly one of the fields but `claims` is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Returns {
    text: Option<String>,
    bytes: Option<String>,
    media: Option<Sample>,
    media_list: Option<Vec<Sample>>,
    nothing: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
    prebuilt: Option<ArtifactId>,
    error: Option<String>,
    own_error: Option<String>,
    panic: Option<String>,
    claims: Option<Claimed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    media_type: String,
    data: String,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Claimed {
    trusted: bool,
    skill: Option<String>,
}

pub(crate) fn answer(input: Value) -> Answer {
    finish(read(input).and_then(call))
}

/// Wraps a tool that does what is asked and calls it through the one call path.
fn call(question: Question) -> Result<Value, Answer> {
    let refused = |error: SkillError| Answer::refused(error, None);
    let claims = question.returns.claims.clone().unwrap_or_default();
    let tool = Tool {
        act: act(question.returns)?,
        claims,
    };
    let skill = question
        .skill
        .parse()
        .map_err(|error: bailiwick_core::NameRejected| refused(error.into()))?;
    let wrapped = rewrap(
        Arc::new(tool),
        Provenance::new(skill, None, None),
        Boundary::default(),
    )
    .map_err(refused)?;
    let gate = Gatekeeper::new(gate_fn(|_| async { Decision::allow() }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Answer::unsupported(error.to_string()))?;
    let context = CallContext::new("/");
    let outcome = runtime.block_on(bailiwick_core::call(&wrapped, &gate, json!({}), &context));
    outcome
        .result
        .map(|response| describe(&response))
        .map_err(refused)
}

/// What the handler does when it is called.
#[derive(Clone)]
enum Act {
    Return(RawOutput),
    Fail(String),
    FailAs(Code),
    Panic(String),
}

fn act(returns: Returns) -> Result<Act, Answer> {
    let Returns {
        text,
        bytes,
        media,
        media_list,
        nothing,
        json,
        prebuilt,
        error,
        own_error,
        panic,
        claims: _,
    } = returns;
    let media_list =
        media_list.map(|list| list.into_iter().map(sample).collect::<Result<Vec<_>, _>>());
    let acts = [
        text.map(|text| Act::Return(RawOutput::Text(text))),
        bytes
            .map(|hex| unhex(&hex))
            .transpose()?
            .map(|bytes| Act::Return(RawOutput::Bytes(bytes))),
        media
            .map(sample)
            .transpose()?
            .map(|media| Act::Return(RawOutput::Media(media))),
        media_list
            .transpose()?
            .map(|list| Act::Return(RawOutput::MediaList(list))),
        nothing.map(|_| Act::Return(RawOutput::Nothing)),
        json.map(|value| Act::Return(RawOutput::Json(value))),
        prebuilt.map(|id| Act::Return(RawOutput::Prebuilt(id))),
        error.map(Act::Fail),
        own_error
            .map(|text| code(&text))
            .transpose()?
            .map(Act::FailAs),
        panic.map(Act::Panic),
    ];
    let mut acts = acts.into_iter().flatten();
    match (acts.next(), acts.next()) {
        (Some(act), None) => Ok(act),
        _ => Err(Answer::unsupported("a handler does exactly one thing")),
    }
}

/// A live tool that does one thing.
struct Tool {
    act: Act,
    claims: Claimed,
}

impl LiveTool for Tool {
    fn name(&self) -> &'static str {
        "tool"
    }

    fn description(&self) -> &'static str {
        "Does what the case says."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn claims(&self) -> Claims {
        let claims = match &self.claims.skill {
            Some(skill) => Claims::default().skill(skill),
            None => Claims::default(),
        };
        if self.claims.trusted {
            claims.trusted()
        } else {
            claims
        }
    }

    fn call(
        &self,
        _: Arguments,
        _: LiveContext,
    ) -> BoxFuture<'static, Result<RawOutput, BoxError>> {
        let act = self.act.clone();
        Box::pin(async move {
            match act {
                Act::Return(raw) => Ok(raw),
                Act::Fail(message) => Err(io::Error::other(message).into()),
                Act::FailAs(code) => {
                    Err(SkillError::new(code, "an error of the host's own").into())
                }
                Act::Panic(message) => std::panic::resume_unwind(Box::new(message)),
            }
        })
    }
}

fn describe(response: &Response) -> Value {
    let media = |media: &Media| json!({"media_type": media.media_type, "data": hex(&media.bytes)});
    let content = match &response.content {
        Content::Text(text) => vec![json!({"text": text})],
        Content::Bytes(bytes) => vec![media(bytes)],
        Content::Media(list) => list.iter().map(media).collect(),
    };
    json!({
        "content": content,
        "structured": response.structured,
        "trusted": response.trusted(),
        "skill": response.provenance.skill,
    })
}

fn sample(sample: Sample) -> Result<Media, Answer> {
    Ok(Media::new(sample.media_type, unhex(&sample.data)?))
}

fn code(text: &str) -> Result<Code, Answer> {
    let found = Code::ALL.iter().find(|code| code.as_str() == text);
    found
        .copied()
        .ok_or_else(|| Answer::unsupported(format!("no code {text}")))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Result<Vec<u8>, Answer> {
    let digits = text.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).unwrap_or_default();
        u8::from_str_radix(pair, 16).map_err(|error| Answer::unsupported(error.to_string()))
    });
    digits.collect()
}

/// Keeps `null` apart from a field that is not there.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
