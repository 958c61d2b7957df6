//! Invariant 7, first half: every error code is documented and produced by a test.

use super::rust::{self, Masked};
use super::tree::{Finding, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(table) = tree.get(TABLE) else {
        return vec![Finding::new(TABLE, "the table of error codes is missing")];
    };
    let document = tree.get(DOCUMENT).unwrap_or_default();
    let tests: String = tree
        .rust()
        .filter_map(|(path, text)| test_text(path, text))
        .collect();
    let mut findings = Vec::new();
    for Code { variant, text } in read(table) {
        if !document.contains(&format!("`{text}`")) {
            findings.push(Finding::new(DOCUMENT, format!("does not explain `{text}`")));
        }
        if !mentions(&tests, &text) && !mentions(&tests, &format!("Code::{variant}")) {
            findings.push(Finding::new(
                TABLE,
                format!("no test outside core produces `{text}`"),
            ));
        }
    }
    findings
}

struct Code {
    variant: String,
    text: String,
}

/// Reads lines of the form `Variant = "E_TEXT", …`.
fn read(table: &str) -> Vec<Code> {
    table
        .lines()
        .filter_map(|line| {
            let (variant, rest) = line.trim().split_once(" = \"")?;
            let (text, _) = rest.split_once('"')?;
            let is_word = variant.chars().all(char::is_alphanumeric);
            (is_word && text.starts_with("E_")).then(|| Code {
                variant: variant.to_owned(),
                text: text.to_owned(),
            })
        })
        .collect()
}

/// Returns the test code of a file outside core: comments do not produce an error.
fn test_text(path: &str, text: &str) -> Option<String> {
    if path.starts_with("crates/core/") || path.starts_with("xtask/") {
        return None;
    }
    let tests = if path.contains("/tests/") || path.starts_with("tests/") {
        text.to_owned()
    } else {
        Masked::tests_of(text)
    };
    let mut kept = Masked::code(&tests).as_str().to_owned();
    for string in rust::strings(&tests) {
        kept.push('\n');
        kept.push_str(string);
    }
    Some(kept)
}

fn mentions(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

const TABLE: &str = "crates/core/src/code.rs";
const DOCUMENT: &str = "docs/error-codes.md";

#[cfg(test)]
mod tests {
    use super::*;

    fn found(test: &str, document: &str) -> Vec<String> {
        let table = "codes! {\n    NotFound = \"E_SKILL_NOT_FOUND\", status 422, exit 2;\n}";
        let tree = Tree::of(&[
            (TABLE, table),
            ("crates/cli/tests/it/a.rs", test),
            (DOCUMENT, document),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_code_is_produced_by_its_text_or_its_variant() {
        assert!(
            found(
                "assert_eq!(code, \"E_SKILL_NOT_FOUND\")",
                "`E_SKILL_NOT_FOUND`"
            )
            .is_empty()
        );
        assert!(found("assert_eq!(code, Code::NotFound)", "`E_SKILL_NOT_FOUND`").is_empty());
    }

    #[test]
    fn a_longer_name_or_a_comment_is_not_the_code() {
        assert_eq!(found("Code::NotFoundAtAll", "`E_SKILL_NOT_FOUND`").len(), 1);
        assert_eq!(
            found("// E_SKILL_NOT_FOUND", "`E_SKILL_NOT_FOUND`").len(),
            1
        );
    }

    #[test]
    fn an_undocumented_code_is_found() {
        assert_eq!(
            found("Code::NotFound", ""),
            ["docs/error-codes.md: does not explain `E_SKILL_NOT_FOUND`"]
        );
    }
}
