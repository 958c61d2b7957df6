//! `artifacts`: reads results that were kept.

use std::time::{Duration, SystemTime};

use bailiwick::core::{ArtifactIdRejected, Line};
use bailiwick::{Artifact, ArtifactId, ArtifactStore, Code, Error};
use serde_json::json;

use crate::cli::{ArtifactAction, LineRange};
use crate::program::{DONE, Program};
use crate::session;
use crate::table::table;

pub(crate) fn run(program: &Program, action: &ArtifactAction) -> Result<u8, Error> {
    let store = session::artifacts(program)?;
    match action {
        ArtifactAction::Ls => list(program, &store)?,
        ArtifactAction::Read { id, lines } => read(program, &store, &parse(id)?, *lines)?,
        ArtifactAction::Grep { id, text, limit } => {
            let mut lines = store.grep(&parse(id)?, text, limit.saturating_add(1))?;
            let has_more = lines.len() > *limit;
            lines.truncate(*limit);
            show_lines(program, &lines)?;
            if has_more {
                let note = format!("note: more lines match; `--limit` prints more than {limit}");
                program.output.note(&note);
            }
        }
        ArtifactAction::Rm { ids } => remove(program, &store, ids)?,
    }
    Ok(DONE)
}

fn list(program: &Program, store: &impl ArtifactStore) -> Result<(), Error> {
    let artifacts = store.list()?;
    program.output.answer(
        || {
            if artifacts.is_empty() {
                return "no artifact is retained".to_owned();
            }
            let header = ["id", "kind", "bytes", "lines", "from", "name", "expires in"];
            table(header, artifacts.iter().map(row))
        },
        || json!({ "artifacts": artifacts }),
    )
}

fn row(artifact: &Artifact) -> [String; 7] {
    let left = artifact
        .expires
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    [
        artifact.id.to_string(),
        artifact.kind.clone(),
        artifact.size.to_string(),
        artifact.lines.to_string(),
        format!("{}.{}", artifact.source.skill, artifact.source.tool),
        artifact.name.clone().unwrap_or_default(),
        rounded(left),
    ]
}

fn read(
    program: &Program,
    store: &impl ArtifactStore,
    id: &ArtifactId,
    lines: Option<LineRange>,
) -> Result<(), Error> {
    if let Some(range) = lines {
        let found = store.lines(id, range.first, range.count)?;
        if found.is_empty() {
            let last = store.stat(id)?.lines;
            program
                .output
                .note(&format!("note: the last line is {last}"));
        }
        return show_lines(program, &found);
    }
    let artifact = store.stat(id)?;
    if program.output.is_json() {
        let bytes = store.read(id, 0, artifact.size)?;
        let (encoding, text) = match String::from_utf8(bytes) {
            Ok(text) => ("utf-8", text),
            Err(error) => ("base64", base64(error.as_bytes())),
        };
        return program.output.answer(
            String::new,
            || json!({ "artifact": artifact, "encoding": encoding, "text": text }),
        );
    }
    let mut offset = 0;
    while offset < artifact.size {
        let bytes = store.read(id, offset, CHUNK)?;
        if bytes.is_empty() {
            break;
        }
        offset += bytes.len() as u64;
        program.output.bytes(&bytes)?;
    }
    Ok(())
}

fn show_lines(program: &Program, lines: &[Line]) -> Result<(), Error> {
    program.output.answer(
        || {
            joined(
                lines
                    .iter()
                    .map(|line| format!("{}:{}", line.number, line.text)),
            )
        },
        || json!({ "lines": lines }),
    )
}

fn remove(program: &Program, store: &impl ArtifactStore, ids: &[String]) -> Result<(), Error> {
    let ids = ids
        .iter()
        .map(|id| parse(id))
        .collect::<Result<Vec<_>, _>>()?;
    for id in &ids {
        store.remove(id)?;
    }
    program.output.answer(
        || joined(ids.iter().map(|id| format!("removed {id}"))),
        || json!({ "removed": ids }),
    )
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn parse(id: &str) -> Result<ArtifactId, Error> {
    id.parse().map_err(|error: ArtifactIdRejected| {
        Error::new(
            Code::ArtifactUnavailable,
            format!("`{id}` names no artifact: {error}"),
        )
        .with_hint("`bailiwick artifacts ls` lists what is retained")
    })
}

/// Encodes bytes in base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    let digit = |bits: u32| char::from(BASE64[bits as usize & 0x3f]);
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at| group.get(at).map_or(0, |byte| u32::from(*byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digits = [18, 12, 6, 0].map(|shift| digit(bits >> shift));
        let used = group.len() + 1;
        text.extend(&digits[..used]);
        text.extend(std::iter::repeat_n('=', digits.len() - used));
    }
    text
}

/// Shows a time in its largest whole unit.
fn rounded(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}min", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How much is read at a time, in bytes.
const CHUNK: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_its_specification() {
        // RFC 4648, section 10.
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn a_time_is_shown_in_its_largest_whole_unit() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1min"),
            (7_199, "1h"),
            (86_400, "1d"),
        ] {
            assert_eq!(rounded(Duration::from_secs(seconds)), text);
        }
    }
}
