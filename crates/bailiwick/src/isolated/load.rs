//! Loading a skill's isolated tools: checked by parsing, compiled, described, published.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{
    Code, IsolatedDeclaration, IsolatedForm, Schema, SkillDescriptor, SkillError, SkillFile, Tier,
    ToolSpec,
};
use bailiwick_quickjs::{Form, IsolatedTool, JsEngine};

use crate::manager::{Ready, SkillManager};

impl SkillManager {
    /// Builds the isolated tools of a skill from the files that were read.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ISOLATED_GUEST_INVALID` with file, line and column for a source that is no tool, and
    /// for a skill whose tools take longer than [`LOAD_DEADLINE`] together,
    /// `E_SKILL_MANIFEST_INVALID` for a schema that breaks a bound, and
    /// `E_INVALID_SKILLS_CONFIG` for a granted root that is not there.
    pub(crate) async fn prepare_isolated(
        &self,
        descriptor: &SkillDescriptor,
        files: &[SkillFile],
        ready: &mut Ready,
    ) -> Result<(), SkillError> {
        let all = async {
            for declared in &descriptor.isolated {
                let tool = self.isolated_tool(declared, files, ready).await?;
                ready.add(declared.name.to_string(), Arc::new(tool));
            }
            Ok(())
        };
        tokio::time::timeout(LOAD_DEADLINE, all)
            .await
            .unwrap_or_else(|_| Err(too_slow(descriptor)))
    }

    pub(super) async fn isolated_tool(
        &self,
        declared: &IsolatedDeclaration,
        files: &[SkillFile],
        ready: &mut Ready,
    ) -> Result<IsolatedTool, SkillError> {
        let isolated = &self.inner().isolated;
        let file = self.inner().rules.file();
        let skill = ready.provenance.skill.clone();
        let stamp = |error: SkillError| {
            error
                .with_detail("skill", skill.as_str())
                .with_detail("tool", declared.name.as_str())
        };
        let source = source(declared, files).map_err(stamp)?;
        let engine = isolated.engine().await?;
        let (script, description, schema) = compile(&engine, declared, source, ready)
            .await
            .map_err(stamp)?;
        let entry = ready.entry.as_ref();
        let (default, most) = (file.wall_default_for(entry), file.limits_for(entry).wall());
        let schema = schema
            .with_timeout(default, most)
            .map_err(|error| stamp(error.with_detail("path", declared.path.as_str())))?;
        let mut holdings = isolated.holdings(&skill, entry, &declared.name)?;
        holdings.artifacts = Some(self.artifacts().clone());
        let name = declared.name.clone();
        let spec = ToolSpec::new(
            name,
            description,
            Tier::Isolated,
            schema,
            ready.provenance.clone(),
        );
        Ok(IsolatedTool::new(spec, engine, script, holdings))
    }
}

fn too_slow(descriptor: &SkillDescriptor) -> SkillError {
    SkillError::new(
        Code::IsolatedGuestInvalid,
        format!(
            "the tools of `{}` took longer than {LOAD_DEADLINE:?} to load",
            descriptor.name
        ),
    )
    .with_hint("have the modules do less at their top level, or bring fewer tools in one skill")
    .with_detail("skill", descriptor.name.as_str())
}

/// A script with what a model is told of it.
type Compiled = (bailiwick_quickjs::Script, String, Schema);

/// Compiles a source, and asks a module what it is.
async fn compile(
    engine: &JsEngine,
    declared: &IsolatedDeclaration,
    source: &[u8],
    ready: &mut Ready,
) -> Result<Compiled, SkillError> {
    match &declared.form {
        IsolatedForm::Arrow {
            description,
            params,
        } => {
            let script = engine.compile(&declared.path, source, Form::Arrow).await?;
            Ok((script, description.clone(), Schema::from_params(params)?))
        }
        IsolatedForm::Module => {
            let script = engine.compile(&declared.path, source, Form::Module).await?;
            let described = engine.describe(&script).await?;
            if described.takes_anything {
                ready.notes.push(format!(
                    "`parameters` of `{}` is `{{}}`, which takes any object; say which properties it has",
                    declared.name
                ));
            }
            Ok((script, described.description, described.schema))
        }
    }
}

fn source<'a>(
    declared: &IsolatedDeclaration,
    files: &'a [SkillFile],
) -> Result<&'a [u8], SkillError> {
    let found = files.iter().find(|file| file.path == declared.path);
    found.map(|file| file.bytes.as_slice()).ok_or_else(|| {
        SkillError::new(
            Code::ManifestInvalid,
            format!(
                "the tool `{}` is in the file `{}`, which the skill does not have",
                declared.name, declared.path
            ),
        )
        .with_hint("add the file, or remove the tool")
        .with_detail("path", declared.path.as_str())
    })
}

/// How long the tools of one skill may take to load together, the first start of the engine
/// included: each compiles in milliseconds, and its top level is no place for work.
const LOAD_DEADLINE: Duration = Duration::from_secs(30);
