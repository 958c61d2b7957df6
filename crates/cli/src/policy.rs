//! Which policy file counts, and which only asks to.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bailiwick::core::Digest;
use bailiwick::sandbox_policy::{CliGrants, HostPath, TrustState, TrustStore};
use bailiwick::{Code, Error, Policy};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::config::Config;
use crate::error::{cannot, usage};
use crate::folder;
use crate::output::Output;

/// The policy that holds, and what a project would like it to be.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// The policy.
    pub(crate) policy: Policy,
    /// Where it comes from.
    pub(crate) basis: Basis,
    /// A project's policy file that does not count.
    pub(crate) request: Option<Request>,
}

/// Why a policy counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Basis {
    /// It was named with `--policy`.
    Named,
    /// It is the user's own.
    User,
    /// It is the project's, and the user trusts it.
    TrustedProject,
    /// There is none.
    BuiltIn,
}

/// A project's policy file that does not count.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    path: PathBuf,
    why: &'static str,
}

impl Chosen {
    /// Takes `--policy`, else the user's file, else a project's that is trusted, else none; then
    /// adds what the command line grants.
    pub(crate) fn new(config: &Config, global: &Global, flags: &[String]) -> Result<Self, Error> {
        let (policy, basis) = match &global.policy {
            Some(path) => {
                existing(path)?;
                (Policy::from_file(path)?, Basis::Named)
            }
            None => match config.policy_file().filter(|path| path.exists()) {
                Some(path) => (Policy::from_file(path)?, Basis::User),
                None => (Policy::built_in(), Basis::BuiltIn),
            },
        };
        let mut chosen = Self {
            policy,
            basis,
            request: None,
        };
        if let Some(project) = ProjectFile::find(&config.cwd)? {
            chosen.consider(project, config)?;
        }
        let cwd = host_path(&config.cwd)?;
        let grants = CliGrants::parse(flags.iter().map(String::as_str), &cwd)?;
        chosen.policy = chosen.policy.with_cli_grants(grants);
        Ok(chosen)
    }

    /// Lets a project's file count if it is trusted and nothing else counts already.
    fn consider(&mut self, project: ProjectFile, config: &Config) -> Result<(), Error> {
        let why = match (project.state(config)?, self.basis) {
            (TrustState::Trusted, Basis::BuiltIn) => {
                self.policy = Policy::from_bytes(&project.bytes, &project.path)?;
                self.basis = Basis::TrustedProject;
                return Ok(());
            }
            (TrustState::Trusted, _) => "another policy file counts",
            (TrustState::Untrusted, _) => "nobody trusted it",
            (TrustState::Changed { .. }, _) => "it changed since it was trusted",
        };
        let named = |path: &Path| path.canonicalize().is_ok_and(|path| path == project.path);
        let is_in_use = self
            .policy
            .file()
            .label()
            .is_some_and(|label| named(Path::new(label)));
        if !is_in_use {
            self.request = Some(Request {
                path: project.path,
                why,
            });
        }
        Ok(())
    }

    /// Describes the policy in a word or two.
    pub(crate) fn describe(&self) -> String {
        let label = self.policy.file().label().unwrap_or_default();
        match self.basis {
            Basis::Named => format!("{label} (named)"),
            Basis::User => format!("{label} (yours)"),
            Basis::TrustedProject => format!("{label} (the project's, trusted)"),
            Basis::BuiltIn => "built in: nothing is granted, limits are small".to_owned(),
        }
    }

    /// Says on standard error what a project asks for in vain.
    pub(crate) fn announce(&self, output: Output) {
        if let Some(Request { path, why }) = &self.request {
            let path = path.display();
            output.note(&format!(
                "note: `{path}` is a request and is not used: {why}; read it with `bailiwick trust`"
            ));
        }
    }

    /// Returns the choice as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let basis = match self.basis {
            Basis::Named => "named",
            Basis::User => "user",
            Basis::TrustedProject => "trusted-project",
            Basis::BuiltIn => "built-in",
        };
        let request = self
            .request
            .as_ref()
            .map(|request| json!({ "path": request.path, "unused": request.why }));
        json!({ "basis": basis, "file": self.policy.file().label(), "request": request })
    }
}

