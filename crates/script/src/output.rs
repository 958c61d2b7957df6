//! What a run wrote, and what of it the model is shown (contracts 5.9).

use std::borrow::Cow;

use bailiwick_core::Excerpt;

/// The captured output of a run: merged in the order of arrival, and by stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) merged: Vec<u8>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) dropped: u64,
}

impl Transcript {
    /// Ends a truncated transcript on a character boundary, counting what that cuts as dropped.
    pub(crate) fn finish(mut self) -> Self {
        if self.dropped > 0 {
            let before = self.merged.len();
            for bytes in [&mut self.merged, &mut self.stdout, &mut self.stderr] {
                bytes.truncate(character_boundary(bytes));
            }
            self.dropped += (before - self.merged.len()) as u64;
        }
        self
    }

    /// Returns the captured bytes with the mark of what was dropped, as they are stored.
    pub(crate) fn stored(&self) -> Cow<'_, [u8]> {
        match self.mark() {
            None => Cow::Borrowed(&self.merged),
            Some(mark) => Cow::Owned([self.merged.as_slice(), mark.as_bytes()].concat()),
        }
    }

    /// Returns the text that a reply of at most `limit` bytes may carry: everything, or the head
    /// and tail around a note of what lies between.
    ///
    /// `clean` is applied before anything is cut, so that nothing it replaces is cut in two.
    pub(crate) fn shown(
        &self,
        limit: usize,
        artifact: &str,
        clean: &impl Fn(String) -> String,
    ) -> String {
        let stdout = clean(printable(&self.stdout));
        let stderr = clean(printable(&self.stderr));
        let mut text = match (stdout.is_empty(), stderr.is_empty()) {
            (true, true) => "(no output)".to_owned(),
            (false, true) => stdout,
            (true, false) => format!("[stderr]\n{stderr}"),
            (false, false) => format!(
                "[stdout]\n{}\n[stderr]\n{stderr}",
                stdout.trim_end_matches('\n')
            ),
        };
        if let Some(mark) = self.mark() {
            text.push_str(&mark);
        }
        excerpt(&text, limit, artifact)
    }

    /// Returns both streams, together at most `limit` bytes: a third is for the standard error
    /// where the output needs the rest.
    pub(crate) fn streams(
        &self,
        limit: usize,
        artifact: &str,
        clean: &impl Fn(String) -> String,
    ) -> (String, String) {
        let stdout = clean(printable(&self.stdout));
        let stderr = clean(printable(&self.stderr));
        let for_stderr = stderr
            .len()
            .min((limit / 3).max(limit.saturating_sub(stdout.len())));
        let for_stdout = limit - for_stderr;
        (
            excerpt(&stdout, for_stdout, artifact),
            excerpt(&stderr, for_stderr, artifact),
        )
    }

    fn mark(&self) -> Option<String> {
        (self.dropped > 0).then(|| format!("\n[output truncated: {} bytes dropped]", self.dropped))
    }
}

/// Shows what fits of a text whose whole is an artifact.
fn excerpt(text: &str, limit: usize, artifact: &str) -> String {
    Excerpt::of(
        text,
        limit,
        &format!("the whole output is artifact {artifact}"),
    )
    .text
}

/// Decodes bytes for a reader: invalid UTF-8 is replaced, control characters are shown as pictures.
pub(crate) fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\u{7f}' => '\u{2421}',
            c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Returns the length without an incomplete last character; bytes that are no UTF-8 at all stay.
fn character_boundary(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(chunk) if is_begun(chunk.invalid()) => bytes.len() - chunk.invalid().len(),
        Some(_) | None => bytes.len(),
    }
}

/// Returns whether bytes are the beginning of a character that needs more of them.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stdout(bytes: &[u8], dropped: u64) -> Transcript {
        Transcript {
            merged: bytes.to_vec(),
            stdout: bytes.to_vec(),
            stderr: Vec::new(),
            dropped,
        }
        .finish()
    }

    #[test]
    fn exactly_the_budget_has_no_mark_and_empty_output_says_so() {
        assert_eq!(stdout(b"abc", 0).shown(100, "a1", &|text| text), "abc");
        assert_eq!(stdout(b"", 0).shown(100, "a1", &|text| text), "(no output)");
        assert_eq!(
            stdout(b"abc", 1).shown(100, "a1", &|text| text),
            "abc\n[output truncated: 1 bytes dropped]"
        );
    }

    #[test]
    fn a_cut_character_counts_as_dropped() {
        let cut = &"aé".as_bytes()[..2];
        assert_eq!(
            stdout(cut, 5).stored().as_ref(),
            b"a\n[output truncated: 6 bytes dropped]"
        );
        let binary = b"\xff\xfe";
        assert_eq!(stdout(binary, 5).merged, binary);
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_and_names_the_artifact() {
        let text = format!("{}{}", "a".repeat(5_000), "z".repeat(5_000));
        let shown = stdout(text.as_bytes(), 0).shown(1_000, "a1", &|text| text);
        assert!(shown.len() <= 1_000 && shown.starts_with("aaa") && shown.ends_with("zzz"));
        assert!(shown.contains("the whole output is artifact a1"), "{shown}");
    }

    #[test]
    fn terminal_control_is_shown_and_not_sent() {
        assert_eq!(
            printable(b"a\x1b[31m\0b\r\nc\x7f\xff"),
            "a\u{241b}[31m\u{2400}b\nc\u{2421}\u{fffd}"
        );
    }

    #[test]
    fn what_is_replaced_is_replaced_before_the_cut() {
        let root = "/secret/root";
        let text = format!("{}{root}/f{}", "a".repeat(600), "z".repeat(600));
        for limit in 200..1_000 {
            let clean = |text: String| text.replace(&format!("{root}/"), "");
            let shown = stdout(text.as_bytes(), 0).shown(limit, "a1", &clean);
            assert!(
                !shown.contains("/secr") && !shown.contains("root"),
                "{shown}"
            );
        }
    }

    proptest! {
        #[test]
        fn streams_share_one_limit(out in "[a-z]{0,900}", err in "[a-z]{0,900}", limit in 400_usize..900) {
            let transcript = Transcript {
                stdout: out.clone().into_bytes(),
                stderr: err.clone().into_bytes(),
                ..Transcript::default()
            };
            let (stdout, stderr) = transcript.streams(limit, "a1", &|text| text);
            prop_assert!(stdout.len() + stderr.len() <= limit);
            if out.len() + err.len() <= limit {
                prop_assert_eq!((stdout, stderr), (out, err));
            }
        }

        #[test]
        fn a_shown_text_is_within_its_limit(text in any::<String>(), limit in 200_usize..400) {
            let shown = stdout(text.repeat(40).as_bytes(), 0).shown(limit, "a1", &|text| text);
            prop_assert!(shown.len() <= limit.max("(no output)".len()));
        }
    }
}
