//! `package`: packs the crates and proves that the packed JavaScript engine needs no clang.
//!
//! All of it happens in a copy of the repository, because the packed crates are built as what they
//! are to their users, from the archive, and yet with what the workspace has compiled already:
//! in the copy the archives take the place of their folders, and everything else (members, lock
//! file, profiles) stays, so that features resolve as they do here and nothing of others is
//! compiled a second time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::guest::{self, Made};
use crate::scratch::Scratch;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask package".into());
    }
    prove(workspace, &guest::make(workspace)?)
}

/// Packs every published crate with the engine in `made`, builds the packed ones that JavaScript
/// needs, and calls a tool with them.
pub(crate) fn prove(workspace: &Workspace, made: &Made) -> Result {
    let sh = workspace.sh();
    let scratch = Scratch::create(sh)?;
    let source = sh.create_dir(scratch.path().join("source"))?;
    workspace.copy_sources(&source)?;
    made.keep(sh, &source.join(guest::FOLDER))?;
    let (target, packages) = (workspace.target()?, workspace.packages()?);
    let path = path_without_clang(sh, &scratch.path().join("programs"))?;

    let _in_source = sh.push_dir(&source);
    pack(sh, packages, &scratch.path().join("target"))?;
    for name in PROVEN {
        unpack(sh, &scratch.path().join("target/package"), name)?;
    }
    check_content(sh)?;
    let manifest = sh.read_file("Cargo.toml")?;
    sh.write_file("Cargo.toml", with_packed(&manifest)?)?;

    let build = Build {
        sh,
        target: &target,
        path: &path,
    };
    build.fails_without_the_engine()?;
    let compiled = build.run()?;
    eprintln!("package: built without clang; compiled: {compiled}");
    let example = target.join("debug/examples").join(EXAMPLE);
    let said = cmd!(sh, "{example}").read()?;
    if said == EXPECTED {
        Ok(())
    } else {
        Err(format!("the packed engine answered `{said}`, not `{EXPECTED}`").into())
    }
}

/// What JavaScript needs of ours, by folder.
const PROVEN: [&str; 4] = ["core", "isolate", "js-syntax", "quickjs"];

/// The example of the packed crate, and what it says.
const EXAMPLE: &str = "one_call";
const EXPECTED: &str = r#"{"shouted":"HELLO"}"#;

/// Packs every crate that is for others; the packing itself checks manifests and files.
fn pack(sh: &Shell, packages: Vec<String>, target: &Path) -> Result {
    let packages = packages
        .into_iter()
        .flat_map(|name| ["-p".to_owned(), name]);
    Ok(cmd!(
        sh,
        "cargo package {packages...} --quiet --no-verify --offline --exclude-lockfile --target-dir {target}"
    )
    .run()?)
}

fn unpack(sh: &Shell, archives: &Path, folder: &str) -> Result {
    let name = format!("bailiwick-{folder}-");
    let archive = sh
        .read_dir(archives)?
        .into_iter()
        .find(|file| {
            let file = file.file_name().unwrap_or_default().to_string_lossy();
            // The version follows, and not the rest of another name.
            file.strip_prefix(&name)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                && file.ends_with(".crate")
        })
        .ok_or_else(|| format!("{folder} was not packed"))?;
    let to = sh.create_dir(format!("packed/{folder}"))?;
    Ok(cmd!(sh, "tar -xzf {archive} -C {to} --strip-components=1")
        .quiet()
        .run()?)
}

/// Fails if the packed crate lacks the engine or brings what is nobody's business.
fn check_content(sh: &Shell) -> Result {
    let packed = Path::new("packed/quickjs");
    let mut found: Vec<String> = sh
        .read_dir(packed)?
        .iter()
        .filter_map(|entry| Some(entry.file_name()?.to_string_lossy().into_owned()))
        .collect();
    found.sort_unstable();
    if found != CONTENT {
        return Err(format!("the package holds {found:?}, not {CONTENT:?}").into());
    }
    let mut guest: Vec<String> = sh
        .read_dir(packed.join("guest"))?
        .iter()
        .filter_map(|entry| Some(entry.file_name()?.to_string_lossy().into_owned()))
        .collect();
    guest.sort_unstable();
    if guest != GUEST {
        return Err(format!("the package's guest holds {guest:?}, not {GUEST:?}").into());
    }
    Ok(())
}

