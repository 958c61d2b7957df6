//! `fs.grep`: the lines that match a regular expression.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use bailiwick_core::SkillError;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask::{Ask, ask};
use super::budget::{Bound, Budget, json_bytes};
use super::ignored::Rules;
use super::pattern::{PathGlob, regex};
use super::walk::{MAX_ENTRIES, Walk};
use crate::member::{Member, MemberCall, Needs, Parameter};
use crate::open::open_file;
use crate::work::Stop;

pub(crate) fn member() -> Result<Member, SkillError> {
    Member::builder(
        "fs.grep",
        "Searches files for lines that match a regular expression, with lines around them.",
    )
    .parameter(Parameter::required(
        "query",
        "{ pattern: string; path?: string; glob?: string; literal?: boolean; \
         ignoreCase?: boolean; before?: number; after?: number; limit?: number; \
         hidden?: boolean; ignored?: boolean }",
        json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string", "minLength": 1, "maxLength": 4096,
                    "description": "A regular expression without look-around and backreferences.",
                },
                "path": {
                    "type": "string", "minLength": 1, "maxLength": 4096,
                    "description": "A file or directory; the call's own directory by default.",
                },
                "glob": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "Which files; without a `/` it is about the name alone.",
                },
                "literal": {
                    "type": "boolean",
                    "description": "The pattern is the text itself.",
                },
                "ignoreCase": { "type": "boolean" },
                "before": { "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT },
                "after": { "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_MATCHES,
                    "description": "The most matching lines; 200 by default.",
                },
                "hidden": { "type": "boolean" },
                "ignored": { "type": "boolean" },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
    ))
    .returns(
        "{ matches: { path: string; line: number; column: number; text: string; cut?: true; \
         before?: string[]; after?: string[] }[]; filesSearched: number; binaryFiles: number; \
         skipped: number; truncated: boolean; truncatedBy?: string }",
    )
    .needs(Needs::Roots)
    .build(grep)
}

#[derive(Deserialize)]
struct Arguments {
    query: Query,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "options of a guest, each true or false on its own"
)]
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Query {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    literal: bool,
    ignore_case: bool,
    #[serde(deserialize_with = "super::pattern::whole")]
    before: Option<u64>,
    #[serde(deserialize_with = "super::pattern::whole")]
    after: Option<u64>,
    #[serde(deserialize_with = "super::pattern::whole")]
    limit: Option<u64>,
    hidden: bool,
    ignored: bool,
}

async fn grep(call: MemberCall) -> Result<Value, SkillError> {
    let Arguments { query } = call.parse()?;
    ask(call, move |ask| search(ask, &query)).await
}

fn search(ask: &Ask<'_>, query: &Query) -> Result<Value, SkillError> {
    let matcher = regex(ask, &query.pattern, query.literal, query.ignore_case)?;
    let glob = query
        .glob
        .as_deref()
        .map(|glob| PathGlob::of_names(ask, glob, "/query/glob"))
        .transpose()?;
    let mut search = Search::new(ask.stop, &matcher, query);
    let base = query.path.as_deref().unwrap_or(".");
    let place = ask.locate(base, "/query/path")?;
    let (bound, unread) = if place.is_dir().map_err(|o| ask.refuse(base, o))? {
        let dir = place.open_dir().map_err(|o| ask.refuse(base, o))?;
        let rules = if query.ignored {
            Rules::default()
        } else {
            Rules::above(&place, ask.stop)?
        };
        let walk = Walk {
            stop: ask.stop,
            rules,
            hidden: query.hidden,
            ignored: query.ignored,
            max_entries: MAX_ENTRIES,
        };
        // A path of the result can be read as it stands.
        let prefix = match base.trim_end_matches('/') {
            "." => String::new(),
            base => format!("{base}/"),
        };
        let end = walk.run(
            &dir,
            |folder| glob.as_ref().is_none_or(|glob| glob.reaches(folder)),
            |found| {
                if glob.as_ref().is_some_and(|glob| !glob.is_match(found.path)) {
                    return Ok(ControlFlow::Continue(()));
                }
                let Ok((file, _)) = open_file(found.dir, Path::new(found.name), false) else {
                    search.skipped += 1;
                    return Ok(ControlFlow::Continue(()));
                };
                search.file(file, &format!("{prefix}{}", found.path))
            },
        )?;
        (end.bound, end.skipped)
    } else {
        let (file, _) = place.open_file().map_err(|o| ask.refuse(base, o))?;
        (search.file(file, base)?.break_value(), 0)
    };
    Ok(search.finish(bound, unread))
}

/// A search over files, with what it found so far.
struct Search<'a> {
    stop: &'a Stop,
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    with_before: bool,
    with_after: bool,
    limit: u64,
    budget: Budget,
    /// The bytes that may still be read.
    unread: u64,
    matches: Vec<Match>,
    searched: u64,
    binary: u64,
    skipped: u64,
}

impl<'a> Search<'a> {
    fn new(stop: &'a Stop, matcher: &'a RegexMatcher, query: &Query) -> Self {
        let lines = |wanted: Option<u64>| usize::try_from(wanted.unwrap_or(0)).unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(lines(query.before))
            .after_context(lines(query.after))
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        Self {
            stop,
            matcher,
            searcher,
            with_before: query.before.is_some(),
            with_after: query.after.is_some(),
            limit: query.limit.unwrap_or(DEFAULT_MATCHES),
            budget: Budget::new(),
            unread: MAX_SEARCHED,
            matches: Vec::new(),
            searched: 0,
            binary: 0,
            skipped: 0,
        }
    }

