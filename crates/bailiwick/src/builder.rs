//! How a manager is put together.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{ArtifactStore, Code, Gate, Gatekeeper, SkillError, SkillSource, ToolName};
use bailiwick_store::MemoryStore;

use crate::manager::{Inner, SkillManager};
use crate::preflight::Names;

/// A manager that nobody guards yet: it cannot be built.
#[derive(Debug)]
pub struct WantsGate(());

/// A manager that can be built.
#[derive(Debug)]
pub struct Guarded(());

/// Builds a [`SkillManager`]; start with [`SkillManager::builder`].
///
/// There is no manager without a gate:
///
/// ```compile_fail
/// # async fn f() -> Result<(), bailiwick::Error> {
/// bailiwick::SkillManager::builder().build().await?;
/// # Ok(())
/// # }
/// ```
pub struct Builder<State> {
    parts: Parts,
    state: PhantomData<State>,
}

pub(crate) struct Parts {
    pub(crate) gatekeeper: Option<Gatekeeper>,
    pub(crate) gate_deadline: Option<Duration>,
    pub(crate) sources: Vec<Arc<dyn SkillSource>>,
    pub(crate) source_deadline: Duration,
    pub(crate) artifacts: Option<Arc<dyn ArtifactStore>>,
    pub(crate) host_tools: Vec<ToolName>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) dangers: Vec<String>,
    #[cfg(feature = "policy")]
    pub(crate) policy: crate::Policy,
    #[cfg(feature = "policy")]
    pub(crate) apart: Vec<PathBuf>,
    #[cfg(feature = "quickjs")]
    pub(crate) isolated: crate::isolated::IsolatedConfig,
    #[cfg(feature = "script")]
    pub(crate) scripts: crate::script::ScriptConfig,
}

impl Builder<WantsGate> {
    pub(crate) fn new() -> Self {
        let parts = Parts {
            gatekeeper: None,
            gate_deadline: None,
            sources: Vec::new(),
            source_deadline: Duration::from_secs(10),
            artifacts: None,
            host_tools: Vec::new(),
            cwd: None,
            dangers: Vec::new(),
            #[cfg(feature = "policy")]
            policy: crate::Policy::built_in(),
            #[cfg(feature = "policy")]
            apart: Vec::new(),
            #[cfg(feature = "quickjs")]
            isolated: crate::isolated::IsolatedConfig::default(),
            #[cfg(feature = "script")]
            scripts: crate::script::ScriptConfig::default(),
        };
        Self {
            parts,
            state: PhantomData,
        }
    }

    /// Puts a gate before every effect.
    #[must_use]
    pub fn gate(mut self, gate: impl Gate + 'static) -> Builder<Guarded> {
        self.parts.gatekeeper = Some(Gatekeeper::new(gate));
        Builder {
            parts: self.parts,
            state: PhantomData,
        }
    }
}

impl<State> Builder<State> {
    /// Adds a source; the first one added wins where two offer a skill of one name.
    #[must_use]
    pub fn source(mut self, source: impl SkillSource + 'static) -> Self {
        self.parts.sources.push(Arc::new(source));
        self
    }

    /// Sets how long a source may take to answer. 10 s by default.
    #[must_use]
    pub fn source_deadline(mut self, deadline: Duration) -> Self {
        self.parts.source_deadline = deadline;
        self
    }

    /// Sets how long the gate may take before it counts as unavailable. The policy's
    /// `[gate] deadline` by default, which is none: a person may be the one who answers.
    #[must_use]
    pub fn gate_deadline(mut self, deadline: Duration) -> Self {
        self.parts.gate_deadline = Some(deadline);
        self
    }

    /// Sets where results are kept. In memory by default.
    #[must_use]
    pub fn artifacts(mut self, store: impl ArtifactStore + 'static) -> Self {
        self.parts.artifacts = Some(Arc::new(store));
        self
    }

    /// Names a tool of the host's own, which no skill may publish.
    #[must_use]
    pub fn host_tool(mut self, name: ToolName) -> Self {
        self.parts.host_tools.push(name);
        self
    }