const CONTENT: [&str; 7] = [
    "Cargo.toml",
    "Cargo.toml.orig",
    "build",
    "build.rs",
    "examples",
    "guest",
    "src",
];

const GUEST: [&str; 5] = [
    "engine.c",
    "engine.sha256",
    "engine.wasm",
    "prelude",
    "shim.c",
];

/// Returns the root manifest with the unpacked crates in the place of their folders, for the
/// members that name a path and for the packed ones that name a version.
fn with_packed(manifest: &str) -> Result<String> {
    let mut manifest = manifest.to_owned();
    let mut patches = String::from("\n[patch.crates-io]\n");
    for folder in PROVEN {
        let (was, is) = (
            format!("\"crates/{folder}\""),
            format!("\"packed/{folder}\""),
        );
        if manifest.matches(&was).count() != 2 {
            return Err(format!("the root manifest does not name {was} twice").into());
        }
        manifest = manifest.replace(&was, &is);
        writeln!(patches, "bailiwick-{folder} = {{ path = {is} }}")?;
    }
    Ok(manifest + &patches)
}

/// Links every program of the path but clang's into a folder, and returns that as a path.
fn path_without_clang(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    sh.create_dir(folder)?;
    let path = sh.var_os("PATH").unwrap_or_default();
    for place in std::env::split_paths(&path) {
        let Ok(programs) = sh.read_dir(&place) else {
            continue;
        };
        for program in programs {
            let name = program.file_name().unwrap_or_default();
            let link = folder.join(name);
            // The first of a name counts, as on any path.
            if !name.to_string_lossy().contains("clang") && !link.is_symlink() {
                std::os::unix::fs::symlink(&program, &link)?;
            }
        }
    }
    Ok(folder.to_owned())
}

/// How the packed crate is built: without clang and without the network.
struct Build<'a> {
    sh: &'a Shell,
    target: &'a Path,
    path: &'a Path,
}

impl Build<'_> {
    fn command(&self) -> xshell::Cmd<'_> {
        let (sh, target) = (self.sh, self.target);
        cmd!(
            sh,
            "cargo build --workspace --example {EXAMPLE} --offline --target-dir {target}"
        )
        .env("PATH", self.path)
        .env_remove("BAILIWICK_CLANG")
        .env_remove("BAILIWICK_GUEST")
    }

    /// The control: without the packed engine this very build asks for clang.
    fn fails_without_the_engine(&self) -> Result {
        let (sh, engine) = (self.sh, "packed/quickjs/guest/engine.wasm");
        let bytes = sh.read_binary_file(engine)?;
        sh.remove_path(engine)?;
        let output = self.command().ignore_status().output()?;
        sh.write_file(engine, bytes)?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && said.contains("no clang that knows wasm32") {
            Ok(())
        } else {
            Err(format!("without the packed engine the build should ask for clang: {said}").into())
        }
    }

    /// Returns the names of the packages that were compiled; the others were compiled before.
    fn run(&self) -> Result<String> {
        let command = self
            .command()
            .arg("--message-format=json-render-diagnostics");
        Ok(compiled(&command.read()?))
    }
}

fn compiled(messages: &str) -> String {
    let mut names: Vec<String> = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["fresh"] == false)
        .filter_map(|message| Some(message["target"]["name"].as_str()?.to_owned()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_crates_take_the_place_of_their_folders() {
        let once = PROVEN
            .map(|folder| format!("\"crates/{folder}\""))
            .join("\n");
        let replaced = with_packed(&format!("{once}\n{once}")).unwrap();
        assert!(!replaced.contains("crates/"), "{replaced}");
        assert!(replaced.contains("bailiwick-quickjs = { path = \"packed/quickjs\" }"));
        assert!(with_packed("\"crates/core\"").is_err());
    }

    #[test]
    fn what_is_fresh_was_not_compiled() {
        let messages = [
            r#"{"reason":"compiler-artifact","fresh":true,"target":{"name":"wasmtime"}}"#,
            r#"{"reason":"compiler-artifact","fresh":false,"target":{"name":"bailiwick_quickjs"}}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        assert_eq!(compiled(&messages.join("\n")), "bailiwick_quickjs");
    }
}
