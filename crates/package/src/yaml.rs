//! The subset of YAML that front matter and `bailiwick.yaml` may use, with positions.
//!
//! Every scalar is text: `yes`, `1.0` and `null` are what the author typed. Anchors, aliases,
//! tags, merge keys, directives, a second document, duplicate keys and control characters are
//! refused where they stand; flow collections are accepted.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;
use serde_saphyr::granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, options,
};

use crate::diagnostic::Diagnostic;
use crate::id::DiagnosticId;
use crate::text::SourceText;

/// A value and where it stands in its file.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Range<usize>,
}

/// The shapes of a value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Text),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A scalar.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Whether it stands without quotes and is no block.
    pub(crate) plain: bool,
}

/// One key of a mapping with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Value {
    /// Returns what the value is, with its article.
    pub(crate) fn shape(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }

    /// Returns the value as JSON; every scalar is a string.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => Json::String(text.text.clone()),
            Self::List(nodes) => nodes.iter().map(|node| node.value.to_json()).collect(),
            Self::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.node.value.to_json()))
                    .collect(),
            ),
        }
    }
}

/// Parses one document that must be a mapping.
///
/// `text` stands at byte `base` of the source. Depth is bounded by the parser's own options, and
/// the caller has capped the length.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else stands here is handed on and refused unless it is a value"
)]
pub(crate) fn parse_mapping(
    source: &Arc<SourceText>,
    text: &str,
    base: usize,
) -> Result<Vec<Entry>, Diagnostic> {
    let options = options! {
        disallow_directives: true,
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut events = Events {
        parser: Parser::new_from_str_with_options(text, options),
        source,
        text,
        base,
    };
    let mut root = None;
    loop {
        let (event, span) = events.next()?;
        match event {
            Event::StreamStart | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            Event::DocumentStart(_, _) if root.is_some() => {
                return Err(events.refuse(
                    DiagnosticId::YamlSecondDocument,
                    "a second document begins here",
                    span,
                ));
            }
            Event::DocumentStart(_, _) => {
                let (event, span) = events.next()?;
                root = Some(events.node(event, span)?);
            }
            event => {
                root = Some(events.node(event, span)?);
            }
        }
    }
    match root {
        Some(Node {
            value: Value::Map(entries),
            ..
        }) => Ok(entries),
        Some(node) => Err(events
            .refuse(
                DiagnosticId::YamlNotMapping,
                &format!("the top level is {} and not a mapping", node.value.shape()),
                node.span,
            )
            .help("write lines of the form `key: value`")),
        None => Err(events
            .refuse(DiagnosticId::YamlNotMapping, "it is empty", base..base)
            .help("write lines of the form `key: value`")),
    }
}

/// The events of a text, each with its span in the file.
struct Events<'a, I> {
    parser: I,
    source: &'a Arc<SourceText>,
    text: &'a str,
    base: usize,
}

