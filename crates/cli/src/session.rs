//! A manager for one command.

use bailiwick::core::{DiscoveredSkill, Scope};
use bailiwick::package::{DirectorySource, Survey};
use bailiwick::scripts::Interpreters;
use bailiwick::{
    CancelToken, Decision, Error, FileStore, Gate, LoadReport, SkillManager, StoreConfig, gate_fn,
};

use crate::config;
use crate::folder;
use crate::policy::Chosen;
use crate::program::Program;

/// The skills that a command may use.
#[derive(Clone, Debug)]
pub(crate) struct Skills {
    source: DirectorySource,
    survey: Survey,
}

impl Skills {
    /// Searches the named folders, or the project's and the user's.
    pub(crate) fn find(program: &Program) -> Result<Self, Error> {
        let source = match program.global.skills.split_first() {
            None => DirectorySource::project(&program.config.cwd, program.config.home())?,
            Some((first, rest)) => rest
                .iter()
                .try_fold(DirectorySource::open(first)?, |source, folder| {
                    source.with_root(folder, Scope::Path)
                })?,
        };
        Self::of(source)
    }

    /// Searches the folders of a source.
    pub(crate) fn of(source: DirectorySource) -> Result<Self, Error> {
        let survey = source.survey(&CancelToken::new())?;
        Ok(Self { source, survey })
    }

    /// Returns everything that was found.
    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Returns the folders that were searched.
    pub(crate) fn source(&self) -> &DirectorySource {
        &self.source
    }

    /// Finds one skill by `NAME`, or by `NAME@SCOPE` where another copy wins.
    pub(crate) fn lookup(&self, name: &str) -> Result<&DiscoveredSkill, Error> {
        Ok(self.survey.lookup(name)?)
    }
}

/// A manager with one skill loaded.
pub(crate) struct Loaded {
    pub(crate) manager: SkillManager,
    pub(crate) report: LoadReport,
}

/// Builds a manager under a policy and loads the skill that a name means.
pub(crate) async fn load(
    program: &Program,
    skills: &Skills,
    name: &str,
    chosen: &Chosen,
    gate: impl Gate + 'static,
) -> Result<Loaded, Error> {
    skills.lookup(name)?;
    let manager = manager(program, skills, chosen, gate).await?;
    let report = manager.load(name).await?;
    Ok(Loaded { manager, report })
}

/// Builds a manager that offers the skills under a policy.
pub(crate) async fn manager(
    program: &Program,
    skills: &Skills,
    chosen: &Chosen,
    gate: impl Gate + 'static,
) -> Result<SkillManager, Error> {
    let cache = program.config.cache_folder()?;
    folder::private(&cache)?;
    let mut builder = SkillManager::builder()
        .gate(gate)
        .policy(chosen.policy.clone())
        .source(skills.source.clone())
        .artifacts(artifacts(program)?)
        .apart_from(program.config.data_folder()?)
        .engine_cache(cache.join("engine"))
        .cwd(&program.config.cwd);
    if chosen.policy.file().workspace_dir().is_none() {
        builder = builder.workspace(&cache);
    } else {
        builder = builder.apart_from(&cache);
    }
    for (name, value) in granted_variables(chosen)? {
        builder = builder.env(name, value);
    }
    builder.build().await
}

/// Returns who may run scripts under a policy.
pub(crate) async fn interpreters(chosen: &Chosen) -> Result<Interpreters, Error> {
    let nobody = gate_fn(|_| async { Decision::deny("nothing is called here") });
    let manager = SkillManager::builder()
        .gate(nobody)
        .policy(chosen.policy.clone())
        .build()
        .await?;
    Ok(manager.interpreters().clone())
}

/// Opens the store of retained results.
pub(crate) fn artifacts(program: &Program) -> Result<FileStore, Error> {
    let data = program.config.data_folder()?;
    folder::private(&data)?;
    Ok(FileStore::open(
        data.join("artifacts"),
        StoreConfig::default(),
    )?)
}

/// Returns the variables of this environment that the policy grants to anyone by name.
fn granted_variables(chosen: &Chosen) -> Result<Vec<(String, String)>, Error> {
    let ceiling = chosen.policy.file().ceiling(chosen.policy.cli_grants())?;
    let names = ceiling.env().keys().map(ToString::to_string);
    let valued = names.filter_map(|name| {
        let value = config::granted_variable(&name)?;
        Some((name, value))
    });
    Ok(valued.collect())
}
