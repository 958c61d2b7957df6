//! `fs.read`: one file, as lines of text or as bytes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};

use bailiwick_core::SkillError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, ask};
use super::budget::{Bound, Budget, MAX_RESULT, fitting, json_bytes};
use crate::error::FileFault;
use crate::member::{Member, MemberCall, Needs, Parameter};
use crate::open::Obstacle;

pub(crate) fn member() -> Result<Member, SkillError> {
    Member::builder(
        "fs.read",
        "Reads a file: lines of text from a first line on, or bytes from an offset on.",
    )
    .parameter(Parameter::required(
        "path",
        "string",
        json!({ "type": "string", "minLength": 1, "maxLength": 4096 }),
    ))
    .parameter(Parameter::optional(
        "options",
        "{ offset?: number; limit?: number; encoding?: \"utf8\" | \"base64\" }",
        json!({
            "type": "object",
            "properties": {
                "offset": {
                    "type": "integer", "minimum": 0, "maximum": MAX_OFFSET,
                    "description": "Text: the first line, from 1. Bytes: how many to leave out.",
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_OFFSET,
                    "description": "The most lines, or the most bytes.",
                },
                "encoding": { "type": "string", "enum": ["utf8", "base64"] },
            },
            "additionalProperties": false,
        }),
    ))
    .returns(
        "{ path: string; encoding: \"utf8\" | \"base64\"; text?: string; lines?: number; \
         data?: string; bytes: number; size: number; truncated: boolean; truncatedBy?: string; \
         nextOffset?: number }",
    )
    .needs(Needs::Roots)
    .build(read)
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    #[serde(default)]
    options: Options,
}

#[derive(Default, Deserialize)]
struct Options {
    #[serde(default, deserialize_with = "super::pattern::whole")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "super::pattern::whole")]
    limit: Option<u64>,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

async fn read(call: MemberCall) -> Result<Value, SkillError> {
    let Arguments { path, options } = call.parse()?;
    ask(call, move |ask| {
        if matches!(
            (options.encoding, options.offset),
            (Encoding::Utf8, Some(0))
        ) {
            return Err(ask.reject("/options/offset", "lines are counted from 1"));
        }
        let place = ask.locate(&path, "/path")?;
        let (file, size) = place.open_file().map_err(|o| ask.refuse(&path, o))?;
        match options.encoding {
            Encoding::Utf8 => read_lines(ask, &path, file, size, &options),
            Encoding::Base64 => read_bytes(ask, &path, file, size, &options),
        }
    })
    .await
}

fn read_lines(
    ask: &Ask<'_>,
    path: &str,
    file: File,
    size: u64,
    options: &Options,
) -> Result<Value, SkillError> {
    let mut lines = Lines {
        ask,
        path,
        reader: BufReader::with_capacity(CHUNK, file),
    };
    let first = options.offset.unwrap_or(1);
    for _ in 1..first {
        if !lines.skip()? {
            break;
        }
    }
    let mut budget = Budget::new();
    let (mut text, mut count, mut bound) = (String::new(), 0, None);
    loop {
        if options.limit == Some(count) {
            bound = lines.has_more()?.then_some(Bound::Limit);
            break;
        }
        let Some(line) = lines.next(first + count)? else {
            break;
        };
        if budget.take(json_bytes(&line)) {
            text.push_str(&line);
            count += 1;
            continue;
        }
        bound = Some(Bound::Bytes);
        if count == 0 {
            // A line that alone is too long is shown as far as it goes; the next one follows it.
            text.push_str(fitting(&line, budget.left()));
            count = 1;
        }
        break;
    }
    let mut result = json!({
        "path": path,
        "encoding": "utf8",
        "lines": count,
        "bytes": text.len(),
        "size": size,
        "text": text,
    });
    Bound::write(bound, &mut result);
    if bound.is_some() {
        result["nextOffset"] = (first + count).into();
    }
    Ok(result)
}

/// Takes a file apart into lines, keeping no more of one than a result can hold.
struct Lines<'a> {
    ask: &'a Ask<'a>,
    path: &'a str,
    reader: BufReader<File>,
}

