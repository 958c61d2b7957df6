//! A source file, and positions in it.

use bailiwick_core::{Excerpt, SkillPath, is_unprintable};
use serde::Serialize;

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::language::Language;
use crate::scan::is_line_terminator;

/// The text of one file, known to be text of a bounded size.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    path: SkillPath,
    language: Language,
    text: String,
}

impl Source {
    /// Reads the bytes of a file.
    ///
    /// A byte order mark is dropped. A first line that begins with `#!` is blanked, because what
    /// it names is never run.
    ///
    /// # Errors
    ///
    /// [`SyntaxError`] when the bytes are more than [`MAX_SOURCE_BYTES`], no UTF-8, or contain
    /// NUL; as [`SkillError`](bailiwick_core::SkillError) it is
    /// `E_SKILL_ISOLATED_GUEST_INVALID`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bailiwick_js_syntax::{Language, Source};
    ///
    /// let path = "a.js".parse()?;
    /// let error = Source::new(path, Language::JavaScript, b"let a;\n\xff").unwrap_err();
    /// assert_eq!((error.position().line, error.position().column), (2, 1));
    /// # Ok::<_, bailiwick_core::PathRejected>(())
    /// ```
    pub fn new(path: SkillPath, language: Language, bytes: &[u8]) -> Result<Self, SyntaxError> {
        if bytes.len() > MAX_SOURCE_BYTES {
            let message = format!(
                "it has {} bytes, and the most is {MAX_SOURCE_BYTES}",
                bytes.len()
            );
            return Err(
                SyntaxError::of_whole(path, SyntaxErrorKind::TooLarge, message)
                    .with_hint("leave out what the tool does not need"),
            );
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let before = String::from_utf8_lossy(valid).into_owned();
                let source = Self::of_text(path, language, &before);
                return Err(source
                    .error(
                        SyntaxErrorKind::NotText,
                        source.text.len(),
                        "a byte that is no UTF-8",
                    )
                    .with_hint("save the file as UTF-8"));
            }
        };
        let source = Self::of_text(path, language, text);
        match source.text.find('\0') {
            Some(offset) => Err(source
                .error(SyntaxErrorKind::NotText, offset, "a NUL character")
                .with_hint("write `\\0` where a string needs one")),
            None => Ok(source),
        }
    }

    fn of_text(path: SkillPath, language: Language, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = if text.starts_with("#!") {
            let end = text.find(is_line_terminator).unwrap_or(text.len());
            let blanks = text[..end].chars().count();
            format!("{}{}", " ".repeat(blanks), &text[end..])
        } else {
            text.to_owned()
        };
        Self {
            path,
            language,
            text,
        }
    }

    /// Returns the path inside the package.
    pub fn path(&self) -> &SkillPath {
        &self.path
    }

    /// Returns the language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Returns the text, without byte order mark and with a blank in place of each character of a
    /// `#!` line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Makes an error that points at a byte.
    pub(crate) fn error(
        &self,
        kind: SyntaxErrorKind,
        offset: usize,
        message: impl Into<String>,
    ) -> SyntaxError {
        let position = Position::in_text(&self.text, offset);
        SyntaxError::new(
            self.path.clone(),
            kind,
            position,
            message.into(),
            excerpt(&self.text, offset),
        )
    }
}

/// A place in a text; line and column count from 1, the column in characters.
///
/// A line ends at LF, CRLF or a lone CR, as it does in editors and in every other position of
/// this project. U+2028 and U+2029 end a line for JavaScript's grammar, and for no position.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters (Unicode scalar values).
    pub column: usize,
}

impl Position {
    /// The first character of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    pub(crate) fn in_text(text: &str, offset: usize) -> Self {
        let mut offset = text.floor_char_boundary(offset);
        if text[..offset].ends_with('\r') && text[offset..].starts_with('\n') {
            offset -= 1; // Between CR and LF the line has not ended yet.
        }
        let before = &text[..offset];
        let line_start = line_start(before);
        let bytes = before.as_bytes();
        let line_ends = bytes
            .iter()
            .enumerate()
            .take(line_start)
            .filter(|(at, byte)| {
                **byte == b'\n' || (**byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
            })
            .count();
        Self {
            line: 1 + line_ends,
            column: 1 + before[line_start..].chars().count(),
        }
    }
}