impl<'a, I: Iterator<Item = Result<(Event<'a>, Span), ScanError>>> Events<'a, I> {
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), Diagnostic> {
        match self.parser.next() {
            Some(Ok((event, span))) => {
                let span = span.byte_range().unwrap_or_default();
                Ok((event, self.base + span.start..self.base + span.end))
            }
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, self.base..self.base)),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever is no value is refused"
    )]
    fn node(&mut self, event: Event<'a>, span: Range<usize>) -> Result<Node, Diagnostic> {
        if event.tag().is_some() {
            return Err(self.refuse(DiagnosticId::YamlTag, "tags are not allowed", span));
        }
        if event.anchor_id().is_some_and(|id| id > 0) {
            return Err(self.refuse(DiagnosticId::YamlAnchor, "anchors are not allowed", span));
        }
        let start = span.clone();
        let value = match event {
            Event::Scalar(text, style, _, _) => self.scalar(&text, style, &span)?,
            Event::SequenceStart(_, _, _) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Value::List(list),
                        (event, span) => list.push(self.node(event, span)?),
                    }
                }
            }
            Event::MappingStart(_, _, _) => {
                let mut map = Vec::new();
                let mut keys = BTreeSet::new();
                loop {
                    match self.next()? {
                        (Event::MappingEnd, _) => break Value::Map(map),
                        (event, span) => map.push(self.entry(event, span, &mut keys)?),
                    }
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(self.refuse(DiagnosticId::YamlAlias, "aliases are not allowed", span));
            }
            other => {
                return Err(self.refuse(
                    DiagnosticId::YamlSyntax,
                    &format!("a value was expected and {other:?} was found"),
                    span,
                ));
            }
        };
        Ok(Node { value, span: start })
    }

    fn entry(
        &mut self,
        event: Event<'a>,
        span: Range<usize>,
        keys: &mut BTreeSet<String>,
    ) -> Result<Entry, Diagnostic> {
        let key = self.node(event, span)?;
        let Value::Text(Text { text, plain }) = key.value else {
            return Err(self.refuse(
                DiagnosticId::YamlKeyNotText,
                &format!("a key is {} and not a text", key.value.shape()),
                key.span,
            ));
        };
        if plain && text == "<<" {
            return Err(self.refuse(
                DiagnosticId::YamlMergeKey,
                "merge keys are not allowed",
                key.span,
            ));
        }
        if !keys.insert(text.clone()) {
            return Err(self
                .refuse(
                    DiagnosticId::YamlDuplicateKey,
                    &format!("the key `{text}` stands twice"),
                    key.span,
                )
                .help("keep one of them; which one a reader takes is otherwise luck"));
        }
        let (event, span) = self.next()?;
        Ok(Entry {
            key: text,
            key_span: key.span,
            node: self.node(event, span)?,
        })
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        span: &Range<usize>,
    ) -> Result<Value, Diagnostic> {
        // An escape can spell what the raw text may not hold.
        if let Some(c) = text
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\n' | '\t'))
        {
            return Err(self.refuse(
                DiagnosticId::TextControlCharacter,
                &format!(
                    "the value holds the control character U+{:04X}",
                    u32::from(c)
                ),
                span.clone(),
            ));
        }
        let plain = style == ScalarStyle::Plain;
        // A value that is not there has no characters in the source.
        let absent = plain && self.slice(span).is_empty();
        Ok(Value::Text(Text {
            text: if absent {
                String::new()
            } else {
                text.to_owned()
            },
            plain,
        }))
    }

    fn slice(&self, span: &Range<usize>) -> &str {
        self.text
            .get(span.start - self.base..span.end - self.base)
            .unwrap_or_default()
    }

    fn syntax(&self, error: &ScanError) -> Diagnostic {
        let start = self.base + error.marker().byte_offset().unwrap_or_default();
        let kind = error.kind();
        let tab = matches!(
            kind,
            ErrorKind::TabNotAllowed
                | ErrorKind::TabInBlockIndentation
                | ErrorKind::TabAtBlockScalarStart
                | ErrorKind::TabInIndentation
                | ErrorKind::TabInPlainScalar
        );
        let (id, help) = if tab {
            (DiagnosticId::YamlTab, "indent with spaces")
        } else if matches!(kind, ErrorKind::RecursionLimitExceeded) {
            (DiagnosticId::YamlTooDeep, "nest at most 16 collections")
        } else {
            (
                DiagnosticId::YamlSyntax,
                "quote a value that holds `: `, ` #` or begins with a special character",
            )
        };
        self.refuse(id, &error.info(), start..start + 1).help(help)
    }

    fn refuse(&self, id: DiagnosticId, message: &str, span: Range<usize>) -> Diagnostic {
        Diagnostic::error(id, message).at(self.source, span)
    }
}

/// The deepest nesting of block collections, and of flow collections within them.
const MAX_DEPTH: usize = 16;
