//! `guest`: the JavaScript engine as wasm, by the recipe of `bailiwick-quickjs`.
//!
//! The published package brings the engine, so that whoever builds it needs no clang. What is
//! committed is `engine.sha256` alone: the digest of the engine, the digest of what it is made of,
//! and the tools that made it. `--check` makes it again and compares.

use std::path::{Path, PathBuf};

use xshell::{Cmd, Shell};

use crate::Result;
use crate::recipe::{self, Recipe};
use crate::scratch::Scratch;
use crate::setup::{self, Purpose};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    setup::ensure(workspace, Purpose::Demo)?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => make(workspace)?.keep(workspace.sh(), &workspace.root().join(FOLDER)),
        ["--check"] => check(workspace).map(drop),
        _ => Err("usage: cargo xtask guest [--check]".into()),
    }
}

/// Makes the engine.
pub(crate) fn make(workspace: &Workspace) -> Result<Made> {
    let sh = workspace.sh();
    let guest = workspace.root().join(FOLDER);
    let scratch = Scratch::create(sh)?;
    let rustc = sh.var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let recipe = Recipe::find(
        guest.clone(),
        sources(workspace)?,
        scratch.path().to_owned(),
        Path::new(&rustc),
    )?;
    let toolchain = toolchain(sh, &recipe)?;
    eprintln!("guest: {toolchain} makes the engine");
    let engine = recipe.make()?;
    let names = Names {
        engine: recipe::digest(&engine),
        inputs: recipe::inputs_digest(&guest)?,
        toolchain,
    };
    Ok(Made { engine, names })
}

/// Makes the engine and fails where it is another than `engine.sha256` says; returns what it made.
///
/// Other tools than the recorded ones make other bytes: then what it is made of is compared, and
/// the difference in tools is told.
pub(crate) fn check(workspace: &Workspace) -> Result<Made> {
    let file = format!("{FOLDER}/engine.sha256");
    let text = workspace.sh().read_file(&file).unwrap_or_default();
    let Some(recorded) = Names::parse(&text) else {
        return Err(format!("{file} has another form; run `cargo xtask guest`").into());
    };
    let made = make(workspace)?;
    let verdict = recorded.compare(&made.names);
    if let Verdict::OtherTools = verdict {
        eprintln!(
            "guest: the engine's digest is not compared: it was made by {}, and here are {}",
            recorded.toolchain, made.names.toolchain
        );
    }
    match verdict {
        Verdict::Same | Verdict::OtherTools => Ok(made),
        Verdict::OtherInputs => Err(format!(
            "{file} is stale: the engine is made of other files now; run `cargo xtask guest`"
        )
        .into()),
        Verdict::OtherEngine => Err(format!(
            "{} made another engine than {file} says, of the same files; if it depends on a path \
             or the time, the recipe is wrong, else run `cargo xtask guest`",
            recorded.toolchain
        )
        .into()),
    }
}

/// Where the guest's sources are, from the root of the repository.
pub(crate) const FOLDER: &str = "crates/quickjs/guest";

/// The engine as it was made here.
pub(crate) struct Made {
    engine: Vec<u8>,
    names: Names,
}

impl Made {
    /// Writes the engine and its names into a folder.
    pub(crate) fn keep(&self, sh: &Shell, folder: &Path) -> Result {
        write(sh, &folder.join("engine.wasm"), &self.engine)?;
        let names = self.names.to_string();
        write(sh, &folder.join("engine.sha256"), names.as_bytes())
    }
}

/// What `engine.sha256` holds; the build script of the crate reads the first two lines.
#[derive(Debug, Eq, PartialEq)]
struct Names {
    engine: String,
    inputs: String,
    toolchain: String,
}

#[derive(Debug, Eq, PartialEq)]
enum Verdict {
    Same,
    OtherTools,
    OtherInputs,
    OtherEngine,
}

