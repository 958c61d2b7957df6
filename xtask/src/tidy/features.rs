//! What a choice of features compiles: a host that wants one tier pays for that tier alone.

use serde_json::Value;
use xshell::cmd;

use super::tree::Finding;
use crate::Result;
use crate::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let sh = workspace.sh();
    let mut findings = Vec::new();
    let tree = |features: &str, format: &str| -> Result<String> {
        Ok(cmd!(
            sh,
            "cargo tree -p bailiwick --no-default-features --features {features} -e normal,build --prefix none --format {format} --locked"
        )
        .quiet()
        .read()?)
    };
    for (features, banned) in ABSENT {
        let tree = tree(features, "{p}")?;
        for family in *banned {
            findings.extend(absent(&tree, features, family));
        }
    }
    let program = cmd!(
        sh,
        "cargo tree -p bailiwick-cli -e normal,build --prefix none --format {NAME_AND_FEATURES} --locked"
    );
    for (what, text) in [
        ("full", tree("full", NAME_AND_FEATURES)?),
        ("bailiwick-cli", program.quiet().read()?),
    ] {
        findings.extend(without_weakening(what, &text));
    }
    findings.extend(switched_on_by_manifests(&workspace.metadata(false)?));
    Ok(findings)
}

/// What each line of the tree holds: the package and the features it is built with.
const NAME_AND_FEATURES: &str = "{p} [{f}]";

/// What a choice of features must not compile. Only JavaScript needs clang, in the build script of
/// `bailiwick-quickjs`.
const ABSENT: &[(&str, &[&[&str]])] = &[
    ("module", &[GUESTS, JAVASCRIPT, KERNEL, DATABASE]),
    ("script", &[GUESTS, JAVASCRIPT, DATABASE]),
    ("package", &[GUESTS, JAVASCRIPT, KERNEL, DATABASE]),
    ("host", &[GUESTS, JAVASCRIPT, KERNEL, DATABASE]),
    ("module,package,script,store", &[GUESTS, JAVASCRIPT]),
    ("isolate", &[JAVASCRIPT, KERNEL, DATABASE]),
    ("quickjs", &[KERNEL, DATABASE]),
    // The source of the engine is compiled by clang and never as Rust.
    ("full", &[&["rquickjs-sys", "rquickjs"]]),
];

const GUESTS: &[&str] = &["wasmtime", "wasmtime-wizer", "bailiwick-isolate"];
const JAVASCRIPT: &[&str] = &[
    "bailiwick-js-syntax",
    "bailiwick-quickjs",
    "oxc",
    "oxc_parser",
    "oxc_semantic",
    "rquickjs",
    "rquickjs-sys",
];
const KERNEL: &[&str] = &[
    "landlock",
    "seccompiler",
    "nix",
    "bailiwick-sandbox",
    "bailiwick-script",
];
const DATABASE: &[&str] = &["rusqlite", "libsqlite3-sys"];

/// The feature of `bailiwick-sandbox` that leaves layers out so that tests can see them missed.
const WEAKEN: &str = "weaken";

/// Finds packages of `tree` that must not be in it.
fn absent(tree: &str, features: &str, banned: &[&str]) -> Vec<Finding> {
    let mut found: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| banned.contains(name))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|name| {
            Finding::new(
                "bailiwick (features)",
                format!("`{features}` alone compiles {name}"),
            )
        })
        .collect()
}

/// Finds a build of `what` in which the test-only feature is on.
fn without_weakening(what: &str, tree: &str) -> Option<Finding> {
    let weakened = tree.lines().any(|line| {
        let Some((package, features)) = line.split_once(" [") else {
            return false;
        };
        let features = features
            .trim_end_matches(['(', '*', ')', ' '])
            .trim_end_matches(']');
        package.starts_with("bailiwick")
            && features.split(',').any(|feature| feature.trim() == WEAKEN)
    });
    weakened.then(|| {
        Finding::new(
            format!("{what} (features)"),
            format!("is built with `{WEAKEN}`, a feature for tests"),
        )
    })
}

/// Finds a manifest that turns the test-only feature on outside its tests: by default, as part of
/// another feature of that name's package, or in a dependency.
fn switched_on_by_manifests(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = format!("{name} (Cargo.toml)");
        for (feature, implies) in package["features"].as_object().into_iter().flatten() {
            let weakens = |item: &Value| {
                item.as_str()
                    .is_some_and(|item| item == WEAKEN || item.ends_with("/weaken"))
            };
            if feature != WEAKEN && implies.as_array().into_iter().flatten().any(weakens) {
                findings.push(Finding::new(
                    &manifest,
                    format!("the feature `{feature}` turns `{WEAKEN}` on"),
                ));
            }
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let features = dependency["features"].as_array();
            let weakens = features
                .into_iter()
                .flatten()
                .any(|feature| feature == WEAKEN);
            if weakens {
                // Not in tests either: features of one build unify, and the program is in it.
                findings.push(Finding::new(
                    &manifest,
                    format!("a dependency turns `{WEAKEN}` on"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_banned_crate_is_found_once() {
        let tree = "bailiwick v0.1.0 (/x)\nlandlock v0.4.4\nlandlock v0.4.4 (*)\nserde v1.0.0";
        let found = absent(tree, "module", KERNEL);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "bailiwick (features): `module` alone compiles landlock"
        );
    }

    #[test]
    fn a_weakened_build_is_found() {
        let line = |features: &str| format!("bailiwick-sandbox v0.1.0 (/x) [{features}]");
        assert!(without_weakening("full", &line("default,weaken")).is_some());
        assert!(without_weakening("full", &format!("{} (*)", line("weaken"))).is_some());
        assert!(without_weakening("full", &line("default,weakened")).is_none());
        assert!(without_weakening("full", "other v1.0.0 [weaken]").is_none());
    }

    #[test]
    fn a_manifest_that_turns_weakening_on_is_found() {
        let check = |features: Value, dependencies: Value| {
            let package =
                json!({"name": "bailiwick", "features": features, "dependencies": dependencies});
            switched_on_by_manifests(&json!({"packages": [package]})).len()
        };
        assert_eq!(check(json!({"weaken": [], "full": []}), json!([])), 0);
        assert_eq!(
            check(json!({"weaken": ["bailiwick-sandbox/weaken"]}), json!([])),
            0
        );
        assert_eq!(
            check(json!({"full": ["bailiwick-sandbox/weaken"]}), json!([])),
            1
        );
        assert_eq!(check(json!({"default": ["weaken"]}), json!([])), 1);
        assert_eq!(
            check(
                json!({}),
                json!([{"name": "bailiwick-sandbox", "features": ["weaken"]}])
            ),
            1
        );
    }
}
