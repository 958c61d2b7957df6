//! Where things are. The environment is read here and nowhere else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bailiwick::{Code, Error};

use crate::error::cannot;

/// The folders of the person who runs the program.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The working directory, canonical.
    pub(crate) cwd: PathBuf,
    home: Option<PathBuf>,
    cache: Option<PathBuf>,
    data: Option<PathBuf>,
    settings: Option<PathBuf>,
}

impl Config {
    /// Reads the environment, after moving to `cwd` where one is given.
    pub(crate) fn from_environment(cwd: Option<&Path>) -> Result<Self, Error> {
        if let Some(cwd) = cwd {
            std::env::set_current_dir(cwd).map_err(|error| {
                cannot(
                    "work in",
                    cwd,
                    "name an existing folder with `--cwd`",
                    error,
                )
            })?;
        }
        let here = Path::new(".");
        let cwd = here
            .canonicalize()
            .map_err(|error| cannot("work in", here, "change to a folder that exists", error))?;
        Ok(Self {
            cwd,
            home: folder_in("HOME"),
            cache: folder_in("XDG_CACHE_HOME"),
            data: folder_in("XDG_DATA_HOME"),
            settings: folder_in("XDG_CONFIG_HOME"),
        })
    }

    /// Returns the person's home, if there is one.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the folder for what can be made again: skills' files and the sandbox's state.
    pub(crate) fn cache_folder(&self) -> Result<PathBuf, Error> {
        self.own(self.cache.as_deref(), ".cache", "XDG_CACHE_HOME")
    }

    /// Returns the folder for what must be kept: artifacts and trust.
    pub(crate) fn data_folder(&self) -> Result<PathBuf, Error> {
        self.own(self.data.as_deref(), ".local/share", "XDG_DATA_HOME")
    }

    /// Returns where the user's own policy file would be.
    pub(crate) fn policy_file(&self) -> Option<PathBuf> {
        let settings = self
            .settings
            .clone()
            .or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(settings.join(PROGRAM).join("bailiwick.toml"))
    }

    fn own(&self, named: Option<&Path>, usual: &str, variable: &str) -> Result<PathBuf, Error> {
        let base = match (named, &self.home) {
            (Some(named), _) => named.to_owned(),
            (None, Some(home)) => home.join(usual),
            (None, None) => return Err(homeless(variable)),
        };
        Ok(base.join(PROGRAM))
    }
}

/// Returns the value of a variable that a policy grants by name.
pub(crate) fn granted_variable(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// Returns what a test wants left out; only the program that is built for tests asks.
#[cfg(feature = "weaken")]
pub(crate) fn weakening() -> Option<OsString> {
    variable("BAILIWICK_WEAKEN")
}

/// Reads a variable that names a folder. A relative one means nothing, as its specification says.
fn folder_in(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn homeless(variable: &str) -> Error {
    Error::new(
        Code::InvalidSkillsConfig,
        "there is no home folder: `HOME` is not set, or is relative",
    )
    .with_hint(format!("set `HOME`, or `{variable}`, to an absolute path"))
    .with_detail("variable", variable)
}

const PROGRAM: &str = "bailiwick";
