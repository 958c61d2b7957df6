//! `call`: one tool, or one script.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bailiwick::core::WireError;
use bailiwick::{
    CallReport, CallRequest, CancelToken, Code, Content, Error, Media, Outcome, Response, Tier,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Call;
use crate::error::{cannot, not_json, not_utf8, usage};
use crate::folder;
use crate::gate::TerminalGate;
use crate::policy::Chosen;
use crate::program::{DONE, Program, block_on};
use crate::session::{self, Skills};

pub(crate) fn run(program: &Program, arguments: &Call) -> Result<u8, Error> {
    let (result, report) = match block_on(attempt(program, arguments)) {
        Ok(outcome) => (outcome.result, Some(outcome.report)),
        Err(error) => (Err(error), None),
    };
    let exit = result
        .as_ref()
        .map_or_else(|error| error.code().exit_code(), |_| DONE);
    if program.output.is_json() {
        let reply = Reply::new(&arguments.target, &result, report.as_ref());
        program.output.object(&json!(reply))?;
    } else {
        show(program, &result, report.as_ref())?;
    }
    Ok(exit)
}

/// Loads the skill, calls, and puts everything away.
async fn attempt(program: &Program, arguments: &Call) -> Result<Outcome, Error> {
    let target = Target::parse(&arguments.target)?;
    if !arguments.script_arguments.is_empty() && matches!(target, Target::Tool { .. }) {
        return Err(usage(
            "a tool takes one JSON object, not arguments after `--`",
            "write the JSON, or address an undeclared script as `SKILL:scripts/FILE`",
        ));
    }
    let request = request(program, arguments)?;
    let cancel = request.cancel.clone();
    cancel_on_signals(&cancel)?;
    let chosen = Chosen::new(&program.config, &program.global, &arguments.grants.flags)?;
    let gate = TerminalGate::new(arguments.yes, cancel);
    let skills = Skills::find(program)?;
    let loaded = session::load(program, &skills, target.skill(), &chosen, gate.clone()).await?;
    let manager = &loaded.manager;
    let skill = loaded.report.provenance.skill.as_str();
    let outcome = match &target {
        Target::Tool { tool, .. } => {
            let mut request = request;
            request.tool = format!("{skill}.{tool}");
            match manager.ask(&request.tool) {
                Ok(ask) => {
                    gate.set_ask(ask);
                    manager.call_with(request).await
                }
                Err(error) => {
                    manager.shutdown().await;
                    return Err(error);
                }
            }
        }
        Target::Script { path, .. } => {
            manager
                .call_script(skill, path, &arguments.script_arguments, request)
                .await
        }
    };
    manager.shutdown().await;
    Ok(outcome)
}

/// What is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Target<'a> {
    Tool { skill: &'a str, tool: &'a str },
    Script { skill: &'a str, path: &'a str },
}

impl<'a> Target<'a> {
    fn parse(text: &'a str) -> Result<Self, Error> {
        let parts = text
            .find(['.', ':'])
            .map(|at| (&text[..at], &text[at..=at], &text[at + 1..]));
        match parts {
            Some((skill, ".", tool)) if !skill.is_empty() && !tool.is_empty() => {
                Ok(Self::Tool { skill, tool })
            }
            Some((skill, ":", path)) if !skill.is_empty() && !path.is_empty() => {
                Ok(Self::Script { skill, path })
            }
            Some(_) | None => Err(usage(
                format!("`{text}` names no tool"),
                "write `SKILL.TOOL`, or `SKILL:scripts/FILE` for an undeclared script; `bailiwick list` shows both",
            )),
        }
    }

    fn skill(self) -> &'a str {
        match self {
            Self::Tool { skill, .. } | Self::Script { skill, .. } => skill,
        }
    }
}

/// Reads everything that the call is given.
fn request(program: &Program, arguments: &Call) -> Result<CallRequest, Error> {
    let stdin_is_taken = arguments.stdin.as_deref() == Some(Path::new("-"));
    let text = match arguments.arguments.as_str() {
        "-" if stdin_is_taken => {
            return Err(usage(
                "standard input cannot be both the arguments and the script's input",
                "put one in a file",
            ));
        }
        "-" => {
            let bytes = folder::capped(io::stdin().lock(), MAX_ARGUMENTS).map_err(|error| {
                cannot(
                    "read",
                    Path::new("standard input"),
                    "arguments have at most 1 MiB",
                    error,
                )
            })?;
            String::from_utf8(bytes).map_err(|error| not_utf8(&error))?
        }
        text => text.to_owned(),
    };
    let mut value: Value = serde_json::from_str(&text).map_err(|error| not_json(&error))?;
    let mut request = CallRequest::new(&arguments.target, Value::Null);
    if let Some(timeout) = arguments.timeout {
        if let Value::Object(object) = &mut value {
            // The schema starts at one second; what is shorter is the caller's own deadline.
            let seconds = timeout.duration().as_secs_f64().max(1.0);
            object
                .entry("timeout_seconds")
                .or_insert_with(|| json!(seconds));
        }
        request.deadline = Some(timeout.duration());
    }
    request.arguments = value;
    request.cwd = Some(program.config.cwd.clone());
    request.stdin = arguments.stdin.as_deref().map(read_stdin).transpose()?;
    Ok(request)
}

