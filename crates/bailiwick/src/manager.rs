//! The manager: loads skills, publishes their tools and calls them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bailiwick_core::{
    ArtifactStore, CallContext, CallReport, CancelToken, Code, Gatekeeper, Outcome, Provenance,
    SkillDescriptor, SkillError, SkillName, SkillSource, Skip, Tier, Tool, ToolName,
};
use serde_json::Value;

use crate::builder::{Builder, WantsGate};
use crate::catalog::{Catalog, CatalogEntry, Found, SourceFailure, within};
use crate::preflight::Names;
use crate::record::{Record, not_loaded};
use crate::request::CallRequest;
use crate::tools::{Published, ToolList};

/// Owns the loaded skills and is the one way to call their tools.
///
/// Cloning is cheap; every clone is the same manager.
///
/// # Examples
///
/// ```
/// use bailiwick::{Decision, HostSource, SkillManager, gate_fn, tool_fn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greeting {
///     name: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), bailiwick::Error> {
/// let greet = tool_fn::<Greeting>("greet", "Greets somebody.", |greeting| async move {
///     Ok::<_, std::convert::Infallible>(format!("Hello, {}!", greeting.name))
/// });
/// let manager = SkillManager::builder()
///     .gate(gate_fn(|_| async { Decision::allow() }))
///     .source(HostSource::new("host").skill("greetings", "Says hello.", [greet])?)
///     .build()
///     .await?;
/// manager.load("greetings").await?;
/// let outcome = manager.call("greet", json!({ "name": "Ada" })).await;
/// assert_eq!(outcome.result?.text(), "Hello, Ada!");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SkillManager(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) sources: Vec<Arc<dyn SkillSource>>,
    pub(crate) source_deadline: Duration,
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    pub(crate) cwd: PathBuf,
    pub(crate) dangers: Vec<String>,
    #[cfg(feature = "policy")]
    pub(crate) rules: Arc<crate::rules::Rules>,
    #[cfg(feature = "quickjs")]
    pub(crate) isolated: crate::isolated::Isolated,
    #[cfg(feature = "script")]
    pub(crate) scripts: crate::script::Scripts,
    /// Held over every change of the loaded set; its waiters are served in order of arrival.
    turn: tokio::sync::Mutex<()>,
    catalog: RwLock<Catalog>,
    state: Mutex<State>,
    stop: CancelToken,
}

struct State {
    names: Names,
    loaded: BTreeMap<SkillName, Loaded>,
    tools: BTreeMap<ToolName, Published>,
    shut_down: bool,
}

/// A loaded skill.
pub(crate) struct Loaded {
    pub(crate) record: Arc<Record>,
    /// The entry of the policy file that means this copy.
    #[cfg(feature = "policy")]
    pub(crate) entry: Option<bailiwick_policy::SkillGrants>,
    #[cfg(feature = "script")]
    pub(crate) scripts: Option<crate::script::LoadedScripts>,
}

/// What loading a skill published.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadReport {
    /// The skill that was loaded.
    pub provenance: Provenance,
    /// The flat names of its tools.
    pub tools: Vec<ToolName>,
    /// What the source and the loader want told.
    pub notes: Vec<String>,
}

