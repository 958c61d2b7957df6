//! The nearest valid word to one that was mistyped.

/// Returns the candidate that `word` was most likely meant to be.
///
/// Nothing is better than a guess that misleads: a third of the letters may differ, and at least
/// two.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.chars().count() > LONGEST {
        return None;
    }
    let allowed = (word.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Counts the letters to insert, delete or replace, or neighbours to swap, to turn one word into
/// the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = vec![0; to.len() + 1];
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && from[row - 1] == *other && to[column - 1] == *letter;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[to.len()]
}

/// Longer words are no slip of the pen, and comparing them is not free.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_slips_of_the_pen() {
        assert_eq!(distance("wall", "wall"), 0);
        assert_eq!(distance("wal", "wall"), 1);
        assert_eq!(distance("wlal", "wall"), 1);
        assert_eq!(distance("", "wall"), 4);
        assert_eq!(distance("memory", "mémory"), 1);
    }

    #[test]
    fn finds_the_word_that_was_meant_and_does_not_guess() {
        let keys = ["wall", "wall_default", "memory", "cpu"];
        assert_eq!(nearest("wal", keys), Some("wall"));
        assert_eq!(nearest("wall_defualt", keys), Some("wall_default"));
        assert_eq!(nearest("momery", keys), Some("memory"));
        assert_eq!(nearest("threads", keys), None);
        assert_eq!(nearest("x", keys), None);
        assert_eq!(nearest(&"m".repeat(10_000), keys), None);
    }
}