fn read_stdin(path: &Path) -> Result<Arc<[u8]>, Error> {
    let failed = |error| {
        cannot(
            "read the script's input from",
            path,
            "name a file of at most 64 MiB",
            error,
        )
    };
    let bytes = if path == Path::new("-") {
        folder::capped(io::stdin().lock(), MAX_STDIN).map_err(failed)?
    } else {
        let read = folder::read_capped(path, MAX_STDIN).map_err(failed)?;
        read.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?
    };
    Ok(bytes.into())
}

/// Cancels when the person or the system asks the program to stop.
fn cancel_on_signals(cancel: &CancelToken) -> Result<(), Error> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind).map_err(|error| {
            Error::new(Code::WorkspaceFailed, "signals cannot be waited for").with_source(error)
        })?;
        let cancel = cancel.clone();
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                cancel.cancel();
            }
        });
    }
    Ok(())
}

/// The one object of `--json`, described by `schema/call.schema.json`.
#[derive(Serialize)]
struct Reply<'a> {
    ok: bool,
    tool: &'a str,
    tier: Option<Tier>,
    content: Vec<Value>,
    structured: Option<&'a Value>,
    artifact: Option<&'a str>,
    error: Option<WireError<'a>>,
    report: Option<&'a CallReport>,
}

impl<'a> Reply<'a> {
    fn new(
        tool: &'a str,
        result: &'a Result<Response, Error>,
        report: Option<&'a CallReport>,
    ) -> Self {
        let response = result.as_ref().ok();
        let artifact = response.and_then(|response| response.artifact.as_ref());
        let artifact = artifact.or_else(|| report?.artifact.as_ref());
        Self {
            ok: result.is_ok(),
            tool,
            tier: report.map(|report| report.tier),
            content: response
                .map(|response| content(&response.content))
                .unwrap_or_default(),
            structured: response.and_then(|response| response.structured.as_ref()),
            artifact: artifact.map(bailiwick::ArtifactId::as_str),
            error: result.as_ref().err().map(Error::wire),
            report,
        }
    }
}

fn content(content: &Content) -> Vec<Value> {
    match content {
        Content::Text(text) => vec![json!({ "type": "text", "text": text })],
        Content::Bytes(media) => vec![described(media)],
        Content::Media(list) => list.iter().map(described).collect(),
    }
}

/// Bytes are kept as an artifact; JSON says what they are.
fn described(media: &Media) -> Value {
    json!({ "type": "media", "media_type": media.media_type, "name": media.name, "size": media.bytes.len() })
}

/// Shows a result to people: what the tool wrote on standard output, everything else beside it.
fn show(
    program: &Program,
    result: &Result<Response, Error>,
    report: Option<&CallReport>,
) -> Result<(), Error> {
    let output = program.output;
    match result {
        Ok(response) => show_response(program, response)?,
        Err(error) => {
            if let Some(text) = error.details().get("output").and_then(Value::as_str) {
                output.data(text)?;
            }
            output.complaint(error);
        }
    }
    let Some(report) = report else { return Ok(()) };
    if result.is_err()
        && let Some(artifact) = &report.artifact
    {
        output.note(&format!(
            "note: the whole output is kept: bailiwick artifacts read {artifact}"
        ));
    }
    for file in &report.files {
        output.note(&format!(
            "note: a file was left behind: bailiwick artifacts read {file}"
        ));
    }
    for denial in &report.denials {
        output.note(&format!("note: refused: {denial}"));
    }
    for warning in &report.warnings {
        output.note(&format!("warning: {warning}"));
    }
    Ok(())
}

fn show_response(program: &Program, response: &Response) -> Result<(), Error> {
    let output = program.output;
    let stream = |name| response.structured.as_ref()?.get(name)?.as_str();
    if let (Some(stdout), Some(stderr)) = (stream("stdout"), stream("stderr")) {
        output.data(stdout)?;
        if !stderr.is_empty() {
            output.note(stderr);
        }
        let text = response.text();
        output.note(text.lines().next().unwrap_or_default());
        return Ok(());
    }
    match &response.content {
        Content::Bytes(media) => output.bytes(&media.bytes),
        Content::Text(_) | Content::Media(_) => output.data(&response.text()),
    }
}

/// Far more than any arguments that a schema accepts, in bytes.
const MAX_ARGUMENTS: u64 = 1 << 20;

/// What a script may be given to read, in bytes; it is held in memory.
const MAX_STDIN: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_tool_or_a_file() {
        assert_eq!(
            Target::parse("a.b").unwrap(),
            Target::Tool {
                skill: "a",
                tool: "b"
            }
        );
        assert_eq!(
            Target::parse("a@user:scripts/x.py").unwrap(),
            Target::Script {
                skill: "a@user",
                path: "scripts/x.py"
            }
        );
        for text in ["", "a", "a.", ".b", ":x", "a:"] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
    }
}
