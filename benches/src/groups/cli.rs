//! What a call costs whoever starts the program for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::script::{command, text};
use crate::measure::{BoxError, Variant, interleaved, timed};
use crate::report::Report;

pub(crate) fn measure(report: &mut Report, rounds: usize) -> Result<(), BoxError> {
    let home = tempfile::tempdir()?;
    let caller = Caller::new(home.path())?;
    // The engine is made and kept by the first call of all.
    caller.call()?;
    let mut variants: Vec<Variant<'_>> = vec![(CALL, Box::new(|| caller.call()))];
    match node_start() {
        Ok(_) => variants.push((NODE, Box::new(node_start))),
        Err(why) => report.absent(NODE, why.to_string()),
    }
    report.add(interleaved(variants, rounds)?);
    report.compare(CALL, NODE, Some(1.0));
    Ok(())
}

/// The program beside this one, and a skill with an isolated tool.
struct Caller<'a> {
    program: PathBuf,
    home: &'a Path,
}

impl<'a> Caller<'a> {
    fn new(home: &'a Path) -> Result<Self, BoxError> {
        let program = std::env::current_exe()?.with_file_name("bailiwick");
        let scripts = home.join("skills/bench/scripts");
        fs::create_dir_all(&scripts)?;
        for (file, content) in [
            (home.join("skills/bench/SKILL.md"), SKILL),
            (scripts.join("bench_length.js"), SCRIPT),
        ] {
            std::io::Write::write_all(&mut fs::File::create(file)?, content.as_bytes())?;
        }
        Ok(Self { program, home })
    }

    fn call(&self) -> Result<Duration, BoxError> {
        let mut call = command(&self.program);
        call.args(["call", "bench.bench_length", r#"{"text":"abc"}"#])
            .args(["--skills", text(&self.home.join("skills"))?, "--yes"])
            .current_dir(self.home)
            .env_clear()
            .env("HOME", self.home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::null());
        timed(|| {
            let output = call.output()?;
            if output.status.success() && output.stdout.trim_ascii() == b"3" {
                Ok(())
            } else {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                Err(format!("the call ended with {}: {said}", output.status).into())
            }
        })
    }
}

fn node_start() -> Result<Duration, BoxError> {
    let mut node = command("node");
    node.args(["-e", "0"]).stdin(Stdio::null());
    timed(|| {
        let output = node
            .output()
            .map_err(|error| format!("`node` cannot be run: {error}"))?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("`node` ended with {}", output.status).into())
        }
    })
}

const CALL: &str = "cli.isolate_call";
const NODE: &str = "node.start";
const SKILL: &str =
    "---\nname: bench\ndescription: Measures.\ntools:\n  - bench_length\n---\nMeasures.\n";
const SCRIPT: &str = r#"export const description = "Measures a text.";
export const parameters = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};
export async function execute(args) {
  return { content: [{ type: "text", text: String(args.text.length) }] };
}
"#;
