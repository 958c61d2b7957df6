//! `list`: what was found, what wins, and what does not load.

use bailiwick::package::{Package, SkillCopy};
use bailiwick::{CancelToken, Error};
use serde_json::{Value, json};

use crate::cli::List;
use crate::policy::Chosen;
use crate::program::{DONE, Program};
use crate::session::Skills;
use crate::table::table;
use crate::tools::PackageTool;

pub(crate) fn run(program: &Program, arguments: &List) -> Result<u8, Error> {
    let skills = Skills::find(program)?;
    let chosen = Chosen::new(&program.config, &program.global, &[])?;
    let rows: Vec<Row> = skills
        .survey()
        .copies
        .iter()
        .map(|copy| Row::of(&skills, copy, arguments.digests))
        .collect();
    let skipped = &skills.survey().skipped;
    program.output.answer(
        || {
            people(
                &rows,
                skipped
                    .iter()
                    .map(|skip| (&skip.location, &skip.reason, &skip.fix)),
                arguments.digests,
            )
        },
        || {
            let skills: Vec<_> = rows.iter().map(Row::to_json).collect();
            json!({ "skills": skills, "skipped": skipped, "policy": chosen.to_json() })
        },
    )?;
    chosen.announce(program.output);
    let names: Vec<_> = skills
        .survey()
        .copies
        .iter()
        .map(|copy| copy.name.clone())
        .collect();
    for unmatched in chosen.policy.file().entries_without(&names) {
        program.output.note(&format!("note: {unmatched}"));
    }
    if !program.output.is_json() && rows.is_empty() {
        program.output.note(
            "hint: `bailiwick init NAME` writes a first skill; `--skills DIR` searches elsewhere",
        );
    }
    Ok(DONE)
}

/// One copy of a skill.
struct Row {
    name: String,
    version: Option<String>,
    scope: String,
    location: String,
    digest: Option<String>,
    tools: Vec<PackageTool>,
    /// Why this copy does not load, and what to do about it.
    refusal: Option<(String, String)>,
}

impl Row {
    fn of(skills: &Skills, copy: &SkillCopy, digests: bool) -> Self {
        let mut row = Self {
            name: copy.name.to_string(),
            version: copy.skill.as_ref().and_then(|skill| skill.version.clone()),
            scope: copy.scope.to_string(),
            location: copy.location.clone(),
            digest: copy
                .skill
                .as_ref()
                .and_then(|skill| Some(skill.digest?.to_string())),
            tools: Vec::new(),
            refusal: None,
        };
        if let Some(winner) = &copy.shadowed_by {
            let fix = format!("address it as `{}@{}`", copy.name, copy.scope);
            row.refusal = Some((format!("shadowed by {winner}"), fix));
        }
        match opened(skills, copy) {
            Ok(package) => row.describe(&package, digests),
            Err(error) => {
                let fix = error
                    .hint()
                    .unwrap_or("run `bailiwick check` on it")
                    .to_owned();
                row.refusal
                    .get_or_insert_with(|| (error.message().to_owned(), fix));
            }
        }
        row
    }

    fn describe(&mut self, package: &Package, digests: bool) {
        self.tools = PackageTool::all(package);
        if digests && self.digest.is_none() {
            match package.digest(&CancelToken::new()) {
                Ok(digest) => self.digest = Some(digest.to_string()),
                Err(error) => {
                    self.refusal = Some((error.to_string(), "look at its files".to_owned()));
                }
            }
        }
    }

    fn to_json(&self) -> Value {
        let tools: Vec<_> = self
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.published,
                    "address": format!("{}.{}", self.name, tool.short),
                    "tier": tool.tier(),
                })
            })
            .collect();
        let refusal = self
            .refusal
            .as_ref()
            .map(|(reason, fix)| json!({ "reason": reason, "fix": fix }));
        json!({
            "name": self.name,
            "version": self.version,
            "source": self.scope,
            "location": self.location,
            "digest": self.digest,
            "tools": tools,
            "not_loaded": refusal,
        })
    }
}

fn opened(skills: &Skills, copy: &SkillCopy) -> Result<Package, Error> {
    let skill = match &copy.skill {
        Some(skill) => Ok(skill),
        // The lookup says what is wrong with a copy that is broken.
        None => skills.lookup(&format!("{}@{}", copy.name, copy.scope)),
    };
    let (package, _) = skills.source().package(skill?, &CancelToken::new())?;
    Ok(package)
}

fn people<'a>(
    rows: &[Row],
    skipped: impl Iterator<Item = (&'a String, &'a String, &'a String)>,
    digests: bool,
) -> String {
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        let header = ["skill", "version", "source", "tier", "tools"];
        blocks.push(table(header, rows.iter().map(cells)));
    }
    if digests {
        let known = rows
            .iter()
            .filter_map(|row| Some([row.name.clone(), row.scope.clone(), row.digest.clone()?]));
        blocks.push(table(["skill", "source", "digest"], known));
    }
    let refused = rows.iter().filter_map(|row| {
        let (reason, fix) = row.refusal.as_ref()?;
        Some(format!(
            "{} in {} does not load: {reason}\n  fix: {fix}",
            row.name, row.location
        ))
    });
    let passed_over = skipped.map(|(location, reason, fix)| {
        format!("{location} was passed over: {reason}\n  fix: {fix}")
    });
    let reasons: Vec<_> = refused.chain(passed_over).collect();
    if !reasons.is_empty() {
        blocks.push(reasons.join("\n"));
    }
    if blocks.is_empty() {
        return "no skill was found".to_owned();
    }
    blocks.join("\n\n")
}

fn cells(row: &Row) -> [String; 5] {
    let tools: Vec<_> = row.tools.iter().map(|tool| tool.short.as_str()).collect();
    let mut tiers: Vec<_> = row.tools.iter().map(|tool| tool.tier().as_str()).collect();
    tiers.dedup();
    [
        row.name.clone(),
        row.version.clone().unwrap_or_else(|| "-".to_owned()),
        row.scope.clone(),
        if tiers.is_empty() {
            "-".to_owned()
        } else {
            tiers.join(", ")
        },
        if tools.is_empty() {
            "-".to_owned()
        } else {
            tools.join(", ")
        },
    ]
}
