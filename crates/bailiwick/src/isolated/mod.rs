//! Tier 2 in a manager: the engine comes up when an isolated tool is first loaded.

#[cfg(feature = "script")]
mod explain;
mod grants;
mod load;

#[cfg(feature = "script")]
pub(crate) use explain::Held;

use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_core::{Code, SkillError};
use bailiwick_host::{Grant, Registry};
use bailiwick_isolate::{Clock, EngineSettings, Random};
use bailiwick_policy::{Grants, IsolateLimits, SkillGrants};
use bailiwick_quickjs::JsEngine;
use tokio::sync::OnceCell;

use crate::rules::Rules;

/// What a builder was told about isolated tools.
pub(crate) struct IsolatedConfig {
    pub(crate) registry: Option<Registry>,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) slots: Option<u32>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl Default for IsolatedConfig {
    fn default() -> Self {
        Self {
            registry: None,
            cache: None,
            slots: None,
            clock: Clock::System,
            random: Random::System,
        }
    }
}

impl IsolatedConfig {
    /// Checks that every capability that is granted anywhere is one that there is.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` naming the rule and the nearest name.
    pub(crate) fn checked(self, rules: Arc<Rules>) -> Result<Isolated, SkillError> {
        let registry = match self.registry.clone() {
            Some(registry) => registry,
            None => Registry::standard()?,
        };
        let skills = rules.file().skills().iter();
        let granted = [rules.file().session(), rules.cli().grants()]
            .into_iter()
            .chain(skills.flat_map(every_grant));
        for grant in granted.flat_map(capabilities) {
            registry.check_grant(&grant)?;
        }
        Ok(Isolated {
            config: self,
            rules,
            registry,
            engine: OnceCell::new(),
        })
    }
}

/// The isolated side of a manager.
pub(crate) struct Isolated {
    config: IsolatedConfig,
    rules: Arc<Rules>,
    registry: Registry,
    engine: OnceCell<JsEngine>,
}

impl Isolated {
    /// Starts the engine, once.
    async fn engine(&self) -> Result<JsEngine, SkillError> {
        let start = || async {
            let settings = self.settings();
            let folder = self.config.cache.clone();
            let members: Vec<String> = self.registry.names().map(str::to_owned).collect();
            let started = tokio::task::spawn_blocking(move || {
                JsEngine::start(settings, &members, folder.as_deref())
            });
            started.await.map_err(|error| {
                SkillError::new(
                    Code::InvalidSkillsConfig,
                    "the engine of isolated tools could not be started",
                )
                .with_hint("the runtime is shutting down, or this build of the engine is broken")
                .with_source(error)
            })?
        };
        self.engine.get_or_try_init(start).await.cloned()
    }

    /// Sizes the engine by the ceilings of the policy, so that no tool needs another.
    fn settings(&self) -> EngineSettings {
        let file = self.rules.file();
        let ceilings = file.isolate_limits();
        let rules = file.skills().iter().map(Some).chain([None]);
        let counts_fuel = rules
            .map(|rule| file.isolate_limits_for(rule))
            .any(|limits| limits.fuel().is_some());
        let settings = EngineSettings::default()
            .memory(bytes(ceilings.memory()))
            .stack(u32::try_from(ceilings.stack()).unwrap_or(u32::MAX))
            .fuel(counts_fuel);
        match self.config.slots {
            Some(slots) => settings.slots(slots),
            None => settings,
        }
    }
}

/// Returns what a skill holds, and what each of its tools holds that has a rule of its own.
fn every_grant(skill: &SkillGrants) -> impl Iterator<Item = &Grants> {
    let tools = skill.tools().map(|(tool, _)| skill.tool_grants(tool));
    [skill.grants()].into_iter().chain(tools)
}

/// Lists the capabilities that are granted, each with its rule.
fn capabilities(grants: &Grants) -> impl Iterator<Item = Grant> {
    let context = grants.context().iter();
    context.map(|(capability, origin)| Grant::new(capability.clone(), origin.to_string()))
}

/// Hands the policy's limits to the engine.
fn limits(policy: &IsolateLimits) -> bailiwick_isolate::Limits {
    let mut limits = bailiwick_isolate::Limits::default();
    limits.fuel = policy.fuel();
    limits.memory = bytes(policy.memory());
    limits.table = policy.table() as usize;
    limits.stack = u32::try_from(policy.stack()).unwrap_or(u32::MAX);
    limits.host_calls = policy.host_calls();
    limits.host_calls_concurrent = policy.host_calls_concurrent();
    limits.host_call_bytes = bytes(policy.host_call_bytes());
    limits.result = bytes(policy.result());
    limits.log_events = policy.log_events();
    limits.log_bytes = bytes(policy.log_bytes());
    limits.json_depth = policy.json_depth();
    limits.json_nodes = policy.json_nodes();
    limits
}

fn bytes(amount: u64) -> usize {
    usize::try_from(amount).unwrap_or(usize::MAX)
}
