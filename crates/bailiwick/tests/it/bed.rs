//! What the tests of this folder share.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use bailiwick::core::LiveTool;
use bailiwick::{
    Builder, Code, Decision, Guarded, HostSource, InMemorySkill, InMemorySource, LoadReport,
    Policy, SkillManager, gate_fn, tool_fn,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Nothing {}

/// A live tool that answers with its own name.
pub(crate) fn tool(name: &'static str) -> Arc<dyn LiveTool> {
    tool_fn::<Nothing>(name, "Answers with its name.", move |_| async move {
        Ok::<_, Infallible>(name)
    })
}

pub(crate) fn allowing() -> Builder<Guarded> {
    SkillManager::builder().gate(gate_fn(|_| async { Decision::allow() }))
}

pub(crate) fn source(id: &str, skills: &[(&str, &[&'static str])]) -> HostSource {
    skills
        .iter()
        .fold(HostSource::new(id), |source, (skill, tools)| {
            source
                .skill(skill, "For tests.", tools.iter().map(|name| tool(name)))
                .unwrap()
        })
}

/// A skill `demo` with one shell script, `run`, whose text is given.
pub(crate) fn script_skill(script: &str) -> InMemorySkill {
    script_skill_with(script, "")
}

/// The same with parameters, as they stand in `bailiwick.yaml`.
pub(crate) fn script_skill_with(script: &str, params: &str) -> InMemorySkill {
    let sidecar = format!(
        "scripts:\n  - name: run\n    path: scripts/run.sh\n    description: Runs.\n    interpreter: sh\n{params}"
    );
    InMemorySkill::new("---\nname: demo\ndescription: For tests.\nversion: 1.0.0\n---\n")
        .file("bailiwick.yaml", sidecar)
        .file("scripts/run.sh", script)
}

pub(crate) fn in_memory(skill: InMemorySkill) -> InMemorySource {
    InMemorySource::new("memory").with(skill).unwrap()
}

pub(crate) fn policy_file(folder: &Path, text: &str) -> Policy {
    let path = folder.join("bailiwick.toml");
    let mut file = std::fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    Policy::from_file(path).unwrap()
}

/// A manager under a policy that has loaded a skill; nothing where the machine has no sandbox and
/// none is required.
pub(crate) async fn loaded(policy: Policy, skill: InMemorySkill) -> Option<SkillManager> {
    let source = in_memory(skill);
    let manager = allowing()
        .policy(policy)
        .source(source)
        .build()
        .await
        .unwrap();
    load(&manager).await?;
    Some(manager)
}

/// Loads `demo`; nothing where the machine has no sandbox and none is required.
pub(crate) async fn load(manager: &SkillManager) -> Option<LoadReport> {
    match manager.load("demo").await {
        Err(error) if error.code() == Code::ScriptSandboxUnavailable => {
            bailiwick_testkit::require_sandbox(Err(error));
            None
        }
        loaded => Some(loaded.unwrap()),
    }
}
