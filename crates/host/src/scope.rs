//! Whom a guest call is made for, and where.

use std::path::{Path, PathBuf};

use bailiwick_core::{CallContext, Place, SkillName};

use crate::error::HostError;

/// What the members know of the guest call that they serve.
#[derive(Clone, Debug)]
pub struct CallScope {
    skill: SkillName,
    cwd: PathBuf,
    conversation: Option<String>,
    place: Place,
}

impl CallScope {
    pub(crate) fn of(skill: SkillName, context: &CallContext) -> Result<Self, HostError> {
        if !context.cwd.is_absolute() {
            return Err(HostError::Cwd {
                path: context.cwd.clone(),
            });
        }
        Ok(Self {
            skill,
            cwd: context.cwd.clone(),
            conversation: context.conversation.clone(),
            place: context.place.clone(),
        })
    }

    /// Returns the skill whose tool is running.
    pub fn skill(&self) -> &SkillName {
        &self.skill
    }

    /// Returns the absolute directory that relative paths are relative to.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the conversation that the call belongs to, when the host has such a thing.
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Returns where else the call belongs.
    pub fn place(&self) -> &Place {
        &self.place
    }
}
