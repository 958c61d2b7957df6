//! `tidy`: the invariants of `docs/architecture.md` that a tool can see.
//!
//! Each check is a function of a [`Tree`] (the repository's own files) or of what cargo says about
//! the dependencies, so that each is tested on a small tree that breaks it.

mod arrows;
mod codes;
mod features;
mod fields;
mod rust;
mod source;
mod tests_folders;
mod text;
mod tree;
mod unsafety;

use crate::Result;
use crate::workspace::Workspace;

use self::tree::{Finding, Tree};

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask tidy".into());
    }
    let tree = Tree::read(workspace)?;
    let mut findings = Vec::new();
    for (name, check) in CHECKS {
        report(name, check(&tree), &mut findings);
    }
    let packages = arrows::read(&workspace.metadata(false)?)?;
    report("arrows", arrows::check(&packages), &mut findings);
    report("features", features::check(workspace)?, &mut findings);
    match findings.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings").into()),
    }
}

fn report(name: &str, found: Vec<Finding>, all: &mut Vec<Finding>) {
    eprintln!(
        "tidy: {name}: {}",
        if found.is_empty() {
            "ok".to_owned()
        } else {
            found.len().to_string()
        }
    );
    for finding in &found {
        println!("{finding}");
    }
    all.extend(found);
}

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: &[(&str, Check)] = &[
    ("unsafe code", unsafety::check),
    ("processes, output, environment", source::check),
    ("suppressed lints", source::suppressions),
    ("error codes", codes::check),
    ("policy fields", fields::check),
    ("test folders", tests_folders::check),
    ("text", text::check),
];
