//! Tier 3 in a manager: the sandbox comes up when a script is first needed.

mod calls;
mod grants;
mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bailiwick_core::{ArtifactStore, Code, SkillError};
use bailiwick_policy::{HostPath, SandboxPolicy, ThreatClass};
use bailiwick_sandbox::{Host, HostConfig};
use bailiwick_script::{
    DirWorkspace, Interpreter, Interpreters, Revision, ScriptRunner, ScriptSettings, ScriptTier,
    ScriptTool,
};
use tokio::sync::OnceCell;

use crate::rules::Rules;

/// What a builder was told about scripts.
#[derive(Default)]
pub(crate) struct ScriptConfig {
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) interpreters: Vec<Interpreter>,
    pub(crate) host: Option<Host>,
    pub(crate) permissive_ceiling: Option<SandboxPolicy>,
    pub(crate) accepted: Vec<ThreatClass>,
    pub(crate) warm: usize,
}

impl ScriptConfig {
    /// Checks what can be checked without starting anything.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` for grants of the command line beyond the policy file, and
    /// `E_INVALID_SKILLS_CONFIG` for an interpreter of the file that is no program.
    pub(crate) fn checked(self, rules: Arc<Rules>) -> Result<Scripts, SkillError> {
        let (file, cli) = (rules.file(), rules.cli());
        let mut session = match &self.permissive_ceiling {
            None => file.ceiling(cli)?,
            // The subset proof has another ceiling; what a person grants is not held to this one.
            Some(_) => cli.grants().apply_with_params(file.session_policy()),
        };
        for class in &self.accepted {
            session = session.without_requirement(*class);
        }
        let mut interpreters = Interpreters::presets();
        for (key, defined) in file.interpreters() {
            let argv = [defined.program().to_string()]
                .into_iter()
                .chain(defined.flags().iter().cloned())
                .collect();
            let paths = |grants: &[bailiwick_policy::PathGrant]| {
                grants.iter().map(|g| g.path().clone()).collect()
            };
            let (read, exec) = (paths(defined.read()), paths(defined.exec()));
            interpreters = interpreters.with(Interpreter::resolve(
                key,
                argv,
                read,
                exec,
                defined.origin().clone(),
            )?);
        }
        for interpreter in &self.interpreters {
            interpreters = interpreters.with(interpreter.clone());
        }
        Ok(Scripts {
            config: self,
            rules,
            session,
            interpreters,
            tier: OnceLock::new(),
            runner: OnceCell::new(),
            own_folder: Mutex::default(),
            proven: Mutex::default(),
        })
    }
}

/// The script side of a manager.
pub(crate) struct Scripts {
    config: ScriptConfig,
    rules: Arc<Rules>,
    session: SandboxPolicy,
    interpreters: Interpreters,
    tier: OnceLock<Arc<ScriptTier>>,
    /// What runs scripts; it comes up when a skill with scripts is first loaded.
    runner: OnceCell<Arc<ScriptRunner>>,
    /// The workspace's folder where nobody named one; it goes with the manager.
    own_folder: Mutex<Option<tempfile::TempDir>>,
    /// Interpreters that have run a no-op under a policy of this manager.
    proven: Mutex<BTreeSet<String>>,
}

/// The scripts of one loaded skill, besides those that are published.
pub(crate) struct LoadedScripts {
    revision: Arc<Revision>,
    /// Present where the policy grants `undeclared_scripts`.
    undeclared: Option<Arc<ScriptTool>>,
}

impl LoadedScripts {
    /// Lets go of the skill's files; calls in flight keep them.
    pub(crate) async fn release(self) -> Result<(), SkillError> {
        drop(self.undeclared);
        off_the_executor(move || self.revision.release()).await
    }
}

