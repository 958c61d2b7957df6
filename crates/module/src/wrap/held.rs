//! The original tool, out of reach.

use std::sync::Arc;

use bailiwick_core::LiveTool;

use crate::wrap::contain::{Panicked, contain};

/// Keeps a live tool so that nothing of it runs, not even its drop, without being contained.
pub(crate) struct Held {
    /// Empty only while it is being dropped.
    tool: Option<Arc<dyn LiveTool>>,
}

impl Held {
    pub(crate) fn new(tool: Arc<dyn LiveTool>) -> Self {
        Self { tool: Some(tool) }
    }

    /// Asks the tool something; its panic is contained.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&dyn LiveTool) -> T) -> Result<T, Panicked> {
        let tool = self.tool.as_deref().ok_or(Panicked)?;
        contain(|| question(tool))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let tool = self.tool.take();
        // A panic on the way out has nobody to be reported to: the tool is gone either way.
        let _ = contain(|| drop(tool));
    }
}