    /// Sets the directory that relative path arguments are relative to, where a call does not
    /// say. The process's own at the time of building by default.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.parts.cwd = Some(cwd.into());
        self
    }

    /// Opens the ways to lower containment, each of which [`SkillManager::dangers`] lists.
    #[must_use]
    pub fn dangerous(self) -> Dangerous<State> {
        Dangerous(self)
    }
}

#[cfg(feature = "policy")]
impl<State> Builder<State> {
    /// Sets the policy. Nothing that reaches outside a skill's own workspace by default.
    #[must_use]
    pub fn policy(mut self, policy: crate::Policy) -> Self {
        self.parts.policy = policy;
        self
    }

    /// Names a folder of the host's own, such as the one that its artifacts are in: a script or an
    /// isolated tool is refused whose grants hold it or lie in it. The workspace's folder and the
    /// engine's are such folders in any case.
    #[must_use]
    pub fn apart_from(mut self, folder: impl Into<PathBuf>) -> Self {
        self.parts.apart.push(folder.into());
        self
    }
}

#[cfg(feature = "quickjs")]
impl<State> Builder<State> {
    /// Sets what isolated tools find in `context`, granted or not. The members that ship with
    /// [`bailiwick_host`] by default.
    #[must_use]
    pub fn context_members(mut self, registry: bailiwick_host::Registry) -> Self {
        self.parts.isolated.registry = Some(registry);
        self
    }

    /// Names the folder in which the engine of isolated tools and its compiled code are kept; it
    /// must be this user's alone. None by default: they are made in each process, which takes
    /// about a second when an isolated tool is first loaded.
    #[must_use]
    pub fn engine_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        self.parts.apart.push(folder.clone());
        self.parts.isolated.cache = Some(folder);
        self
    }

    /// Sets how many isolated calls may run at the same time; more wait. 64 by default.
    #[must_use]
    pub fn isolated_slots(mut self, slots: u32) -> Self {
        self.parts.isolated.slots = Some(slots);
        self
    }

    /// Sets what a granted `clock` shows. The time of this machine by default.
    #[must_use]
    pub fn clock(mut self, clock: bailiwick_isolate::Clock) -> Self {
        self.parts.isolated.clock = clock;
        self
    }

    /// Sets what a granted `random` gives. The operating system's numbers by default.
    #[must_use]
    pub fn random(mut self, random: bailiwick_isolate::Random) -> Self {
        self.parts.isolated.random = random;
        self
    }
}

#[cfg(feature = "script")]
impl<State> Builder<State> {
    /// Sets the folder in which loaded skills' files are kept. The policy's `[workspace] dir` by
    /// default, else a private temporary folder of this process.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.parts.scripts.workspace = Some(folder.into());
        self
    }

    /// Offers a value for a variable of the environment, which scripts get where the policy grants
    /// its name. None by default.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parts
            .scripts
            .environment
            .insert(name.into(), value.into());
        self
    }

    /// Allows an interpreter besides the policy's and the presets.
    #[must_use]
    pub fn interpreter(mut self, interpreter: bailiwick_script::Interpreter) -> Self {
        self.parts.scripts.interpreters.push(interpreter);
        self
    }

    /// Keeps `count` launchers waiting for each script that was run before, so that its next runs
    /// begin in less than half the time. None by default.
    ///
    /// Each waits in the namespaces of the run that it will be, with two processes, a uid and a
    /// control group. They end with the skill, and with this process however it ends.
    #[must_use]
    pub fn warm_scripts(mut self, count: usize) -> Self {
        self.parts.scripts.warm = count;
        self
    }

    /// Hands in what the machine was found to enforce, instead of probing it when a script is
    /// first needed.
    #[must_use]
    pub fn sandbox_host(mut self, host: bailiwick_sandbox::Host) -> Self {
        self.parts.scripts.host = Some(host);
        self
    }
}