    /// Searches one file; a file that turns out to be binary has no matches.
    fn file(&mut self, file: File, path: &str) -> Result<ControlFlow<Bound>, SkillError> {
        let before = (self.matches.len(), self.budget);
        let reader = Bounded {
            file,
            stop: self.stop,
            unread: &mut self.unread,
        };
        let mut sink = Lines {
            matcher: self.matcher,
            path,
            limit: self.limit,
            budget: &mut self.budget,
            matches: &mut self.matches,
            before: Vec::new(),
            bound: None,
            is_binary: false,
        };
        let searched = self.searcher.search_reader(self.matcher, reader, &mut sink);
        let (bound, is_binary) = (sink.bound, sink.is_binary);
        self.stop.check()?;
        if searched.is_err() && self.unread == 0 {
            self.searched += 1;
            return Ok(ControlFlow::Break(Bound::Bytes));
        }
        if is_binary || searched.is_err() {
            self.matches.truncate(before.0);
            self.budget = before.1;
            *(if is_binary {
                &mut self.binary
            } else {
                &mut self.skipped
            }) += 1;
            return Ok(ControlFlow::Continue(()));
        }
        self.searched += 1;
        Ok(bound.map_or(ControlFlow::Continue(()), ControlFlow::Break))
    }

    fn finish(self, bound: Option<Bound>, unread: u64) -> Value {
        let (before, after) = (self.with_before, self.with_after);
        let matches: Vec<Value> = self
            .matches
            .into_iter()
            .map(|found| found.json(before, after))
            .collect();
        let mut result = json!({
            "matches": matches,
            "filesSearched": self.searched,
            "binaryFiles": self.binary,
            "skipped": self.skipped + unread,
        });
        Bound::write(bound, &mut result);
        result
    }
}

struct Match {
    path: String,
    line: u64,
    column: usize,
    text: String,
    is_cut: bool,
    before: Vec<String>,
    after: Vec<String>,
}

impl Match {
    fn json(self, with_before: bool, with_after: bool) -> Value {
        let mut map = Map::new();
        map.insert("path".to_owned(), self.path.into());
        map.insert("line".to_owned(), self.line.into());
        map.insert("column".to_owned(), self.column.into());
        map.insert("text".to_owned(), self.text.into());
        if self.is_cut {
            map.insert("cut".to_owned(), true.into());
        }
        if with_before {
            map.insert("before".to_owned(), self.before.into());
        }
        if with_after {
            map.insert("after".to_owned(), self.after.into());
        }
        Value::Object(map)
    }
}

/// Takes the lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    path: &'a str,
    limit: u64,
    budget: &'a mut Budget,
    matches: &'a mut Vec<Match>,
    /// The lines since the last match that lead to the next one.
    before: Vec<String>,
    bound: Option<Bound>,
    is_binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.matches.len() as u64 == self.limit {
            self.bound = Some(Bound::Limit);
            return Ok(false);
        }
        let bytes = found.bytes();
        let start = self.matcher.find(bytes).ok().flatten();
        let start = start.map_or(0, |found| found.start());
        let column = String::from_utf8_lossy(&bytes[..start]).chars().count();
        let (text, is_cut) = cut(bytes, column);
        let before = std::mem::take(&mut self.before);
        let around: usize = before
            .iter()
            .map(|line| json_bytes(line) + AROUND_TEXT)
            .sum();
        let own = json_bytes(&text) + json_bytes(self.path) + AROUND_MATCH;
        if !self.budget.take(own + around) {
            self.bound = Some(Bound::Bytes);
            return Ok(false);
        }
        self.matches.push(Match {
            path: self.path.to_owned(),
            line: found.line_number().unwrap_or(0),
            column: column + 1,
            text,
            is_cut,
            before,
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let (text, _) = cut(context.bytes(), 0);
        match (context.kind(), self.matches.last_mut()) {
            (SinkContextKind::Before, _) => self.before.push(text),
            (SinkContextKind::After, Some(last)) => {
                if !self.budget.take(json_bytes(&text) + AROUND_TEXT) {
                    self.bound = Some(Bound::Bytes);
                    return Ok(false);
                }
                last.after.push(text);
            }
            _ => {}
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// Returns a line without its end, as text of at most [`MAX_LINE`] characters in which the
/// character at `column` is visible, and whether anything is left out.
fn cut(line: &[u8], column: usize) -> (String, bool) {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    if line.len() <= MAX_LINE {
        return (line.to_owned(), false);
    }
    let start = if column < MAX_LINE - LEAD {
        0
    } else {
        column - LEAD
    };
    let text: String = line.chars().skip(start).take(MAX_LINE).collect();
    let is_cut = text.len() < line.len();
    (text, is_cut)
}

/// Reads a file until somebody says stop or the search has read enough.
struct Bounded<'a> {
    file: File,
    stop: &'a Stop,
    unread: &'a mut u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_set() || *self.unread == 0 {
            return Err(io::Error::other("the search ends here"));
        }
        let room = usize::try_from(*self.unread).unwrap_or(usize::MAX);
        let length = buffer.len().min(room).min(CHUNK);
        let read = self.file.read(&mut buffer[..length])?;
        *self.unread -= read as u64;
        Ok(read)
    }
}

/// The longest line that is shown, in characters.
const MAX_LINE: usize = 500;
/// How much of a long line is shown before a match far into it, in characters.
const LEAD: usize = 100;
/// What JSON puts around a text of a list.
const AROUND_TEXT: usize = 3;
/// What JSON puts around the texts of a match: names, two numbers and marks.
const AROUND_MATCH: usize = 128;
const MAX_CONTEXT: u64 = 20;
const DEFAULT_MATCHES: u64 = 200;
const MAX_MATCHES: u64 = 5000;
const CHUNK: usize = 64 * 1024;
/// The longest line that is searched; a file with a longer one is skipped.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
/// The most bytes that one search reads.
const MAX_SEARCHED: u64 = 1024 * 1024 * 1024;