impl SkillManager {
    /// Starts building a manager.
    pub fn builder() -> Builder<WantsGate> {
        Builder::new()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    #[cfg(feature = "policy")]
    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Loads a skill by name, or by `name@scope` for a shadowed copy, and publishes its tools.
    ///
    /// Everything that can be checked is checked here. A failed load publishes nothing and keeps
    /// nothing.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_FOUND`, `E_SKILL_ALREADY_LOADED`, `E_SKILL_SOURCE_FAILED`,
    /// `E_SKILL_MANIFEST_INVALID`, `E_SKILL_DIGEST_MISMATCH`, the collision codes, and the script
    /// tier's codes of loading.
    pub async fn load(&self, name: &str) -> Result<LoadReport, SkillError> {
        let _turn = self.0.turn.lock().await;
        let found = self.catalog_entry(name)?;
        {
            let state = self.0.state();
            if state.shut_down {
                return Err(shut_down());
            }
            if state.loaded.contains_key(&found.skill.name) {
                return Err(already_loaded(&found.skill.name));
            }
        }
        let descriptor = self.describe(&found).await?;
        let record = Record::new(descriptor.name.clone());
        let prepared = self.prepare(&found, descriptor).await?;
        self.publish(record, prepared)
    }

    /// Unloads a skill: its tools vanish at once, calls in flight go on and keep its files.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_LOADED`, or `E_SKILL_WORKSPACE_FAILED` when the skill's files could not be
    /// removed; it is unloaded all the same.
    pub async fn unload(&self, name: &str) -> Result<(), SkillError> {
        let _turn = self.0.turn.lock().await;
        let loaded = {
            let mut state = self.0.state();
            let Some(skill) = name
                .parse::<SkillName>()
                .ok()
                .filter(|skill| state.loaded.contains_key(skill))
            else {
                return Err(SkillError::new(
                    Code::NotLoaded,
                    format!("no skill named `{name}` is loaded"),
                )
                .with_detail("skill", name));
            };
            state.remove(&skill)
        };
        match loaded {
            Some(loaded) => loaded.release().await,
            None => Ok(()),
        }
    }

    /// Returns what every source offered, winners and shadowed copies, in the order of discovery.
    pub fn catalog(&self) -> Vec<CatalogEntry> {
        let catalog = self
            .0
            .catalog
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let state = self.0.state();
        catalog
            .found
            .iter()
            .map(|found| CatalogEntry {
                skill: found.skill.clone(),
                source: found.source.id().to_owned(),
                loaded: found.shadowed_by.is_none() && state.loaded.contains_key(&found.skill.name),
                shadowed_by: found.shadowed_by.clone(),
            })
            .collect()
    }

    /// Returns what the sources passed over, each with reason and fix.
    pub fn skipped(&self) -> Vec<Skip> {
        self.0
            .catalog
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .skipped
            .clone()
    }

    /// Calls `visit` for each source that could not be read.
    pub fn source_failures(&self, mut visit: impl FnMut(&SourceFailure)) {
        self.0
            .catalog
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .failures
            .iter()
            .for_each(&mut visit);
    }

    /// Returns the published tools in the order of their names.
    pub fn tools(&self) -> ToolList {
        ToolList(self.0.state().tools.values().cloned().collect())
    }

    /// Returns what lowers this manager's containment; empty unless `.dangerous()` was used.
    pub fn dangers(&self) -> &[String] {
        &self.0.dangers
    }

    /// Returns where results are kept.
    pub fn artifacts(&self) -> &Arc<dyn ArtifactStore> {
        &self.0.artifacts
    }

    /// Claims a tool name for the host, as [`Builder::host_tool`] does.
    ///
    /// # Errors
    ///
    /// `E_SKILL_TOOL_COLLISION` when a loaded skill publishes it.
    pub fn claim_host_tool(&self, name: &ToolName) -> Result<(), SkillError> {
        self.0.state().names.claim_for_host(name)
    }

    /// Calls a tool by its flat name, or by `SKILL.TOOL`.
    ///
    /// # Errors
    ///
    /// The outcome's result carries the codes of [`bailiwick_core::call()`], `E_SKILL_NOT_FOUND`
    /// and `E_SKILL_NOT_LOADED`.
    pub async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.call_with(CallRequest::new(tool, arguments)).await
    }

