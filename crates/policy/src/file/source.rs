//! The text of a policy file, and what is wrong in it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bailiwick_core::{Code, SkillError, one_line};

use crate::order::Widening;
use crate::origin::Origin;

/// The text under its label, able to say where a byte is.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    label: Arc<str>,
    text: &'t str,
    /// Where each line starts; looked up for every rule, so it is not searched for each time.
    lines: Vec<usize>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(label: &str, text: &'t str) -> Self {
        let after = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self {
            label: label.into(),
            text,
            lines: std::iter::once(0).chain(after).collect(),
        }
    }

    /// Returns the origin of a rule that starts at the given byte.
    pub(crate) fn origin(&self, span: &Range<usize>) -> Origin {
        let line = u32::try_from(self.line(span.start) + 1).unwrap_or(u32::MAX);
        Origin::file(Arc::clone(&self.label), line)
    }

    /// Describes a problem with the text in `span`.
    pub(crate) fn problem(&self, span: &Range<usize>, message: impl AsRef<str>) -> Problem {
        let (line, column) = self.place(span.start);
        let (start, end) = self.line_around(span.start);
        let marked = self
            .text
            .get(span.start.min(end)..span.end.min(end))
            .unwrap_or_default();
        Problem {
            label: Arc::clone(&self.label),
            line,
            column,
            excerpt: printable(&self.text[start..end]),
            marked: marked.chars().count().max(1),
            message: one_line(message.as_ref(), LONGEST_LINE),
            hint: None,
            widening: None,
        }
    }

    /// Returns line and column, both counted from one; columns count characters.
    fn place(&self, byte: usize) -> (u32, u32) {
        let line = self.line(byte);
        let before = self.text.get(self.lines[line]..byte.min(self.text.len()));
        let column = before.unwrap_or_default().chars().count();
        let counted = |from_zero: usize| u32::try_from(from_zero + 1).unwrap_or(u32::MAX);
        (counted(line), counted(column))
    }

    /// Returns the line that holds the byte, counted from zero.
    fn line(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte) - 1
    }

    fn line_around(&self, byte: usize) -> (usize, usize) {
        let line = self.line(byte);
        let end = self
            .lines
            .get(line + 1)
            .map_or(self.text.len(), |next| next - 1);
        (self.lines[line], end)
    }
}

/// One thing that is wrong in a policy file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    label: Arc<str>,
    line: u32,
    column: u32,
    excerpt: String,
    marked: usize,
    message: String,
    hint: Option<String>,
    widening: Option<Widening>,
}

impl Problem {
    /// Returns the file as the person named it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the line, counted from one.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Returns the column in characters, counted from one.
    pub fn column(&self) -> u32 {
        self.column
    }

    /// Returns the line's text, with control characters replaced.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the next step, if there is one to name.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns what is asked for beyond the ceiling, where that is the problem.
    pub fn widening(&self) -> Option<&Widening> {
        self.widening.as_ref()
    }

    pub(crate) fn with_hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(one_line(hint.as_ref(), LONGEST_LINE));
        self
    }

    pub(crate) fn with_widening(mut self, widening: Widening) -> Self {
        self.widening = Some(widening);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.label, self.line, self.column, self.message
        )?;
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let (excerpt, indent, marked) = self.window();
        writeln!(f, " {number} | {excerpt}")?;
        write!(
            f,
            " {gutter} | {}{}",
            " ".repeat(indent),
            "^".repeat(marked)
        )?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl Problem {
    /// Returns the part of a long line that is shown, and where the marks stand in it.
    fn window(&self) -> (String, usize, usize) {
        let at = usize::try_from(self.column)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        let skip = if at < EXCERPT / 2 {
            0
        } else {
            at - EXCERPT / 4
        };
        let shown: String = self.excerpt.chars().skip(skip).take(EXCERPT).collect();
        let indent = (at - skip).min(EXCERPT);
        let room = shown.chars().count().saturating_sub(indent).max(1);
        (shown, indent, self.marked.min(room))
    }
}

