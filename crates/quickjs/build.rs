//! Puts `engine.wasm` into the crate: the packaged one when it is the one that this source names,
//! else one that is built.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads its sources and starts the compiler"
)]

#[path = "build/recipe.rs"]
mod recipe;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use recipe::{Recipe, digest, inputs_digest};

fn main() {
    let guest = folder("CARGO_MANIFEST_DIR").join("guest");
    for watched in [&guest, Path::new("build")] {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    for name in ["BAILIWICK_GUEST", "BAILIWICK_CLANG", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let made = engine(&guest);
    let written = made.and_then(|bytes| {
        fs::write(folder("OUT_DIR").join("engine.wasm"), bytes).map_err(|error| error.to_string())
    });
    if let Err(reason) = written {
        for line in reason.lines() {
            println!("cargo:error={line}");
        }
        std::process::exit(1);
    }
}

fn engine(guest: &Path) -> Result<Vec<u8>, String> {
    if env::var_os("DOCS_RS").is_some() {
        // Documentation runs nothing, and its builders have no clang.
        return Ok(Vec::new());
    }
    let is_forced = env::var_os("BAILIWICK_GUEST").is_some_and(|value| value == "build");
    if !is_forced && let Some(packaged) = packaged(guest)? {
        return Ok(packaged);
    }
    let rustc = folder("RUSTC");
    Recipe::find(guest.to_owned(), sources()?, folder("OUT_DIR"), &rustc)?.make()
}

/// Returns the packaged engine where it is what `engine.sha256` says, made of this very source.
fn packaged(guest: &Path) -> Result<Option<Vec<u8>>, String> {
    let (Ok(engine), Ok(named)) = (
        fs::read(guest.join("engine.wasm")),
        fs::read_to_string(guest.join("engine.sha256")),
    ) else {
        return Ok(None);
    };
    let is_named = |what: &str, digest: &str| {
        let line = format!("{digest}  {what}");
        named.lines().any(|named| named == line)
    };
    let fits =
        is_named("engine.wasm", &digest(&engine)) && is_named("inputs", &inputs_digest(guest)?);
    Ok(fits.then_some(engine))
}

/// Asks cargo where the engine's source is; it is pinned by the lock file and never compiled for
/// the host.
fn sources() -> Result<PathBuf, String> {
    let manifest = folder("CARGO_MANIFEST_DIR").join("Cargo.toml");
    let output = Command::new(folder("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .map_err(|error| format!("cargo cannot be asked: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut packages = packages.filter(|package| package["name"] == "rquickjs-sys");
    let path = packages.find_map(|package| Path::new(package["manifest_path"].as_str()?).parent());
    path.map(Path::to_owned)
        .ok_or_else(|| "rquickjs-sys is not in the lock file".to_owned())
}

fn folder(name: &str) -> PathBuf {
    env::var_os(name).map(PathBuf::from).unwrap_or_default()
}