    /// Calls a tool with everything a caller may say about the call.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_with(&self, request: CallRequest) -> Outcome {
        match self.find_tool(&request.tool) {
            Ok(published) => self.call_published(&published, request).await,
            Err(error) => Outcome::new(Err(error), CallReport::new(Tier::Module)),
        }
    }

    pub(crate) async fn call_published(
        &self,
        published: &Published,
        request: CallRequest,
    ) -> Outcome {
        let _entered = match published.record.enter() {
            Ok(entered) => entered,
            Err(error) => {
                return Outcome::new(Err(error), CallReport::new(published.tool.spec().tier));
            }
        };
        let arguments = request.arguments.clone();
        let context = self.context(request);
        let mut call = std::pin::pin!(bailiwick_core::call(
            &*published.tool,
            &self.0.gatekeeper,
            arguments,
            &context
        ));
        let mut outcome = tokio::select! {
            outcome = &mut call => outcome,
            () = self.0.stop.cancelled() => {
                context.cancel.cancel();
                call.await
            }
        };
        outcome.report.warnings.extend(
            self.0
                .dangers
                .iter()
                .map(|danger| format!("dangerous: {danger}")),
        );
        outcome
    }

    pub(crate) fn context(&self, request: CallRequest) -> CallContext {
        let cwd = request.cwd.unwrap_or_else(|| self.0.cwd.clone());
        // Grants are real paths; a directory that is reached through a link is named by its own.
        let cwd = cwd.canonicalize().unwrap_or(cwd);
        let mut context = CallContext::new(cwd);
        context.conversation = request.conversation;
        context.cancel = request.cancel.child();
        context.deadline = request.deadline;
        context.stdin = request.stdin;
        context.place = request.place;
        context.updates = request.updates;
        context
    }

    /// Refuses new calls, cancels those in flight, waits for their end and removes every file that
    /// was kept for the loaded skills.
    pub async fn shutdown(&self) {
        let _turn = self.0.turn.lock().await;
        let loaded: Vec<Loaded> = {
            let mut state = self.0.state();
            state.shut_down = true;
            let names: Vec<_> = state.loaded.keys().cloned().collect();
            names.iter().filter_map(|name| state.remove(name)).collect()
        };
        self.0.stop.cancel();
        for loaded in loaded {
            loaded.record.idle().await;
            // A folder that cannot be removed is swept at the next start; there is nobody to tell.
            let _ = loaded.release().await;
        }
    }

    pub(crate) async fn discover(&self) {
        let catalog = Catalog::discover(&self.0.sources, self.0.source_deadline).await;
        *self
            .0
            .catalog
            .write()
            .unwrap_or_else(PoisonError::into_inner) = catalog;
    }

    pub(crate) fn catalog_entry(&self, name: &str) -> Result<Found, SkillError> {
        self.0
            .catalog
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .find(name)
            .cloned()
    }

    pub(crate) async fn describe(&self, found: &Found) -> Result<SkillDescriptor, SkillError> {
        let source = found.source.as_ref();
        let descriptor = within(source, self.0.source_deadline, |cancel| {
            source.descriptor(&found.skill, cancel)
        })
        .await?;
        if descriptor.name != found.skill.name || descriptor.version != found.skill.version {
            return Err(SkillError::new(
                Code::ManifestInvalid,
                format!(
                    "the source `{}` describes another skill or version than it offered",
                    source.id()
                ),
            )
            .with_detail("skill", found.skill.name.as_str()));
        }
        Ok(descriptor)
    }

    /// Builds every tool of a skill without publishing any.
    #[cfg_attr(
        not(feature = "policy"),
        expect(clippy::unused_async, reason = "only what has files is awaited")
    )]
    async fn prepare(
        &self,
        found: &Found,
        #[cfg_attr(
            not(feature = "policy"),
            expect(unused_mut, reason = "files are not read")
        )]
        mut descriptor: SkillDescriptor,
    ) -> Result<Ready, SkillError> {
        let provenance = descriptor.provenance();
        let mut ready = Ready::new(provenance, descriptor.notes.clone());
        #[cfg(feature = "module")]
        for live in &descriptor.tools {
            let boundary = bailiwick_module::Boundary::default().store(self.0.artifacts.clone());
            let wrapped =
                bailiwick_module::rewrap(live.clone(), ready.provenance.clone(), boundary)?;
            ready.add(wrapped.spec().name.to_string(), Arc::new(wrapped));
        }
        #[cfg(not(feature = "module"))]
        if !descriptor.tools.is_empty() {
            ready
                .notes
                .push("its live tools are not published: the feature `module` is off".to_owned());
        }
        #[cfg(feature = "policy")]
        let files = self.read_files(found, &mut descriptor, &mut ready).await?;
        #[cfg(feature = "quickjs")]
        self.prepare_isolated(&descriptor, &files, &mut ready)
            .await?;
        #[cfg(not(feature = "quickjs"))]
        if !descriptor.isolated.is_empty() {
            ready.notes.push(
                "its isolated tools are not published: the feature `quickjs` is off".to_owned(),
            );
        }
        #[cfg(feature = "script")]
        self.prepare_scripts(&descriptor, &files, &mut ready)
            .await?;
        #[cfg(not(feature = "script"))]
        if !descriptor.scripts.is_empty() {
            ready
                .notes
                .push("its scripts are not published: the feature `script` is off".to_owned());
        }
        #[cfg(all(feature = "policy", not(any(feature = "quickjs", feature = "script"))))]
        let _ = files;
        #[cfg(not(feature = "policy"))]
        let _ = found;
        Ok(ready)
    }

    fn publish(&self, record: Arc<Record>, ready: Ready) -> Result<LoadReport, SkillError> {
        let names: Vec<ToolName> = ready
            .tools
            .iter()
            .map(|(_, tool)| tool.spec().name.clone())
            .collect();
        let mut state = self.0.state();
        if state.shut_down {
            return Err(shut_down());
        }
        state.names.claim(&ready.provenance.skill, &names)?;
        let mut notes = ready.notes;
        for (short, tool) in ready.tools {
            let name = tool.spec().name.clone();
            if name.is_long() {
                notes.push(format!(
                    "`{name}` has more than 40 characters; hosts that prefix names may refuse it"
                ));
            }
            state.tools.insert(
                name,
                Published {
                    tool,
                    record: record.clone(),
                    short,
                },
            );
        }
        let loaded = Loaded {
            record,
            #[cfg(feature = "policy")]
            entry: ready.entry,
            #[cfg(feature = "script")]
            scripts: ready.scripts,
        };
        state.loaded.insert(ready.provenance.skill.clone(), loaded);
        Ok(LoadReport {
            provenance: ready.provenance,
            tools: names,
            notes,
        })
    }

    /// Finds a published tool by its flat name or by `SKILL.TOOL`.
    pub(crate) fn find_tool(&self, text: &str) -> Result<Published, SkillError> {
        let state = self.0.state();
        if let Some(published) = text
            .parse::<ToolName>()
            .ok()
            .and_then(|name| state.tools.get(&name))
        {
            return Ok(published.clone());
        }
        if let Some((skill, tool)) = text.split_once('.') {
            let own = || {
                let tools = state.tools.values();
                tools.filter(|own| own.tool.spec().provenance.skill.as_str() == skill)
            };
            // The published name goes first: tools of two tiers may have the same short one.
            let named = own().find(|own| own.tool.spec().name.as_str() == tool);
            if let Some(published) = named.or_else(|| own().find(|own| own.short == tool)) {
                return Ok(published.clone());
            }
            let known = skill.parse::<SkillName>().ok();
            if let Some(skill) = known.filter(|skill| !state.loaded.contains_key(skill)) {
                drop(state);
                return Err(match self.catalog_entry(skill.as_str()) {
                    Ok(_) => not_loaded(&skill),
                    Err(error) => error,
                });
            }
        }
        let known: Vec<_> = state.tools.keys().map(ToolName::as_str).take(12).collect();
        Err(
            SkillError::new(Code::NotFound, format!("no tool is named `{text}`"))
                .with_hint(if known.is_empty() {
                    "no tool is published; load a skill first".to_owned()
                } else {
                    format!("published here: {}", known.join(", "))
                })
                .with_detail("tool", text),
        )
    }
}

