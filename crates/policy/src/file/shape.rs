//! Checks the keys of a policy file against the list of fields, before any value is read.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fields::{Field, Mechanism, fields};
use super::source::{MOST_PROBLEMS, Problem, Source};
use crate::nearest::nearest;

/// Reports every key that is unknown, not built, or a table where a value belongs or the reverse.
pub(crate) fn check(source: &Source<'_>, root: &DeTable<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    Shape {
        source,
        problems: &mut problems,
    }
    .table(&mut Vec::new(), root);
    problems
}

struct Shape<'s, 't> {
    source: &'s Source<'t>,
    problems: &'s mut Vec<Problem>,
}

impl Shape<'_, '_> {
    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) {
        for (key, value) in table {
            if self.problems.len() >= MOST_PROBLEMS {
                return;
            }
            let name: &str = key.get_ref();
            let found = children(path).find(|(segment, _)| names(segment, name));
            let Some((segment, place)) = found else {
                self.unknown(path, key.span(), name);
                continue;
            };
            path.push(segment.to_owned());
            match place {
                Place::Key(field) => self.key(field, key.span()),
                Place::Table => self.section(path, key, value),
            }
            path.pop();
        }
    }

    /// A key that is built is read later, which checks the type of its value.
    fn key(&mut self, field: &Field, span: Range<usize>) {
        match field.mechanism() {
            Mechanism::NotBuilt(needs) => self.not_built(field.path(), span, needs),
            Mechanism::Built(_) => {}
        }
    }

    fn section(
        &mut self,
        path: &mut Vec<String>,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        // A table of which nothing is built would be accepted empty, and mean nothing.
        if let Some(needs) = nothing_built(path) {
            let shown = path.join(".");
            return self.not_built(&shown, key.span(), needs);
        }
        let repeated = path.last().is_some_and(|segment| segment.ends_with("[]"));
        let tables: Option<Vec<_>> = match (repeated, value.get_ref()) {
            (false, DeValue::Table(table)) => Some(vec![table]),
            (true, DeValue::Array(array)) => {
                array.iter().map(|item| item.get_ref().as_table()).collect()
            }
            (_, _) => None,
        };
        let name = key.get_ref();
        match tables {
            Some(tables) => tables.into_iter().for_each(|table| self.table(path, table)),
            None if repeated => {
                let problem = self
                    .source
                    .problem(&key.span(), format!("`{name}` is a list of tables"));
                self.problems
                    .push(problem.with_hint(format!("start each one with `[[{name}]]`")));
            }
            None => {
                let message = format!("`{name}` is a table and no value");
                self.problems
                    .push(self.source.problem(&key.span(), message));
            }
        }
    }

    fn not_built(&mut self, path: &str, span: Range<usize>, needs: &str) {
        let message = format!("`{path}` has no effect in this build: it needs {needs}");
        let problem = self.source.problem(&span, message);
        self.problems
            .push(problem.with_hint("remove it: a rule that is not enforced is refused"));
    }

    fn unknown(&mut self, path: &[String], span: Range<usize>, name: &str) {
        let table = match path.last().map(String::as_str) {
            None => "at the top of the file".to_owned(),
            Some("skill[]") => "in [[skill]]".to_owned(),
            Some(_) => format!("in `{}`", path.join(".")),
        };
        let message = format!("unknown key `{}` {table}", name.escape_debug());
        let problem = self.source.problem(&span, message);
        let siblings: Vec<_> = children(path).map(|(segment, _)| segment).collect();
        let plain = siblings
            .iter()
            .map(|segment| segment.trim_end_matches("[]"));
        let hint = if let Some(meant) = nearest(name, plain.clone()) {
            format!("did you mean `{meant}`?")
        } else if let Some(elsewhere) = elsewhere(path, name) {
            format!("did you mean `{elsewhere}`?")
        } else {
            format!("the keys here are {}", plain.collect::<Vec<_>>().join(", "))
        };
        self.problems.push(problem.with_hint(hint));
    }
}

enum Place {
    Key(&'static Field),
    Table,
}

/// Lists what may stand directly in the table at `path`, each once.
fn children(path: &[String]) -> impl Iterator<Item = (&'static str, Place)> {
    let depth = path.len();
    let mut seen = Vec::new();
    beneath(path).filter_map(move |field| {
        let mut rest = field.segments().skip(depth);
        let segment = rest.next()?;
        if seen.contains(&segment) {
            return None;
        }
        seen.push(segment);
        let place = if rest.next().is_some() {
            Place::Table
        } else {
            Place::Key(field)
        };
        Some((segment, place))
    })
}

/// Lists the fields in the table at `path` and in the tables inside it.
fn beneath(path: &[String]) -> impl Iterator<Item = &'static Field> {
    let path = path.to_vec();
    fields().iter().filter(move |field| {
        let mut segments = field.segments();
        path.iter()
            .all(|wanted| segments.next() == Some(wanted.as_str()))
    })
}

/// Returns what a table needs of which no field is built.
fn nothing_built(path: &[String]) -> Option<&'static str> {
    let mut needed = None;
    for field in beneath(path) {
        match field.mechanism() {
            Mechanism::Built(_) => return None,
            Mechanism::NotBuilt(needs) => needed = Some(needs),
        }
    }
    needed
}

/// Finds a key of the same name in a table inside this one, or else in any.
fn elsewhere(path: &[String], name: &str) -> Option<String> {
    let has_name = |field: &&Field| field.segments().last() == Some(name);
    if let Some(inside) = beneath(path).find(has_name) {
        return Some(
            inside
                .segments()
                .skip(path.len())
                .collect::<Vec<_>>()
                .join("."),
        );
    }
    fields()
        .iter()
        .find(has_name)
        .map(|field| field.path().to_owned())
}

/// Says whether a segment of a field's path stands for the key `name`.
fn names(segment: &str, name: &str) -> bool {
    segment.starts_with('<') || segment.trim_end_matches("[]") == name
}
