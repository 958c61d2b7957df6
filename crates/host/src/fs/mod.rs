//! Reading files: `fs.read`, `fs.glob` and `fs.grep`.
//!
//! Each needs a grant of its name and a root that holds the path.

mod ask;
mod budget;
mod glob;
mod grep;
mod ignored;
mod pattern;
mod read;
mod walk;

use bailiwick_core::SkillError;

use crate::member::Member;

/// The members, in the order in which they are listed.
pub(crate) fn members() -> Result<[Member; 3], SkillError> {
    Ok([read::member()?, glob::member()?, grep::member()?])
}
