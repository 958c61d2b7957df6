//! The groups of variants.

pub(crate) mod module;
pub(crate) mod script;
