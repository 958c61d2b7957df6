//! What goes to standard output, and what to standard error.

use std::io::{self, IsTerminal as _, Write};

use anstyle::{AnsiColor, Style};
use bailiwick::sandbox_policy::PolicyFileError;
use bailiwick::{Code, Error};
use serde_json::{Value, json};

use crate::text::{escaped_json, printable};

/// The two streams: data on one, everything else on the other.
///
/// What is written passes [`printable`], so that no text of a skill's steers a terminal; what was
/// made safe where it was coloured has a way of its own. A reader who went away is no failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
}

#[expect(
    clippy::unused_self,
    reason = "who may write is who was handed the two streams, whatever the form"
)]
impl Output {
    /// Writes data for people, or one JSON object.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Returns whether one JSON object is asked for.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Writes an answer: text for people, or an object whose `ok` and `error` are added.
    pub(crate) fn answer(
        self,
        text: impl FnOnce() -> String,
        object: impl FnOnce() -> Value,
    ) -> Result<(), Error> {
        self.colored_answer(|| printable(&text()).into_owned(), object)
    }

    /// Writes an answer whose text has colours of ours, and is safe: nothing of a skill's is in it
    /// that did not pass [`printable`] or its like.
    pub(crate) fn colored_answer(
        self,
        text: impl FnOnce() -> String,
        object: impl FnOnce() -> Value,
    ) -> Result<(), Error> {
        if !self.json {
            return write_text(&text());
        }
        let mut envelope = json!({ "ok": true, "error": null });
        if let (Value::Object(envelope), Value::Object(object)) = (&mut envelope, object()) {
            envelope.extend(object);
        }
        self.object(&envelope)
    }

    /// Writes text to standard output, ended by a line end.
    pub(crate) fn data(self, text: &str) -> Result<(), Error> {
        write_text(&printable(text))
    }

    /// Writes bytes as they are, except to a terminal.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), Error> {
        let stdout = io::stdout();
        if stdout.is_terminal() {
            return self.data(&String::from_utf8_lossy(bytes));
        }
        let mut stdout = stdout.lock();
        written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
    }

    /// Writes one JSON object to standard output.
    pub(crate) fn object(self, value: &Value) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        written(writeln!(anstream::stdout(), "{}", escaped_json(&text)))
    }

    /// Writes a line to standard error, where nobody who reads data sees it.
    pub(crate) fn note(self, text: &str) {
        let _ = writeln!(anstream::stderr(), "{}", printable(text).trim_end());
    }

    /// Says on a terminal what is going on; silent in a pipe.
    pub(crate) fn progress(self, text: &str) {
        if io::stderr().is_terminal() {
            self.note(text);
        }
    }

    /// Reports an error: `error: CODE: sentence` and `hint: next step`, or as the one object.
    pub(crate) fn error(self, error: &Error) {
        if self.json {
            // There is nowhere left to report a failure to.
            let _ = self.object(&json!({ "ok": false, "error": error.wire() }));
        } else {
            self.complaint(error);
        }
    }

    /// Reports an error to people.
    pub(crate) fn complaint(self, error: &Error) {
        let mut stderr = anstream::stderr();
        let source = std::error::Error::source(error);
        if let Some(all) = source.and_then(|source| source.downcast_ref::<PolicyFileError>()) {
            // The error names the first problem of the file; here is each, with its place.
            let _ = writeln!(stderr, "{}", printable(&all.to_string()));
        }
        let message = printable(error.message());
        let _ = writeln!(stderr, "{ERROR}error{ERROR:#}: {}: {message}", error.code());
        self.hint(error);
    }

    /// Writes what to do about an error.
    pub(crate) fn hint(self, error: &Error) {
        if let Some(hint) = error.hint() {
            let hint = printable(hint);
            let _ = writeln!(anstream::stderr(), "{HINT}hint{HINT:#}: {hint}");
        }
    }
}

/// Returns whether standard output shows colours.
pub(crate) fn colors() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Writes text that is safe already to standard output, ended by a line end.
fn write_text(text: &str) -> Result<(), Error> {
    if text.is_empty() {
        return Ok(());
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    written(write!(anstream::stdout(), "{text}{end}"))
}

fn written(result: io::Result<()>) -> Result<(), Error> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::new(
            Code::InvalidSkillsConfig,
            "standard output cannot be written",
        )
        .with_hint("check what it leads to; a full disk is the usual reason")
        .with_source(error)),
    }
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
