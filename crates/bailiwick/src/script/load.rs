//! Loading a skill's scripts: read once, verified, copied, compiled and proven.

use std::sync::{Arc, PoisonError};

use bailiwick_core::{Code, SkillDescriptor, SkillError, SkillFile};
use bailiwick_policy::SkillGrants;
use bailiwick_script::ScriptTool;

use crate::manager::{Ready, SkillManager};
use crate::script::{LoadedScripts, off_the_executor};

impl SkillManager {
    /// Builds and checks the tools of a skill's scripts from the files that were read.
    pub(crate) async fn prepare_scripts(
        &self,
        descriptor: &SkillDescriptor,
        files: &[SkillFile],
        ready: &mut Ready,
    ) -> Result<(), SkillError> {
        let scripts = &self.inner().scripts;
        let entry = ready.entry.clone();
        let entry = entry.as_ref();
        let (declared, undeclared) = scripts.check(entry, descriptor, &ready.provenance)?;
        if declared.is_empty() && undeclared.is_none() {
            return Ok(());
        }
        check_listed(descriptor, files)?;
        let runner = scripts.runner(&self.inner().artifacts).await?;
        let (digest, skill) = (descriptor.digest, descriptor.name.clone());
        let revision = {
            let (runner, files) = (runner.clone(), files.to_vec());
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
}

/// Refuses a declared script whose file the source does not list.
fn check_listed(descriptor: &SkillDescriptor, files: &[SkillFile]) -> Result<(), SkillError> {
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
