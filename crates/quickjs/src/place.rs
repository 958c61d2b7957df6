//! Places in a script: the engine counts columns in bytes, everything else here in characters.

use std::borrow::Cow;
use std::ops::Range;

/// Returns a stack of the engine with the columns of a script in characters.
pub(crate) fn in_characters<'s>(stack: &'s str, path: &str, javascript: &str) -> Cow<'s, str> {
    if javascript.is_ascii() {
        return Cow::Borrowed(stack);
    }
    let lines: Vec<&str> = javascript.split('\n').collect();
    let converted = stack.split_inclusive('\n').map(|frame| {
        let column = find(frame, path).and_then(|place| {
            let line = lines.get(place.line.checked_sub(1)?)?;
            let before = line.get(..place.column.checked_sub(1)?)?;
            Some((place.digits, before.chars().count() + 1))
        });
        match column {
            Some((Range { start, end }, column)) => {
                Cow::Owned(format!("{}{column}{}", &frame[..start], &frame[end..]))
            }
            None => Cow::Borrowed(frame),
        }
    });
    Cow::Owned(converted.collect())
}

/// Returns the line and column of the first frame that is in a file.
pub(crate) fn first(stack: &str, path: &str) -> Option<(usize, usize)> {
    let place = stack.lines().find_map(|frame| find(frame, path))?;
    Some((place.line, place.column))
}

/// What a frame says of its place.
struct Place {
    line: usize,
    column: usize,
    /// Where in the frame the column stands.
    digits: Range<usize>,
}

/// Reads `file:line:column` out of a frame.
fn find(frame: &str, path: &str) -> Option<Place> {
    if !frame.trim_start().starts_with("at ") {
        return None;
    }
    // The last one: before it stands the name of a function, which the author chooses.
    let rest = &frame[frame.rfind(path)? + path.len()..];
    let (line, rest) = rest.strip_prefix(':')?.split_once(':')?;
    let length = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let start = frame.len() - rest.len();
    Some(Place {
        line: line.parse().ok()?,
        column: rest[..length].parse().ok()?,
        digits: start..start + length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_all_else_stays() {
        let javascript = "async () => {\n  'é€'; f();\n  g();\n}";
        let stack = "    at f (a.js:2:13)\n    at a.js:9:9 (a.js:3:3)\n    at g (native)\n\
             Caused by: Error: at a.js:2:13\n    at h (a.js:2:6)\n    at i (a.js:9:9)\n    \
             at j (a.js:2:99)\n    at k (a.js:0:0)\n    at l (a.js:2:5)";
        assert_eq!(
            in_characters(stack, "a.js", javascript),
            "    at f (a.js:2:10)\n    at a.js:9:9 (a.js:3:3)\n    at g (native)\n\
             Caused by: Error: at a.js:2:13\n    at h (a.js:2:5)\n    at i (a.js:9:9)\n    \
             at j (a.js:2:99)\n    at k (a.js:0:0)\n    at l (a.js:2:5)"
        );
    }

    #[test]
    fn the_first_place_is_that_of_the_first_frame_in_the_file() {
        let stack = "    at f (native)\n    at g (a.js:3:4)\n    at h (a.js:5:6)\n";
        assert_eq!(first(stack, "a.js"), Some((3, 4)));
        assert_eq!(first(stack, "b.js"), None);
        assert_eq!(first("    at a.js:1\n    at a.js:1:x", "a.js"), None);
    }
}
