//! What an isolated tool would hold, before it is called.

use std::fmt;

use bailiwick_core::{IsolatedDeclaration, SkillDescriptor, SkillError, Tool as _};
use bailiwick_policy::{Grants, IsolateLimits};
use serde_json::{Value, json};

use crate::catalog::Found;
use crate::explain::Explanation;
use crate::manager::{Ready, SkillManager};

/// What an isolated tool holds, for an explanation.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) grants: Grants,
    limits: IsolateLimits,
    source: String,
    schema: Value,
}

impl Held {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "source": self.source,
            "grants": self.grants.isolated_lines(),
            "limits": self.limits,
            "parameters": self.schema,
        })
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "source       {}", self.source)?;
        let lines = self.grants.isolated_lines();
        if lines.is_empty() {
            writeln!(f, "grants       none: it reaches nothing outside its guest")?;
        }
        for line in lines {
            writeln!(f, "grant        {line}")?;
        }
        writeln!(f, "limits       {}", self.limits)?;
        write!(
            f,
            "proof        every grant lies inside the session's ceiling"
        )
    }
}

impl SkillManager {
    /// Explains one isolated tool of a skill that need not be loaded. The top level of a module
    /// runs, in a guest that holds nothing.
    pub(crate) async fn explain_isolated(
        &self,
        found: &Found,
        mut descriptor: SkillDescriptor,
        declared: &IsolatedDeclaration,
        arguments: Option<Value>,
    ) -> Result<Explanation, SkillError> {
        let mut ready = Ready::new(descriptor.provenance(), Vec::new());
        let files = self.read_files(found, &mut descriptor, &mut ready).await?;
        let tool = self.isolated_tool(declared, &files, &mut ready).await?;
        let spec = tool.spec();
        let deadline = match arguments {
            None => None,
            Some(arguments) => spec.schema.check(arguments)?.timeout(),
        };
        let (rules, entry) = (&self.inner().rules, ready.entry.as_ref());
        let held = Held {
            grants: rules.grants(entry, Some(&declared.name)),
            limits: rules.file().isolate_limits_for(entry),
            source: declared.path.to_string(),
            schema: spec.schema.json().clone(),
        };
        Ok(Explanation::of_isolated(spec, held, deadline))
    }
}
