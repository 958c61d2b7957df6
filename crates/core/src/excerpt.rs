//! What is shown of a text that is too long for a reply.

/// The two ends of a text around a mark that says how much lies between and where it is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Excerpt {
    /// What is shown.
    pub text: String,
    /// How many bytes of the text are not.
    pub left_out: usize,
}

impl Excerpt {
    /// Cuts the middle out of a text that is longer than `limit` bytes; a shorter one stays whole.
    ///
    /// Two thirds of the room go to the head and one third to the tail, cut on character
    /// boundaries. With the mark the result has at most `limit` bytes, unless the mark alone has
    /// more.
    ///
    /// # Examples
    ///
    /// ```
    /// use bailiwick_core::Excerpt;
    ///
    /// let excerpt = Excerpt::of(&"x".repeat(1000), 100, "it is artifact `a1`");
    /// assert!(excerpt.text.len() <= 100);
    /// assert!(excerpt.text.contains("bytes left out; it is artifact `a1` …]"));
    /// assert_eq!(Excerpt::of("short", 100, "").left_out, 0);
    /// ```
    pub fn of(text: &str, limit: usize, place: &str) -> Self {
        if text.len() <= limit {
            return Self {
                text: text.to_owned(),
                left_out: 0,
            };
        }
        let mark = |left_out: usize| format!("\n[… {left_out} bytes left out; {place} …]\n");
        // The number in the final mark is smaller than this one, so the mark is never longer.
        let room = limit.saturating_sub(mark(text.len()).len());
        let head = text.floor_char_boundary(room * 2 / 3);
        let tail = text.ceil_char_boundary(text.len() - room / 3);
        let left_out = tail - head;
        Self {
            text: format!("{}{}{}", &text[..head], mark(left_out), &text[tail..]),
            left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_mark_says_how_much_is_left_out_and_where_it_is() {
        let text = format!("{}{}", "é".repeat(100), "z".repeat(300));
        let excerpt = Excerpt::of(&text, 120, "it is gone");
        assert!(excerpt.text.starts_with('é') && excerpt.text.ends_with('z'));
        let mark = format!("[… {} bytes left out; it is gone …]", excerpt.left_out);
        assert!(excerpt.text.contains(&mark), "{}", excerpt.text);
    }

    proptest! {
        #[test]
        fn an_excerpt_fits_and_accounts_for_every_byte(
            text in "\\PC{300,600}",
            limit in 100_usize..300,
        ) {
            let excerpt = Excerpt::of(&text, limit, "elsewhere");
            prop_assert!(excerpt.text.len() <= limit);
            let mark = format!("\n[… {} bytes left out; elsewhere …]\n", excerpt.left_out);
            prop_assert_eq!(excerpt.text.len() - mark.len() + excerpt.left_out, text.len());
        }
    }
}
