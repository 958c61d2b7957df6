//! Tier 3 in a manager: the sandbox comes up when a script is first needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bailiwick_core::{
    ArtifactStore, CallReport, Code, Outcome, Provenance, Scope, SkillDescriptor, SkillError,
    SkillName, SkillPath, Tier, Tool as _, ToolName, Violation,
};
use bailiwick_policy::{
    CliGrants, Grants, HostPath, SandboxPolicy, SkillGrants, Surroundings, ThreatClass,
};
use bailiwick_sandbox::{Host, HostConfig};
use bailiwick_script::{
    DirWorkspace, Interpreter, Interpreters, Revision, Script, ScriptGrants, ScriptRunner,
    ScriptSettings, ScriptTier, ScriptTool, WorkspaceFile, ungranted,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::Policy;
use crate::catalog::{Found, within};
use crate::explain::Explanation;
use crate::manager::{CallRequest, Ready, SkillManager};
use crate::tools::Published;

/// What a builder was told about scripts.
#[derive(Default)]
pub(crate) struct ScriptConfig {
    pub(crate) policy: Policy,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) interpreters: Vec<Interpreter>,
    pub(crate) host: Option<Host>,
    pub(crate) permissive_ceiling: Option<SandboxPolicy>,
    pub(crate) accepted: Vec<ThreatClass>,
}

