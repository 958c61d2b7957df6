//! Invariant 2: `unsafe` lives only in `sandbox`, and as often as `docs/unsafe.md` says.

use super::rust::Masked;
use super::tree::{Finding, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sites = 0;
    for (path, text) in tree.rust() {
        let code = Masked::code(text);
        let found = code.find("unsafe");
        if path.starts_with(HOME) {
            sites += found.len();
        } else {
            findings.extend(
                found
                    .iter()
                    .map(|at| Finding::at(path, text, *at, "unsafe code outside crates/sandbox")),
            );
            if is_crate_root(path) && code.find("#![forbid(unsafe_code)]").is_empty() {
                findings.push(Finding::new(
                    path,
                    "the crate root lacks `#![forbid(unsafe_code)]`",
                ));
            }
        }
    }
    if let Some(problem) = compare(tree, sites) {
        findings.push(Finding::new(DOCUMENT, problem));
    }
    findings
}

/// Compares the number of uses of the word with the documented one.
fn compare(tree: &Tree, sites: usize) -> Option<String> {
    let marker = "Unsafe sites:";
    match tree.get(DOCUMENT) {
        None if sites == 0 => None,
        None => Some(format!(
            "is missing; {HOME} has {sites} unsafe sites to account for"
        )),
        Some(document) => {
            let line = document
                .lines()
                .find_map(|line| line.trim_matches('*').strip_prefix(marker));
            let documented: Option<usize> =
                line.and_then(|line| line.trim().trim_end_matches(['*', '.']).parse().ok());
            match documented {
                Some(number) if number == sites => None,
                Some(number) => Some(format!("says {number} unsafe sites, {HOME} has {sites}")),
                None => Some(format!("needs a line `{marker} {sites}`")),
            }
        }
    }
}

fn is_crate_root(path: &str) -> bool {
    let Some((_, file)) = path.split_once("src/") else {
        return false;
    };
    let is_package = ["crates/", "benches/", "xtask/", "tests/conformance/"];
    is_package.iter().any(|folder| path.starts_with(folder))
        && (file == "lib.rs"
            || file == "main.rs"
            || file.starts_with("bin/") && !file[4..].contains('/'))
}

const HOME: &str = "crates/sandbox/";
const DOCUMENT: &str = "docs/unsafe.md";

#[cfg(test)]
mod tests {
    use super::*;

    const FORBID: &str = "#![forbid(unsafe_code)]\n";

    #[test]
    fn unsafe_outside_the_sandbox_is_found_with_its_line() {
        let text = format!("{FORBID}// unsafe\nfn f() {{ unsafe {{ g() }} }}");
        let tree = Tree::of(&[("crates/core/src/lib.rs", &text)]);
        let found = check(&tree);
        assert_eq!(
            found[0].to_string(),
            "crates/core/src/lib.rs:3: unsafe code outside crates/sandbox"
        );
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_crate_root_without_forbid_is_found() {
        let tree = Tree::of(&[
            ("crates/cli/src/bin/tool.rs", ""),
            ("crates/cli/src/other.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn a_forbid_in_a_comment_does_not_count() {
        let tree = Tree::of(&[("crates/cli/src/main.rs", "// #![forbid(unsafe_code)]")]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn the_documented_number_has_to_be_the_real_one() {
        let source = (
            "crates/sandbox/src/launcher.rs",
            "unsafe { a() }; unsafe fn b() {}",
        );
        let with = |text: &'static str| check(&Tree::of(&[source, (DOCUMENT, text)])).len();
        assert_eq!(with("Unsafe sites: 2\n"), 0);
        assert_eq!(with("**Unsafe sites: 2**\n"), 0);
        assert_eq!(with("Unsafe sites: 1\n"), 1);
        assert_eq!(with("two\n"), 1);
        assert_eq!(check(&Tree::of(&[source])).len(), 1);
    }
}
