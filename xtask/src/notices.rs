//! `notices`: the licence texts of everything that a build of ours contains.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use xshell::cmd;

use crate::workspace::Workspace;
use crate::{Result, guest};

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(workspace.sh().write_file(FILE, generate(workspace)?)?),
        ["--check"] => check(workspace),
        _ => Err("usage: cargo xtask notices [--check]".into()),
    }
}

/// Fails if the notices do not belong to the locked dependency tree.
pub(crate) fn check(workspace: &Workspace) -> Result {
    let current = workspace.sh().read_file(FILE).unwrap_or_default();
    if current == generate(workspace)? {
        Ok(())
    } else {
        Err(format!("{FILE} is stale; run `cargo xtask notices`").into())
    }
}

const FILE: &str = "THIRD-PARTY-NOTICES.md";

/// A package of others that the program contains.
struct Package {
    name: String,
    version: String,
    licence: String,
    folder: PathBuf,
}

fn generate(workspace: &Workspace) -> Result<String> {
    let shipped = shipped(workspace)?;
    let packages: Vec<Package> = read(&workspace.metadata(true)?)?
        .into_iter()
        .filter(|package| {
            package.is_engine()
                || shipped.contains(&format!("{} v{}", package.name, package.version))
        })
        .collect();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut table = String::new();
    let mut without_text = Vec::new();
    for package in &packages {
        let Package {
            name,
            version,
            licence,
            ..
        } = package;
        writeln!(table, "| {name} | {version} | {licence} |")?;
        if package.is_engine() {
            // It is compiled to wasm, which the program contains; cargo knows nothing of that.
            for (part, licence) in ENGINE_PARTS {
                writeln!(table, "| {part}, in {name} | {version} | {licence} |")?;
            }
        }
        let licence_texts = package.licence_texts(workspace)?;
        if licence_texts.is_empty() {
            without_text.push(format!("{name} {version} ({licence})"));
        }
        for text in licence_texts {
            texts
                .entry(text)
                .or_default()
                .push(format!("{name} {version}"));
        }
    }
    let mut document = format!("{HEAD}{table}");
    if !without_text.is_empty() {
        write!(
            document,
            "\nThese ship no text of their own: {}.\n",
            without_text.join(", ")
        )?;
    }
    for (text, users) in texts {
        write!(
            document,
            "\n---\n\n{}:\n\n```text\n{text}\n```\n",
            users.join(", ")
        )?;
    }
    Ok(document)
}

const HEAD: &str = "\
# Third-party notices

The `bailiwick` program contains the packages below, each under its own licence.
Written by `cargo xtask notices` from the locked dependency tree; do not edit.

| package | version | licence |
|---|---|---|
";

/// Returns `name vVERSION` of what is linked into the program; build scripts and tests are not.
fn shipped(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let (sh, format) = (workspace.sh(), "{p}");
    let tree = cmd!(
        sh,
        "cargo tree -p bailiwick-cli -e normal,no-proc-macro --prefix none --format {format} --locked"
    )
    .quiet()
    .read()?;
    Ok(tree
        .lines()
        .map(|line| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect())
}

fn read(metadata: &Value) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        if package["source"].is_null() {
            continue;
        }
        let text = |field: &str| package[field].as_str().map(str::to_owned);
        let name = text("name").ok_or("a package has no name")?;
        let manifest = PathBuf::from(text("manifest_path").ok_or("a package has no manifest")?);
        packages.push(Package {
            version: text("version").ok_or("a package has no version")?,
            licence: text("license").ok_or_else(|| format!("{name} names no licence"))?,
            folder: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
            name,
        });
    }
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

impl Package {
    /// Tells whether this is the package that ships the JavaScript engine's source.
    fn is_engine(&self) -> bool {
        self.name == guest::SOURCE_PACKAGE
    }

    /// Returns the licence and notice files that the package ships, without their variations in
    /// blanks.
    ///
    /// Where a package offers a choice with MIT, the other texts are left out: one grant is enough
    /// and the notices stay readable.
    fn licence_texts(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let sh = workspace.sh();
        if self.is_engine() {
            let engine = sh.read_file(self.folder.join("quickjs/LICENSE"))?;
            return Ok(vec![trimmed(&engine), trimmed(C_LIBRARY)]);
        }
        let mut files: Vec<PathBuf> = sh
            .read_dir(&self.folder)?
            .into_iter()
            .filter(|file| file.is_file() && is_notice(file))
            .collect();
        let mit: Vec<PathBuf> = files
            .iter()
            .filter(|file| names(file, "mit"))
            .cloned()
            .collect();
        let is_choice = self.licence.contains(" OR ") || self.licence.contains('/');
        if is_choice && self.licence.contains("MIT") && !mit.is_empty() {
            files = mit;
        }
        let texts = files.iter().map(|file| Ok(trimmed(&sh.read_file(file)?)));
        texts.collect()
    }
}

/// Returns a text without what differs between copies of the same licence.
fn trimmed(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// What the package of the JavaScript engine's source brings of others, with their licences.
const ENGINE_PARTS: [(&str, &str); 2] = [
    ("QuickJS-ng", "MIT"),
    ("wasi-libc", "MIT AND BSD-2-Clause AND CC0-1.0"),
];

/// The package ships its C library without the texts.
const C_LIBRARY: &str = include_str!("../notices/wasi-libc.txt");

fn is_notice(file: &Path) -> bool {
    let is_code = file
        .extension()
        .is_some_and(|extension| extension == "rs" || extension == "html");
    !is_code
        && ["licen", "notice", "copying", "copyright", "unlicen"]
            .iter()
            .any(|word| names(file, word))
}

fn names(file: &Path, word: &str) -> bool {
    file.file_name()
        .is_some_and(|name| name.to_string_lossy().to_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_own_packages_need_no_notice() {
        let metadata = json!({"packages": [
            {"name": "bailiwick", "source": null},
            {"name": "b", "version": "1.0.0", "source": "registry", "license": "MIT", "manifest_path": "/r/b/Cargo.toml"},
            {"name": "a", "version": "2.0.0", "source": "registry", "license": "MIT", "manifest_path": "/r/a/Cargo.toml"},
        ]});
        let names: Vec<_> = read(&metadata)
            .unwrap()
            .into_iter()
            .map(|package| package.name)
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_package_without_a_licence_is_an_error() {
        let metadata = json!({"packages": [
            {"name": "b", "version": "1.0.0", "source": "registry", "license": null, "manifest_path": "/r/b/Cargo.toml"},
        ]});
        assert!(read(&metadata).is_err());
    }

    #[test]
    fn licence_files_are_known_by_their_names() {
        for name in [
            "LICENSE",
            "LICENSE-MIT",
            "license.txt",
            "UNLICENSE",
            "COPYING",
            "NOTICE.md",
            "LICENCE",
        ] {
            assert!(is_notice(Path::new(name)), "{name}");
        }
        assert!(!is_notice(Path::new("license.rs")));
        assert!(!is_notice(Path::new("README.md")));
    }
}
