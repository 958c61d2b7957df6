//! Invariants 3, 5 and 8 and the purity of the vocabulary: what library code must not mention.

use super::rust::Masked;
use super::tree::{Finding, Tree};

/// Finds processes, output, exits, environment and I/O where they do not belong.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| is_library(path)) {
        let code = Masked::library(text);
        for rule in RULES.iter().filter(|rule| !rule.allows(path)) {
            for word in rule.words {
                for at in code.find(word) {
                    findings.push(Finding::at(
                        path,
                        text,
                        at,
                        format!("`{word}`: {}", rule.reason),
                    ));
                }
            }
        }
    }
    findings
}

/// Finds lints that are suppressed without a reason, and security decisions that hide a wildcard.
pub(crate) fn suppressions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let code = Masked::code(text);
        for opening in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
            for at in code.find(opening) {
                let attribute = code.as_str()[at..].split(']').next().unwrap_or_default();
                if !attribute.contains("reason") {
                    findings.push(Finding::at(
                        path,
                        text,
                        at,
                        "a lint is suppressed without a reason",
                    ));
                }
                if attribute.contains("wildcard_enum_match_arm")
                    && DECIDERS.iter().any(|folder| path.starts_with(folder))
                {
                    findings.push(Finding::at(
                        path,
                        text,
                        at,
                        "a wildcard arm in a security decision",
                    ));
                }
            }
        }
    }
    findings
}

/// Words that library code may use only in some places.
struct Rule {
    words: &'static [&'static str],
    /// Path prefixes.
    allowed: &'static [&'static str],
    /// Where it applies; everywhere if empty.
    only: &'static [&'static str],
    reason: &'static str,
}

impl Rule {
    fn allows(&self, path: &str) -> bool {
        let under = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
        under(self.allowed) || !self.only.is_empty() && !under(self.only)
    }
}

const RULES: &[Rule] = &[
    Rule {
        words: &[
            "Command::new",
            "posix_spawn",
            "posix_spawnp",
            "fork",
            "vfork",
            "execv",
            "execve",
            "clone3",
        ],
        // The demo's controls run what must fail once without any confinement, on purpose.
        allowed: &["crates/sandbox/", "crates/cli/src/commands/demo/control.rs"],
        only: &[],
        reason: "only `sandbox` spawns processes in library code",
    },
    Rule {
        words: &[
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "dbg!",
            "stdout()",
            "stderr()",
        ],
        allowed: &["crates/cli/"],
        only: &[],
        reason: "library code returns text, programs print it",
    },
    Rule {
        words: &["process::exit", "process::abort"],
        allowed: &[
            "crates/cli/",
            "crates/sandbox/src/bin/",
            "crates/sandbox/launcher/",
        ],
        only: &[],
        reason: "library code returns errors, programs exit",
    },
    Rule {
        words: &[
            "env::var",
            "env::var_os",
            "env::vars",
            "env::vars_os",
            "env::args",
            "env::args_os",
            "env::set_var",
            "env::remove_var",
            "env::home_dir",
            "env::temp_dir",
        ],
        allowed: &[
            "crates/cli/",
            "crates/sandbox/src/bin/",
            "crates/sandbox/launcher/",
        ],
        only: &[],
        reason: "configuration is passed in; only programs read the environment",
    },
    Rule {
        words: &[
            "std::fs",
            "TcpStream",
            "TcpListener",
            "UdpSocket",
            "UnixStream",
            "ToSocketAddrs",
            "std::process",
            "tokio::fs",
            "tokio::net",
            "tokio::process",
        ],
        allowed: &[],
        only: &[
            "crates/core/",
            "crates/policy/",
            "crates/module/",
            "crates/js-syntax/",
        ],
        reason: "this crate does no I/O",
    },
];

/// Where a match decides what code may do.
const DECIDERS: &[&str] = &[
    "crates/core/src",
    "crates/policy/src",
    "crates/sandbox/src",
    "crates/script/src",
    "crates/module/src",
    "crates/bailiwick/src",
    "crates/egress/src",
    "crates/isolate/src",
];

/// Tells whether a file is part of a published crate's code (not its tests, examples, build script).
fn is_library(path: &str) -> bool {
    path.strip_prefix("crates/")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(name, file)| {
            name != "testkit" && file.starts_with("src/") && !is_test_file(file)
        })
}

/// A module that its parent declares under `#[cfg(test)]`.
fn is_test_file(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn only_the_sandbox_spawns() {
        let text = "fn f() { std::process::Command::new(\"sh\"); }";
        assert_eq!(found("crates/script/src/run.rs", text), 1);
        assert_eq!(found("crates/sandbox/src/launch.rs", text), 0);
        assert_eq!(found("crates/script/tests/it/run.rs", text), 0);
        assert_eq!(
            found(
                "crates/script/src/run.rs",
                &format!("#[cfg(test)]\nmod tests {{ {text} }}")
            ),
            0
        );
    }

    #[test]
    fn only_programs_print_exit_and_read_the_environment() {
        for text in [
            "println!(\"x\")",
            "std::process::exit(1)",
            "std::env::var(\"HOME\")",
            "std::env::temp_dir()",
        ] {
            let text = format!("fn f() {{ {text}; }}");
            assert_eq!(found("crates/store/src/lib.rs", &text), 1, "{text}");
            assert_eq!(found("crates/cli/src/main.rs", &text), 0, "{text}");
        }
        assert_eq!(
            found(
                "crates/store/src/lib.rs",
                "/// `println!` is never used.\nfn f() {}"
            ),
            0
        );
    }

    #[test]
    fn the_vocabulary_does_no_io() {
        assert_eq!(found("crates/core/src/lib.rs", "use std::fs;"), 1);
        assert_eq!(found("crates/store/src/lib.rs", "use std::fs;"), 0);
    }

    #[test]
    fn a_lint_needs_a_reason_to_be_suppressed() {
        let check = |text| suppressions(&Tree::of(&[("crates/core/src/lib.rs", text)])).len();
        assert_eq!(check("#[allow(dead_code)]\nfn f() {}"), 1);
        assert_eq!(
            check("#[expect(dead_code, reason = \"why\")]\nfn f() {}"),
            0
        );
        assert_eq!(check("#![expect(\n    a,\n    reason = \"why\"\n)]"), 0);
        assert_eq!(
            check("#[expect(clippy::wildcard_enum_match_arm, reason = \"short\")]"),
            1
        );
    }
}
