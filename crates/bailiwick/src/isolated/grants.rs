//! What an isolated tool holds: capabilities, roots and limits.

use std::path::Path;
use std::sync::Arc;

use bailiwick_core::{CallContext, Capability, Code, HostCalls, SkillError, SkillName, ToolName};
use bailiwick_host::{Needs, Roots, Services};
use bailiwick_isolate::{Clock, Random};
use bailiwick_policy::{Grants, PathGrant, SkillGrants};
use bailiwick_quickjs::Holdings;

use crate::isolated::{Isolated, bytes, capabilities, limits};

impl Isolated {
    /// Opens what a tool is granted.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for a granted root that is not there.
    pub(super) fn holdings(
        &self,
        skill: &SkillName,
        entry: Option<&SkillGrants>,
        tool: &ToolName,
    ) -> Result<Holdings, SkillError> {
        let grants = self.rules.grants(entry, Some(tool));
        let services = Services::new(
            self.registry.clone(),
            skill.clone(),
            capabilities(&grants).collect(),
            self.roots(&grants)?,
        )?;
        let is_granted = |name: &str| {
            let name = name.parse::<Capability>();
            name.is_ok_and(|name| services.grants_capability(&name))
        };
        let (clock, random) = (is_granted("clock"), is_granted("random"));
        let file = self.rules.file();
        let mut holdings = Holdings::new(Arc::new(Members(services)));
        holdings.grants = grants.isolated_reach();
        holdings.limits = limits(&file.isolate_limits_for(entry));
        holdings.reply = bytes(file.limits_for(entry).reply());
        holdings.clock = if clock {
            self.config.clock.clone()
        } else {
            Clock::Deny
        };
        holdings.random = if random {
            self.config.random.clone()
        } else {
            Random::Deny
        };
        Ok(holdings)
    }

    /// Opens the roots, where a member is granted that works on them: without, no root is reached.
    fn roots(&self, grants: &Grants) -> Result<Roots, SkillError> {
        let mut members = self.registry.iter();
        let reaches_files = members.any(|member| {
            member.needs() == Needs::Roots && grants.context_rule(member.name()).is_some()
        });
        if !reaches_files {
            return Ok(Roots::none());
        }
        let readable = grants.read().iter().chain(grants.write());
        for root in readable.clone() {
            self.check_apart(root)?;
        }
        Roots::open(readable.map(|root| {
            let path = root.path().as_path();
            (path.to_owned(), root.origin().to_string())
        }))
    }

    /// Refuses a root that reaches into what is the host's own, or contains it.
    fn check_apart(&self, root: &PathGrant) -> Result<(), SkillError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let granted = real(root.path().as_path());
        let mut own = self.rules.apart().iter().map(|own| real(own));
        if !own.any(|own| granted.starts_with(&own) || own.starts_with(&granted)) {
            return Ok(());
        }
        Err(SkillError::new(
            Code::InvalidSkillsConfig,
            format!(
                "the root `{}` holds what is the host's own, or lies in it",
                root.path()
            ),
        )
        .with_hint("grant only the folders that the skill needs")
        .with_detail("origin", root.origin().to_string()))
    }
}

/// Answers the host calls of a tool.
struct Members(Services);

impl bailiwick_quickjs::Services for Members {
    fn open(&self, context: &CallContext) -> Result<Arc<dyn HostCalls>, SkillError> {
        Ok(Arc::new(self.0.for_call(context)?))
    }
}
