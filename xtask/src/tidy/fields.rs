//! Invariant 7, second half: no field of the policy file is inert.
//!
//! `crates/policy` has one table of the policy file's fields. Each field with a mechanism is the
//! subject of at least one test that fails when the field is ignored. The test names the field: in
//! a string of its own, as a table-driven test does, or in a comment `// field: limits.wall`. A
//! field that another crate makes take effect is tested outside `crates/policy`, where a test can
//! only see that it was read.

use std::collections::BTreeSet;

use super::rust::{self, Masked};
use super::tree::{Finding, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(table) = tree.get(TABLE) else {
        return vec![Finding::new(
            TABLE,
            "the table of the policy file's fields is missing",
        )];
    };
    let built = listed(table, "built(");
    let not_built = listed(table, "not_built(");
    let mut findings = Vec::new();
    if built.is_empty() {
        findings.push(Finding::new(TABLE, "lists no field as `built(\"…\", …)`"));
    }
    let elsewhere = enforced_elsewhere(table);
    let (mut tested, mut tested_elsewhere) = (BTreeSet::new(), BTreeSet::new());
    for (path, text) in tree
        .rust()
        .filter(|(path, _)| !path.starts_with("xtask/") && *path != TABLE)
    {
        let is_test = path.contains("/tests/") || path.starts_with("tests/");
        let tests = if is_test {
            text.to_owned()
        } else {
            Masked::tests_of(text)
        };
        let marked = marked(&tests);
        for field in marked.iter().filter(|field| !built.contains(*field)) {
            let why = if not_built.contains(field) {
                "is not built"
            } else {
                "does not exist"
            };
            findings.push(Finding::new(
                path,
                format!("tests the field `{field}`, which {why}"),
            ));
        }
        let named = marked
            .into_iter()
            .chain(rust::strings(&tests).into_iter().map(str::to_owned));
        if path.starts_with("crates/policy/") {
            tested.extend(named);
        } else {
            tested_elsewhere.extend(named);
        }
    }
    for field in &built {
        if elsewhere.contains(field) && !tested_elsewhere.contains(field) {
            let problem = format!("no test outside crates/policy says `// field: {field}`");
            findings.push(Finding::new(TABLE, problem));
        } else if !tested.contains(field) && !tested_elsewhere.contains(field) {
            findings.push(Finding::new(
                TABLE,
                format!("no test says `// field: {field}`"),
            ));
        }
    }
    findings
}

/// Returns the fields whose mechanism is another crate's.
fn enforced_elsewhere(table: &str) -> BTreeSet<String> {
    let is_elsewhere = |line: &&str| ELSEWHERE.iter().any(|mechanism| line.contains(mechanism));
    let lines: Vec<&str> = table.lines().filter(is_elsewhere).collect();
    listed(&lines.join("\n"), "built(")
}

/// The second argument of `built` for what crates other than `policy` do.
const ELSEWHERE: &[&str] = &[
    ", SCRIPT)",
    ", SANDBOX)",
    ", LIMIT)",
    ", LOWER)",
    ", ISOLATE)",
    ", \"the gate\")",
    ", \"the call path\")",
];

/// Returns the first argument of each call of `constructor` in the table.
fn listed(table: &str, constructor: &str) -> BTreeSet<String> {
    table
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix(constructor)?
                .strip_prefix('"')?
                .split('"')
                .next()
        })
        .map(str::to_owned)
        .collect()
}

/// Returns the fields that comments of the form `// field: a, b` name.
fn marked(tests: &str) -> Vec<String> {
    tests
        .lines()
        .filter_map(|line| line.trim().strip_prefix("// field: "))
        .flat_map(|fields| fields.split(','))
        .map(|field| field.trim().to_owned())
        .collect()
}

const TABLE: &str = "crates/policy/src/file/fields.rs";

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &str = "const FIELDS: &[Field] = &[\n    built(\"limits.wall\", SCRIPT),\n    built(\"session.read\", SESSION),\n    not_built(\"export.prefix\", X),\n];\n";

    fn found(test: &str) -> Vec<String> {
        let policy = (
            "crates/policy/tests/it/fields.rs",
            "// field: session.read\n",
        );
        let tree = Tree::of(&[
            (TABLE, FIELDS),
            policy,
            ("crates/script/tests/it/limits.rs", test),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_field_without_a_test_is_inert() {
        let expected =
            format!("{TABLE}: no test outside crates/policy says `// field: limits.wall`");
        assert_eq!(found("fn t() { limits.wall }"), [expected]);
        let untested = check(&Tree::of(&[(TABLE, FIELDS)]));
        assert_eq!(untested.len(), 2);
    }

    #[test]
    fn that_the_reader_keeps_a_value_does_not_show_that_it_takes_effect() {
        let policy = "// field: session.read, limits.wall\n";
        let tree = Tree::of(&[
            (TABLE, FIELDS),
            ("crates/policy/tests/it/fields.rs", policy),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn a_comment_or_a_string_of_its_own_names_the_field() {
        assert!(found("// field: limits.wall\n#[test]\nfn t() {}").is_empty());
        assert!(found("const CASES: &[&str] = &[\"limits.wall\"];").is_empty());
        assert_eq!(found("let file = \"[limits]\\nlimits.wall = 1\";").len(), 1);
    }

    #[test]
    fn a_marker_for_a_field_that_is_not_there_is_stale() {
        assert_eq!(found("// field: limits.wall, limits.wal\n").len(), 1);
        assert_eq!(found("// field: limits.wall, export.prefix\n").len(), 1);
    }
}
