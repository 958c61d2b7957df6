//! Hygiene of every text file: no machine's paths, no trailing blanks, no file too long to read.

use super::tree::{Finding, Tree, is_rust};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| !is_foreign(path)) {
        if path != OWN_FILE {
            findings.extend(machine_paths(path, text));
        }
        if path.ends_with("Cargo.lock") {
            findings.extend(sources(path, text));
            continue;
        }
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches('\n');
            if content.ends_with([' ', '\t', '\r']) {
                findings.push(Finding::at(path, text, offset, "trailing blanks"));
            }
            offset += line.len();
        }
        if !text.is_empty() && !text.ends_with('\n') {
            findings.push(Finding::new(path, "does not end with a line break"));
        }
        let lines = text.lines().count();
        if is_rust(path) && lines > MOST_LINES {
            findings.push(Finding::new(
                path,
                format!("has {lines} lines (at most {MOST_LINES}): split it by subject"),
            ));
        }
    }
    findings
}

/// Past this a file has more than one subject.
const MOST_LINES: usize = 700;

/// Input whose exact bytes are the point, and texts of others.
fn is_foreign(path: &str) -> bool {
    path.starts_with("fuzz/seeds/")
        || path.starts_with("LICENSE-")
        || path == "THIRD-PARTY-NOTICES.md"
        || path.contains("/fixtures/")
}

fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for needle in MACHINE {
        for (at, _) in text.match_indices(needle) {
            let inside_a_longer_path = needle.starts_with('/')
                && text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}*$~".contains(c));
            if !inside_a_longer_path {
                findings.push(Finding::at(
                    path,
                    text,
                    at,
                    format!("`{needle}` names one machine"),
                ));
            }
        }
    }
    findings
}

/// What exists on the machine of whoever wrote the line and nowhere else.
const MACHINE: &[&str] = &[
    "/root/.",
    "/work/",
    "/tmp/t/",
    "/tmp/brief",
    "artifactory",
    "/home/runner",
    "/builds/",
];

const OWN_FILE: &str = "xtask/src/tidy/text.rs";

fn sources(path: &str, text: &str) -> Vec<Finding> {
    text.lines()
        .filter_map(|line| line.strip_prefix("source = "))
        .filter(|source| *source != CRATES_IO)
        .map(|source| Finding::new(path, format!("a package comes from {source}")))
        .collect()
}

const CRATES_IO: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_machine_path_is_found_and_a_longer_path_is_not_one() {
        assert_eq!(
            found("a.md", "see\n/work/main/x\n"),
            ["a.md:2: `/work/` names one machine"]
        );
        assert!(found("a.md", "docs/work/plan and ~/work/x\n").is_empty());
    }

    #[test]
    fn trailing_blanks_and_a_missing_last_line_break_are_found() {
        assert_eq!(found("a.rs", "a\nb \n"), ["a.rs:2: trailing blanks"]);
        assert_eq!(found("a.rs", "a"), ["a.rs: does not end with a line break"]);
        assert!(found("fuzz/seeds/x/y", "a ").is_empty());
    }

    #[test]
    fn a_file_is_short_enough_to_have_one_subject() {
        assert_eq!(found("a.rs", &"x\n".repeat(701)).len(), 1);
        assert!(found("a.md", &"x\n".repeat(701)).is_empty());
    }

    #[test]
    fn packages_come_from_crates_io_only() {
        assert!(found("Cargo.lock", &format!("source = {CRATES_IO}\n")).is_empty());
        assert_eq!(
            found("Cargo.lock", "source = \"git+https://example.org/x\"\n").len(),
            1
        );
    }
}
