//! Invariants 1 and 6: which crate may depend on which, of ours and of others.

use serde_json::Value;

use super::tree::Finding;
use crate::Result;

/// A package of the workspace with what it depends on directly.
pub(crate) struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    Normal,
    Build,
    Dev,
}

/// Reads the output of `cargo metadata`.
pub(crate) fn read(metadata: &Value) -> Result<Vec<Package>> {
    let text = |value: &Value| {
        value
            .as_str()
            .map(str::to_owned)
            .ok_or("cargo metadata has another form")
    };
    let list = |value: &Value| {
        value
            .as_array()
            .cloned()
            .ok_or("cargo metadata has another form")
    };
    let mut packages = Vec::new();
    for package in list(&metadata["packages"])? {
        let mut dependencies = Vec::new();
        for dependency in list(&package["dependencies"])? {
            let kind = match dependency["kind"].as_str() {
                None => Kind::Normal,
                Some("build") => Kind::Build,
                Some("dev") => Kind::Dev,
                Some(other) => return Err(format!("an unknown kind of dependency: {other}").into()),
            };
            dependencies.push(Dependency {
                name: text(&dependency["name"])?,
                kind,
            });
        }
        packages.push(Package {
            name: text(&package["name"])?,
            dependencies,
        });
    }
    Ok(packages)
}

pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let manifest = format!("{} (Cargo.toml)", package.name);
        let row = ALLOWED.iter().find(|row| row.name == package.name);
        if row.is_none() {
            findings.push(Finding::new(
                &manifest,
                "has no row in the table of arrows (xtask/src/tidy/arrows.rs)",
            ));
        }
        for Dependency { name, kind } in &package.dependencies {
            let ours = is_ours(name) && *name != package.name;
            if ours && row.is_some_and(|row| !row.may_use(name, *kind)) {
                findings.push(Finding::new(
                    &manifest,
                    format!("must not depend on {name}"),
                ));
            }
            let home = HOMES.iter().find(|home| home.is_of(name));
            if let Some(home) = home.filter(|home| !home.allows(&package.name, *kind)) {
                let only = home.packages.join(" and ");
                findings.push(Finding::new(
                    &manifest,
                    format!("must not depend on {name}: only {only} may"),
                ));
            }
        }
    }
    findings
}

fn is_ours(name: &str) -> bool {
    name == "bailiwick" || name.starts_with("bailiwick-")
}

/// What one of our packages may depend on, of ours.
struct Row {
    name: &'static str,
    normal: &'static [&'static str],
}

impl Row {
    fn may_use(&self, name: &str, kind: Kind) -> bool {
        let is_testkit = name == "bailiwick-testkit";
        match kind {
            Kind::Normal | Kind::Build => self.normal.contains(&ANY) || self.normal.contains(&name),
            // Tests may use the hostile parts, and what their crate uses; a tier's tests too know
            // no other tier.
            Kind::Dev => is_testkit || self.normal.contains(&ANY) || self.normal.contains(&name),
        }
    }
}

/// Stands for every package of ours.
const ANY: &str = "*";

const ALLOWED: &[Row] = &[
    Row {
        name: "bailiwick-core",
        normal: &[],
    },
    Row {
        name: "bailiwick-policy",
        normal: &["bailiwick-core"],
    },
    Row {
        name: "bailiwick-js-syntax",
        normal: &["bailiwick-core"],
    },
    Row {
        name: "bailiwick-store",
        normal: &["bailiwick-core"],
    },
    Row {
        name: "bailiwick-egress",
        // What a host and a port are is said once, in the policy.
        normal: &["bailiwick-core", "bailiwick-policy"],
    },
    Row {
        name: "bailiwick-package",
        normal: &["bailiwick-core", "bailiwick-js-syntax"],
    },
    Row {
        name: "bailiwick-module",
        normal: &["bailiwick-core"],
    },
    Row {
        name: "bailiwick-isolate",
        normal: &["bailiwick-core"],
    },
    Row {
        name: "bailiwick-quickjs",
        // The JavaScript engine is a guest of the isolate: the two are one tier.
        normal: &["bailiwick-core", "bailiwick-isolate", "bailiwick-js-syntax"],
    },
    Row {
        name: "bailiwick-sandbox",
        normal: &["bailiwick-core", "bailiwick-policy"],
    },
    Row {
        name: "bailiwick-script",
        normal: &[
            "bailiwick-core",
            "bailiwick-policy",
            "bailiwick-sandbox",
            "bailiwick-egress",
        ],
    },
    Row {
        name: "bailiwick-host",
        normal: &["bailiwick-core", "bailiwick-egress", "bailiwick-store"],
    },
    Row {
        name: "bailiwick",
        normal: &[ANY],
    },
    Row {
        name: "bailiwick-cli",
        normal: &[ANY],
    },
    Row {
        name: "bailiwick-mcp",
        normal: &["bailiwick", "bailiwick-core"],
    },
    Row {
        name: "bailiwick-testkit",
        normal: &["bailiwick-core", "bailiwick-host"],
    },
    Row {
        name: "bailiwick-conformance",
        normal: &[],
    },
    Row {
        name: "bailiwick-conformance-shim",
        normal: &[ANY],
    },
    Row {
        name: "bailiwick-conformance-kit",
        normal: &["bailiwick-core"],
    },
    Row {
        name: "bailiwick-benches",
        normal: &[ANY],
    },
    Row {
        name: "bailiwick-example-host",
        normal: &[ANY],
    },
    Row {
        name: "bailiwick-seed-examples",
        normal: &[ANY],
    },
    Row {
        name: "xtask",
        normal: &[],
    },
];

