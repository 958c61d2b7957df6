//! How `engine.wasm` is made: QuickJS-ng and our shim, compiled by clang and linked by `rust-lld`.
//!
//! The build script and `cargo xtask guest` share this file.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

/// Where everything is.
pub(crate) struct Recipe {
    /// `crates/quickjs/guest`.
    pub(crate) guest: PathBuf,
    /// The unpacked `rquickjs-sys`, which ships the engine's source and a libc for wasm.
    pub(crate) sources: PathBuf,
    /// A folder for what is made on the way.
    pub(crate) scratch: PathBuf,
    /// The compiler.
    pub(crate) clang: OsString,
    /// The linker and the flag that makes it one for wasm, where it needs one.
    pub(crate) linker: Vec<OsString>,
}

impl Recipe {
    /// Finds the tools.
    ///
    /// # Errors
    ///
    /// One sentence naming what is missing and how to get it.
    pub(crate) fn find(
        guest: PathBuf,
        sources: PathBuf,
        scratch: PathBuf,
        rustc: &Path,
    ) -> Result<Self, String> {
        Ok(Self {
            guest,
            sources,
            scratch,
            clang: find_clang()?,
            linker: find_linker(rustc)?,
        })
    }

    /// Makes the engine and returns its bytes.
    ///
    /// # Errors
    ///
    /// What a tool said when it failed.
    pub(crate) fn make(&self) -> Result<Vec<u8>, String> {
        fs::write(
            self.scratch.join("prelude.inc"),
            prelude_as_numbers(&self.guest)?,
        )
        .map_err(|error| format!("the prelude cannot be written: {error}"))?;
        let engine = self.sources.join("quickjs");
        let units = [
            self.guest.join("engine.c"),
            self.guest.join("shim.c"),
            engine.join("libregexp.c"),
            engine.join("libunicode.c"),
            engine.join("dtoa.c"),
            self.sources.join("wasm-shim/shim.c"),
        ];
        let objects = std::thread::scope(|scope| {
            let compiling: Vec<_> = units
                .iter()
                .enumerate()
                .map(|(index, unit)| scope.spawn(move || self.compile(index, unit)))
                .collect();
            compiling
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .map_err(|_| "a compile thread panicked".to_owned())?
                })
                .collect::<Result<Vec<_>, String>>()
        })?;
        let wasm = self.scratch.join("engine.wasm");
        let mut link = Command::new(&self.linker[0]);
        link.args(&self.linker[1..])
            .args([
                "--no-entry",
                "--stack-first",
                "--gc-sections",
                "--strip-all",
                "-z",
            ])
            .arg(format!("stack-size={SHADOW_STACK}"))
            .args(&objects)
            .arg(self.libc().join("lib/libc.a"))
            .arg("-o")
            .arg(&wasm);
        run(link)?;
        fs::read(&wasm).map_err(|error| format!("the linked engine cannot be read: {error}"))
    }

    fn compile(&self, index: usize, unit: &Path) -> Result<PathBuf, String> {
        let object = self.scratch.join(format!("unit-{index}.o"));
        let mut compile = Command::new(&self.clang);
        compile
            .args(FLAGS)
            .arg("-I")
            .arg(self.sources.join("quickjs"))
            .arg("-I")
            .arg(&self.scratch)
            .arg("-isystem")
            .arg(self.libc().join("include"))
            .arg("-c")
            .arg(unit)
            .arg("-o")
            .arg(&object);
        run(compile)?;
        Ok(object)
    }

    fn libc(&self) -> PathBuf {
        self.sources.join("vendor/wasi-libc")
    }
}

/// Returns the digest of what the engine is made of, besides the engine's own source, whose
/// version the lock file fixes.
///
/// # Errors
///
/// The file that cannot be read.
pub(crate) fn inputs_digest(guest: &Path) -> Result<String, String> {
    let mut hash = Sha256::new();
    for name in ["engine.c", "shim.c"] {
        hash.update(read(&guest.join(name))?);
        hash.update([0]);
    }
    hash.update(prelude(guest)?);
    hash.update(include_bytes!("recipe.rs"));
    Ok(hex(&hash.finalize()))
}

