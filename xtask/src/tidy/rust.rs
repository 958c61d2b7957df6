//! Just enough of Rust's grammar to tell code from comments, strings and tests.

/// A Rust file with parts of it blanked out; every offset stays what it was.
pub(crate) struct Masked(String);

impl Masked {
    /// Keeps code alone: comments and the content of strings become blanks.
    pub(crate) fn code(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        for (kind, range) in pieces(text) {
            if kind != Piece::Code {
                blank(&mut bytes[range]);
            }
        }
        Self(String::from_utf8(bytes).unwrap_or_default())
    }

    /// Keeps code that is part of the program: also blanks what stands under `#[cfg(test)]`.
    pub(crate) fn library(text: &str) -> Self {
        let code = Self::code(text);
        let mut bytes = code.0.as_bytes().to_vec();
        for range in test_items(&code.0) {
            blank(&mut bytes[range]);
        }
        Self(String::from_utf8(bytes).unwrap_or_default())
    }

    /// Keeps comments, strings and code, but only under `#[cfg(test)]`.
    pub(crate) fn tests_of(text: &str) -> String {
        let code = Self::code(text);
        test_items(&code.0)
            .into_iter()
            .filter_map(|range| text.get(range))
            .collect()
    }

    /// Returns the offsets where `path` (such as `env::var`) stands as whole words.
    pub(crate) fn find(&self, path: &str) -> Vec<usize> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        self.0
            .match_indices(path)
            .filter(|(at, _)| {
                !self.0[..*at].ends_with(is_word)
                    && (path.ends_with(|c| !is_word(c))
                        || !self.0[at + path.len()..].starts_with(is_word))
            })
            .map(|(at, _)| at)
            .collect()
    }

    /// Returns the remaining text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the content of every string literal.
pub(crate) fn strings(text: &str) -> Vec<&str> {
    pieces(text)
        .into_iter()
        .filter(|(kind, _)| *kind == Piece::String)
        .filter_map(|(_, range)| text.get(range))
        .collect()
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Piece {
    Code,
    Comment,
    String,
}

type Range = std::ops::Range<usize>;

/// Splits a file into code, comments and the insides of string and character literals.
fn pieces(text: &str) -> Vec<(Piece, Range)> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let (kind, inside, next) = match bytes[at..] {
            [b'/', b'/', ..] => {
                let end = line_end(bytes, at);
                (Piece::Comment, at..end, end)
            }
            [b'/', b'*', ..] => {
                let end = block_comment_end(bytes, at);
                (Piece::Comment, at..end, end)
            }
            [b'"', ..] => {
                let end = string_end(bytes, at + 1);
                (Piece::String, at + 1..end, (end + 1).min(bytes.len()))
            }
            [b'r', ..] if is_raw_string(text, at) => {
                let hashes = bytes[at + 1..]
                    .iter()
                    .take_while(|byte| **byte == b'#')
                    .count();
                let from = at + 1 + hashes + 1;
                let close = format!("\"{}", "#".repeat(hashes));
                let end = text[from..]
                    .find(&close)
                    .map_or(bytes.len(), |end| from + end);
                (
                    Piece::String,
                    from..end,
                    (end + close.len()).min(bytes.len()),
                )
            }
            [b'\'', ..] if character_end(bytes, at).is_some() => {
                let end = character_end(bytes, at).unwrap_or(at + 1);
                (Piece::String, at + 1..end, end + 1)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        pieces.push((Piece::Code, start..inside.start));
        pieces.push((kind, inside.clone()));
        start = inside.end;
        at = next;
    }
    pieces.push((Piece::Code, start..bytes.len()));
    pieces
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |end| at + end)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_raw_string(text: &str, at: usize) -> bool {
    let starts_word = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
        || text[..at].ends_with('b')
            && !text[..at - 1].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    starts_word && text[at + 1..].trim_start_matches('#').starts_with('"')
}

/// Returns where a character literal ends; a lifetime is none.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'\\' => {
            let from = at + 3;
            bytes
                .get(from..)?
                .iter()
                .position(|byte| *byte == b'\'')
                .map(|end| from + end)
        }
        b'\'' => None,
        first => {
            let length = match first {
                0..=0x7F => 1,
                0xF0..=0xFF => 4,
                0xE0..=0xEF => 3,
                _ => 2,
            };
            (bytes.get(at + 1 + length) == Some(&b'\'')).then_some(at + 1 + length)
        }
    }
}

/// Returns the ranges of items under `#[cfg(test)]` in masked code.
fn test_items(code: &str) -> Vec<Range> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("#[cfg(test)]") {
        let body = &code[start..];
        // A declaration such as `mod tests;` or `use …;` ends before any brace.
        let end = match (body.find('{'), body.find(';')) {
            (Some(brace), Some(semicolon)) if semicolon < brace => semicolon + 1,
            (Some(brace), _) => matching_brace(body, brace),
            (None, Some(semicolon)) => semicolon + 1,
            (None, None) => body.len(),
        };
        found.push(start..start + end);
    }
    found
}

fn matching_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Blanks bytes but keeps lines, so that positions stay.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Masked::code(text).as_str().to_owned()
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(code("a // unsafe\nb"), "a          \nb");
        assert_eq!(
            code("a /* x /* unsafe */ y */ b"),
            "a                        b"
        );
        assert_eq!(code(r#"f("unsafe \" x") g"#), r#"f("           ") g"#);
        assert_eq!(code(r##"f(r#"un"safe"#) g"##), r##"f(r#"       "#) g"##);
        assert_eq!(code("b'\"' unsafe"), "b' ' unsafe");
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(
            code(r"('\'', 'x', '\u{1F600}', 'é')"),
            r"('  ', ' ', '         ', '  ')"
        );
    }

    #[test]
    fn an_identifier_that_ends_in_r_begins_no_raw_string() {
        assert_eq!(strings("for x in bar\"a\" {}"), ["a"]);
        assert_eq!(strings(r##"br#"a"b"#"##), ["a\"b"]);
    }

    #[test]
    fn test_modules_are_no_library_code() {
        let text =
            "fn a() { x() }\n#[cfg(test)]\nmod tests {\n fn b() { { y() } }\n}\nfn c() { z() }";
        let library = Masked::library(text);
        assert!(library.find("y").is_empty());
        assert_eq!(library.find("z").len(), 1);
        assert!(Masked::tests_of(text).contains("y()"));
        assert!(!Masked::tests_of(text).contains("z()"));
    }

    #[test]
    fn a_declaration_under_cfg_test_ends_at_its_semicolon() {
        let library = Masked::library("#[cfg(test)]\nmod tests;\nfn c() { z() }");
        assert_eq!(library.find("z").len(), 1);
    }

    #[test]
    fn words_are_found_whole() {
        let masked =
            Masked::code("env::var(x); env::vars(); my_env::var(y); println!(); eprintln!()");
        assert_eq!(masked.find("env::var"), [0]);
        assert_eq!(masked.find("println!").len(), 1);
    }
}
