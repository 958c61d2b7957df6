//! Text that somebody else wrote, made safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use bailiwick::core::is_unprintable;

/// Shows control characters as pictures and replaces what reorders or hides text.
///
/// Line ends and tabs stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text
        .chars()
        .any(|c| is_unprintable(c) && c != '\n' && c != '\t')
    {
        return Cow::Borrowed(text);
    }
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| if is_unprintable(c) { shown(c) } else { c })
        .collect::<String>()
        .into()
}

/// Writes the characters that [`printable`] replaces as JSON escapes, which mean the same.
///
/// `json` is serialised JSON, in which they stand in strings alone.
pub(crate) fn escaped_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| is_unprintable(c) && c != '\n') {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unprintable(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// Quotes a word of a command that is shown to be copied, where a shell would read it otherwise.
pub(crate) fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ':' | ',');
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

fn shown(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{7f}' => '\u{2421}',
        c if u32::from(c) < 0x20 => char::from_u32(0x2400 + u32::from(c)).unwrap_or(REPLACEMENT),
        _ => REPLACEMENT,
    }
}

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_not_sent() {
        assert_eq!(printable("plain\n\ttext é"), "plain\n\ttext é");
        assert_eq!(
            printable("a\x1b[31m\0\r\nb\u{9b}2J\u{202e}c\x7f"),
            "a␛[31m␀\nb\u{fffd}2J\u{fffd}c␡"
        );
        for hidden in [
            '\u{61c}',
            '\u{200b}',
            '\u{2060}',
            '\u{206f}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert_eq!(
                printable(&format!("a{hidden}b")),
                "a\u{fffd}b",
                "{hidden:?}"
            );
        }
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_it_otherwise() {
        for (word, quoted) in [
            ("/a/b-1.toml", "/a/b-1.toml"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = serde_json::json!({ "a": "x\u{9b}\u{202e}\u{7f}\u{1b}\u{e0041}é" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped_json(&text);
        assert!(
            !escaped.chars().any(|c| is_unprintable(c) && c != '\n'),
            "{escaped:?}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }
}
