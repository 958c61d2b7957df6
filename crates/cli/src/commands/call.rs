//! `call`: one tool, or one script.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{io, iter};

use bailiwick::core::{Updates, WireError, one_line};
use bailiwick::{
    ArtifactStore as _, CallReport, CallRequest, CancelToken, Code, Content, Error, Media, Outcome,
    Response, Tier,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Call;
use crate::error::{cannot, not_json, not_utf8, usage};
use crate::folder;
use crate::gate::TerminalGate;
use crate::output::Output;
use crate::policy::{Basis, Chosen};
use crate::program::{DONE, Program, block_on};
use crate::session::{self, Skills};
use crate::target::Target;

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
    let mut request = request(program, arguments)?;
    let cancel = request.cancel.clone();
    cancel_on_signals(&cancel)?;
    let chosen = Chosen::new(&program.config, &program.global, &arguments.grants.flags)?;
    chosen.announce(program.output);
    let gate = TerminalGate::new(arguments.yes, cancel.clone());
    let skills = Skills::find(program)?;
    let target = Target::find(&arguments.target, &skills)?;
    if !arguments.script_arguments.is_empty() && matches!(target, Target::Tool { .. }) {
        return Err(usage(
            "a tool takes one JSON object, not arguments after `--`",
            "write the JSON, or address an undeclared script as `SKILL:scripts/FILE`",
        ));
    }
    // The top levels of a skill's tools run while it loads, each for some seconds.
    let loaded = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(CancelToken::error()),
        loaded = session::load(program, &skills, target.skill(), &chosen, gate.clone()) => loaded?,
    };
    let manager = &loaded.manager;
    let skill = loaded.report.provenance.skill.as_str();
    let mut outcome = match &target {
        Target::Tool { tool, .. } => {
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
    outcome.result = outcome.result.map_err(|error| advised(error, &chosen));
    Ok(outcome)
}

/// Says what to do on this command line, where the library cannot know.
fn advised(error: Error, chosen: &Chosen) -> Error {
    let axis = error.details().get("axis").and_then(Value::as_str);
    if error.code() == Code::ScriptPolicyWidened && axis == Some("undeclared_scripts") {
        return error.with_hint(
            "grant it for this run with `--grant undeclared_scripts`, or in the policy file with `grant.undeclared_scripts = true`",
        );
    }
    if let Some(hint) = flags_of_files(&error, chosen) {
        return error.with_hint(hint);
    }
    if error.code() == Code::Cancelled && error.hint().is_none() {
        return error.with_hint("call again when the answer is wanted");
    }
    error
}

/// Names the flags that let a tool read files: the member alone would reach none, and the next
/// refusal would say so.
fn flags_of_files(error: &Error, chosen: &Chosen) -> Option<String> {
    let member = error.details().get("member")?.as_str()?;
    let has_root = !chosen.policy.cli_grants().grants().read().is_empty();
    let is_meant = error.code() == Code::IsolatedCapabilityDenied
        && chosen.basis == Basis::BuiltIn
        && member.starts_with("fs.")
        && !has_root;
    is_meant.then(|| {
        format!(
            "grant it and a folder for this run with `--grant context={member} --grant read=.`, or in a policy file"
        )
    })
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
    request.updates = Some(progress(program.output));
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

/// Cancels when the person or the system asks the program to stop, and ends it when they ask
/// again: what does not look at the token must not hold on to their terminal.
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
            if signals.recv().await.is_some() {
                #[expect(clippy::exit, reason = "whoever asks twice waits no longer")]
                std::process::exit(Code::Cancelled.exit_code().into());
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
    // What a tool logged, it logged before it answered.
    for event in report.into_iter().flat_map(|report| &report.logs) {
        output.note(&beside(&event.level, &event.text));
    }
    match result {
        Ok(response) => {
            let is_script = report.is_some_and(|report| report.tier == Tier::Script);
            show_response(program, response, is_script)?;
        }
        Err(error) => {
            if let Some(text) = error.details().get("output").and_then(Value::as_str) {
                let (stdout, stderr) = streams(text);
                output.data(stdout)?;
                if !stderr.is_empty() {
                    output.note(stderr);
                }
            }
            output.complaint(error);
        }
    }
    let Some(report) = report else { return Ok(()) };
    if let Some(stack) = &report.stack {
        let frames: Vec<_> = stack.lines().map(str::trim_start).collect();
        output.note(&beside("stack", &frames.join("\n")));
    }
    if report.logs_dropped > 0 {
        let dropped = report.logs_dropped;
        output.note(&format!(
            "note: {dropped} log events and partial results beyond the limit were dropped"
        ));
    }
    if result.is_err()
        && let Some(artifact) = &report.artifact
    {
        output.note(&format!(
            "note: the whole output is kept: bailiwick artifacts read {artifact}"
        ));
    }
    if !report.files.is_empty() {
        let store = session::artifacts(program)?;
        for file in &report.files {
            let name = store.stat(file).ok().and_then(|artifact| artifact.name);
            let name = name.unwrap_or_else(|| "a file".to_owned());
            output.note(&format!(
                "note: {name} was left behind: bailiwick artifacts read {file}"
            ));
        }
    }
    for denial in &report.denials {
        if result.as_ref().is_err_and(|error| tells(error, denial)) {
            continue;
        }
        let words = one_line(&in_words(denial), MAX_NOTE);
        output.note(&format!("note: the run was refused {words}"));
    }
    for warning in &report.warnings {
        output.note(&format!("warning: {}", one_line(warning, MAX_NOTE)));
    }
    Ok(())
}

/// Shows partial results on a terminal, a line each, and no more often than a person can follow.
fn progress(output: Output) -> Updates {
    let last = Mutex::new(None::<Instant>);
    Updates::to(move |partial| {
        let Ok(mut last) = last.lock() else { return };
        if last.is_none_or(|last| last.elapsed() >= PACE) {
            *last = Some(Instant::now());
            output.progress(&beside("...", &partial_text(&partial)));
        }
    })
}

/// Returns what a partial result shows on one line: its texts, or its JSON where it has none.
fn partial_text(partial: &Value) -> String {
    let parts = partial.get("content").and_then(Value::as_array);
    let texts = parts.into_iter().flatten();
    let texts: Vec<_> = texts
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let text = match partial.as_str() {
        Some(text) => text.to_owned(),
        None if texts.is_empty() => partial.to_string(),
        None => texts.join(" "),
    };
    one_line(&text, MAX_PROGRESS)
}

/// Sets a tool's own words apart, so that none of their lines looks like one of this program's.
fn beside(word: &str, text: &str) -> String {
    let words = iter::once(word).chain(iter::repeat(""));
    let lines = words.zip(text.trim_end().split('\n'));
    let lines: Vec<_> = lines
        .map(|(word, line)| format!("{word:>5} | {line}"))
        .collect();
    lines.join("\n")
}

/// Takes the transcript of a failed run apart into its standard output and standard error.
///
/// A script that writes the marks itself chooses where text of its own is shown, and no more.
fn streams(transcript: &str) -> (&str, &str) {
    if transcript == "(no output)" {
        return ("", "");
    }
    if let Some(stderr) = transcript.strip_prefix("[stderr]\n") {
        return ("", stderr);
    }
    let both = transcript
        .strip_prefix("[stdout]\n")
        .and_then(|rest| rest.split_once("\n[stderr]\n"));
    both.unwrap_or((transcript, ""))
}

/// Says whether a call ended on this refusal, so that its error tells it already.
fn tells(error: &Error, denial: &Value) -> bool {
    let detail = |name| error.details().get(name).and_then(Value::as_str);
    let object = detail("path").or_else(|| detail("capability"));
    error.code() == Code::IsolatedCapabilityDenied
        && denial.get("object").and_then(Value::as_str) == object
}

/// Says what the host saw refused.
fn in_words(denial: &Value) -> String {
    let text = |key| denial.get(key).and_then(Value::as_str).unwrap_or_default();
    let times = match denial.get("count").and_then(Value::as_u64) {
        None | Some(1) => String::new(),
        Some(count) => format!(" {count} times"),
    };
    format!(
        "to {} ({}) by {}{times}; {}",
        text("access"),
        text("object"),
        text("layer"),
        text("hint")
    )
}

fn show_response(program: &Program, response: &Response, is_script: bool) -> Result<(), Error> {
    let output = program.output;
    let stream = |name| response.structured.as_ref()?.get(name)?.as_str();
    if let (true, Some(stdout), Some(stderr)) = (is_script, stream("stdout"), stream("stderr")) {
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

/// The time between two lines of progress.
const PACE: Duration = Duration::from_millis(200);

/// The most characters of one line of progress.
const MAX_PROGRESS: usize = 200;

/// Characters of what is said about a run on one line, some of them the tool's own.
const MAX_NOTE: usize = 600;

/// Far more than any arguments that a schema accepts, in bytes.
const MAX_ARGUMENTS: u64 = 1 << 20;

/// What a script may be given to read, in bytes; it is held in memory.
const MAX_STDIN: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_taken_apart_into_its_streams() {
        assert_eq!(streams("(no output)"), ("", ""));
        assert_eq!(streams("out\n"), ("out\n", ""));
        assert_eq!(streams("[stderr]\nerr\n"), ("", "err\n"));
        assert_eq!(streams("[stdout]\nout\n[stderr]\nerr\n"), ("out", "err\n"));
        assert_eq!(streams("[stdout]\nout\n"), ("[stdout]\nout\n", ""));
    }

    #[test]
    fn a_tools_words_stand_beside_a_mark_on_every_line() {
        assert_eq!(
            beside("warn", "one\nerror: E_X: two\n"),
            " warn | one\n      | error: E_X: two"
        );
        assert_eq!(beside("error", ""), "error | ");
    }

    #[test]
    fn a_partial_result_is_one_line_of_its_texts_or_its_json() {
        let content = json!({ "content": [{ "type": "text", "text": "a\nb" }, { "type": "text", "text": "c" }] });
        assert_eq!(partial_text(&content), "a b c");
        assert_eq!(partial_text(&json!("half\r\nway")), "half way");
        assert_eq!(partial_text(&json!({ "done": 3 })), r#"{"done":3}"#);
        let long = partial_text(&json!("x".repeat(1000)));
        assert!(long.chars().count() <= MAX_PROGRESS, "{long}");
    }

    #[test]
    fn a_refusal_is_told_in_words() {
        let denial = json!({ "layer": "cgroup", "access": "exceed memory", "object": "limit memory = 1MiB", "count": 3, "hint": "raise `memory` under `[limits]`" });
        insta::assert_snapshot!(in_words(&denial), @"to exceed memory (limit memory = 1MiB) by cgroup 3 times; raise `memory` under `[limits]`");
    }
}