/// A family of crates that only some packages may use, so that it stays replaceable and unseen.
struct Home {
    /// Names; one that ends in `*` stands for all that begin like it.
    family: &'static [&'static str],
    packages: &'static [&'static str],
    /// Whether a build script of those packages may use it.
    in_build_scripts: bool,
}

impl Home {
    fn is_of(&self, name: &str) -> bool {
        self.family
            .iter()
            .any(|member| match member.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => *member == name,
            })
    }

    fn allows(&self, package: &str, kind: Kind) -> bool {
        self.packages.contains(&package) && (kind != Kind::Build || self.in_build_scripts)
    }
}

const HOMES: &[Home] = &[
    Home {
        family: &["wasmtime", "wasmtime-wasi", "wasmtime-wizer"],
        packages: &["bailiwick-isolate", "bailiwick-quickjs"],
        // A build script's wasmtime would be compiled a second time, with other features.
        in_build_scripts: false,
    },
    Home {
        family: &["rusqlite", "libsqlite3-sys"],
        packages: &["bailiwick-host", "bailiwick-store"],
        in_build_scripts: true,
    },
    Home {
        family: &["landlock", "seccompiler"],
        packages: &["bailiwick-sandbox"],
        in_build_scripts: true,
    },
    Home {
        family: &["oxc", "oxc_*"],
        packages: &["bailiwick-js-syntax"],
        in_build_scripts: true,
    },
    Home {
        family: &["rquickjs-sys"],
        packages: &["bailiwick-quickjs"],
        in_build_scripts: false,
    },
    Home {
        // The engine as native code, which is what a guest is compared with.
        family: &["rquickjs", "rquickjs-core"],
        packages: &["bailiwick-benches"],
        in_build_scripts: false,
    },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(package: &str, dependency: &str, kind: Option<&str>) -> usize {
        let metadata = json!({"packages": [{
            "name": package,
            "dependencies": [{"name": dependency, "kind": kind}],
        }]});
        check(&read(&metadata).unwrap()).len()
    }

    #[test]
    fn no_tier_depends_on_another_tier() {
        let tiers = ["bailiwick-module", "bailiwick-isolate", "bailiwick-script"];
        for tier in tiers {
            for other in tiers
                .into_iter()
                .chain(["bailiwick-quickjs"])
                .filter(|other| *other != tier)
            {
                for kind in [None, Some("dev"), Some("build")] {
                    assert_eq!(found(tier, other, kind), 1, "{tier} -> {other}");
                }
            }
        }
    }

    #[test]
    fn everything_may_depend_on_core_and_tests_on_the_testkit() {
        assert_eq!(found("bailiwick-module", "bailiwick-core", None), 0);
        assert_eq!(
            found("bailiwick-module", "bailiwick-testkit", Some("dev")),
            0
        );
        assert_eq!(found("bailiwick-module", "bailiwick-testkit", None), 1);
    }

    #[test]
    fn the_runner_and_these_tasks_use_none_of_ours() {
        assert_eq!(found("bailiwick-conformance", "bailiwick-core", None), 1);
        assert_eq!(found("xtask", "bailiwick-core", Some("dev")), 1);
    }

    #[test]
    fn heavy_crates_stay_at_home() {
        assert_eq!(found("bailiwick-quickjs", "wasmtime", None), 0);
        assert_eq!(found("bailiwick-quickjs", "wasmtime", Some("build")), 1);
        assert_eq!(found("bailiwick", "wasmtime", None), 1);
        assert_eq!(found("bailiwick-benches", "wasmtime", None), 1);
        assert_eq!(found("bailiwick-quickjs", "oxc_ast", None), 1);
        assert_eq!(found("bailiwick-quickjs", "rquickjs-sys", None), 0);
        assert_eq!(found("bailiwick-isolate", "rquickjs-sys", None), 1);
        assert_eq!(found("bailiwick-benches", "rquickjs", None), 0);
        assert_eq!(found("bailiwick-quickjs", "rquickjs", None), 1);
        assert_eq!(found("bailiwick", "rusqlite", None), 1);
        assert_eq!(found("bailiwick-quickjs", "oxc_parser", None), 1);
        assert_eq!(found("bailiwick-js-syntax", "oxc_parser", None), 0);
        assert_eq!(found("bailiwick-script", "landlock", None), 1);
        assert_eq!(found("bailiwick-sandbox", "landlock", None), 0);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert_eq!(found("bailiwick-novelty", "serde", None), 1);
    }
}
