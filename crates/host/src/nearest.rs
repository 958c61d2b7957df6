//! The name that a mistyped one was meant to be.

use strsim::osa_distance;

/// Returns the candidate that `word` was most likely meant to be.
///
/// Nothing is better than a guess that misleads: a third of the letters may differ, and at least
/// two.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let letters = word.chars().take(LONGEST + 1).count();
    if letters > LONGEST {
        return None;
    }
    let allowed = (letters / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (osa_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Longer words are no slip of the pen, and comparing them is not free.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_name_that_was_meant_and_does_not_guess() {
        let names = ["fs.read", "fs.glob", "clock"];
        assert_eq!(nearest("fs.raed", names), Some("fs.read"));
        assert_eq!(nearest("clok", names), Some("clock"));
        assert_eq!(nearest("shell.run", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest(&"f".repeat(10_000), names), None);
    }
}
