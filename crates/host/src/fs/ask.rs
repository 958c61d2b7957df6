//! What the members of this module share: one guest's wish, and how it is refused.

use std::sync::Arc;

use bailiwick_core::{Capability, SkillError};
use serde_json::Value;

use crate::error::HostError;
use crate::member::MemberCall;
use crate::open::Obstacle;
use crate::roots::{Location, Roots};
use crate::scope::CallScope;
use crate::work::{Stop, blocking};

/// A call of a file member, on the thread that does its work.
pub(crate) struct Ask<'a> {
    member: Capability,
    scope: &'a CallScope,
    roots: &'a Roots,
    pub(crate) stop: &'a Stop,
}

/// Does the work of a call on a thread that may block.
pub(crate) async fn ask(
    call: MemberCall,
    work: impl FnOnce(&Ask<'_>) -> Result<Value, SkillError> + Send + 'static,
) -> Result<Value, SkillError> {
    let (member, roots) = (call.member, Arc::clone(&call.roots));
    let named = member.clone();
    blocking(member, call.cancel, move |stop| {
        work(&Ask {
            member: named,
            scope: &call.scope,
            roots: &roots,
            stop,
        })
    })
    .await
}

impl Ask<'_> {
    /// Finds the place of a path, or says that it is not granted; nothing is opened.
    pub(crate) fn locate(
        &self,
        path: &str,
        pointer: &'static str,
    ) -> Result<Location<'_>, SkillError> {
        if path.contains('\0') {
            return Err(self.reject(pointer, "a path has no NUL character"));
        }
        self.roots
            .locate(self.scope.cwd(), path)
            .ok_or_else(|| self.outside(path, false))
    }

    /// Says why a path was not opened.
    pub(crate) fn refuse(&self, path: &str, obstacle: Obstacle) -> SkillError {
        match obstacle {
            Obstacle::Escapes => self.outside(path, true),
            Obstacle::Fault(fault, source) => HostError::File {
                member: self.member.clone(),
                path: path.to_owned(),
                fault,
                source,
            }
            .into(),
        }
    }

    /// Says what is wrong with an argument.
    pub(crate) fn reject(&self, pointer: &'static str, reason: impl Into<String>) -> SkillError {
        HostError::Argument {
            member: self.member.clone(),
            pointer,
            reason: reason.into(),
        }
        .into()
    }

    fn outside(&self, path: &str, by_link: bool) -> SkillError {
        let held = |(path, origin): (&std::path::Path, &str)| (path.to_owned(), origin.to_owned());
        HostError::OutsideRoots {
            member: self.member.clone(),
            skill: self.scope.skill().clone(),
            path: path.to_owned(),
            by_link,
            roots: self.roots.iter().map(held).collect(),
        }
        .into()
    }
}
