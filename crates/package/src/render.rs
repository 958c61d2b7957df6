//! Diagnostics as people read them, with an excerpt of the source.

use std::fmt;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity as MietteSeverity,
    SourceCode,
};

use crate::diagnostic::{Diagnostic, Severity};
use crate::text::printable_name;

/// Renders a diagnostic with an excerpt of the source, below `prefix` (the package's folder).
///
/// Nothing but the colours steers a terminal: what an author wrote, and the folder's name, appear
/// sanitised. Colour is the caller's decision; nothing is read from the environment.
pub(crate) fn render(diagnostic: &Diagnostic, prefix: &str, color: bool) -> String {
    let theme = if color {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut text = String::new();
    let shown = Shown::new(diagnostic, prefix);
    let rendered = GraphicalReportHandler::new_themed(theme)
        .with_width(WIDTH)
        .with_links(false)
        .with_context_lines(CONTEXT_LINES)
        .render_report(&mut text, &shown);
    match rendered {
        Ok(()) => text,
        // The sentence is never lost, whatever happens to the picture.
        Err(fmt::Error) => format!("{diagnostic}\n"),
    }
}

/// A diagnostic in the form that the renderer takes.
#[derive(Debug)]
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    headline: String,
    excerpt: Option<(NamedSource<String>, LabeledSpan)>,
}

impl<'a> Shown<'a> {
    fn new(diagnostic: &'a Diagnostic, prefix: &str) -> Self {
        let prefix = printable_name(prefix);
        let file = match (prefix.is_empty(), diagnostic.file().is_empty()) {
            (true, _) => diagnostic.file().to_owned(),
            (false, true) => prefix,
            (false, false) => format!("{prefix}/{}", diagnostic.file()),
        };
        let excerpt = diagnostic.place().map(|place| {
            let (text, span) = place.source.printable(&place.span);
            (
                NamedSource::new(&file, text),
                LabeledSpan::new_primary_with_span(None, span),
            )
        });
        let headline = if excerpt.is_some() || file.is_empty() {
            diagnostic.message().to_owned()
        } else {
            format!("{file}: {}", diagnostic.message())
        };
        Self {
            diagnostic,
            headline,
            excerpt,
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        Some(Box::new(self.diagnostic.id()))
    }

    fn severity(&self) -> Option<MietteSeverity> {
        Some(match self.diagnostic.severity() {
            Severity::Note => MietteSeverity::Advice,
            Severity::Warning => MietteSeverity::Warning,
            Severity::Error => MietteSeverity::Error,
        })
    }

    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        self.diagnostic
            .advice()
            .map(|help| Box::new(help) as Box<dyn fmt::Display + 'b>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt
            .as_ref()
            .map(|(source, _)| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.excerpt.as_ref().map(|(_, label)| {
            Box::new(std::iter::once(label.clone())) as Box<dyn Iterator<Item = LabeledSpan>>
        })
    }
}

/// The width that messages wrap at, in columns.
const WIDTH: usize = 100;

/// The lines shown above and below the one that matters.
const CONTEXT_LINES: usize = 1;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bailiwick_core::is_unprintable;

    use super::*;
    use crate::id::DiagnosticId;
    use crate::text::SourceText;

    #[test]
    fn an_excerpt_shows_the_line_and_the_next_step() {
        let source = Arc::new(SourceText::new(
            "SKILL.md",
            "---\nname: a\nname: b\ndescription: c\n---\n",
        ));
        let diagnostic = Diagnostic::error(
            DiagnosticId::YamlDuplicateKey,
            "the key `name` stands twice",
        )
        .at(&source, 12..16)
        .help("keep one of them");
        insta::assert_snapshot!(render(&diagnostic, "skills/a", false), @r"
        yaml-duplicate-key

          × the key `name` stands twice
           ╭─[skills/a/SKILL.md:3:1]
         2 │ name: a
         3 │ name: b
           · ────
         4 │ description: c
           ╰────
          help: keep one of them
        ");
        assert!(
            render(&diagnostic, "", true).contains("\u{1b}["),
            "colour when asked"
        );
    }

    #[test]
    fn nothing_but_the_colours_steers_a_terminal() {
        let source = Arc::new(SourceText::new(
            "SKILL.md",
            "name: a\u{1b}]0;title\u{7}\rb\n",
        ));
        let placed = Diagnostic::error(DiagnosticId::YamlSyntax, "no\u{1b}[2J").at(&source, 6..7);
        let named = Diagnostic::error(DiagnosticId::PackageLink, "no").in_file("a\u{1b}[2Jb");
        for diagnostic in [&placed, &named] {
            let steers = |c: &char| is_unprintable(*c) && *c != '\n';
            let prefix = "skills/\u{1b}[31m\n\u{202e}evil";
            let plain = render(diagnostic, prefix, false);
            assert_eq!(plain.chars().find(steers), None, "{plain:?}");
            // A colour is an escape, `[`, digits and semicolons, and `m`.
            for piece in render(diagnostic, prefix, true).split('\u{1b}').skip(1) {
                let end = piece
                    .find(|c: char| !matches!(c, '[' | ';' | '0'..='9'))
                    .unwrap();
                assert!(
                    piece.starts_with('[') && piece[end..].starts_with('m'),
                    "{piece:?}"
                );
            }
        }
    }

    #[test]
    fn a_diagnostic_without_a_place_names_the_file() {
        let diagnostic = Diagnostic::warning(
            DiagnosticId::PackageLink,
            "a link is not part of the package",
        )
        .in_file("assets/logo.png");
        insta::assert_snapshot!(render(&diagnostic, "skills/a", false), @r"
        package-link

          ⚠ skills/a/assets/logo.png: a link is not part of the package
        ");
    }
}
