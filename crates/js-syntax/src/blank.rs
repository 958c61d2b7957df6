//! Replaces parts of a text by blanks, so that everything else keeps its line and column.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::scan::is_line_terminator;

/// The parts of a text that are to go.
pub(crate) struct Blanks<'s> {
    text: &'s str,
    erased: Vec<bool>,
    written: BTreeMap<usize, char>,
}

impl<'s> Blanks<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        Self {
            text,
            erased: vec![false; text.len()],
            written: BTreeMap::new(),
        }
    }

    pub(crate) fn erase(&mut self, range: Range<usize>) {
        if let Some(part) = self.erased.get_mut(range) {
            part.fill(true);
        }
    }

    /// Writes a character of one byte in place of the one at `offset`.
    pub(crate) fn write(&mut self, offset: usize, c: char) {
        self.written.insert(offset, c);
    }

    /// Returns the start of the erased part that ends at `end`, if one does.
    pub(crate) fn start_of_part_before(&self, end: usize) -> Option<usize> {
        let length = self.erased[..end]
            .iter()
            .rev()
            .take_while(|erased| **erased)
            .count();
        (length > 0).then_some(end - length)
    }

    /// Returns the text with a space for each erased character and every line end in place.
    pub(crate) fn apply(&self) -> String {
        self.text
            .char_indices()
            .map(|(offset, c)| match self.written.get(&offset) {
                Some(written) => *written,
                None if self.erased[offset] && !is_line_terminator(c) => ' ',
                None => c,
            })
            .collect()
    }
}

/// Converts byte offsets of one text to those of another that has the same number of characters.
pub(crate) struct Moved {
    /// For each character that takes more bytes in the first text: where it ends there, and by how
    /// many bytes the texts differ from there on.
    shifts: Vec<(u32, u32)>,
}

impl Moved {
    pub(crate) fn between(from: &str, to: &str) -> Self {
        let mut shifts = Vec::new();
        let mut shift = 0;
        for ((offset, before), after) in from.char_indices().zip(to.chars()) {
            let lost = before.len_utf8() - after.len_utf8().min(before.len_utf8());
            if lost > 0 {
                shift += lost;
                let end = offset + before.len_utf8();
                if let (Ok(end), Ok(shift)) = (u32::try_from(end), u32::try_from(shift)) {
                    shifts.push((end, shift));
                }
            }
        }
        Self { shifts }
    }

    /// Returns where a byte of the first text is in the second.
    pub(crate) fn to(&self, offset: u32) -> u32 {
        let passed = self.shifts.partition_point(|(end, _)| *end <= offset);
        let shift = passed
            .checked_sub(1)
            .and_then(|last| self.shifts.get(last))
            .map_or(0, |(_, shift)| *shift);
        offset - shift
    }

    /// Returns where a byte of the second text is in the first.
    pub(crate) fn back(&self, offset: usize) -> usize {
        let passed = self
            .shifts
            .partition_point(|(end, shift)| (end - shift) as usize <= offset);
        let shift = passed
            .checked_sub(1)
            .and_then(|last| self.shifts.get(last))
            .map_or(0, |(_, shift)| *shift);
        offset + shift as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_keep_lines_and_columns() {
        let text = "aé\r\nb\u{2028}c😀d";
        let mut blanks = Blanks::new(text);
        blanks.erase(1..text.len() - 1);
        blanks.write(1, ';');
        assert_eq!(blanks.apply(), "a;\r\n \u{2028}  d");
        assert_eq!(blanks.start_of_part_before(text.len() - 1), Some(1));
        assert_eq!(blanks.start_of_part_before(1), None);
        let moved = Moved::between(text, &blanks.apply());
        let end = u32::try_from(text.len() - 1).unwrap();
        assert_eq!(moved.to(0), 0);
        assert_eq!(moved.to(3), 2);
        assert_eq!(moved.to(end) as usize, blanks.apply().len() - 1);
        assert_eq!(moved.back(blanks.apply().len() - 1), text.len() - 1);
        assert_eq!(moved.back(2), 3);
    }
}