impl Names {
    fn parse(text: &str) -> Option<Self> {
        let line = |what: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once("  "));
            lines.find_map(|(value, name)| (name == what).then(|| value.to_owned()))
        };
        Some(Self {
            engine: line("engine.wasm")?,
            inputs: line("inputs")?,
            toolchain: line("toolchain")?,
        })
    }

    fn compare(&self, made: &Self) -> Verdict {
        if self.inputs != made.inputs {
            Verdict::OtherInputs
        } else if self.toolchain != made.toolchain {
            Verdict::OtherTools
        } else if self.engine != made.engine {
            Verdict::OtherEngine
        } else {
            Verdict::Same
        }
    }
}

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}  engine.wasm", self.engine)?;
        writeln!(f, "{}  inputs", self.inputs)?;
        writeln!(f, "{}  toolchain", self.toolchain)
    }
}

/// Returns the versions of the compiler and the linker as one word; others make other bytes of the
/// same source.
fn toolchain(sh: &Shell, recipe: &Recipe) -> Result<String> {
    let compiler = version(sh.cmd(&recipe.clang))?;
    let linker = version(sh.cmd(&recipe.linker[0]).args(&recipe.linker[1..]))?;
    Ok(format!("clang-{compiler},lld-{linker}"))
}

fn version(tool: Cmd<'_>) -> Result<String> {
    let said = tool.arg("--version").quiet().read()?;
    Ok(version_in(&said).ok_or("a compiler does not say its version")?)
}

/// Returns the first number with dots.
fn version_in(said: &str) -> Option<String> {
    let is_version = |word: &&str| {
        word.contains('.') && word.starts_with(|character: char| character.is_ascii_digit())
    };
    let word = said.split_whitespace().find(is_version)?;
    Some(word.trim_end_matches(',').to_owned())
}

/// Returns the folder of the engine's source, which cargo unpacks for no target of ours.
pub(crate) fn sources(workspace: &Workspace) -> Result<PathBuf> {
    let metadata = workspace.metadata(true)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut packages = packages.filter(|package| package["name"] == SOURCE_PACKAGE);
    let folder =
        packages.find_map(|package| Path::new(package["manifest_path"].as_str()?).parent());
    Ok(folder
        .ok_or("the engine's source is not in the lock file")?
        .to_owned())
}

/// The package that ships the engine's source.
pub(crate) const SOURCE_PACKAGE: &str = "rquickjs-sys";

/// Leaves a file that is right already as it is, so that nothing is built anew for it.
fn write(sh: &Shell, file: &Path, bytes: &[u8]) -> Result {
    let is_there = sh.read_binary_file(file).is_ok_and(|old| old == bytes);
    if is_there {
        return Ok(());
    }
    Ok(sh.write_file(file, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(engine: &str, inputs: &str, toolchain: &str) -> Names {
        Names {
            engine: engine.to_owned(),
            inputs: inputs.to_owned(),
            toolchain: toolchain.to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let written = names("aa", "bb", "clang-14.0.6,lld-22.1.2");
        assert_eq!(
            written.to_string(),
            "aa  engine.wasm\nbb  inputs\nclang-14.0.6,lld-22.1.2  toolchain\n"
        );
        assert_eq!(Names::parse(&written.to_string()), Some(written));
        assert_eq!(Names::parse("aa  engine.wasm\n"), None);
    }

    #[test]
    fn tools_say_their_versions() {
        let said = |text| version_in(text).unwrap();
        assert_eq!(
            said("Debian clang version 14.0.6\nTarget: x86_64"),
            "14.0.6"
        );
        assert_eq!(
            said("LLD 22.1.2 (/checkout/src/llvm-project/llvm 1cb4)"),
            "22.1.2"
        );
        assert_eq!(version_in("clang"), None);
    }

    #[test]
    fn an_engine_is_compared_where_the_same_tools_made_it() {
        let recorded = names("a", "i", "clang-14");
        let against =
            |engine, inputs, toolchain| recorded.compare(&names(engine, inputs, toolchain));
        assert_eq!(against("a", "i", "clang-14"), Verdict::Same);
        assert_eq!(against("b", "i", "clang-14"), Verdict::OtherEngine);
        assert_eq!(against("b", "i", "clang-19"), Verdict::OtherTools);
        // Stale is stale, whoever looks.
        assert_eq!(against("a", "j", "clang-19"), Verdict::OtherInputs);
    }
}
