//! Readers by range, line and pattern, over any stream, with bounded memory.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use bailiwick_core::Line;

/// Reads at most `length` bytes from `offset`; fewer only at the end.
pub(crate) fn range(mut stream: impl Read + Seek, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let end = stream.seek(SeekFrom::End(0))?;
    stream.seek(SeekFrom::Start(offset.min(end)))?;
    let mut bytes = Vec::new();
    stream.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads at most `count` lines from line `first`; the first line is 1.
pub(crate) fn lines(stream: impl BufRead, first: u64, count: u64) -> io::Result<Vec<Line>> {
    let mut found = Vec::new();
    let mut scan = Scan::new(stream, b"");
    while (found.len() as u64) < count {
        let Some(line) = scan.next_line()? else {
            break;
        };
        if line.number >= first {
            found.push(line.show());
        }
    }
    Ok(found)
}

/// Reads at most `limit` lines that contain `needle`, which is looked for in the whole of a line,
/// also beyond what is shown of it.
pub(crate) fn grep(stream: impl BufRead, needle: &str, limit: usize) -> io::Result<Vec<Line>> {
    let mut found = Vec::new();
    let mut scan = Scan::new(stream, needle.as_bytes());
    while found.len() < limit {
        let Some(line) = scan.next_line()? else {
            break;
        };
        if line.matches {
            found.push(line.show());
        }
    }
    Ok(found)
}

/// Walks a stream line by line, keeping the start of the line and the tail that a match may need.
struct Scan<'a, R> {
    stream: R,
    needle: &'a [u8],
    number: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// What was seen of one line.
struct Seen<'a> {
    number: u64,
    head: &'a [u8],
    length: u64,
    matches: bool,
}

impl<'a, R: BufRead> Scan<'a, R> {
    fn new(stream: R, needle: &'a [u8]) -> Self {
        Self {
            stream,
            needle,
            number: 0,
            head: Vec::new(),
            tail: Vec::new(),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Seen<'_>>> {
        self.head.clear();
        self.tail.clear();
        let mut length = 0;
        let mut matches = self.needle.is_empty();
        let mut ended = false;
        let mut any = false;
        while !ended {
            let chunk = match self.stream.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            ended = end.is_some();
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let used = part.len() + usize::from(ended);
            length += part.len() as u64;
            let room = MAX_LINE - self.head.len();
            self.head.extend_from_slice(&part[..part.len().min(room)]);
            matches = matches || completes(&mut self.tail, part, self.needle);
            self.stream.consume(used);
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Seen {
            number: self.number,
            head: &self.head,
            length,
            matches,
        }))
    }
}

/// Returns whether `needle` lies in `tail` followed by `part`, and keeps in `tail` what the next
/// part could complete.
fn completes(tail: &mut Vec<u8>, part: &[u8], needle: &[u8]) -> bool {
    let overlap = needle.len().saturating_sub(1);
    if contains(part, needle) {
        return true;
    }
    // A match across the border takes less than a needle from either side.
    tail.extend_from_slice(&part[..part.len().min(overlap)]);
    if contains(tail, needle) {
        return true;
    }
    if part.len() >= overlap {
        tail.clear();
        tail.extend_from_slice(&part[part.len() - overlap..]);
    } else {
        tail.drain(..tail.len().saturating_sub(overlap));
    }
    false
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    let Some((&first, rest)) = needle.split_first() else {
        return true;
    };
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        if bytes[from + at + 1..].starts_with(rest) {
            return true;
        }
        from += at + 1;
    }
    false
}

impl Seen<'_> {
    /// Shows the line, cut with a mark when it is longer than the longest that is shown.
    fn show(&self) -> Line {
        if self.length <= self.head.len() as u64 {
            return Line::new(self.number, self.head);
        }
        let whole = whole_characters(self.head);
        let left_out = self.length - whole.len() as u64;
        let cut = [whole, format!("… [cut: {left_out} more bytes]").as_bytes()].concat();
        Line::new(self.number, &cut)
    }
}

/// Drops a character at the end that a cut has split.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let tail = &bytes[bytes.len().saturating_sub(4)..];
    let split = tail
        .utf8_chunks()
        .last()
        .map_or(0, |chunk| chunk.invalid().len());
    // Bytes that are no character at all are shown as they are, replaced one by one.
    let starts_one = split > 0 && tail[tail.len() - split] >= 0xC0;
    if starts_one {
        &bytes[..bytes.len() - split]
    } else {
        bytes
    }
}

