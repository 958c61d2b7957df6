//! How large a result may become, as JSON.

use serde_json::Value;

/// Why a result is not complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Bound {
    /// As many results as the call asked for.
    Limit,
    /// As many bytes as one result, or one search, may have.
    Bytes,
    /// As many directory entries as one walk looks at.
    Entries,
    /// A directory lies deeper than a walk goes.
    Depth,
}

impl Bound {
    /// Returns the word in the result.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Bytes => "bytes",
            Self::Entries => "entries",
            Self::Depth => "depth",
        }
    }

    /// Writes into a result whether it is complete, and what bounds it.
    pub(crate) fn write(bound: Option<Self>, result: &mut Value) {
        result["truncated"] = bound.is_some().into();
        if let Some(bound) = bound {
            result["truncatedBy"] = bound.as_str().into();
        }
    }
}

/// Counts down the bytes that a result may still have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) const fn new() -> Self {
        Self(MAX_RESULT)
    }

    /// Takes bytes, or nothing when there are not enough.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }

    pub(crate) const fn left(self) -> usize {
        self.0
    }
}

/// Counts the bytes of a text within a JSON string.
pub(crate) fn json_bytes(text: &str) -> usize {
    text.chars().map(char_bytes).sum()
}

/// Returns the longest beginning of a text that fits into some bytes of a JSON string.
pub(crate) fn fitting(text: &str, bytes: usize) -> &str {
    let mut left = bytes;
    for (index, character) in text.char_indices() {
        match left.checked_sub(char_bytes(character)) {
            Some(less) => left = less,
            None => return &text[..index],
        }
    }
    text
}

const fn char_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    }
}

/// The most bytes of a result's own content. A guest is handed 1 MiB of JSON per host call unless
/// the host says otherwise; the rest is for the names and numbers around the content.
pub(crate) const MAX_RESULT: usize = 960 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_are_counted_as_they_are_written(text in any::<String>(), cap in 0_usize..64) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(json_bytes(&text) + 2, written.len());
            let cut = fitting(&text, cap);
            prop_assert!(json_bytes(cut) <= cap && text.starts_with(cut));
        }
    }
}
