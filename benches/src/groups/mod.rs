//! The groups of variants.

pub(crate) mod cli;
pub(crate) mod isolate;
pub(crate) mod module;
mod node;
pub(crate) mod script;
