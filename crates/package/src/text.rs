//! A text file of a package, and positions in it.

use std::ops::Range;

use bailiwick_core::is_unprintable;
use serde::Serialize;

use crate::characters::is_invisible;

/// A place in a text; line and column count from 1, the column in characters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// The line, from 1. A line ends at LF, CRLF or a lone CR.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// The part of a file that diagnostics may quote.
#[derive(Debug)]
pub(crate) struct SourceText {
    file: String,
    text: String,
}

impl SourceText {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the position of a byte; one past the end is the end.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let mut offset = self.floor(offset);
        if self.text[..offset].ends_with('\r') && self.text[offset..].starts_with('\n') {
            offset -= 1; // Between CR and LF the line has not ended yet.
        }
        let before = &self.text[..offset];
        let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        Position {
            line: 1 + Lines::new(&before[..start]).count(),
            column: 1 + before[start..].chars().filter(|c| *c != BOM).count(),
        }
    }

    /// Clamps a range to the text and to character boundaries.
    pub(crate) fn clamp(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.floor(span.start);
        start..self.floor(span.end).max(start)
    }

    /// Renders the text as a terminal may show it: every character that steers or hides becomes
    /// `\u{FFFD}`, every line end a line feed, and the span moves along.
    pub(crate) fn printable(&self, span: &Range<usize>) -> (String, Range<usize>) {
        let span = self.clamp(span);
        let mut text = String::with_capacity(self.text.len());
        let mut moved = span.clone();
        let mut characters = self.text.char_indices().peekable();
        while let Some((offset, c)) = characters.next() {
            if offset == span.start {
                moved.start = text.len();
            }
            if offset == span.end {
                moved.end = text.len();
            }
            match c {
                // Its line feed follows.
                '\r' if characters.peek().is_some_and(|(_, next)| *next == '\n') => {}
                '\r' | '\n' => text.push('\n'),
                '\t' => text.push('\t'),
                c => text.push(shown(c)),
            }
        }
        if span.start == self.text.len() {
            moved.start = text.len();
        }
        if span.end == self.text.len() {
            moved.end = text.len();
        }
        (text, moved)
    }

    fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }
}

/// Renders a name as a terminal may show it, on one line.
pub(crate) fn printable_name(name: &str) -> String {
    name.chars().map(shown).collect()
}

/// Replaces a character that steers or hides.
fn shown(c: char) -> char {
    if is_unprintable(c) || is_invisible(c) {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

/// Walks the lines of a text, each with its offset and without its end.
///
/// Lines end at LF, CRLF or a lone CR; a last line without an end is a line.
pub(crate) struct Lines<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, offset: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = &self.text[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = match rest.as_bytes().get(length..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([_, ..]) => 1,
            Some([]) | None => 0,
        };
        let line = Line {
            start: self.offset,
            text: &rest[..length],
            next: self.offset + length + end,
        };
        self.offset = line.next;
        Some(line)
    }
}

/// One line of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Line<'a> {
    /// Where the line begins.
    pub(crate) start: usize,
    /// The line without its end.
    pub(crate) text: &'a str,
    /// Where the next line begins.
    pub(crate) next: usize,
}

/// The byte order mark, which some editors write before the first character.
pub(crate) const BOM: char = '\u{FEFF}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_every_convention() {
        let lines: Vec<_> = Lines::new("a\r\nb\rc\n\nd").map(|line| line.text).collect();
        assert_eq!(lines, ["a", "b", "c", "", "d"]);
    }

    #[test]
    fn positions_count_characters_and_every_kind_of_line_end() {
        let text = SourceText::new("x", "\u{FEFF}é: 1\r\nb\rcd\n");
        let at = |needle: &str| text.position(text.text().find(needle).unwrap());
        assert_eq!(at("1"), Position { line: 1, column: 4 });
        assert_eq!(at("b"), Position { line: 2, column: 1 });
        assert_eq!(at("cd"), Position { line: 3, column: 1 });
        assert_eq!(at("d"), Position { line: 3, column: 2 });
        assert_eq!(text.position(999), Position { line: 4, column: 1 });
    }

    #[test]
    fn an_excerpt_cannot_steer_a_terminal() {
        let text = SourceText::new("x", "a\u{1b}[31m\u{202e}b");
        let (shown, span) = text.printable(&(9..10));
        assert_eq!(shown, "a\u{FFFD}[31m\u{FFFD}b");
        assert_eq!(&shown[span], "b");
        // A lone carriage return would write over its line.
        let text = SourceText::new("x", "a\r\nb\rc");
        let (shown, span) = text.printable(&(5..6));
        assert_eq!(shown, "a\nb\nc");
        assert_eq!(&shown[span], "c");
        assert_eq!(printable_name("a\n\u{1b}b"), "a\u{FFFD}\u{FFFD}b");
    }
}