/// The longest part of a line that is held and shown, in bytes.
const MAX_LINE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    /// The stream that the scanner is hardest put to: a few bytes at a time.
    fn trickle(bytes: &[u8], capacity: usize) -> impl BufRead {
        BufReader::with_capacity(capacity, Cursor::new(bytes.to_vec()))
    }

    fn model_lines(bytes: &[u8]) -> Vec<Line> {
        let mut parts: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
        if parts.last().is_some_and(|last| last.is_empty()) {
            parts.pop();
        }
        (1..)
            .zip(parts)
            .map(|(number, part)| Line::new(number, part))
            .collect()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(b"aab\n\r\xc3\xa9".to_vec()), 0..80)
    }

    proptest! {
        #[test]
        fn a_range_is_what_a_slice_is(bytes: Vec<u8>, offset in 0_usize..90, length in 0_usize..90) {
            let from = bytes.len().min(offset);
            let to = bytes.len().min(offset + length);
            prop_assert_eq!(range(Cursor::new(&bytes), offset as u64, length as u64).unwrap(), &bytes[from..to]);
        }

        #[test]
        fn lines_are_what_splitting_gives(bytes in text(), first in 0_u64..12, count in 0_usize..12, capacity in 1_usize..9) {
            let expected: Vec<_> = model_lines(&bytes)
                .into_iter()
                .filter(|line| line.number >= first)
                .take(count)
                .collect();
            prop_assert_eq!(lines(trickle(&bytes, capacity), first, count as u64).unwrap(), expected);
        }

        #[test]
        fn the_number_of_lines_is_what_core_counts(bytes in text()) {
            let all = lines(&bytes[..], 1, u64::MAX).unwrap();
            prop_assert_eq!(all.len() as u64, bailiwick_core::count_lines(&bytes));
        }

        #[test]
        fn grep_is_what_searching_each_line_gives(bytes in text(), needle in "[abé]{0,4}", limit in 0_usize..6, capacity in 1_usize..9) {
            let expected: Vec<_> = model_lines(&bytes)
                .into_iter()
                .zip(bytes.split(|&byte| byte == b'\n'))
                .filter(|(_, raw)| {
                    let mut windows = raw.windows(needle.len().max(1));
                    needle.is_empty() || windows.any(|window| window == needle.as_bytes())
                })
                .map(|(line, _)| line)
                .take(limit)
                .collect();
            prop_assert_eq!(grep(trickle(&bytes, capacity), &needle, limit).unwrap(), expected);
        }
    }

    #[test]
    fn a_long_line_is_cut_with_a_mark_and_searched_to_its_end() {
        let long = format!(
            "{}é{}needle\nshort\n",
            "x".repeat(MAX_LINE - 1),
            "y".repeat(50_000)
        );
        for capacity in [1, 7, 8192] {
            let found = grep(trickle(long.as_bytes(), capacity), "needle", 10).unwrap();
            assert_eq!(found.len(), 1);
            let left_out = 2 + 50_000 + "needle".len();
            let shown = format!("{}… [cut: {left_out} more bytes]", "x".repeat(MAX_LINE - 1));
            assert!(
                found[0].text == shown,
                "{}",
                &found[0].text[MAX_LINE - 10..]
            );
            assert_eq!(
                lines(trickle(long.as_bytes(), capacity), 2, 1).unwrap()[0].text,
                "short"
            );
        }
    }

    #[test]
    fn a_line_of_exactly_the_longest_is_whole() {
        let line = "x".repeat(MAX_LINE);
        assert_eq!(lines(line.as_bytes(), 1, 1).unwrap()[0].text, line);
        let more = format!("{line}y");
        assert!(
            lines(more.as_bytes(), 1, 1).unwrap()[0]
                .text
                .ends_with("… [cut: 1 more bytes]")
        );
    }

    #[test]
    fn a_range_far_beyond_the_end_is_empty() {
        assert!(
            range(Cursor::new(b"abc"), u64::MAX, u64::MAX)
                .unwrap()
                .is_empty()
        );
    }
}
