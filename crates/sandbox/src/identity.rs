//! Whom a run has as its user, and the root that this user's runs begin from.

use std::sync::Arc;

use rustix::process::{getegid, geteuid};

use crate::compile::Compiled;
use crate::encode::Writer;
use crate::error::SandboxError;
use crate::plan::{Ids, flag};
use crate::plans::{Attached, Maps, write_landlock, write_root};
use crate::root::{Extent, Owner};
use crate::shape::Network;
use crate::template::Template;
use crate::uid::UidLease;

/// Whom the program runs as.
#[derive(Debug)]
pub(crate) enum Identity {
    /// A uid of its own, with granted places mapped to it.
    Run(UidLease),
    /// The owner of the granted places, where a file system refuses to map them.
    Owner(Owner),
    /// The host's own user, inside a user namespace or not.
    Host(Owner),
}

impl Identity {
    pub(crate) fn choose(compiled: &Compiled) -> Result<Self, SandboxError> {
        let Some(uids) = &compiled.host.uids else {
            return Ok(Self::Host((geteuid().as_raw(), getegid().as_raw())));
        };
        if !compiled.is_unmapped() {
            return uids.lease().map(Self::Run);
        }
        match compiled.root.owners().as_slice() {
            [(uid, gid)] if *uid != 0 => Ok(Self::Owner((*uid, *gid))),
            owners => Err(SandboxError::Root {
                path: "a granted place".to_owned(),
                why: format!(
                    "its file system refuses id-mapped mounts, and a run cannot be given the \
                     identity of its owner (uids {:?})",
                    owners.iter().map(|(uid, _)| *uid).collect::<Vec<_>>()
                ),
            }),
        }
    }

    pub(crate) fn user(&self) -> Owner {
        match self {
            Self::Run(lease) => (lease.uid(), lease.uid()),
            Self::Owner(owner) | Self::Host(owner) => *owner,
        }
    }

    pub(crate) fn ids(&self) -> Ids {
        let (uid, gid) = self.user();
        Ids { uid, gid }
    }

    /// The root that this user's runs begin from, if there is one.
    pub(crate) fn template(&self, compiled: &Compiled) -> Option<Arc<Template>> {
        let (Self::Run(_), Some(templates)) = (self, &compiled.templates) else {
            return None;
        };
        templates.of(self.user(), || self.make_template(compiled))
    }

    fn make_template(&self, compiled: &Compiled) -> Result<Template, SandboxError> {
        let maps = self.maps(compiled)?;
        let user = self.user();
        let mut attached = Attached::default();
        attached.add_sources(compiled, &maps);
        let mut writer = Writer::template();
        writer.word(user.0);
        writer.word(user.1);
        writer.word(attached.next());
        write_root(compiled, &mut writer, Extent::Template, 0, user, &maps);
        write_landlock(compiled, &mut writer, Extent::Template);
        let plan = writer.finish();
        let launcher = &compiled.host.launcher;
        launcher.template(&plan, &attached.descriptors)
    }

    /// A user namespace for each owner of a granted place.
    pub(crate) fn maps(&self, compiled: &Compiled) -> Result<Maps, SandboxError> {
        match self {
            Self::Run(lease) => compiled
                .root
                .owners()
                .into_iter()
                .map(|owner| Ok((owner, lease.map(&compiled.host.launcher, owner)?)))
                .collect(),
            Self::Owner(_) | Self::Host(_) => Ok(Vec::new()),
        }
    }

    pub(crate) fn lease(self) -> Option<UidLease> {
        match self {
            Self::Run(lease) => Some(lease),
            Self::Owner(_) | Self::Host(_) => None,
        }
    }

    pub(crate) fn flags(&self, compiled: &Compiled) -> u32 {
        let mut flags = match self {
            Self::Run(_) | Self::Owner(_) => flag::OWN_UID,
            Self::Host(_) if compiled.shape.user => flag::MAP_IDS,
            Self::Host(_) => 0,
        };
        if compiled.shape.network.has_loopback() {
            flags |= flag::LOOPBACK;
        }
        if compiled.shape.network == Network::Proxy {
            flags |= flag::LISTEN;
        }
        flags
    }
}