/// The tools of a skill on their way to being published.
pub(crate) struct Ready {
    pub(crate) provenance: Provenance,
    pub(crate) tools: Vec<(String, Arc<dyn Tool>)>,
    pub(crate) notes: Vec<String>,
    #[cfg(feature = "policy")]
    pub(crate) entry: Option<bailiwick_policy::SkillGrants>,
    #[cfg(feature = "script")]
    pub(crate) scripts: Option<crate::script::LoadedScripts>,
}

impl Ready {
    pub(crate) fn new(provenance: Provenance, notes: Vec<String>) -> Self {
        Self {
            provenance,
            tools: Vec::new(),
            notes,
            #[cfg(feature = "policy")]
            entry: None,
            #[cfg(feature = "script")]
            scripts: None,
        }
    }

    #[cfg(any(feature = "module", feature = "quickjs", feature = "script"))]
    pub(crate) fn add(&mut self, short: String, tool: Arc<dyn Tool>) {
        self.tools.push((short, tool));
    }
}

impl Inner {
    #[cfg_attr(
        feature = "policy",
        expect(clippy::too_many_arguments, reason = "the builder's parts, once")
    )]
    pub(crate) fn new(
        gatekeeper: Gatekeeper,
        sources: Vec<Arc<dyn SkillSource>>,
        source_deadline: Duration,
        artifacts: Arc<dyn ArtifactStore>,
        names: Names,
        cwd: PathBuf,
        dangers: Vec<String>,
        #[cfg(feature = "quickjs")] isolated: crate::isolated::Isolated,
        #[cfg(feature = "script")] scripts: crate::script::Scripts,
        #[cfg(feature = "policy")] rules: Arc<crate::rules::Rules>,
    ) -> Self {
        let state = State {
            names,
            loaded: BTreeMap::new(),
            tools: BTreeMap::new(),
            shut_down: false,
        };
        Self {
            gatekeeper,
            sources,
            source_deadline,
            artifacts,
            cwd,
            dangers,
            #[cfg(feature = "policy")]
            rules,
            #[cfg(feature = "quickjs")]
            isolated,
            #[cfg(feature = "script")]
            scripts,
            turn: tokio::sync::Mutex::new(()),
            catalog: RwLock::default(),
            state: Mutex::new(state),
            stop: CancelToken::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(feature = "policy")]
    pub(crate) fn with_loaded<T>(
        &self,
        skill: &SkillName,
        look: impl FnOnce(&Loaded) -> T,
    ) -> Result<T, SkillError> {
        self.state()
            .loaded
            .get(skill)
            .map(look)
            .ok_or_else(|| not_loaded(skill))
    }
}

