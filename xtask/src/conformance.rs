//! `conformance`: puts the cases of `tests/conformance` to an implementation.

use std::path::Path;

use xshell::cmd;

use crate::Result;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let mut area = None;
    let mut implementation = None;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let slot = match word.as_str() {
            "--area" => &mut area,
            "--impl" => &mut implementation,
            other => {
                return Err(format!("unknown argument `{other}`; see `cargo xtask help`").into());
            }
        };
        *slot = Some(rest.next().ok_or("a value is missing")?.clone());
    }
    let programs = build(workspace)?;
    let suite = Suite {
        workspace,
        programs: &programs,
    };
    match implementation {
        Some(command) => {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            suite.judge(area.as_deref(), &words, Baseline::None)
        }
        None => suite.judge(area.as_deref(), &[suite.shim()], Baseline::Ours),
    }
}

/// Runs every case against our crates, then proves for each area that the suite can fail: against a
/// shim that spoils the answers of that area, each of its cases has to fail and no other.
pub(crate) fn prove(workspace: &Workspace) -> Result {
    let programs = build(workspace)?;
    let suite = Suite {
        workspace,
        programs: &programs,
    };
    suite.judge(None, &[suite.shim()], Baseline::Ours)?;
    for area in suite.areas()? {
        let wrong = programs
            .join("bailiwick-conformance-wrong")
            .display()
            .to_string();
        let command = [
            wrong,
            "--wrong".into(),
            area.clone(),
            "--".into(),
            suite.shim(),
        ];
        suite.all_must_fail(&area, &command)?;
        for other in suite.areas()?.iter().filter(|other| **other != area) {
            suite.judge(Some(other), &command, Baseline::Ours)?;
        }
    }
    Ok(())
}

/// Builds runner, shim and wrong shim; returns the folder they are in.
fn build(workspace: &Workspace) -> Result<std::path::PathBuf> {
    let sh = workspace.sh();
    let bins = ["", "-wrong", "-shim"]
        .map(|end| ["--bin".to_owned(), format!("bailiwick-conformance{end}")]);
    let bins = bins.concat();
    cmd!(sh, "cargo build --workspace {bins...} --locked").run()?;
    Ok(workspace.target()?.join("debug"))
}

struct Suite<'a> {
    workspace: &'a Workspace,
    programs: &'a Path,
}

/// Which failures are expected.
#[derive(Clone, Copy)]
enum Baseline {
    /// The list of our own implementation.
    Ours,
    /// None at all.
    None,
}

impl Suite<'_> {
    fn shim(&self) -> String {
        self.programs
            .join("bailiwick-conformance-shim")
            .display()
            .to_string()
    }

    fn areas(&self) -> Result<Vec<String>> {
        let folders = self.workspace.sh().read_dir("tests/conformance/data")?;
        Ok(folders
            .iter()
            .filter(|path| path.is_dir())
            .filter_map(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect())
    }

    fn judge(&self, area: Option<&str>, command: &[String], baseline: Baseline) -> Result {
        let area = area.map_or_else(Vec::new, |area| vec!["--area", area]);
        let baseline = match baseline {
            Baseline::Ours => vec!["--baseline", "tests/conformance/baseline.txt"],
            Baseline::None => Vec::new(),
        };
        let (sh, runner) = (
            self.workspace.sh(),
            self.programs.join("bailiwick-conformance"),
        );
        Ok(cmd!(sh, "{runner} {area...} {baseline...} -- {command...}").run()?)
    }

    fn all_must_fail(&self, area: &str, command: &[String]) -> Result {
        let (sh, runner) = (
            self.workspace.sh(),
            self.programs.join("bailiwick-conformance"),
        );
        Ok(cmd!(sh, "{runner} --area {area} --all-must-fail -- {command...}").run()?)
    }
}
