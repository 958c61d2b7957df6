//! What stands between the tokens of a text: blanks and comments.

use oxc_ast::ast::Program;
use oxc_span::Span;

/// A text with its comments, to find the tokens between two nodes.
pub(crate) struct Trivia<'s> {
    text: &'s str,
    comments: Vec<(usize, usize)>,
}

impl<'s> Trivia<'s> {
    pub(crate) fn new(program: &'s Program<'_>) -> Self {
        let ends = |span: Span| (span.start as usize, span.end as usize);
        Self {
            text: program.source_text,
            comments: program
                .comments
                .iter()
                .map(|comment| ends(comment.span))
                .collect(),
        }
    }

    pub(crate) fn text(&self) -> &'s str {
        self.text
    }

    /// Returns where the next token begins, at or after an offset.
    pub(crate) fn skip(&self, mut at: usize) -> usize {
        let mut comment = self.comments.partition_point(|(start, _)| *start < at);
        loop {
            let rest = &self.text[at..];
            let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
            at += blanks;
            match self.comments.get(comment) {
                Some((start, end)) if *start == at => {
                    at = *end;
                    comment += 1;
                }
                Some(_) | None => return at,
            }
        }
    }

    /// Returns the word that begins at an offset.
    pub(crate) fn word_at(&self, at: usize) -> Option<&'s str> {
        let rest = &self.text[at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        (length > 0).then(|| &rest[..length])
    }

    /// Returns how many bytes the character at an offset takes.
    pub(crate) fn width_at(&self, at: usize) -> usize {
        self.text[at..].chars().next().map_or(1, char::len_utf8)
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}