impl Builder<Guarded> {
    /// Builds the manager and asks every source once what it offers.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for two sources of one label, a working directory that is not
    /// absolute or not there, or an impossible policy; `E_SKILL_TOOL_COLLISION` for a host tool
    /// whose name the runtime reserves.
    pub async fn build(self) -> Result<SkillManager, SkillError> {
        let parts = self.parts;
        for (index, source) in parts.sources.iter().enumerate() {
            if parts.sources[..index]
                .iter()
                .any(|other| other.id() == source.id())
            {
                return Err(invalid(
                    &format!("two sources have the label `{}`", source.id()),
                    "give each its own",
                ));
            }
        }
        let mut names = Names::default();
        for name in &parts.host_tools {
            names.claim_for_host(name)?;
        }
        let cwd = match &parts.cwd {
            Some(cwd) if cwd.is_absolute() && cwd.is_dir() => cwd.clone(),
            Some(_) => {
                return Err(invalid(
                    "the working directory is not an absolute path of a folder",
                    "give its absolute path",
                ));
            }
            None => std::env::current_dir().map_err(|error| {
                invalid("the process has no working directory", "set one with `cwd`")
                    .with_source(error)
            })?,
        };
        #[cfg(feature = "policy")]
        let rules = Arc::new(crate::rules::Rules::new(parts.policy, parts.apart)?);
        #[cfg(feature = "policy")]
        let gate_deadline = parts.gate_deadline.or_else(|| rules.file().gate_deadline());
        #[cfg(not(feature = "policy"))]
        let gate_deadline = parts.gate_deadline;
        let Some(gatekeeper) = parts.gatekeeper else {
            return Err(invalid(
                "the manager has no gate",
                "give it one with `gate`",
            ));
        };
        let artifacts = parts
            .artifacts
            .unwrap_or_else(|| Arc::new(MemoryStore::default()));
        let inner = Inner::new(
            gatekeeper.with_deadline(gate_deadline),
            parts.sources,
            parts.source_deadline,
            artifacts,
            names,
            cwd,
            parts.dangers,
            #[cfg(feature = "quickjs")]
            parts.isolated.checked(rules.clone())?,
            #[cfg(feature = "script")]
            parts.scripts.checked(rules.clone())?,
            #[cfg(feature = "policy")]
            rules,
        );
        let manager = SkillManager::new(inner);
        manager.discover().await;
        Ok(manager)
    }
}

/// The ways to lower containment; each is listed in [`SkillManager::dangers`].
pub struct Dangerous<State>(Builder<State>);

impl<State> Dangerous<State> {
    /// Skips the gate, and nothing else: wrappers, validation, provenance and `trusted: false`
    /// stay.
    #[must_use]
    pub fn ungated(self) -> Builder<Guarded> {
        let mut parts = self.0.parts;
        parts.gatekeeper = Some(Gatekeeper::dangerously_ungated());
        parts
            .dangers
            .push("ungated: no gate is asked before any call".to_owned());
        Builder {
            parts,
            state: PhantomData,
        }
    }

    /// Replaces the session's ceiling in the subset proof, and nothing else: derived policy,
    /// layers and limits stay.
    #[cfg(feature = "script")]
    #[must_use]
    pub fn permissive_script_policy(
        self,
        ceiling: bailiwick_policy::SandboxPolicy,
    ) -> Builder<State> {
        let mut builder = self.0;
        builder
            .parts
            .dangers
            .push("permissive_script_policy: the session is not the ceiling of grants".to_owned());
        builder.parts.scripts.permissive_ceiling = Some(ceiling);
        builder
    }

    /// Lets scripts run although nothing on this machine closes a class of threats.
    #[cfg(feature = "script")]
    #[must_use]
    pub fn accept_open_class(self, class: bailiwick_policy::ThreatClass) -> Builder<State> {
        let mut builder = self.0;
        builder
            .parts
            .dangers
            .push(format!("accept_open_class: `{class}` need not be closed"));
        builder.parts.scripts.accepted.push(class);
        builder
    }
}

impl<State> std::fmt::Debug for Builder<State> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sources: Vec<_> = self
            .parts
            .sources
            .iter()
            .map(|source| source.id().to_owned())
            .collect();
        f.debug_struct("Builder")
            .field("sources", &sources)
            .field("dangers", &self.parts.dangers)
            .finish_non_exhaustive()
    }
}

impl<State> std::fmt::Debug for Dangerous<State> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dangerous").field(&self.0).finish()
    }
}

pub(crate) fn invalid(message: &str, hint: &str) -> SkillError {
    SkillError::new(Code::InvalidSkillsConfig, message).with_hint(hint)
}