/// A policy file that came with a project.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    /// The canonical path.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl ProjectFile {
    /// Finds the nearest one, from a folder up to its repository's root.
    pub(crate) fn find(cwd: &Path) -> Result<Option<Self>, Error> {
        let top = cwd
            .ancestors()
            .find(|folder| folder.join(".git").exists())
            .unwrap_or(cwd);
        let mut folders = cwd.ancestors().take_while(|folder| folder.starts_with(top));
        match folders.find_map(|folder| Some(folder.join(FILE_NAME)).filter(|path| path.exists())) {
            Some(path) => Self::read(&path).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the file at a path, or the one in the folder there.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let path = if path.is_dir() {
            path.join(FILE_NAME)
        } else {
            path.to_owned()
        };
        let failed = |error| {
            cannot(
                "read the policy file",
                &path,
                "name an existing policy file",
                error,
            )
        };
        let real = path.canonicalize().map_err(failed)?;
        let bytes = folder::read_capped(&real, MAX_BYTES).map_err(failed)?;
        let bytes = bytes.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
        Ok(Self { path: real, bytes })
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    fn state(&self, config: &Config) -> Result<TrustState, Error> {
        // Without a home nothing was ever trusted.
        let Ok(folder) = config.data_folder() else {
            return Ok(TrustState::Untrusted);
        };
        Ok(TrustBook::open(&folder)?
            .store
            .state(&host_path(&self.path)?, &self.digest()))
    }
}

/// The file that trust is kept in.
#[derive(Debug)]
pub(crate) struct TrustBook {
    folder: PathBuf,
    store: TrustStore,
}

impl TrustBook {
    /// Opens the book in the data folder; it is empty where there is none.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(BOOK);
        let failed = |error| {
            cannot(
                "read the record of trust",
                &path,
                "look at it, then remove it",
                error,
            )
        };
        let store = match folder::read_capped(&path, MAX_BYTES).map_err(failed)? {
            None => TrustStore::default(),
            Some(bytes) => {
                // Whoever else can write the book could trust in the user's place.
                folder::private(folder)?;
                let text = String::from_utf8(bytes).map_err(|_| {
                    usage(
                        "the record of trust is no UTF-8",
                        "remove it and trust the files again",
                    )
                })?;
                TrustStore::parse(&text)?
            }
        };
        Ok(Self {
            folder: folder.to_owned(),
            store,
        })
    }

    /// Trusts a file with the bytes that were read.
    pub(crate) fn trust(&mut self, file: &ProjectFile) -> Result<(), Error> {
        let seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        self.store.trust(
            host_path(&file.path)?,
            file.digest(),
            format!("unix:{seconds}"),
        );
        self.save()
    }

    /// Stops trusting a path; says whether it was trusted.
    pub(crate) fn revoke(&mut self, path: &Path) -> Result<bool, Error> {
        let was = self.store.revoke(&host_path(path)?);
        if was {
            self.save()?;
        }
        Ok(was)
    }

    fn save(&self) -> Result<(), Error> {
        folder::private(&self.folder)?;
        let text = self.store.to_text()?;
        folder::replace(&self.folder, BOOK, text.as_bytes()).map_err(|error| {
            cannot(
                "write the record of trust in",
                &self.folder,
                "check its permissions",
                error,
            )
        })
    }
}

/// Refuses a policy file that was named and is not there.
fn existing(path: &Path) -> Result<(), Error> {
    let found = path.metadata();
    let refused = |error| {
        cannot(
            "read the policy file",
            path,
            "name an existing policy file",
            error,
        )
    };
    found.map(drop).map_err(refused)
}

/// Turns a canonical path into the policy's form.
pub(crate) fn host_path(path: &Path) -> Result<HostPath, Error> {
    let text = path.to_str().ok_or_else(|| {
        Error::new(
            Code::InvalidSkillsConfig,
            "a path that is not UTF-8 cannot stand in a policy",
        )
        .with_hint("rename the folder")
    })?;
    text.parse()
        .map_err(|error: bailiwick::sandbox_policy::PathError| {
            usage(error.to_string(), "name another path")
        })
}

/// How a policy file is named.
pub(crate) const FILE_NAME: &str = "bailiwick.toml";

const BOOK: &str = "trust.toml";

/// Far more than any policy or record that a person reads, in bytes.
const MAX_BYTES: u64 = 1 << 20;
