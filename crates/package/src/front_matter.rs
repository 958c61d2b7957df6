//! The front matter of `SKILL.md`: its checks and the one lenient repair (contracts 7.3).

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::decode::{check_characters, decode};
use crate::diagnostic::Diagnostic;
use crate::fence::{FENCE, Fences, is_fence, split};
use crate::id::DiagnosticId;
use crate::text::{Lines, SourceText};
use crate::yaml::{self, Entry, Text, Value};

/// Which rules a skill is held to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "one profile never stands for another without a decision"
)]
pub enum Profile {
    /// The six keys of the open standard and nothing else.
    Standard,
    /// Those, the keys of tool skills, and one lenient repair; unknown keys are kept and reported.
    #[default]
    Tool,
}

impl Profile {
    /// Returns the profile's word, such as `tool`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Tool => "tool",
        }
    }
}

/// Parsed front matter.
#[derive(Debug)]
pub(crate) struct FrontMatter {
    /// The file up to the end of the front matter, for diagnostics.
    pub(crate) source: Arc<SourceText>,
    /// The keys, in the author's order.
    pub(crate) entries: Vec<Entry>,
    /// Where the keys stand in the file.
    pub(crate) span: Range<usize>,
    /// The rest of the file.
    pub(crate) body: Range<usize>,
}

impl FrontMatter {
    /// Reads the front matter of a file's bytes.
    pub(crate) fn parse(
        bytes: &[u8],
        file: &str,
        profile: Profile,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let text = decode(bytes, file, MAX_FILE, found)?;
        match Self::read(text, file, profile, found) {
            Ok(front_matter) => Some(front_matter),
            Err(diagnostic) => {
                found.push(diagnostic);
                None
            }
        }
    }

    fn read(
        text: &str,
        file: &str,
        profile: Profile,
        found: &mut Vec<Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        let head = |end: usize| {
            Arc::new(SourceText::new(
                file,
                &text[..text.floor_char_boundary(end)],
            ))
        };
        let fences = split(text).map_err(|refusal| {
            let source = head(refusal.span.end.max(EXCERPT));
            refusal.into_diagnostic(&source)
        })?;
        let source = head(fences.body.start);
        if fences.inner.len() > MAX_FRONT_MATTER {
            return Err(Diagnostic::error(
                DiagnosticId::FrontMatterTooLarge,
                format!(
                    "the front matter has {} bytes and may have 65,536",
                    fences.inner.len()
                ),
            )
            .at(&source, 0..0)
            .help("move the text below the closing `---`"));
        }
        check_characters(&source, &fences.inner)?;
        let inner = &text[fences.inner.clone()];
        let entries = match yaml::parse_mapping(&source, inner, fences.inner.start) {
            Ok(entries) => entries,
            Err(error) => match profile {
                Profile::Standard => return Err(error),
                Profile::Tool => repaired(&source, &fences.inner, error, found)?,
            },
        };
        second_document(&source, text, &fences, &entries)?;
        Ok(Self {
            source,
            entries,
            span: fences.inner,
            body: fences.body,
        })
    }
}

