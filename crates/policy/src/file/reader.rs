//! Reads typed values from the tables of a policy file, and collects what is wrong.

use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::paths::resolve;
use super::source::{MOST_PROBLEMS, Problem, Source};
use crate::limits::{LimitAxis, LimitUnit};
use crate::nearest::nearest;
use crate::order::Widening;
use crate::origin::Origin;
use crate::path::HostPath;
use crate::units::{ByteSize, TimeSpan};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

impl<T> Located<T> {
    pub(crate) fn map<U>(self, to: impl FnOnce(T) -> U) -> Located<U> {
        Located {
            value: to(self.value),
            span: self.span,
        }
    }
}

/// The place that values are read into: what is wrong is noted, and reading goes on.
#[derive(Debug)]
pub(crate) struct Reader<'t> {
    source: Source<'t>,
    base: HostPath,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(source: Source<'t>, base: HostPath, problems: Vec<Problem>) -> Self {
        Self {
            source,
            base,
            problems,
        }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    pub(crate) fn origin(&self, span: &Range<usize>) -> Origin {
        self.source.origin(span)
    }

    /// Notes a problem.
    pub(crate) fn reject(&mut self, span: &Range<usize>, message: impl AsRef<str>) {
        self.note(|source| source.problem(span, message));
    }

    /// Notes a problem and the next step.
    pub(crate) fn reject_with(
        &mut self,
        span: &Range<usize>,
        message: impl AsRef<str>,
        hint: impl AsRef<str>,
    ) {
        self.note(|source| source.problem(span, message).with_hint(hint));
    }

    /// Notes that a rule asks for more than its ceiling.
    pub(crate) fn widened(&mut self, span: &Range<usize>, widening: Widening, hint: &str) {
        self.note(|source| {
            let widening = widening.asked_by(source.origin(span));
            let problem = source.problem(span, widening.to_string()).with_hint(hint);
            problem.with_widening(widening)
        });
    }

    fn note(&mut self, problem: impl FnOnce(&Source<'t>) -> Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem(&self.source));
        }
    }

    pub(crate) fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<Located<String>> {
        let value = table.get(key)?;
        self.as_text(value)
    }

    pub(crate) fn flag(&mut self, table: &DeTable<'_>, key: &str) -> Option<Located<bool>> {
        let value = table.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong_type(value, "`true` or `false`");
        }
        flag.map(|flag| Located {
            value: flag,
            span: value.span(),
        })
    }

    pub(crate) fn count(&mut self, table: &DeTable<'_>, key: &str) -> Option<Located<u64>> {
        let value = table.get(key)?;
        let count = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
        if count.is_none() {
            self.wrong_type(value, "a whole number without a unit");
        }
        count.map(|count| Located {
            value: count,
            span: value.span(),
        })
    }

    /// Reads a whole number, or the word that says there is none.
    pub(crate) fn count_or(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        word: &str,
    ) -> Option<Located<Option<u64>>> {
        let value = table.get(key)?;
        match value.get_ref() {
            DeValue::Integer(_) => self.count(table, key).map(|count| count.map(Some)),
            DeValue::String(text) if text == word => Some(Located {
                value: None,
                span: value.span(),
            }),
            DeValue::String(text) => {
                let message = format!("`{}` is neither `{word}` nor a number", text.escape_debug());
                let hint = format!("write `\"{word}\"`, or a whole number without quotes");
                self.reject_with(&value.span(), message, hint);
                None
            }
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                self.wrong_type(value, &format!("`\"{word}\"` or a whole number"));
                None
            }
        }
    }

    /// Reads a text that parses into `T`.
    pub(crate) fn parsed<T: FromStr<Err: std::error::Error>>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
    ) -> Option<Located<T>> {
        let text = self.text(table, key)?;
        self.parse(text)
    }

    /// Reads a list of texts that parse into `T`, each at most once.
    pub(crate) fn parsed_list<T: Clone + FromStr<Err: std::error::Error> + Ord>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
    ) -> Option<Vec<Located<T>>> {
        let texts = self.texts(table, key)?;
        let values = texts
            .into_iter()
            .filter_map(|text| self.parse(text))
            .collect();
        Some(self.once(values))
    }

    /// Reads one of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Option<Located<T>> {
        let text = self.text(table, key)?;
        self.choose(text, words)
    }

    /// Reads a list of a few words, each at most once.
    pub(crate) fn words<T: Copy + Ord>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Vec<Located<T>> {
        let texts = self.texts(table, key).unwrap_or_default();
        let chosen = texts
            .into_iter()
            .filter_map(|text| self.choose(text, words))
            .collect();
        self.once(chosen)
    }

    fn choose<T: Copy>(
        &mut self,
        text: Located<String>,
        words: &[(&'static str, T)],
    ) -> Option<Located<T>> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.value) {
            return Some(text.map(|_| *value));
        }
        let known = words
            .iter()
            .map(|(word, _)| format!("`{word}`"))
            .collect::<Vec<_>>();
        let message = format!(
            "`{}` is none of {}",
            text.value.escape_debug(),
            known.join(", ")
        );
        if let Some(meant) = nearest(&text.value, words.iter().map(|(word, _)| *word)) {
            self.reject_with(&text.span, message, format!("did you mean `{meant}`?"));
        } else {
            self.reject(&text.span, message);
        }
        None
    }

    /// Keeps the first of equal values, and notes the others.
    pub(crate) fn once<T: Clone + Ord>(&mut self, values: Vec<Located<T>>) -> Vec<Located<T>> {
        let mut seen = BTreeSet::new();
        let mut first = Vec::new();
        for value in values {
            if seen.insert(value.value.clone()) {
                first.push(value);
            } else {
                self.reject(
                    &value.span,
                    "this stands in the list already and has no effect",
                );
            }
        }
        first
    }

    /// Reads the bound of a limit, in the unit of its axis and above zero.
    pub(crate) fn amount(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        unit: LimitUnit,
    ) -> Option<Located<u64>> {
        let amount = match unit {
            LimitUnit::Count => self.count(table, key)?,
            LimitUnit::Size => self.parsed::<ByteSize>(table, key)?.map(ByteSize::bytes),
            LimitUnit::Time => self
                .parsed::<TimeSpan>(table, key)?
                .map(|span| u64::try_from(span.duration().as_nanos()).unwrap_or(u64::MAX)),
        };
        if amount.value == 0 {
            self.reject(
                &amount.span,
                format!("`{key}` of nothing would end every run at once"),
            );
            return None;
        }
        Some(amount)
    }

    /// Reads every limit that stands in the table.
    pub(crate) fn amounts(&mut self, table: &DeTable<'_>) -> Vec<(LimitAxis, Located<u64>)> {
        LimitAxis::ALL
            .into_iter()
            .filter_map(|axis| {
                let amount = self.amount(table, axis.as_str(), axis.unit())?;
                let least = axis.least();
                if amount.value < least {
                    let least = axis.show(least);
                    let message =
                        format!("`{axis}` below {least} has no room for the note that says what was left out");
                    self.reject_with(&amount.span, message, format!("write at least `{least}`"));
                }
                Some((axis, amount))
            })
            .collect()
    }

    /// Reads a path that is absolute or relative to the policy file's folder.
    pub(crate) fn path(&mut self, table: &DeTable<'_>, key: &str) -> Option<Located<HostPath>> {
        let text = self.text(table, key)?;
        self.resolve(text)
    }

    /// Reads a list of paths.
    pub(crate) fn paths(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
    ) -> Option<Vec<Located<HostPath>>> {
        let texts = self.texts(table, key)?;
        Some(
            texts
                .into_iter()
                .filter_map(|text| self.resolve(text))
                .collect(),
        )
    }

    pub(crate) fn texts(&mut self, table: &DeTable<'_>, key: &str) -> Option<Vec<Located<String>>> {
        let value = table.get(key)?;
        let Some(items) = value.get_ref().as_array() else {
            self.wrong_type(value, "a list of texts such as `[\"…\"]`");
            return None;
        };
        Some(items.iter().filter_map(|item| self.as_text(item)).collect())
    }

    pub(crate) fn resolve(&mut self, text: Located<String>) -> Option<Located<HostPath>> {
        match resolve(&text.value, &self.base) {
            Ok(path) => Some(text.map(|_| path)),
            Err(rejected) => {
                self.reject_with(&text.span, rejected.message, rejected.hint);
                None
            }
        }
    }

    fn parse<T: FromStr<Err: std::error::Error>>(
        &mut self,
        text: Located<String>,
    ) -> Option<Located<T>> {
        match text.value.parse() {
            Ok(value) => Some(text.map(|_| value)),
            Err(error) => {
                self.reject(&text.span, error.to_string());
                None
            }
        }
    }

    fn as_text(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Located<String>> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong_type(value, "a text in quotes");
        }
        text.map(|text| Located {
            value: text.to_owned(),
            span: value.span(),
        })
    }

    fn wrong_type(&mut self, value: &Spanned<DeValue<'_>>, expected: &str) {
        let found = value.get_ref().type_str();
        self.reject(
            &value.span(),
            format!("expected {expected} and found a value of type {found}"),
        );
    }
}