impl ScriptConfig {
    /// Checks what can be checked without starting anything.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_POLICY_WIDENED` for grants of the command line beyond the policy file, and
    /// `E_INVALID_SKILLS_CONFIG` for an interpreter of the file that is no program.
    pub(crate) fn checked(self) -> Result<Scripts, SkillError> {
        let file = self.policy.file();
        let cli = self.policy.cli_grants();
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

/// The declared scripts of a skill, and the one that runs its undeclared ones where granted.
type Checked = (Vec<Arc<Script>>, Option<Arc<Script>>);

impl Scripts {
    /// Opens the session; starts no process.
    fn tier(&self) -> Result<&Arc<ScriptTier>, SkillError> {
        if let Some(tier) = self.tier.get() {
            return Ok(tier);
        }
        let file = self.config.policy.file();
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
            let cgroup = self.config.policy.file().cgroup().cloned();
            let (host, artifacts) = (self.config.host.clone(), artifacts.clone());
            let required = self.session.required().clone();
            off_the_executor(move || {
                let host = match host {
                    Some(host) => host,
                    None => Host::probe(host_config(&folder, cgroup.as_ref()))?,
                };
                prove_denials(&host, &required)?;
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
        if let Some(folder) = self.config.policy.file().workspace_dir() {
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

    /// Returns the entry of the policy file that means this very copy of a skill.
    ///
    /// # Errors
    ///
    /// `E_SKILL_DIGEST_MISMATCH` when the policy pins another digest.
    fn entry(
        &self,
        found: &Found,
        descriptor: &SkillDescriptor,
    ) -> Result<Option<&SkillGrants>, SkillError> {
        let Some(digest) = &descriptor.digest else {
            return Ok(None);
        };
        let location = found.skill.location.parse::<HostPath>().ok();
        let file = self.config.policy.file();
        Ok(file.skill_grants(
            &found.skill.name,
            found.skill.scope,
            location.as_ref(),
            digest,
        )?)
    }

    /// Tells of rules that name the skill and do not mean this copy of it.
    fn passed_over(&self, found: &Found, entry: Option<&SkillGrants>) -> Vec<String> {
        if entry.is_some() {
            return Vec::new();
        }
        let rules = self.config.policy.file().skills().iter();
        let rules = rules.filter(|rule| *rule.name() == found.skill.name);
        rules
            .map(|rule| match found.skill.scope {
                Scope::Project => format!(
                    "the rule at {} grants nothing to a project's copy: pin it with `digest`",
                    rule.origin()
                ),
                Scope::Path | Scope::User | Scope::Bundled => format!(
                    "the rule at {} means another copy than the one in {}",
                    rule.origin(),
                    found.skill.location
                ),
            })
            .collect()
    }

    /// Returns what a tool holds. A package may ask that a non-zero exit is no failure; whoever
    /// wrote the policy file decides.
    fn grants(&self, entry: Option<&SkillGrants>, tool: Option<&ToolName>) -> ScriptGrants {
        let file = self.config.policy.file();
        let grants: Grants = file.grants_for(entry, tool, self.cli());
        let mut standing = file.request(&grants, &file.limits_for(entry));
        for class in &self.config.accepted {
            standing = standing.without_requirement(*class);
        }
        let mut held = ScriptGrants::new(grants, standing);
        held.wall_default = Some(file.wall_default_for(entry));
        held.fail_on_nonzero_exit = entry.and_then(SkillGrants::fail_on_nonzero_exit);
        held
    }

    /// Checks every script of a skill against the policy.
    fn check(
        &self,
        entry: Option<&SkillGrants>,
        descriptor: &SkillDescriptor,
        provenance: &Provenance,
    ) -> Result<Checked, SkillError> {
        let held = self.grants(entry, None);
        let is_granted = held.grants.undeclared_scripts().is_some();
        if descriptor.scripts.is_empty() && !is_granted {
            check_rules(entry, descriptor, &[])?;
            return Ok((Vec::new(), None));
        }
        let tier = self.tier()?;
        let mut declared = Vec::with_capacity(descriptor.scripts.len());
        for declaration in &descriptor.scripts {
            let name = ToolName::for_script(&descriptor.name, &declaration.name)?;
            let grants = self.grants(entry, Some(&name));
            let script = Script::declared(
                tier.clone(),
                provenance.clone(),
                declaration.clone(),
                grants,
            )?;
            declared.push(Arc::new(script));
        }
        check_rules(entry, descriptor, &declared)?;
        if !is_granted {
            return Ok((declared, None));
        }
        let declared_files = descriptor.scripts.iter().map(|script| &script.path);
        let published = declared_files.chain(&descriptor.listed).cloned();
        let undeclared =
            Script::undeclared(tier.clone(), provenance.clone(), published.collect(), held)?;
        Ok((declared, Some(Arc::new(undeclared))))
    }

    fn cli(&self) -> &CliGrants {
        self.config.policy.cli_grants()
    }
}

impl SkillManager {
    /// Returns the policy that the manager works under.
    pub fn policy(&self) -> &Policy {
        &self.inner().scripts.config.policy
    }

    /// Returns who may run scripts here, and which presets are absent.
    pub fn interpreters(&self) -> &Interpreters {
        &self.inner().scripts.interpreters
    }

    /// Returns when a person should be asked about a tool of a loaded skill.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_FOUND` and `E_SKILL_NOT_LOADED`.
    pub fn ask(&self, tool: &str) -> Result<bailiwick_policy::Ask, SkillError> {
        let published = self.find_tool(tool)?;
        let spec = published.tool.spec();
        self.inner().with_loaded(&spec.provenance.skill, |loaded| {
            loaded
                .entry
                .as_ref()
                .map_or(bailiwick_policy::Ask::OncePerDigest, |entry| {
                    entry.ask(&spec.name)
                })
        })
    }

    /// Calls a script that a loaded skill ships and does not declare (contracts 5.1).
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), and `E_SKILL_SCRIPT_POLICY_WIDENED` without the grant
    /// `undeclared_scripts`.
    pub async fn call_script(
        &self,
        skill: &str,
        script: &str,
        args: &[String],
        request: CallRequest,
    ) -> Outcome {
        let mut request = request;
        let mut arguments = match std::mem::take(&mut request.arguments) {
            Value::Object(arguments) => arguments,
            Value::Null => serde_json::Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let violation = Violation::new("", "the arguments are not an object");
                return refused(Violation::reject(&[violation]));
            }
        };
        arguments.insert("script".to_owned(), json!(script));
        arguments.insert("args".to_owned(), json!(args));
        request.arguments = Value::Object(arguments);
        match self.undeclared(skill) {
            Ok(published) => self.call_published(&published, request).await,
            Err(error) => refused(error),
        }
    }

    /// Explains what a script would be run with: argv, policy with the origin of every grant,
    /// limits. The skill need not be loaded, and no process is started.
    ///
    /// `tool` is `SKILL.TOOL`, where the skill may be `name@scope`, or the flat name of a loaded
    /// tool. Without arguments, what holds for every call is explained. Layers are told once the
    /// sandbox is up.
    ///
    /// # Errors
    ///
    /// As loading and preparing the call would fail, as far as that needs no process.
    pub async fn explain(
        &self,
        tool: &str,
        arguments: Option<Value>,
    ) -> Result<Explanation, SkillError> {
        let (skill, tool) = match self.find_tool(tool) {
            Ok(published) => {
                let spec = published.tool.spec();
                (spec.provenance.skill.to_string(), spec.name.to_string())
            }
            Err(unknown) => match tool.rsplit_once('.') {
                Some((skill, tool)) => (skill.to_owned(), tool.to_owned()),
                None => return Err(unknown),
            },
        };
        let found = self.catalog_entry(&skill)?;
        let descriptor = self.describe(&found).await?;
        let provenance = descriptor.provenance();
        let scripts = &self.inner().scripts;
        let entry = scripts.entry(&found, &descriptor)?;
        let (declared, _) = scripts.check(entry, &descriptor, &provenance)?;
        let is_meant = |script: &&Arc<Script>| {
            script.short_name() == Some(&tool) || script.spec().name.as_str() == tool
        };
        let Some(script) = declared.iter().find(is_meant) else {
            return explain_live(&descriptor, provenance, &tool);
        };
        let plan = match arguments {
            None => None,
            Some(arguments) => {
                let arguments = script.spec().schema.check(arguments)?;
                let context = self.context(CallRequest::new(tool, Value::Null));
                let no_file = |path: &SkillPath| {
                    Err(SkillError::new(
                        Code::NotFound,
                        format!("`{path}` is not read"),
                    ))
                };
                Some(script.plan(&arguments, &context, no_file)?)
            }
        };
        let layers = scripts.runner.get().map(|runner| runner.host().layers());
        let named = scripts.grants(entry, Some(&script.spec().name)).grants;
        let around = Surroundings::new(scripts.config.policy.file().base()).with_named(&named);
        Explanation::of_script(script, plan, layers, around)
    }

    /// Builds and checks the tools of a skill's scripts.
    ///
    /// The files are read once: what is verified, stamped and granted to is what will run.
    pub(crate) async fn prepare_scripts(
        &self,
        found: &Found,
        descriptor: &SkillDescriptor,
        ready: &mut Ready,
    ) -> Result<(), SkillError> {
        let scripts = &self.inner().scripts;
        let files = match descriptor.digest {
            None if descriptor.scripts.is_empty() => Vec::new(),
            Some(_) | None => self.files(found).await?,
        };
        let mut descriptor = descriptor.clone();
        if descriptor.digest.is_none() && !files.is_empty() {
            descriptor.digest = Some(WorkspaceFile::digest(&files));
            ready.provenance = descriptor.provenance();
        }
        let entry = scripts.entry(found, &descriptor)?;
        ready.entry = entry.cloned();
        ready.notes.extend(scripts.passed_over(found, entry));
        let (declared, undeclared) = scripts.check(entry, &descriptor, &ready.provenance)?;
        if declared.is_empty() && undeclared.is_none() {
            return Ok(());
        }
        check_listed(&descriptor, &files)?;
        let runner = scripts.runner(&self.inner().artifacts).await?;
        let (digest, skill) = (descriptor.digest, descriptor.name.clone());
        let revision = {
            let runner = runner.clone();
            off_the_executor(move || runner.materialize(&skill, digest, &files)).await?
        };
        let ready_to_run =
            |script| Arc::new(ScriptTool::new(script, runner.clone(), revision.clone()));
        for (declaration, script) in descriptor.scripts.iter().zip(declared) {
            let tool = ready_to_run(script);
            self.prove(&declaration.interpreter, &tool).await?;
            ready.add(declaration.name.clone(), tool);
        }
        if descriptor.fail_on_nonzero_exit == Some(false)
            && entry.and_then(SkillGrants::fail_on_nonzero_exit).is_none()
        {
            ready.notes.push(
                "it asks that a non-zero exit is no failure; `fail_on_nonzero_exit` in the policy file decides"
                    .to_owned(),
            );
        }
        ready.scripts = Some(LoadedScripts {
            undeclared: undeclared.map(ready_to_run),
            revision,
        });
        Ok(())
    }

    /// Reads every file of a skill: the bytes that are verified are the bytes that run.
    async fn files(&self, found: &Found) -> Result<Vec<WorkspaceFile>, SkillError> {
        let (source, skill) = (found.source.as_ref(), &found.skill);
        let deadline = self.inner().source_deadline;
        let entries = within(source, deadline, |cancel| source.list(skill, cancel)).await?;
        SkillPath::parse_list(entries.iter().map(|entry| &entry.path))?;
        let mut files = Vec::with_capacity(entries.len());
        for entry in entries {
            let bytes = within(source, deadline, |cancel| {
                source.read(skill, Some(&entry.path), cancel)
            })
            .await?;
            files.push(WorkspaceFile::new(entry.path, entry.mode, bytes));
        }
        Ok(files)
    }

    /// Compiles the tool's confinement, and runs a no-op under it once per interpreter: what cannot
    /// start is told at load and not at the first call.
    async fn prove(&self, key: &str, tool: &Arc<ScriptTool>) -> Result<(), SkillError> {
        let proven = || {
            let proven = &self.inner().scripts.proven;
            proven.lock().unwrap_or_else(PoisonError::into_inner)
        };
        let is_proven = proven().contains(key);
        let tool = tool.clone();
        off_the_executor(move || {
            if is_proven {
                tool.compile_standing()
            } else {
                tool.prove_interpreter()
            }
        })
        .await?;
        proven().insert(key.to_owned());
        Ok(())
    }

    fn undeclared(&self, skill: &str) -> Result<Published, SkillError> {
        let name: SkillName = skill.parse().map_err(|_| {
            SkillError::new(Code::NotFound, format!("no skill is named `{skill}`"))
                .with_detail("skill", skill)
        })?;
        let (record, tool) = self.inner().with_loaded(&name, |loaded| {
            let tool = loaded
                .scripts
                .as_ref()
                .and_then(|scripts| scripts.undeclared.clone());
            (loaded.record.clone(), tool)
        })?;
        let Some(tool) = tool else {
            let provenance = Provenance::new(name, None, None);
            return Err(ungranted(&provenance));
        };
        let short = tool.spec().name.to_string();
        Ok(Published {
            tool,
            record,
            short,
        })
    }
}

/// Explains a live tool of a skill, which nothing confines.
fn explain_live(
    descriptor: &SkillDescriptor,
    provenance: Provenance,
    tool: &str,
) -> Result<Explanation, SkillError> {
    #[cfg(feature = "module")]
    if let Some(live) = descriptor.tools.iter().find(|live| live.name() == tool) {
        let boundary = bailiwick_module::Boundary::default();
        let wrapped = bailiwick_module::rewrap(live.clone(), provenance, boundary)?;
        return Ok(Explanation::of_module(wrapped.spec()));
    }
    let _ = provenance;
    let names = descriptor.scripts.iter().map(|script| script.name.as_str());
    let names: Vec<_> = names.collect();
    Err(SkillError::new(
        Code::NotFound,
        format!("`{}` has no tool `{tool}`", descriptor.name),
    )
    .with_hint(format!("its tools: {}", names.join(", ")))
    .with_detail("tool", tool))
}

/// A call that did not come as far as a script.
fn refused(error: SkillError) -> Outcome {
    Outcome::new(Err(error), CallReport::new(Tier::Script))
}

/// Refuses a rule of the policy file for a tool that the skill does not have.
fn check_rules(
    entry: Option<&SkillGrants>,
    descriptor: &SkillDescriptor,
    scripts: &[Arc<Script>],
) -> Result<(), SkillError> {
    let mut rules = entry.into_iter().flat_map(SkillGrants::tools);
    let has = |name: &ToolName| {
        scripts.iter().any(|script| script.spec().name == *name)
            || descriptor
                .tools
                .iter()
                .any(|live| live.name() == name.as_str())
    };
    match rules.find(|(name, _)| !has(name)) {
        None => Ok(()),
        Some((name, origin)) => Err(SkillError::new(
            Code::InvalidSkillsConfig,
            format!(
                "the rule for `{name}` can never take effect: `{}` has no such tool",
                descriptor.name
            ),
        )
        .with_hint(format!("correct or remove the rule at {origin}"))
        .with_detail("origin", origin.to_string())),
    }
}

/// Refuses a declared script whose file the source does not list.
fn check_listed(descriptor: &SkillDescriptor, files: &[WorkspaceFile]) -> Result<(), SkillError> {
    let missing = descriptor
        .scripts
        .iter()
        .find(|script| !files.iter().any(|file| file.path == script.path));
    match missing {
        None => Ok(()),
        Some(script) => Err(SkillError::new(
            Code::ManifestInvalid,
            format!(
                "the script `{}` names the file `{}`, which the skill does not have",
                script.name, script.path
            ),
        )
        .with_hint("add the file, or correct `path`")
        .with_detail("skill", descriptor.name.as_str())
        .with_detail("path", script.path.as_str())),
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
