//! Typed reading of parsed values, which reports every mismatch where it stands.

use std::ops::Range;
use std::sync::Arc;

use crate::characters::{invisible_in, mixed_script_in};
use crate::diagnostic::Diagnostic;
use crate::id::DiagnosticId;
use crate::text::SourceText;
use crate::yaml::{Entry, Node, Value};

/// Reads values of one file and collects what is wrong with them.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Arc<SourceText>,
    pub(crate) found: &'a mut Vec<Diagnostic>,
    /// The id of a value that has another shape than its key wants.
    pub(crate) type_id: DiagnosticId,
}

impl Reader<'_> {
    /// Reads a text.
    pub(crate) fn text<'n>(&mut self, key: &str, node: &'n Node) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) => Some(&text.text),
            Value::List(_) | Value::Map(_) => self.mismatch(key, node, "a text"),
        }
    }

    /// Reads an unquoted `true` or `false`.
    pub(crate) fn flag(&mut self, key: &str, node: &Node) -> Option<bool> {
        match &node.value {
            Value::Text(text) if text.plain && text.text == "true" => Some(true),
            Value::Text(text) if text.plain && text.text == "false" => Some(false),
            Value::Text(_) | Value::List(_) | Value::Map(_) => {
                self.mismatch(key, node, "`true` or `false`")
            }
        }
    }

    /// Reads a list.
    pub(crate) fn list<'n>(&mut self, key: &str, node: &'n Node) -> Option<&'n [Node]> {
        match &node.value {
            Value::List(list) => Some(list),
            Value::Text(_) | Value::Map(_) => self.mismatch(key, node, "a list"),
        }
    }

    /// Reads a list of texts, each with its node; members of another shape are reported and left
    /// out.
    pub(crate) fn texts<'n>(&mut self, key: &str, node: &'n Node) -> Vec<(&'n str, &'n Node)> {
        let list = self.list(key, node).unwrap_or_default();
        list.iter()
            .filter_map(|node| Some((self.text(key, node)?, node)))
            .collect()
    }

    /// Reads a mapping.
    pub(crate) fn map<'n>(&mut self, key: &str, node: &'n Node) -> Option<&'n [Entry]> {
        match &node.value {
            Value::Map(map) => Some(map),
            Value::Text(_) | Value::List(_) => self.mismatch(key, node, "a mapping"),
        }
    }

    /// Warns of what a text for models and people hides, or passes off as something else.
    pub(crate) fn suspect(&mut self, key: &str, text: &str, span: &Range<usize>, ids: TextIds) {
        if let Some((_, c)) = invisible_in(text) {
            let code = u32::from(c);
            let message = format!("`{key}` holds the invisible character U+{code:04X}");
            let warning = Diagnostic::warning(ids.invisible, message);
            self.report(
                warning.help("remove it; a reader cannot see what it does"),
                span,
            );
        }
        if let Some(word) = mixed_script_in(text) {
            let message = format!("the word `{}` mixes alphabets", &text[word]);
            let warning = Diagnostic::warning(ids.mixed_script, message);
            self.report(
                warning.help("write it in one alphabet; this is how a look-alike is made"),
                span,
            );
        }
    }

    pub(crate) fn error(
        &mut self,
        id: DiagnosticId,
        message: impl AsRef<str>,
        span: &Range<usize>,
    ) {
        self.report(Diagnostic::error(id, message), span);
    }

    pub(crate) fn warning(
        &mut self,
        id: DiagnosticId,
        message: impl AsRef<str>,
        span: &Range<usize>,
    ) {
        self.report(Diagnostic::warning(id, message), span);
    }

    /// Reports a finding at a place of the file.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic, span: &Range<usize>) {
        self.found.push(diagnostic.at(self.source, span.clone()));
    }

    fn mismatch<T>(&mut self, key: &str, node: &Node, wanted: &str) -> Option<T> {
        let message = format!("`{key}` is {} and should be {wanted}", node.value.shape());
        self.error(self.type_id, message, &node.span);
        None
    }
}

/// The ids of what [`Reader::suspect`] finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextIds {
    pub(crate) invisible: DiagnosticId,
    pub(crate) mixed_script: DiagnosticId,
}

/// Returns the member that a mistyped word is nearest to, when it is near enough to be meant: at
/// most one change, and one more for every four characters of the member.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .iter()
        .map(|known| (distance(&lower, &known.to_lowercase()), *known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Counts the insertions, removals and replacements that turn one text into another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(MAX_WORD).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()] + a.chars().count().saturating_sub(MAX_WORD)
}

/// The characters of a word that are compared; no key of ours is longer.
const MAX_WORD: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_slip_finds_its_key_and_a_stranger_does_not() {
        let known = ["scripts", "isolated", "failOnNonzeroExit"];
        assert_eq!(nearest("script", &known), Some("scripts"));
        assert_eq!(
            nearest("fail-on-nonzero-exit", &known),
            Some("failOnNonzeroExit")
        );
        assert_eq!(nearest("colour", &known), None);
    }
}
