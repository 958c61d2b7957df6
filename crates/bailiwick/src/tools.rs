//! The published tools, as models and hosts see them.

use std::fmt;
use std::sync::Arc;

use bailiwick_core::{Provenance, Tier, Tool};
use serde_json::{Value, json};

use crate::record::Record;

/// A tool in a manager's registry.
#[derive(Clone)]
pub(crate) struct Published {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) record: Arc<Record>,
    /// The name inside its skill, by which `SKILL.NAME` addresses it.
    pub(crate) short: String,
}

/// A snapshot of the published tools, in the order of their names.
pub struct ToolList(pub(crate) Vec<Published>);

impl ToolList {
    /// Iterates over the tools.
    pub fn iter(&self) -> impl Iterator<Item = ToolInfo<'_>> {
        self.0.iter().map(ToolInfo)
    }

    /// Returns how many tools there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what a model is shown: name, description and argument schema of every tool.
    pub fn json_schema(&self) -> Value {
        self.iter()
            .map(|tool| {
                json!({ "name": tool.name(), "description": tool.description(), "inputSchema": tool.schema() })
            })
            .collect()
    }
}

impl fmt::Debug for ToolList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|tool| tool.name().to_owned()))
            .finish()
    }
}

/// One published tool.
#[derive(Clone, Copy)]
pub struct ToolInfo<'a>(&'a Published);

impl<'a> ToolInfo<'a> {
    /// Returns the flat name that a model uses.
    pub fn name(&self) -> &'a str {
        self.0.tool.spec().name.as_str()
    }

    /// Returns the name inside its skill.
    pub fn short_name(&self) -> &'a str {
        &self.0.short
    }

    /// Returns what a model is told.
    pub fn description(&self) -> &'a str {
        &self.0.tool.spec().description
    }

    /// Returns where its code runs.
    pub fn tier(&self) -> Tier {
        self.0.tool.spec().tier
    }

    /// Returns the skill that brings it.
    pub fn provenance(&self) -> &'a Provenance {
        &self.0.tool.spec().provenance
    }

    /// Returns the JSON Schema of its arguments.
    pub fn schema(&self) -> &'a Value {
        self.0.tool.spec().schema.json()
    }
}

impl fmt::Debug for ToolInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolInfo")
            .field("name", &self.name())
            .field("tier", &self.tier())
            .finish_non_exhaustive()
    }
}
