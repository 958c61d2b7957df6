//! The mechanisms of the border: containing panics, running apart, narrowing answers.

mod contain;
mod content;
mod held;
mod media_type;
mod reply;
mod run;

pub(crate) use crate::wrap::contain::contain;
pub(crate) use crate::wrap::content::{measure, narrow};
pub(crate) use crate::wrap::held::Held;
pub(crate) use crate::wrap::reply::fit;
pub(crate) use crate::wrap::run::{Ending, Run, run};