impl Lines<'_> {
    /// Reads the next line with its end, cut to what a result can hold.
    fn next(&mut self, number: u64) -> Result<Option<String>, SkillError> {
        let mut line = Vec::new();
        // Beyond what a result can hold nothing is read: a line may be as long as its file. Four
        // bytes more than fit show the excess, whatever character they cut.
        let any = self.consume(|bytes| {
            let room = (MAX_RESULT + 4).saturating_sub(line.len());
            line.extend_from_slice(&bytes[..bytes.len().min(room)]);
            line.len() < MAX_RESULT + 4
        })?;
        if !any {
            return Ok(None);
        }
        match String::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => {
                let fault = error.utf8_error();
                let mut bytes = error.into_bytes();
                // A character that the cut went through is no fault of the file.
                let is_cut = bytes.len() > MAX_RESULT && fault.error_len().is_none();
                bytes.truncate(fault.valid_up_to());
                match String::from_utf8(bytes) {
                    Ok(line) if is_cut => Ok(Some(line)),
                    _ => Err(self.refuse(FileFault::NotText(number).into())),
                }
            }
        }
    }

    fn skip(&mut self) -> Result<bool, SkillError> {
        self.consume(|_| true)
    }

    fn has_more(&mut self) -> Result<bool, SkillError> {
        match self.reader.fill_buf() {
            Ok(bytes) => Ok(!bytes.is_empty()),
            Err(error) => Err(self.refuse(error.into())),
        }
    }

    /// Consumes to the end of a line, or until no more is taken; says whether there was anything.
    fn consume(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> Result<bool, SkillError> {
        let mut any = false;
        loop {
            self.ask.stop.check()?;
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.ask.refuse(self.path, error.into())),
            };
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(bytes.len(), |end| end + 1);
            let goes_on = take(&bytes[..used]);
            self.reader.consume(used);
            any |= used > 0;
            if end.is_some() || used == 0 || !goes_on {
                return Ok(any);
            }
        }
    }

    fn refuse(&self, obstacle: Obstacle) -> SkillError {
        self.ask.refuse(self.path, obstacle)
    }
}

fn read_bytes(
    ask: &Ask<'_>,
    path: &str,
    mut file: File,
    size: u64,
    options: &Options,
) -> Result<Value, SkillError> {
    let refuse = |error: std::io::Error| ask.refuse(path, error.into());
    let offset = options.offset.unwrap_or(0);
    let limit = options.limit.unwrap_or(MAX_BYTES).min(MAX_BYTES);
    file.seek(SeekFrom::Start(offset)).map_err(refuse)?;
    let mut bytes = Vec::new();
    // One byte more than wanted says whether there is more.
    let mut rest = file.take(limit + 1);
    loop {
        ask.stop.check()?;
        let chunk = (&mut rest).take(CHUNK as u64).read_to_end(&mut bytes);
        if chunk.map_err(refuse)? == 0 {
            break;
        }
    }
    let has_more = bytes.len() as u64 > limit;
    if has_more {
        bytes.pop();
    }
    let bound = match options.limit {
        Some(asked) if has_more && asked <= MAX_BYTES => Some(Bound::Limit),
        _ => has_more.then_some(Bound::Bytes),
    };
    let mut result = json!({
        "path": path,
        "encoding": "base64",
        "bytes": bytes.len(),
        "size": size,
        "data": STANDARD.encode(&bytes),
    });
    Bound::write(bound, &mut result);
    if has_more {
        result["nextOffset"] = (offset + limit).into();
    }
    Ok(result)
}

const CHUNK: usize = 64 * 1024;
/// Three bytes of a file become four of the result.
const MAX_BYTES: u64 = MAX_RESULT as u64 / 4 * 3;
/// The largest integer that a guest's number holds exactly.
const MAX_OFFSET: u64 = (1 << 53) - 1;
