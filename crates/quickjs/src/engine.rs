//! The JavaScript engine as a compiled guest.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use bailiwick_core::SkillError;
use bailiwick_isolate::{Completion, Engine, EngineSettings, Job, Limits, Program};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::error::QuickjsError;
use crate::url;

/// QuickJS-ng as a guest of [`bailiwick_isolate`], started once and copied for each call; cheap to
/// clone.
#[derive(Clone)]
pub struct JsEngine {
    engine: Engine,
    program: Program,
}

impl JsEngine {
    /// Starts the engine with the members that a guest finds in `context`, granted or not; it blocks
    /// for about a second where nothing is kept from an earlier start.
    ///
    /// With a `folder`, the snapshot of the started engine and its native code are kept there, and
    /// the next start takes a few milliseconds. The folder is made if it is not there, for this
    /// user alone; what is found in it is only ever run inside a guest.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when the pool does not fit into the address space, the folder cannot
    /// be used, or this build has no engine.
    pub fn start(
        settings: EngineSettings,
        members: &[String],
        folder: Option<&Path>,
    ) -> Result<Self, SkillError> {
        if ENGINE.is_empty() {
            return Err(QuickjsError::NoEngine.into());
        }
        let settings = match folder {
            None => settings,
            Some(folder) => {
                bailiwick_isolate::make_private(folder)
                    .map_err(|source| QuickjsError::Folder { source })?;
                settings.cache(folder.join("code"))
            }
        };
        let engine = Engine::new(settings)?;
        let setting = json!({ "members": members }).to_string();
        let program = match folder {
            None => engine.compile(&bailiwick_isolate::snapshot(ENGINE, &setting)?)?,
            Some(folder) => compile_kept(&engine, &setting, &kept_in(folder, &setting))?,
        };
        Ok(Self {
            engine,
            program: program.pure(url::answer),
        })
    }

    /// Lowers limits to what this engine can hold a guest to.
    #[must_use]
    pub fn fit(&self, limits: Limits) -> Limits {
        self.engine.fit(limits)
    }

    pub(crate) async fn evaluate(&self, job: Job) -> Completion {
        self.program.evaluate(job).await
    }
}

impl fmt::Debug for JsEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsEngine").finish_non_exhaustive()
    }
}

/// Compiles the snapshot that is kept, or makes and keeps one.
///
/// A file that does not compile is made anew: nothing but this function writes it, whole or not at
/// all.
fn compile_kept(engine: &Engine, setting: &str, file: &Path) -> Result<Program, SkillError> {
    if let Ok(kept) = read(file)
        && let Ok(program) = engine.compile(&kept)
    {
        return Ok(program);
    }
    let snapshot = bailiwick_isolate::snapshot(ENGINE, setting)?;
    let program = engine.compile(&snapshot)?;
    keep(file, &snapshot).map_err(|source| QuickjsError::Folder { source })?;
    Ok(program)
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    fs::File::open(file)?
        .take(LARGEST_KEPT)
        .read_to_end(&mut kept)?;
    Ok(kept)
}

fn keep(file: &Path, snapshot: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(snapshot)?;
    new.persist(file)?;
    Ok(())
}

/// Names the snapshot of this very engine: another engine, other members, or another version of
/// this crate, has another file.
fn kept_in(folder: &Path, setting: &str) -> PathBuf {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update([0]);
    hash.update(setting);
    hash.update([0]);
    hash.update(ENGINE);
    let mut name = "engine-".to_owned();
    for byte in hash.finalize().iter().take(16) {
        let _ = write!(name, "{byte:02x}");
    }
    folder.join(name + ".wasm")
}

/// Bytes of a snapshot that are read; the engine's has about one and a half million.
const LARGEST_KEPT: u64 = 64 << 20;

/// The engine and its prelude, not yet started; empty where only documentation is built.
const ENGINE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine.wasm"));