/// What is wrong in a policy file, in the order of its lines; never empty, at most 64 problems.
///
/// Converts to `E_INVALID_SKILLS_CONFIG`, or to `E_SKILL_SCRIPT_POLICY_WIDENED` when grants beyond
/// the ceiling are all that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyFileError {
    problems: Vec<Problem>,
}

impl PolicyFileError {
    /// Returns the error for some problems, or nothing if there are none.
    pub(crate) fn from_problems(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.dedup();
        (!problems.is_empty()).then_some(Self { problems })
    }

    /// Returns everything that is wrong.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the code that the error converts to.
    pub fn code(&self) -> Code {
        if self
            .problems
            .iter()
            .all(|problem| problem.widening.is_some())
        {
            Code::ScriptPolicyWidened
        } else {
            Code::InvalidSkillsConfig
        }
    }
}

impl fmt::Display for PolicyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if place == 0 { "" } else { "\n\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyFileError {}

impl From<Problem> for PolicyFileError {
    fn from(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}

impl From<PolicyFileError> for SkillError {
    fn from(error: PolicyFileError) -> Self {
        let first = &error.problems[0];
        let place = format!("{}:{}:{}", first.label, first.line, first.column);
        let more = match error.problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let mut wire = Self::new(error.code(), format!("{place}: {}{more}", first.message))
            .with_detail("file", &*first.label)
            .with_detail("line", first.line)
            .with_detail("column", first.column);
        if let Some(hint) = &first.hint {
            wire = wire.with_hint(hint);
        }
        if let Some(widening) = &first.widening {
            wire = wire.with_detail(
                "witness",
                serde_json::to_value(widening).unwrap_or_default(),
            );
        }
        wire.with_source(error)
    }
}

/// Keeps a line from steering the terminal that shows it, one character for one.
fn printable(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() || is_hidden(c) => '\u{FFFD}',
        c => c,
    };
    line.chars().map(shown).collect()
}

/// Says whether a character shows nothing, or changes how those around it are shown.
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{E0000}'..='\u{E007F}')
}

/// Characters of a message or a hint; more is no sentence.
const LONGEST_LINE: usize = 400;

/// Problems that are reported at once: nobody reads more, and each costs a look at its line.
pub(crate) const MOST_PROBLEMS: usize = 64;

/// Characters of a line that an error shows; a terminal's width with room for the margin.
const EXCERPT: usize = 96;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn points_at_characters_and_not_at_bytes() {
        let text = "a = 1\r\n# é\né = \"ü\"\n";
        let source = Source::new("p.toml", text);
        let at = text.find('ü').unwrap();
        let problem = source
            .problem(&(at..at + 'ü'.len_utf8()), "no umlauts")
            .with_hint("write `ue`");
        insta::assert_snapshot!(problem, @r#"
        p.toml:3:6: no umlauts
         3 | é = "ü"
           |      ^
        hint: write `ue`
        "#);
    }

    #[test]
    fn never_steers_the_terminal() {
        let text = "a = \"\u{1b}[2J\u{202E}x\"";
        let shown = Source::new("p", text)
            .problem(&(4..9), format!("bad {text}"))
            .to_string();
        assert!(!shown.contains(['\u{1b}', '\u{202E}']), "{shown:?}");
    }

    #[test]
    fn shows_the_part_of_a_long_line_that_matters() {
        let text = format!("{}x{}", "a".repeat(300), "b".repeat(300));
        let problem = Source::new("p", &text).problem(&(300..301), "here");
        let shown = problem.to_string();
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines.iter().all(|line| line.len() < 120), "{shown}");
        let mark = lines[2].find('^').unwrap();
        assert_eq!(&lines[1][mark..=mark], "x", "{shown}");
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(text in "\\PC*(\n\\PC*){0,3}", start in 0_usize..80, length in 0_usize..80) {
            let source = Source::new("p", &text);
            let problem = source.problem(&(start..start + length), "here");
            prop_assert!(problem.to_string().contains('^'));
        }
    }
}
