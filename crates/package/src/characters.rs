//! Characters that hide or imitate.

use std::ops::Range;

/// Returns whether a character shows nothing and can carry or reorder text: zero-width, bidirectional
/// and tag characters. Joiners, variation selectors and the tags of a flag are judged in context
/// by [`invisible_in`].
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{E0000}'..='\u{E007F}')
}

/// Finds the first invisible character that has no honest use where it stands.
///
/// Not flagged: variation selectors, the joiner inside an emoji, joiners between letters of
/// scripts that need them, and the tag characters of a flag such as Scotland's.
pub(crate) fn invisible_in(text: &str) -> Option<(usize, char)> {
    let flags = flag_tags(text);
    let mut before = None;
    for (offset, c) in text.char_indices() {
        let joiner = matches!(c, '\u{200C}' | '\u{200D}');
        let honest_joiner = before.is_some_and(|b: char| !b.is_ascii() && !is_latin(b));
        if (joiner && !honest_joiner)
            || (is_invisible(c) && !flags.iter().any(|flag| flag.contains(&offset)))
        {
            return Some((offset, c));
        }
        before = Some(c);
    }
    None
}

/// Finds the first word whose letters come from scripts that imitate each other.
///
/// A text may use several scripts; one word that mixes Latin, Greek, Cyrillic, Armenian or
/// Cherokee letters is how a look-alike is made. The micro sign and `μ` are units.
pub(crate) fn mixed_script_in(text: &str) -> Option<Range<usize>> {
    let mut word_start = None;
    let mut seen: Option<Script> = None;
    let mut mixed = false;
    for (offset, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() {
            word_start = word_start.or(Some(offset));
            if let Some(script) = Script::of(c) {
                mixed |= seen.is_some_and(|earlier| earlier != script);
                seen = Some(script);
            }
        } else {
            if let (Some(start), true) = (word_start, mixed) {
                return Some(start..offset);
            }
            (word_start, seen, mixed) = (None, None, false);
        }
    }
    None
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Script {
    Armenian,
    Cherokee,
    Cyrillic,
    Greek,
    Latin,
}

impl Script {
    fn of(c: char) -> Option<Self> {
        match c {
            'μ' | 'µ' => None,
            '\u{0370}'..='\u{03FF}' | '\u{1F00}'..='\u{1FFF}' => Some(Self::Greek),
            '\u{0400}'..='\u{052F}'
            | '\u{1C80}'..='\u{1C8F}'
            | '\u{2DE0}'..='\u{2DFF}'
            | '\u{A640}'..='\u{A69F}' => Some(Self::Cyrillic),
            '\u{0531}'..='\u{058F}' => Some(Self::Armenian),
            '\u{13A0}'..='\u{13FF}' | '\u{AB70}'..='\u{ABBF}' => Some(Self::Cherokee),
            _ if is_latin(c) => Some(Self::Latin),
            _ => None,
        }
    }
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || (c.is_alphabetic()
            && matches!(c, '\u{00C0}'..='\u{024F}' | '\u{1E00}'..='\u{1EFF}' | '\u{FF21}'..='\u{FF5A}'))
}

/// Finds the ranges of tag characters that end a black flag, the one honest use of them.
fn flag_tags(text: &str) -> Vec<Range<usize>> {
    let mut flags = Vec::new();
    for (start, _) in text.match_indices('\u{1F3F4}') {
        let tags = start + '\u{1F3F4}'.len_utf8();
        let end = text[tags..]
            .char_indices()
            .find(|(_, c)| !matches!(c, '\u{E0061}'..='\u{E007A}' | '\u{E0030}'..='\u{E0039}'));
        // A region has at most six letters and digits before the tag that ends it.
        if let Some((length, '\u{E007F}')) = end
            && length <= 6 * 4
        {
            flags.push(tags..tags + length + '\u{E007F}'.len_utf8());
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found() {
        for text in [
            "a\u{200B}b",
            "a\u{202E}b",
            "a\u{200D}b",
            "x\u{E0041}",
            "\u{1F3F4}\u{E0041}\u{E0042}",
            "\u{2066}x",
        ] {
            assert!(invisible_in(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn emoji_flags_and_scripts_that_join_are_not_flagged() {
        for text in [
            "✔\u{FE0F} done",
            "text \u{2714}\u{FE0E}",
            "👩\u{200D}💻",
            "👩\u{1F3FD}\u{200D}🔬",
            "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
            "می\u{200C}خواهم",
            "naïve café 日本語",
        ] {
            assert_eq!(invisible_in(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_flag_hides_no_message() {
        let long: String = "\u{1F3F4}"
            .chars()
            .chain(
                "hidden order"
                    .chars()
                    .map(|c| char::from_u32(0xE0000 + c as u32).unwrap()),
            )
            .chain(['\u{E007F}'])
            .collect();
        assert!(invisible_in(&long).is_some());
    }

    #[test]
    fn only_a_word_that_mixes_look_alikes_is_flagged() {
        assert_eq!(mixed_script_in("pay with p\u{0430}ypal now"), Some(9..16));
        assert_eq!(mixed_script_in("читает README и git"), None);
        assert_eq!(mixed_script_in("5 μs, µm, λ calculus, H₂O"), None);
        assert!(mixed_script_in("ends with gοod").is_some());
    }
}