impl State {
    /// Takes a skill out of the loaded set; its wrappers refuse from now on.
    fn remove(&mut self, skill: &SkillName) -> Option<Loaded> {
        let loaded = self.loaded.remove(skill)?;
        loaded.record.retire();
        self.tools
            .retain(|_, published| published.tool.spec().provenance.skill != *skill);
        self.names.release(skill);
        Some(loaded)
    }
}

impl Loaded {
    /// Lets go of the skill's files.
    #[cfg_attr(
        not(feature = "script"),
        expect(clippy::unused_async, reason = "only scripts have files")
    )]
    async fn release(self) -> Result<(), SkillError> {
        #[cfg(feature = "script")]
        if let Some(scripts) = self.scripts {
            return scripts.release().await;
        }
        Ok(())
    }
}

impl fmt::Debug for SkillManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loaded: Vec<_> = self.0.state().loaded.keys().cloned().collect();
        f.debug_struct("SkillManager")
            .field("loaded", &loaded)
            .field("dangers", &self.0.dangers)
            .finish_non_exhaustive()
    }
}

fn already_loaded(skill: &SkillName) -> SkillError {
    SkillError::new(
        Code::AlreadyLoaded,
        format!("the skill `{skill}` is loaded already"),
    )
    .with_hint("unload it first to load another copy")
    .with_detail("skill", skill.as_str())
}

fn shut_down() -> SkillError {
    SkillError::new(Code::NotLoaded, "the manager was shut down").with_hint("build a new manager")
}
