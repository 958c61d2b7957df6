//! Where the front matter of a file begins and ends (contracts 7.3).

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::id::DiagnosticId;
use crate::text::{BOM, Line, Lines, SourceText};

/// Where the fences of a file are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fences {
    /// The lines between the fences.
    pub(crate) inner: Range<usize>,
    /// Everything below the closing fence.
    pub(crate) body: Range<usize>,
}

/// Why a file has no front matter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    id: DiagnosticId,
    message: &'static str,
    help: &'static str,
    pub(crate) span: Range<usize>,
}

impl Refusal {
    pub(crate) fn into_diagnostic(self, source: &Arc<SourceText>) -> Diagnostic {
        Diagnostic::error(self.id, self.message)
            .at(source, self.span)
            .help(self.help)
    }
}

/// Splits a file at its fences: lines of exactly `---` and trailing blanks.
pub(crate) fn split(text: &str) -> Result<Fences, Refusal> {
    let mut lines = Lines::new(text);
    let start = if text.starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    };
    let first = lines.next().unwrap_or(Line {
        start: 0,
        text: "",
        next: 0,
    });
    let opening = first.text.trim_start_matches(BOM);
    if !is_fence(opening) {
        let span = start..first.start + first.text.len();
        return Err(if opening.trim().is_empty() {
            Refusal {
                id: DiagnosticId::FrontMatterBlankFirstLine,
                message: "the first line is blank and should be `---`",
                help: "remove what stands above the front matter",
                span,
            }
        } else {
            Refusal {
                id: DiagnosticId::FrontMatterMissing,
                message: "the first line is not `---`",
                help: "begin the file with `---`, `name: …`, `description: …`, `---`, each on its line",
                span,
            }
        });
    }
    let mut ellipsis = false;
    for line in lines {
        if is_fence(line.text) {
            return Ok(Fences {
                inner: first.next..line.start,
                body: line.next..text.len(),
            });
        }
        ellipsis |= line.text.trim_end() == "...";
    }
    Err(Refusal {
        id: DiagnosticId::FrontMatterUnclosed,
        message: "no line of exactly `---` closes the front matter",
        help: if ellipsis {
            "close it with `---`; a line `...` does not close it"
        } else {
            "put a line of exactly `---`, not indented, below the last key"
        },
        span: start..start + FENCE.len(),
    })
}

pub(crate) fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t']) == FENCE
}

/// The text of a fence.
pub(crate) const FENCE: &str = "---";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> Result<(&str, &str), DiagnosticId> {
        split(text)
            .map(|fences| (&text[fences.inner], &text[fences.body]))
            .map_err(|refusal| refusal.id)
    }

    #[test]
    fn a_fence_is_a_line_of_three_dashes_and_trailing_blanks() {
        assert_eq!(parts("---\na: b\n---\nbody"), Ok(("a: b\n", "body")));
        assert_eq!(
            parts("--- \t\r\na: b\r\n---\r\nbody"),
            Ok(("a: b\r\n", "body"))
        );
        assert_eq!(parts("---\ra: b\r---\rbody"), Ok(("a: b\r", "body")));
        assert_eq!(parts("\u{FEFF}---\na: b\n---"), Ok(("a: b\n", "")));
        assert_eq!(parts("---\n---\n"), Ok(("", "")));
        assert_eq!(
            parts("---\nd: a --- b\n# ---\n---\n"),
            Ok(("d: a --- b\n# ---\n", ""))
        );
    }

    #[test]
    fn everything_else_has_its_refusal() {
        for (text, id) in [
            ("", DiagnosticId::FrontMatterBlankFirstLine),
            (
                "\n---\na: b\n---\n",
                DiagnosticId::FrontMatterBlankFirstLine,
            ),
            ("----\na: b\n----\n", DiagnosticId::FrontMatterMissing),
            (" ---\na: b\n---\n", DiagnosticId::FrontMatterMissing),
            ("# Title\n", DiagnosticId::FrontMatterMissing),
            ("---\na: b\n", DiagnosticId::FrontMatterUnclosed),
            ("---\na: b\n  ---\n", DiagnosticId::FrontMatterUnclosed),
            ("---\na: b\n--- text\n", DiagnosticId::FrontMatterUnclosed),
            ("---\na: b\n...\n", DiagnosticId::FrontMatterUnclosed),
        ] {
            assert_eq!(parts(text), Err(id), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_split_are_the_file(inner in "[ -~é\n\r\t]{0,80}", body in "[ -~é\n\r-]{0,80}") {
            let text = format!("---\n{inner}\n---\n{body}");
            let fences = split(&text).unwrap();
            prop_assert!(text[fences.inner.end..fences.body.start].starts_with(FENCE));
            prop_assert_eq!(fences.body.end, text.len());
            prop_assert!(!Lines::new(&text[fences.inner]).any(|line| is_fence(line.text)));
        }
    }
}
