//! One integration binary a crate, and no file in its folder that is silently not compiled.

use super::rust::Masked;
use super::tree::{Finding, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.rust() {
        let Some((package, file)) = path.split_once("/tests/") else {
            continue;
        };
        if !package.starts_with("crates/") && !package.starts_with("tests/") {
            continue;
        }
        if !file.contains('/') {
            findings.push(Finding::new(
                path,
                "each file here is a program of its own: make it a module of `tests/it`",
            ));
        } else if file == "it/main.rs" {
            let folder = format!("{package}/tests/it/");
            let mut files = tree.rust().filter(|(path, _)| path.starts_with(&folder));
            if !files.any(|(_, text)| Masked::code(text).as_str().contains("read_dir")) {
                findings.push(Finding::new(
                    path,
                    "has no guard test that lists its folder",
                ));
            }
        } else if let Some(module) = module_of(file) {
            let main = format!("{package}/tests/it/main.rs");
            let declared = tree.get(&main).is_some_and(|main| declares(main, module));
            if !declared {
                findings.push(Finding::new(
                    path,
                    format!("is not compiled: {main} lacks `mod {module};`"),
                ));
            }
        }
    }
    findings
}

/// Returns the module that a file directly in `tests/it`, or a folder's `mod.rs`, is.
fn module_of(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("it/")?;
    let module = rest
        .strip_suffix("/mod.rs")
        .or_else(|| rest.strip_suffix(".rs"))?;
    (!module.contains('/')).then_some(module)
}

fn declares(main: &str, module: &str) -> bool {
    let code = Masked::code(main);
    code.as_str().lines().any(|line| {
        line.trim()
            .trim_start_matches("pub ")
            .strip_prefix("mod ")
            .is_some_and(|rest| rest.trim_end_matches(';').trim() == module)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str =
        "mod a;\n// mod b;\nfn every_file_is_a_module() { std::fs::read_dir(\"it\"); }";

    fn found(path: &str) -> usize {
        check(&Tree::of(&[
            ("crates/core/tests/it/main.rs", MAIN),
            (path, ""),
        ]))
        .len()
    }

    #[test]
    fn a_forgotten_file_is_found() {
        assert_eq!(found("crates/core/tests/it/a.rs"), 0);
        assert_eq!(found("crates/core/tests/it/b.rs"), 1);
        assert_eq!(found("crates/core/tests/it/c/mod.rs"), 1);
    }

    #[test]
    fn a_second_integration_program_is_found() {
        assert_eq!(found("crates/core/tests/other.rs"), 1);
        assert_eq!(found("crates/core/tests/compile_fail/forged.rs"), 0);
    }

    #[test]
    fn a_folder_without_its_guard_is_found() {
        assert_eq!(
            check(&Tree::of(&[("crates/core/tests/it/main.rs", "mod a;")])).len(),
            1
        );
    }
}