impl Scripts {
    /// Opens the session; starts no process.
    fn tier(&self) -> Result<&Arc<ScriptTier>, SkillError> {
        if let Some(tier) = self.tier.get() {
            return Ok(tier);
        }
        let file = self.rules.file();
        let mut settings = ScriptSettings::new(self.session.clone());
        settings.base = match file.base() {
            bailiwick_policy::Base::Usr => bailiwick_sandbox::Base::Usr,
            bailiwick_policy::Base::Minimal => bailiwick_sandbox::Base::Minimal,
        };
        settings.interpreters = self.interpreters.clone();
        settings.wall_default = file.wall_default();
        settings.wall_max = file.limits().wall();
        settings.fail_on_nonzero_exit = file.fail_on_nonzero_exit();
        settings.environment = self.config.environment.clone();
        settings.warm = self.config.warm;
        settings
            .permissive_ceiling
            .clone_from(&self.config.permissive_ceiling);
        let tier = Arc::new(ScriptTier::new(settings)?);
        Ok(self.tier.get_or_init(|| tier))
    }

    /// Brings the sandbox up, or refuses to: the self-test must see every required class denied.
    async fn runner(
        &self,
        artifacts: &Arc<dyn ArtifactStore>,
    ) -> Result<Arc<ScriptRunner>, SkillError> {
        let bring_up = || async {
            let tier = self.tier()?.clone();
            let folder = self.folder()?;
            let cgroup = self.rules.file().cgroup().cloned();
            let (host, artifacts) = (self.config.host.clone(), artifacts.clone());
            let apart = self.rules.apart().to_vec();
            let required = self.session.required().clone();
            off_the_executor(move || {
                let host = match host {
                    Some(host) => host,
                    None => Host::probe(host_config(&folder, cgroup.as_ref()))?,
                };
                prove_denials(&host, &required)?;
                let apart = apart.into_iter().chain([folder.clone()]);
                let host = apart.fold(host, Host::apart_from);
                let workspace = Arc::new(DirWorkspace::open(folder.join("skills"))?);
                Ok(Arc::new(ScriptRunner::new(
                    tier, host, workspace, artifacts,
                )))
            })
            .await
        };
        self.runner.get_or_try_init(bring_up).await.cloned()
    }

    /// Returns the folder that was named, or a private one that goes with the manager.
    fn folder(&self) -> Result<PathBuf, SkillError> {
        if let Some(folder) = &self.config.workspace {
            return Ok(folder.clone());
        }
        if let Some(folder) = self.rules.file().workspace_dir() {
            return Ok(folder.as_path().to_owned());
        }
        let mut own = self
            .own_folder
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*own {
            return Ok(folder.path().to_owned());
        }
        let folder = tempfile::Builder::new()
            .prefix("bailiwick-")
            .tempdir()
            .map_err(|error| {
                SkillError::new(
                    Code::WorkspaceFailed,
                    "no temporary folder could be made for skills' files",
                )
                .with_hint(
                    "name a folder with `workspace`, or in `[workspace] dir` of the policy file",
                )
                .with_source(error)
            })?;
        Ok(own.insert(folder).path().to_owned())
    }

    /// Returns what runs scripts, once it is up.
    pub(crate) fn running(&self) -> Option<&Arc<ScriptRunner>> {
        self.runner.get()
    }
}

/// Attacks the machine's own confinement: a required class that an attack gets through is not
/// closed, whatever the probe says.
fn prove_denials(host: &Host, required: &BTreeSet<ThreatClass>) -> Result<(), SkillError> {
    let open =
        bailiwick_sandbox::selftest::attack(host, required)?.not_denied(required.iter().copied());
    let Some(class) = open.first() else {
        return Ok(());
    };
    Err(SkillError::new(
        Code::ScriptSandboxUnavailable,
        format!("the self-test could not show that `{class}` is closed on this machine"),
    )
    .with_hint("`bailiwick doctor` shows every attempt, and how to get what is missing")
    .with_detail("class", class.as_str())
    .with_detail(
        "open",
        open.iter().map(|class| class.as_str()).collect::<Vec<_>>(),
    ))
}

fn host_config(folder: &Path, cgroup: Option<&HostPath>) -> HostConfig {
    let config = HostConfig::shared_or(folder.join("sandbox"));
    match cgroup {
        Some(parent) => config.with_cgroup_parent(parent.as_path()),
        None => config,
    }
}

/// Does blocking work on a thread that may block.
async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SkillError> + Send + 'static,
) -> Result<T, SkillError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(SkillError::new(
            Code::WorkspaceFailed,
            "work on a thread of its own was lost",
        )
        .with_hint("the runtime is shutting down, or the work panicked")
        .with_source(error)),
    }
}
