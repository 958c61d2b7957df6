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
            let lines = store.grep(&parse(id)?, text, *limit)?;
            show_lines(program, &lines)?;
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
        return show_lines(program, &store.lines(id, range.first, range.count)?);
    }
    let artifact = store.stat(id)?;
    if program.output.is_json() {
        let bytes = store.read(id, 0, artifact.size)?;
        let text = String::from_utf8_lossy(&bytes);
        return program.output.answer(
            String::new,
            || json!({ "artifact": artifact, "text": text }),
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

/// How much is read at a time, in bytes.
const CHUNK: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

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