/// Returns a digest as lower-case hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// Returns the files that make the prelude, in their order.
///
/// # Errors
///
/// The file that cannot be read.
pub(crate) fn prelude_files(guest: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = guest.join("prelude");
    let order = String::from_utf8_lossy(&read(&folder.join("order.txt"))?).into_owned();
    let names = order.lines().map(str::trim);
    let names = names.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(names.map(|name| folder.join(name)).collect())
}

/// One function of the `native` object, whose body is the files one after the other.
fn prelude(guest: &Path) -> Result<Vec<u8>, String> {
    let mut text = b"(function (native) {\n\"use strict\";\n".to_vec();
    for file in prelude_files(guest)? {
        text.extend(read(&file)?);
        text.push(b'\n');
    }
    text.extend(b"})");
    Ok(text)
}

fn prelude_as_numbers(guest: &Path) -> Result<String, String> {
    let numbers: Vec<String> = prelude(guest)?
        .iter()
        .map(|byte| byte.cast_signed().to_string())
        .collect();
    Ok(numbers.join(","))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Returns the clang that `BAILIWICK_CLANG` names, or else the newest that knows wasm.
///
/// # Errors
///
/// How to get one.
pub(crate) fn find_clang() -> Result<OsString, String> {
    if let Some(named) = std::env::var_os("BAILIWICK_CLANG") {
        return if knows_wasm(&named) {
            Ok(named)
        } else {
            let named = named.to_string_lossy();
            Err(format!(
                "BAILIWICK_CLANG names `{named}`, which is no clang that knows wasm32"
            ))
        };
    }
    let versions = (OLDEST_CLANG..=NEWEST_CLANG).rev();
    versions
        .map(|version| format!("clang-{version}"))
        .chain(["clang".to_owned()])
        .map(OsString::from)
        .find(|name| knows_wasm(name))
        .ok_or_else(|| {
            format!(
                "no clang that knows wasm32 was found; run `cargo xtask setup`, or install clang \
                 {OLDEST_CLANG} or newer, or name one in BAILIWICK_CLANG"
            )
        })
}

fn knows_wasm(clang: &OsStr) -> bool {
    let targets = Command::new(clang).arg("--print-targets").output();
    targets.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("wasm32"))
}

/// Returns the toolchain's own linker, or one that is installed.
fn find_linker(rustc: &Path) -> Result<Vec<OsString>, String> {
    let said = |argument: &[&str]| {
        let output = Command::new(rustc).args(argument).output();
        let output = output.map_err(|error| format!("rustc cannot be asked: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let sysroot = said(&["--print", "sysroot"])?;
    let version = said(&["-vV"])?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap_or_default();
    let bundled = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host)
        .join("bin/rust-lld");
    if bundled.exists() {
        return Ok(vec![bundled.into(), "-flavor".into(), "wasm".into()]);
    }
    let versions = (OLDEST_CLANG..=NEWEST_CLANG).rev();
    versions
        .map(|version| format!("wasm-ld-{version}"))
        .chain(["wasm-ld".to_owned()])
        .find(|name| Command::new(name).arg("--version").output().is_ok())
        .map(|name| vec![name.into()])
        .ok_or_else(|| "neither rust-lld nor wasm-ld was found; install lld".to_owned())
}

fn run(mut command: Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{} cannot be started: {error}", program(&command)))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{} failed:\n{}",
        program(&command),
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The stack in linear memory: twice what JavaScript may use at the most, which must not reach its
/// end.
const SHADOW_STACK: u32 = 2 << 20;

const OLDEST_CLANG: u32 = 14;
const NEWEST_CLANG: u32 = 24;

/// `EMSCRIPTEN` chooses the engine's switch dispatch and leaves out what needs threads.
const FLAGS: [&str; 13] = [
    "--target=wasm32-unknown-unknown",
    "-O2",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-DEMSCRIPTEN=1",
    "-DFE_DOWNWARD=0",
    "-DFE_UPWARD=0",
    "-fno-strict-aliasing",
    "-funsigned-char",
    "-w",
    "-mbulk-memory",
    "-mnontrapping-fptoint",
    "-msign-ext",
];
