//! Parsing, on a stack that is large enough for every source that passes the measure of depth.

use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::SourceType;

use crate::error::SyntaxErrorKind;
use crate::language::Language;

/// Something that a source is refused for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Finding {
    pub(crate) offset: usize,
    pub(crate) kind: SyntaxErrorKind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether the parser itself could not go on.
    pub(crate) is_of_grammar: bool,
}

impl Finding {
    pub(crate) fn new(
        offset: u32,
        kind: SyntaxErrorKind,
        message: impl Into<String>,
        hint: &str,
    ) -> Self {
        Self {
            offset: offset as usize,
            kind,
            message: message.into(),
            hint: Some(hint.to_owned()),
            is_of_grammar: false,
        }
    }
}

/// A tree with what the parser holds against it.
pub(crate) struct Parsed<'a> {
    /// Empty when the parser gave up.
    pub(crate) program: Program<'a>,
    pub(crate) findings: Vec<Finding>,
}

/// Parses a text as a module: what is strict everywhere, and knows no comments of HTML.
pub(crate) fn parse<'a>(allocator: &'a Allocator, text: &'a str, language: Language) -> Parsed<'a> {
    let source_type = match language {
        Language::JavaScript => SourceType::mjs(),
        Language::TypeScript => SourceType::ts(),
    };
    let options = ParseOptions {
        parse_regular_expression: true,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(allocator, text, source_type)
        .with_options(options)
        .parse();
    let findings = parsed
        .diagnostics
        .errors()
        .map(|diagnostic| finding(diagnostic, true))
        .collect();
    Parsed {
        program: parsed.program,
        findings,
    }
}

/// Binds names to their declarations; with `checks`, finds what the grammar alone allows.
pub(crate) fn bind<'a>(program: &'a Program<'a>, checks: bool) -> (Scoping, Vec<Finding>) {
    let bound = SemanticBuilder::new()
        .with_check_syntax_error(checks)
        .build(program);
    let findings = bound
        .diagnostics
        .errors()
        .map(|diagnostic| finding(diagnostic, false))
        .collect();
    (bound.semantic.into_scoping(), findings)
}

fn finding(diagnostic: &OxcDiagnostic, is_of_grammar: bool) -> Finding {
    Finding {
        offset: diagnostic
            .labels
            .first()
            .map_or(0, |label| label.span().start as usize),
        kind: SyntaxErrorKind::Syntax,
        message: fragment(&diagnostic.message),
        hint: diagnostic.help.as_ref().map(|help| fragment(help)),
        is_of_grammar,
    }
}

/// Turns a sentence into a lower-case fragment without a full stop.
fn fragment(sentence: &str) -> String {
    let mut characters = sentence.trim().trim_end_matches('.').chars();
    let Some(first) = characters.next() else {
        return "it does not parse".to_owned();
    };
    let rest = characters.as_str();
    if rest.starts_with(char::is_lowercase) {
        first.to_lowercase().chain(rest.chars()).collect()
    } else {
        format!("{first}{rest}")
    }
}

/// Runs work on a thread with a large stack.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NoAnswer> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("bailiwick-syntax".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map_err(|_| NoAnswer::NotStarted)?;
        thread.join().map_err(|_| NoAnswer::Panicked)
    })
}

/// Why work on a thread has no result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoAnswer {
    NotStarted,
    Panicked,
}

/// The stack of a parsing thread. It is reserved, and used only as far as a source nests: the
/// worst construct takes about 3 KiB for each token that [`MAX_DEPTH`](crate::depth::MAX_DEPTH)
/// counts when nothing is optimised, so this is some twenty times what is needed.
pub(crate) const STACK_BYTES: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_become_fragments() {
        assert_eq!(fragment("Unexpected token."), "unexpected token");
        assert_eq!(fragment("`a` is wrong"), "`a` is wrong");
        assert_eq!(fragment("JSX is off"), "JSX is off");
        assert_eq!(fragment(""), "it does not parse");
    }

    #[test]
    fn a_panic_of_the_work_is_no_panic_here() {
        let answer = on_large_stack(|| {
            let none = std::hint::black_box(None::<u8>);
            none.unwrap()
        });
        assert_eq!(answer, Err(NoAnswer::Panicked));
        assert_eq!(on_large_stack(|| 7), Ok(7));
    }
}