impl Position {
    /// Finds the positions of many bytes in one pass: a text of a mebibyte can have a hundred
    /// thousand places that are asked for.
    pub(crate) fn of_all(text: &str, offsets: &[usize]) -> Vec<Self> {
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_unstable_by_key(|index| offsets[*index]);
        let mut positions = vec![Self::START; offsets.len()];
        let (mut at, mut position) = (0, Self::START);
        for index in order {
            let offset = text.floor_char_boundary(offsets[index]);
            for (distance, character) in text[at..offset].char_indices() {
                let next = at + distance + character.len_utf8();
                match character {
                    // Between CR and LF the line has not ended yet.
                    '\r' if text[next..].starts_with('\n') => {}
                    '\n' | '\r' => {
                        position.line += 1;
                        position.column = 1;
                    }
                    _ => position.column += 1,
                }
            }
            at = offset;
            positions[index] = position;
        }
        positions
    }
}

fn line_start(before: &str) -> usize {
    before.rfind(['\n', '\r']).map_or(0, |end| end + 1)
}

/// Returns the line around a byte, cut to what a reader can take in, with every character that
/// steers or hides replaced.
fn excerpt(text: &str, offset: usize) -> String {
    let offset = text.floor_char_boundary(offset);
    let start = line_start(&text[..offset]);
    let end = text[offset..]
        .find(['\n', '\r'])
        .map_or(text.len(), |length| offset + length);
    let near = text.floor_char_boundary(offset.saturating_sub(EXCERPT_BYTES / 3));
    let shown = if end - start > EXCERPT_BYTES && near > start {
        format!("…{}", &text[near..end])
    } else {
        text[start..end].to_owned()
    };
    let shown: String = shown
        .chars()
        .map(|c| match c {
            '\t' => ' ',
            c if is_unprintable(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect();
    // What is wrong stands at the front; the rest of a long line is cut from its middle.
    Excerpt::of(&shown, EXCERPT_BYTES, "the line goes on")
        .text
        .replace('\n', " ")
}

/// The most bytes that a source may have (1 MiB).
pub const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// The most bytes of one line that an error shows.
const EXCERPT_BYTES: usize = 240;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source(text: &str) -> Source {
        Source::new(
            "a.js".parse().unwrap(),
            Language::JavaScript,
            text.as_bytes(),
        )
        .unwrap()
    }

    fn at(text: &str, offset: usize) -> (usize, usize) {
        let position = Position::in_text(text, offset);
        (position.line, position.column)
    }

    #[test]
    fn positions_count_characters_and_every_kind_of_line_end() {
        let text = "é: 1\r\nb\rcd\n\u{2028}e";
        assert_eq!(at(text, text.find('1').unwrap()), (1, 4));
        assert_eq!(at(text, text.find('b').unwrap()), (2, 1));
        assert_eq!(at(text, text.find('d').unwrap()), (3, 2));
        assert_eq!(at(text, text.find('e').unwrap()), (4, 2));
        assert_eq!(at(text, 999), (4, 3));
        assert_eq!(at("a\r\n", 2), (1, 2));
    }

    proptest! {
        #[test]
        fn many_positions_are_those_of_each(
            text in "[aé\u{2028}\r\n]{0,40}",
            offsets in prop::collection::vec(0_usize..90, 0..20),
        ) {
            let each: Vec<_> = offsets.iter().map(|o| Position::in_text(&text, *o)).collect();
            prop_assert_eq!(Position::of_all(&text, &offsets), each);
        }
    }

    #[test]
    fn marks_and_hashbangs_take_no_part() {
        assert_eq!(source("\u{feff}a").text(), "a");
        assert_eq!(source("#!/é\r\na").text(), "    \r\na");
        assert_eq!(source("a\n#!b").text(), "a\n#!b");
    }

    #[test]
    fn an_excerpt_is_one_short_printable_line() {
        assert_eq!(excerpt("a\nb\u{1b}\tc\nd", 3), "b\u{fffd} c");
        let long = format!("{}here{}", "a ".repeat(500), "b ".repeat(500));
        let shown = excerpt(&long, 1000);
        assert!(
            shown.len() <= EXCERPT_BYTES && shown.contains("here"),
            "{shown}"
        );
    }
}