/// Tries the one lenient repair: an unquoted description that holds `: ` is read as text.
///
/// The value is masked by as many letters, so that every other position stays true.
fn repaired(
    source: &Arc<SourceText>,
    inner: &Range<usize>,
    error: Diagnostic,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<Entry>, Diagnostic> {
    let text = &source.text()[inner.clone()];
    let Some(value) = unquoted_description(text) else {
        return Err(error);
    };
    let mut masked = text.to_owned();
    masked.replace_range(value.clone(), &"x".repeat(value.len()));
    let Ok(mut entries) = yaml::parse_mapping(source, &masked, inner.start) else {
        return Err(error);
    };
    let Some(entry) = entries.iter_mut().find(|entry| entry.key == DESCRIPTION) else {
        return Err(error);
    };
    entry.node.value = Value::Text(Text {
        text: text[value.clone()].to_owned(),
        plain: true,
    });
    let span = inner.start + value.start..inner.start + value.end;
    found.push(
        Diagnostic::warning(
            DiagnosticId::FrontMatterRepaired,
            "the description holds `: ` without quotes and was read as text",
        )
        .at(source, span)
        .help("quote the description; other hosts refuse the file"),
    );
    Ok(entries)
}

/// Finds a description of one line, without quotes, that YAML takes for a nested mapping.
fn unquoted_description(text: &str) -> Option<Range<usize>> {
    let mut lines = Lines::new(text);
    let line = lines.find(|line| {
        line.text
            .strip_prefix(DESCRIPTION)
            .is_some_and(|rest| rest.starts_with(": "))
    })?;
    let continues = lines
        .next()
        .is_some_and(|next| next.text.starts_with([' ', '\t']));
    let value = line.text[DESCRIPTION.len() + 1..].trim();
    let value = value
        .find(" #")
        .map_or(value, |cut| value[..cut].trim_end());
    let starts_plainly = value.starts_with(|c: char| c.is_alphanumeric());
    if continues || !starts_plainly || !(value.contains(": ") || value.ends_with(':')) {
        return None;
    }
    let start = line.start + line.text.find(value)?;
    Some(start..start + value.len())
}

/// Refuses a file whose required keys stand below the closing fence: its author thinks that two
/// documents are one.
fn second_document(
    source: &Arc<SourceText>,
    text: &str,
    fences: &Fences,
    entries: &[Entry],
) -> Result<(), Diagnostic> {
    let below = &text[fences.body.clone()];
    let mut lines = Lines::new(below).take(EXCERPT_LINES);
    let keys: Vec<&str> = lines
        .by_ref()
        .take_while(|line| !is_fence(line.text))
        .filter_map(|line| line.text.split_once(':').map(|(key, _)| key))
        .collect();
    let closed = lines.next().is_some() || below.trim_end().ends_with(FENCE);
    let strayed = ["name", DESCRIPTION]
        .into_iter()
        .find(|key| keys.contains(key) && !entries.iter().any(|entry| entry.key == *key));
    match strayed {
        Some(key) if closed => Err(Diagnostic::error(
            DiagnosticId::YamlSecondDocument,
            format!("the front matter ends here, and `{key}` stands in a second document below"),
        )
        .at(source, fences.inner.end..fences.inner.end + FENCE.len())
        .help("remove this `---`")),
        Some(_) | None => Ok(()),
    }
}

const DESCRIPTION: &str = "description";

/// The longest front matter, in bytes (contracts 7.3).
const MAX_FRONT_MATTER: usize = 64 * 1024;

/// The longest `SKILL.md`, in bytes (contracts 7.3).
pub(crate) const MAX_FILE: usize = 1024 * 1024;

/// How much of a file without front matter a diagnostic may quote, in bytes.
const EXCERPT: usize = 1024;

/// How many lines below the front matter are searched for a second document.
const EXCERPT_LINES: usize = 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_plain_description_of_one_line_is_repaired() {
        let value = |text: &str| unquoted_description(text).map(|span| text[span].to_owned());
        assert_eq!(value("description: a: b # c\n").as_deref(), Some("a: b"));
        assert_eq!(
            value("name: x\ndescription:  Use when: asked\nversion: 1\n").as_deref(),
            Some("Use when: asked")
        );
        for text in [
            "description: 'a: b'\n",
            "description: a\n",
            "description: a: b\n  more\n",
            "description: |\n  a: b\n",
            "summary: a: b\n",
            "description: &x a: b\n",
        ] {
            assert_eq!(value(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for profile in [Profile::Standard, Profile::Tool] {
                let mut found = Vec::new();
                let parsed = FrontMatter::parse(&bytes, "SKILL.md", profile, &mut found);
                prop_assert!(parsed.is_some() || !found.is_empty());
            }
        }

        #[test]
        fn no_front_matter_makes_the_parser_panic(inner in "([a-c:\\-\\[\\]{},&*!|>'\"#%@`?<~ \n\t\r\u{1}\u{FEFF}é]|description: |\\\\x1b){0,60}") {
            let text = format!("---\n{inner}\n---\n");
            for profile in [Profile::Standard, Profile::Tool] {
                let mut found = Vec::new();
                if FrontMatter::parse(text.as_bytes(), "SKILL.md", profile, &mut found).is_none() {
                    prop_assert!(found.iter().any(|d| d.position().is_some()), "{found:?}");
                }
            }
        }
    }
}
