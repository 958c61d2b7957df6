//! `check`: what is wrong with packages, for their authors.

use bailiwick::core::{Schema, ToolName};
use bailiwick::package::{self, CheckReport, DirectorySource, Profile};
use bailiwick::{CancelToken, Code, Error};
use serde_json::json;

use crate::cli::{Check, CheckProfile};
use crate::gate::TerminalGate;
use crate::output::colors;
use crate::policy::Chosen;
use crate::program::{DONE, Program, block_on};
use crate::session::{self, Skills};
use crate::text::printable;

pub(crate) fn run(program: &Program, arguments: &Check) -> Result<u8, Error> {
    let profile = match arguments.profile {
        CheckProfile::Standard => Profile::Standard,
        CheckProfile::Tool => Profile::Tool,
    };
    let mut checked = Vec::new();
    for path in &arguments.paths {
        for report in package::check_all(path, profile)? {
            let refusals = if arguments.load && report.passed() {
                refusals(program, &report)?
            } else {
                Vec::new()
            };
            checked.push(Checked { report, refusals });
        }
    }
    let error = verdict(&checked);
    program.output.colored_answer(
        || checked.iter().map(Checked::to_text).collect::<Vec<_>>().join("\n"),
        || {
            let reports: Vec<_> = checked.iter().map(|checked| &checked.report).collect();
            let refusals: Vec<_> = checked.iter().flat_map(|checked| &checked.refusals).map(Error::wire).collect();
            let error = error.as_ref().map(Error::wire);
            json!({ "ok": error.is_none(), "error": error, "reports": reports, "refusals": refusals })
        },
    )?;
    let Some(error) = error else { return Ok(DONE) };
    if !program.output.is_json() {
        program.output.complaint(&error);
    }
    Ok(error.code().exit_code())
}

/// A package with everything that was found.
struct Checked {
    report: CheckReport,
    /// What loading would refuse although the package is in order.
    refusals: Vec<Error>,
}

impl Checked {
    /// Renders the findings, safe for a terminal and with colours where it shows them.
    fn to_text(&self) -> String {
        let mut text = self.report.render(colors());
        for refusal in &self.refusals {
            let hint = refusal.hint().unwrap_or("run `bailiwick doctor`");
            let refusal = format!("load would refuse it: {refusal}\n  hint: {hint}\n");
            text.push_str(&printable(&refusal));
        }
        text
    }
}

fn verdict(checked: &[Checked]) -> Option<Error> {
    let refused = checked
        .iter()
        .filter(|checked| !checked.report.passed() || !checked.refusals.is_empty())
        .count();
    (refused > 0).then(|| {
        let message = match (refused, checked.len()) {
            (1, 1) => "the skill would not load".to_owned(),
            (refused, all) => format!("{refused} of {all} skills would not load"),
        };
        Error::new(Code::ManifestInvalid, message)
            .with_hint("repair what is listed, then check again")
    })
}

/// Lists everything that loading would refuse: what each script needs, what each isolated tool is,
/// and then the load itself.
fn refusals(program: &Program, report: &CheckReport) -> Result<Vec<Error>, Error> {
    let skills = Skills::of(DirectorySource::open(&report.location)?)?;
    let chosen = Chosen::new(&program.config, &program.global, &[])?;
    let Some(name) = &report.name else {
        return Ok(Vec::new());
    };
    let skill = skills.lookup(name.as_str())?;
    let (package, _) = skills.source().package(skill, &CancelToken::new())?;
    block_on(async {
        let gate = TerminalGate::new(false, CancelToken::new());
        let interpreters = session::interpreters(&chosen).await?;
        let mut refusals = Vec::new();
        for script in &package.sidecar().scripts {
            refusals.extend(interpreters.find(&script.interpreter).err());
            refusals.extend(Schema::from_params(&script.params).err());
            refusals.extend(
                ToolName::for_script(name, &script.name)
                    .err()
                    .map(Error::from),
            );
        }
        let isolated = package.isolated_tools();
        if !isolated.is_empty() {
            // A load ends at the first tool that it refuses.
            let manager = session::manager(program, &skills, &chosen, gate.clone()).await?;
            for tool in isolated {
                let explained = manager
                    .explain(&format!("{name}.{}", tool.name), None)
                    .await;
                refusals.extend(explained.err());
            }
            manager.shutdown().await;
        }
        if refusals.is_empty() {
            match session::load(program, &skills, name.as_str(), &chosen, gate).await {
                Ok(loaded) => loaded.manager.shutdown().await,
                Err(error) => refusals.push(error),
            }
        }
        Ok(refusals)
    })
}
