//! What the host decides for every script.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{ArtifactStore, Code, Digest, SkillError, SkillFile, SkillName};
use bailiwick_policy::{EffectivePolicy, Grants, HostPath, SandboxPolicy, derive};
use bailiwick_sandbox::{Base, Compiled, Host, Program, SandboxError, Session};

use crate::interpreter::{Interpreter, Interpreters};
use crate::network::Exits;
use crate::workspace::{Revision, SkillWorkspace};

/// What a host decides about its scripts: the session's ceiling, the interpreters, the limits.
///
/// One value serves every skill of a manager. It can plan every run and start none; making it
/// opens the session's roots, so that later renames of them change nothing.
pub struct ScriptTier {
    pub(crate) session: Session,
    /// The session's policy with the interpreters that the host base adds to it.
    ceiling: SandboxPolicy,
    pub(crate) settings: ScriptSettings,
}

/// What runs scripts: the machine's sandbox, the copies of skills, the store of results.
pub struct ScriptRunner {
    pub(crate) tier: Arc<ScriptTier>,
    host: Host,
    workspace: Arc<dyn SkillWorkspace>,
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    pub(crate) exits: Exits,
}

/// The choices of a host for its scripts; complete, with the defaults of the policy file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScriptSettings {
    /// The ceiling: nothing a script gets exceeds it and the host base.
    pub session: SandboxPolicy,
    /// What the root of a script holds. The whole `/usr` by default.
    pub base: Base,
    /// Who may run scripts. The presets by default.
    pub interpreters: Interpreters,
    /// The deadline of a call that names none. 10 s by default.
    pub wall_default: Duration,
    /// The longest deadline that a call may ask for. 30 s by default.
    pub wall_max: Duration,
    /// Whether a non-zero exit is a failure, where the skill's own grants do not say. True by
    /// default.
    pub fail_on_nonzero_exit: bool,
    /// Values for the variables that the policy grants by name. None by default.
    pub environment: BTreeMap<String, String>,
    /// How many launchers wait for the next runs of a script that was run before, each ready but for
    /// what it is called with. None by default: each waits with two processes and a run's uid.
    pub warm: usize,
    /// Replaces the ceiling in the subset proof, and nothing else. None by default.
    pub permissive_ceiling: Option<SandboxPolicy>,
}

impl ScriptSettings {
    /// Starts from a ceiling and the defaults.
    pub fn new(session: SandboxPolicy) -> Self {
        Self {
            session,
            base: Base::Usr,
            interpreters: Interpreters::presets(),
            wall_default: Duration::from_secs(10),
            wall_max: Duration::from_secs(30),
            fail_on_nonzero_exit: true,
            environment: BTreeMap::new(),
            warm: 0,
            permissive_ceiling: None,
        }
    }
}

impl ScriptTier {
    /// Opens the session's roots and takes charge.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when a default deadline exceeds its maximum or a root of the
    /// ceiling cannot be opened.
    pub fn new(settings: ScriptSettings) -> Result<Self, SkillError> {
        if settings.wall_default > settings.wall_max {
            return Err(SkillError::new(
                Code::InvalidSkillsConfig,
                format!(
                    "the default deadline {:?} is above the maximum {:?}",
                    settings.wall_default, settings.wall_max
                ),
            )
            .with_hint("lower the default or raise the maximum"));
        }
        let ceiling = settings
            .permissive_ceiling
            .clone()
            .unwrap_or_else(|| settings.session.clone());
        let ceiling = settings
            .interpreters
            .iter()
            .fold(ceiling, |ceiling, interpreter| interpreter.allow(ceiling));
        let roots: Vec<HostPath> = ceiling.roots().map(|(root, _)| root.clone()).collect();
        let session = Session::open(&roots).map_err(|error| locate(&ceiling, error))?;
        Ok(Self {
            session,
            ceiling,
            settings,
        })
    }

    /// Returns who may run scripts.
    pub fn interpreters(&self) -> &Interpreters {
        &self.settings.interpreters
    }

    /// Proves that a policy lies inside the ceiling.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` with the witness.
    pub fn derive(&self, request: &SandboxPolicy) -> Result<EffectivePolicy, SkillError> {
        Ok(derive(&self.ceiling, request)?)
    }
}

impl ScriptRunner {
    /// Gives a tier what it needs to run.
    pub fn new(
        tier: Arc<ScriptTier>,
        host: Host,
        workspace: Arc<dyn SkillWorkspace>,
        artifacts: Arc<dyn ArtifactStore>,
    ) -> Self {
        Self {
            tier,
            host,
            workspace,
            artifacts,
            exits: Exits::default(),
        }
    }

    /// Returns what this machine can enforce.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Copies a skill's files for its scripts.
    ///
    /// # Errors
    ///
    /// As [`Revision::materialize`].
    pub fn materialize(
        &self,
        skill: &SkillName,
        digest: Option<Digest>,
        files: &[SkillFile],
    ) -> Result<Arc<Revision>, SkillError> {
        Revision::materialize(self.workspace.clone(), skill, digest, files)
    }

    /// Prepares the confinement of runs under a policy.
    pub(crate) fn compile(
        &self,
        policy: &EffectivePolicy,
        interpreter: &Interpreter,
        revision: &Revision,
    ) -> Result<Compiled, SandboxError> {
        let program = Program::new(
            interpreter.program().clone(),
            interpreter.read().to_vec(),
            interpreter.exec().to_vec(),
        );
        Compiled::new(
            &self.host,
            &self.tier.session,
            policy,
            &program,
            revision.root(),
            self.tier.settings.base,
        )
    }
}

impl fmt::Debug for ScriptRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptRunner")
            .field("tier", &self.tier)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ScriptTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptTier")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Adds the place at which a root that cannot be opened was written.
fn locate(ceiling: &SandboxPolicy, error: SandboxError) -> SkillError {
    let path = if let SandboxError::Root { path, .. } = &error {
        path.parse::<HostPath>().ok()
    } else {
        None
    };
    let origin = path.as_ref().and_then(|path| ceiling.origin_of(path));
    let origin = origin.map(ToString::to_string);
    let error = SkillError::from(error);
    match origin {
        Some(origin) => error
            .with_hint(format!("correct the rule at {origin}"))
            .with_detail("origin", origin),
        None => error,
    }
}

/// What one tool holds beyond its own files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScriptGrants {
    /// The grants, of which those for parameters open a path only when a call names it.
    pub grants: Grants,
    /// What the tool asks for in every run: its grants under its limits and the host's settings.
    pub standing: SandboxPolicy,
    /// The deadline of a call that names none; the host's setting when absent.
    pub wall_default: Option<Duration>,
    /// Whether a non-zero exit is a failure; the host's setting when absent.
    pub fail_on_nonzero_exit: Option<bool>,
}

impl ScriptGrants {
    /// Holds some grants and asks for a policy in every run.
    pub fn new(grants: Grants, standing: SandboxPolicy) -> Self {
        Self {
            grants,
            standing,
            wall_default: None,
            fail_on_nonzero_exit: None,
        }
    }
}
