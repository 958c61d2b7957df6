//! The one list of what `context` offers.

use std::sync::Arc;

use bailiwick_core::{Capability, SkillError};

use crate::error::HostError;
use crate::fs;
use crate::member::Member;
use crate::nearest::nearest;
use crate::services::Grant;

/// The members that a host offers, in the order of their registration.
///
/// Being registered grants nothing.
///
/// # Examples
///
/// ```
/// use bailiwick_host::Registry;
///
/// let registry = Registry::standard()?;
/// assert_eq!(registry.names().collect::<Vec<_>>(), ["fs.read", "fs.glob", "fs.grep"]);
/// # Ok::<_, bailiwick_core::SkillError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    members: Vec<Arc<Member>>,
}

impl Registry {
    /// Creates a registry without a member.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates the registry of the members that this crate brings.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when one of them breaks a rule of members, which a test rules out.
    pub fn standard() -> Result<Self, SkillError> {
        fs::members()?
            .into_iter()
            .try_fold(Self::empty(), Self::with)
    }

    /// Adds a member.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when a member of that name is registered already.
    pub fn with(mut self, member: Member) -> Result<Self, SkillError> {
        if self.find(member.name().as_str()).is_some() {
            return Err(HostError::MemberRejected {
                name: member.name().to_string(),
                reason: "a member of that name is registered already".to_owned(),
            }
            .into());
        }
        self.members.push(Arc::new(member));
        Ok(self)
    }

    /// Returns the member of a name.
    pub fn find(&self, name: &str) -> Option<&Arc<Member>> {
        self.members
            .iter()
            .find(|member| member.name().as_str() == name)
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().map(AsRef::as_ref)
    }

    /// Returns the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|member| member.name().as_str())
    }

    /// Checks that a grant names something: a member, a namespace of members, `clock` or `random`.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` with the nearest name, because a grant of nothing is a mistake.
    pub fn check_grant(&self, grant: &Grant) -> Result<(), SkillError> {
        let capability = grant.capability();
        let is_known =
            capability.is_contained() || self.iter().any(|member| capability.covers(member.name()));
        if is_known {
            return Ok(());
        }
        Err(HostError::UnknownGrant {
            capability: capability.clone(),
            origin: grant.origin().to_owned(),
            nearest: self.nearest_grant(capability),
        }
        .into())
    }

    pub(crate) fn nearest_member(&self, name: &str) -> Option<String> {
        nearest(name, self.names()).map(str::to_owned)
    }

    fn nearest_grant(&self, capability: &Capability) -> Option<String> {
        let namespaces = self.names().filter_map(|name| name.split('.').next());
        let names = self.names().chain(namespaces).chain(Capability::CONTAINED);
        nearest(capability.as_str(), names).map(str::to_owned)
    }
}
