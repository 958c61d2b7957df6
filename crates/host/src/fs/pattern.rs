//! The patterns of a guest: globs, regular expressions, and numbers.

use bailiwick_core::SkillError;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde::{Deserialize, Deserializer};

use super::ask::Ask;

/// A glob over the paths of a walk.
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
    /// The directories that every match lies beneath.
    prefix: Vec<String>,
}

impl PathGlob {
    /// Compiles a glob over whole paths, in which `*` stays within one name and `**` does not.
    pub(crate) fn new(
        ask: &Ask<'_>,
        pattern: &str,
        pointer: &'static str,
    ) -> Result<Self, SkillError> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.starts_with('/') || pattern.split('/').any(|name| name == "..") {
            let reason = "a glob is relative and has no `..`; give the directory on its own";
            return Err(ask.reject(pointer, reason));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| ask.reject(pointer, format!("it is no glob: {}", error.kind())))?;
        let mut names: Vec<&str> = pattern.split('/').collect();
        names.pop();
        let is_literal = |name: &&str| !name.contains(['*', '?', '[', ']', '{', '}', '\\', ',']);
        Ok(Self {
            matcher: glob.compile_matcher(),
            prefix: names
                .into_iter()
                .take_while(is_literal)
                .map(str::to_owned)
                .collect(),
        })
    }

    /// Compiles a glob as ignore files have them: without a `/` it is about the name alone.
    pub(crate) fn of_names(
        ask: &Ask<'_>,
        pattern: &str,
        pointer: &'static str,
    ) -> Result<Self, SkillError> {
        if pattern.contains('/') {
            return Self::new(ask, pattern, pointer);
        }
        Self::new(ask, &format!("**/{pattern}"), pointer)
    }

    pub(crate) fn is_match(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }

    /// Returns whether something beneath a directory can match.
    pub(crate) fn reaches(&self, folder: &str) -> bool {
        folder
            .split('/')
            .zip(&self.prefix)
            .all(|(name, wanted)| name == wanted)
    }
}

/// Compiles a regular expression over single lines, for an engine whose time is linear.
pub(crate) fn regex(
    ask: &Ask<'_>,
    pattern: &str,
    literal: bool,
    ignore_case: bool,
) -> Result<RegexMatcher, SkillError> {
    let pointer = "/query/pattern";
    if !literal {
        // The searcher's own error is a drawing of several lines.
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        let parsed = parser.parse(pattern);
        parsed.map_err(|error| ask.reject(pointer, explain(&error)))?;
    }
    RegexMatcherBuilder::new()
        .fixed_strings(literal)
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_REGEX)
        .build(pattern)
        .map_err(|error| ask.reject(pointer, format!("it cannot be searched for: {error}")))
}

fn explain(error: &regex_syntax::Error) -> String {
    let (kind, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span()),
        other => return format!("it is no regular expression: {other}"),
    };
    let at = span.start.column;
    format!("it is no regular expression: {kind}, at character {at}")
}

/// Reads a whole number, which a guest may have written as `1.0`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the schema bounds the number and says that it is whole"
    )]
    let of_float = |number: f64| number as u64;
    Ok(number.and_then(|number| number.as_u64().or_else(|| number.as_f64().map(of_float))))
}

/// The most memory of a compiled expression, and of the cache of its automaton.
const MAX_REGEX: usize = 2 * 1024 * 1024;
