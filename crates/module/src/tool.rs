//! The wrapper that a host registers instead of a live tool.

use std::fmt;
use std::sync::Arc;

use bailiwick_core::{
    Arguments, BoxFuture, CallContext, CallReport, Effects, LiveTool, Outcome, Permit, Prepared,
    Provenance, Response, Schema, SkillError, Tier, Tool, ToolName, ToolSpec,
};

use crate::boundary::Boundary;
use crate::error::ModuleError;
use crate::wrap::{Ending, Held, Run, fit, measure, narrow, run};

/// A live tool, rebuilt: the only form in which a host may register one.
pub struct WrappedTool {
    spec: Arc<ToolSpec>,
    original: Arc<Held>,
    boundary: Boundary,
}

/// Rebuilds a live tool into a wrapper that the host owns (contracts 3.1).
///
/// The tool is asked for its name, description and parameters once; what it says later changes
/// nothing. What it claims about itself is not even read.
///
/// # Errors
///
/// `E_SKILL_MANIFEST_INVALID` when the name breaks the rule of tool names, the schema breaks a
/// bound of [`Schema`], the description is blank or longer than 16 KiB, or the tool panics when
/// asked; `E_INVALID_SKILLS_CONFIG` for an inline reply below 1 KiB.
pub fn rewrap(
    tool: Arc<dyn LiveTool>,
    provenance: Provenance,
    boundary: Boundary,
) -> Result<WrappedTool, SkillError> {
    boundary.check()?;
    let original = Held::new(tool);
    let asked = |part| {
        let skill = provenance.skill.clone();
        move |_| ModuleError::PanickedDescribing { skill, part }
    };
    let name = original
        .ask(|tool| tool.name().to_owned())
        .map_err(asked("name"))?;
    let name: ToolName = name.parse().map_err(|source| ModuleError::Name {
        skill: provenance.skill.clone(),
        source,
    })?;
    let description = original
        .ask(|tool| tool.description().to_owned())
        .map_err(asked("description"))?;
    if description.trim().is_empty() || description.len() > MAX_DESCRIPTION {
        return Err(ModuleError::DescriptionLength {
            tool: name,
            skill: provenance.skill,
            bytes: description.len(),
        }
        .into());
    }
    let parameters = original
        .ask(|tool| tool.parameters())
        .map_err(asked("parameters"))?;
    let schema = Schema::from_author(parameters).map_err(|error| {
        error
            .with_detail("skill", provenance.skill.as_str())
            .with_detail("tool", name.as_str())
    })?;
    Ok(WrappedTool {
        spec: Arc::new(ToolSpec::new(
            name,
            description,
            Tier::Module,
            schema,
            provenance,
        )),
        original: Arc::new(original),
        boundary,
    })
}

impl Tool for WrappedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(
        &'a self,
        arguments: Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Prepared>, SkillError>> {
        let call: Box<dyn Prepared> = Box::new(Call {
            spec: Arc::clone(&self.spec),
            original: Arc::clone(&self.original),
            boundary: self.boundary.clone(),
            effects: Effects::Module,
            arguments,
            context: context.clone(),
        });
        Box::pin(std::future::ready(Ok(call)))
    }
}

impl fmt::Debug for WrappedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappedTool")
            .field("spec", &self.spec)
            .field("boundary", &self.boundary)
            .finish_non_exhaustive()
    }
}

/// One call of a wrapped tool that has not begun.
struct Call {
    spec: Arc<ToolSpec>,
    original: Arc<Held>,
    boundary: Boundary,
    effects: Effects,
    arguments: Arguments,
    context: CallContext,
}

impl Prepared for Call {
    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn run(self: Box<Self>, permit: Permit) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            let mut report = CallReport::new(Tier::Module);
            let result = self.respond(&permit, &mut report).await;
            Outcome::new(result.map_err(SkillError::from), report)
        })
    }
}

impl Call {
    async fn respond(
        self,
        permit: &Permit,
        report: &mut CallReport,
    ) -> Result<Response, ModuleError> {
        let Self {
            spec,
            original,
            boundary,
            arguments,
            context,
            ..
        } = self;
        let tool = || spec.name.clone();
        let skill = || spec.provenance.skill.clone();
        let CallContext {
            cancel, deadline, ..
        } = context;
        let ending = run(Run {
            tool: original,
            arguments,
            cancel,
            deadline: deadline.map(|deadline| permit.granted_at() + deadline),
            grace: boundary.grace(),
        })
        .await
        .ok_or_else(|| ModuleError::NoRuntime { tool: tool() })?;
        let raw = match ending {
            Ending::Settled(Ok(raw)) => raw,
            Ending::Settled(Err(source)) => {
                return Err(ModuleError::Failed {
                    tool: tool(),
                    skill: skill(),
                    source,
                });
            }
            Ending::Stopped {
                reason,
                confirmed_dead,
            } => {
                report.confirmed_dead = confirmed_dead;
                report.confirmed = confirmed_dead.is_some();
                report.still_running = confirmed_dead.is_none();
                return Err(ModuleError::Stopped {
                    tool: tool(),
                    skill: skill(),
                    reason,
                });
            }
        };
        let content = narrow(raw).map_err(|shape| ModuleError::BadResponse {
            tool: tool(),
            skill: skill(),
            shape,
        })?;
        report.bytes = measure(&content);
        let content = fit(content, &boundary, &spec, report).await;
        let mut response = Response::new(content, spec.provenance.clone());
        response.artifact.clone_from(&report.artifact);
        Ok(response)
    }
}

/// A description goes into every prompt that offers the tool; this is generous, in bytes.
const MAX_DESCRIPTION: usize = 16 * 1024;
