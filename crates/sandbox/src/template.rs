//! Roots that later runs begin from.
//!
//! Most of a root is the same in every run of a skill under one user: binds, devices, `/etc`, and
//! the Landlock rulesets on them. The second run of a user has all that made once, in a mount
//! namespace of its own; it and the runs after it copy the namespace and add what is theirs alone,
//! their scratch and their `/proc`.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::SandboxError;
use crate::root::Owner;

/// The mount namespace that a run copies, and the rulesets that it applies.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) namespace: OwnedFd,
    pub(crate) rulesets: Vec<OwnedFd>,
}

impl Template {
    /// Says whether it brings the rulesets; else a run makes its own.
    pub(crate) fn has_rules(&self) -> bool {
        !self.rulesets.is_empty()
    }

    /// Returns what accompanies a run's plan: the namespace, then the rulesets.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let rulesets = self.rulesets.iter().map(AsFd::as_fd);
        std::iter::once(self.namespace.as_fd()).chain(rulesets)
    }
}

/// The templates of one compiled policy, by the user of the run.
#[derive(Debug, Default)]
pub(crate) struct Templates(Mutex<BTreeMap<Owner, Known>>);

#[derive(Clone, Debug)]
enum Known {
    /// A run of this user was made from nothing.
    Seen,
    Made(Arc<Template>),
    /// This machine makes or joins none.
    Refused,
}

impl Templates {
    /// Returns the template of a user: none at its first run, and from the second on what `make`
    /// made. Without a template a run makes its whole root, so what stands in the way is left to be
    /// told by that.
    pub(crate) fn of(
        &self,
        user: Owner,
        make: impl FnOnce() -> Result<Template, SandboxError>,
    ) -> Option<Arc<Template>> {
        let known = self.known().get(&user).cloned();
        match known {
            Some(Known::Made(template)) => Some(template),
            Some(Known::Refused) => None,
            None => {
                let mut known = self.known();
                if known.len() < MOST {
                    known.insert(user, Known::Seen);
                }
                None
            }
            // A user is one run's at a time, so nobody else is about to make the same.
            Some(Known::Seen) => match make() {
                Ok(template) => {
                    let template = Arc::new(template);
                    self.known()
                        .insert(user, Known::Made(Arc::clone(&template)));
                    Some(template)
                }
                Err(SandboxError::Launch { .. }) => {
                    self.refuse(user);
                    None
                }
                // The host lacked something for the moment.
                Err(_) => None,
            },
        }
    }

    /// Does without the template of a user, which could not be joined.
    pub(crate) fn refuse(&self, user: Owner) {
        self.known().insert(user, Known::Refused);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Owner, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Users with a template of one policy: more runs than this at the same time make their roots.
const MOST: usize = 32;
