//! What may be touched: a policy, built up from nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::env::EnvName;
use crate::limits::{Limits, RunLimits};
use crate::network::{Net, Unix};
use crate::origin::Origin;
use crate::path::HostPath;
use crate::rights::Rights;
use crate::syscalls::SyscallProfile;
use crate::threat::ThreatClass;

/// What a script may touch, as stated by a session or asked for by a call.
///
/// Rights only grow downwards: at a path they are the union of what is granted there and at every
/// folder above it. That is how one Landlock layer decides, so the model promises nothing that the
/// kernel does not keep. There is no "except".
///
/// Policies are ordered (see [`widens`](Self::widens)): one is within another when it allows
/// nothing that the other does not, and requires at least what the other requires.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::{HostPath, Origin, Rights, SandboxPolicy};
///
/// let docs: HostPath = "/home/ada/docs".parse()?;
/// let session = SandboxPolicy::deny_all().grant(docs.clone(), Rights::READ_ONLY, Origin::Code);
/// let greedy = SandboxPolicy::deny_all().grant(docs, Rights::READ_WRITE, Origin::Code);
///
/// assert!(session.is_within(&greedy));
/// assert!(!greedy.is_within(&session));
/// # Ok::<(), bailiwick_policy::PathError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SandboxPolicy {
    fs: BTreeMap<HostPath, Vec<Grant>>,
    net: Net,
    net_origin: Option<Origin>,
    unix: Unix,
    exec: BTreeMap<HostPath, Origin>,
    syscalls: SyscallProfile,
    limits: Limits,
    env: BTreeMap<EnvName, Origin>,
    require: BTreeSet<ThreatClass>,
    written_in: Option<Arc<str>>,
}

impl SandboxPolicy {
    /// Returns the policy that touches nothing.
    ///
    /// No file, no program, no network, no variable, the strict system calls, the limits of
    /// [`RunLimits::default`], and every class required that is hard by default.
    pub fn deny_all() -> Self {
        Self {
            fs: BTreeMap::new(),
            net: Net::None,
            net_origin: None,
            unix: Unix::None,
            exec: BTreeMap::new(),
            syscalls: SyscallProfile::Strict,
            limits: Limits::from(&RunLimits::default()),
            env: BTreeMap::new(),
            require: ThreatClass::ALL
                .into_iter()
                .filter(|class| class.is_hard_by_default())
                .collect(),
            written_in: None,
        }
    }

    /// Grants `rights` on `root` and everything beneath it, on top of what is granted already.
    #[must_use]
    pub fn grant(mut self, root: HostPath, rights: Rights, origin: Origin) -> Self {
        if !rights.is_empty() {
            self.fs
                .entry(root)
                .or_default()
                .push(Grant { rights, origin });
        }
        self
    }

    /// Sets how far the script reaches over IP. Defaults to [`Net::None`].
    #[must_use]
    pub fn with_net(mut self, net: Net, origin: Origin) -> Self {
        self.net_origin = (net != Net::None).then_some(origin);
        self.net = net;
        self
    }

    /// Sets how far the script reaches over Unix sockets. Defaults to [`Unix::None`].
    #[must_use]
    pub fn with_unix(mut self, unix: Unix) -> Self {
        self.unix = unix;
        self
    }

    /// Allows a program to be started.
    #[must_use]
    pub fn allow_exec(mut self, program: HostPath, origin: Origin) -> Self {
        self.exec.entry(program).or_insert(origin);
        self
    }

    /// Sets the profile of system calls. Defaults to [`SyscallProfile::Strict`].
    #[must_use]
    pub fn with_syscalls(mut self, profile: SyscallProfile) -> Self {
        self.syscalls = profile;
        self
    }

    /// Sets the limits. Defaults to those of [`RunLimits::default`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Hands on one variable of the environment.
    #[must_use]
    pub fn allow_env(mut self, name: EnvName, origin: Origin) -> Self {
        self.env.entry(name).or_insert(origin);
        self
    }

    /// Requires a class of threats to be closed, or the run is refused.
    #[must_use]
    pub fn require(mut self, class: ThreatClass) -> Self {
        self.require.insert(class);
        self
    }

    /// Stops requiring a class.
    ///
    /// Only the composition root may call this, behind its `dangerous()`: it lowers containment.
    #[must_use]
    pub fn without_requirement(mut self, class: ThreatClass) -> Self {
        self.require.remove(&class);
        self
    }

    /// Remembers the label of the policy file that this policy is from.
    pub(crate) fn with_file(mut self, label: Option<Arc<str>>) -> Self {
        self.written_in = label;
        self
    }

    /// Returns the label of the policy file that this policy is from, if it is from one.
    pub(crate) fn written_in(&self) -> Option<&Arc<str>> {
        self.written_in.as_ref()
    }

    /// Returns the rights held at `path`: the union of the grants there and above.
    pub fn effective_rights(&self, path: &HostPath) -> Rights {
        self.grants_at(path)
            .fold(Rights::NONE, |held, (_, grant)| held | grant.rights)
    }

    /// Iterates over the grants that hold at `path`, the deepest first, each with its root.
    pub fn grants_at(&self, path: &HostPath) -> impl Iterator<Item = (&HostPath, &Grant)> {
        path.ancestors()
            .filter_map(|above| self.fs.get_key_value(&above))
            .flat_map(|(root, grants)| grants.iter().map(move |grant| (root, grant)))
    }

    /// Iterates over the granted roots in order, each with the grants written there.
    pub fn roots(&self) -> impl Iterator<Item = (&HostPath, &[Grant])> {
        self.fs
            .iter()
            .map(|(root, grants)| (root, grants.as_slice()))
    }

    /// Returns how far the script reaches over IP.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Returns where the reach over IP was granted, if it was.
    pub fn net_origin(&self) -> Option<&Origin> {
        self.net_origin.as_ref()
    }

    /// Returns how far the script reaches over Unix sockets.
    pub fn unix(&self) -> Unix {
        self.unix
    }

    /// Returns the programs that may be started, each with its origin.
    pub fn exec(&self) -> &BTreeMap<HostPath, Origin> {
        &self.exec
    }

    /// Returns the profile of system calls.
    pub fn syscalls(&self) -> SyscallProfile {
        self.syscalls
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the names of the variables handed on, each with its origin.
    pub fn env(&self) -> &BTreeMap<EnvName, Origin> {
        &self.env
    }

    /// Returns the classes that must be closed.
    pub fn required(&self) -> &BTreeSet<ThreatClass> {
        &self.require
    }

    /// Returns the first rule that names this very path, as a root or as a program.
    ///
    /// For errors about what is there: a policy says nothing about that, and the person who wrote
    /// the rule wants to know its line.
    pub fn origin_of(&self, path: &HostPath) -> Option<&Origin> {
        let root = self.fs.get(path).and_then(|grants| grants.first());
        root.map(Grant::origin).or_else(|| self.exec.get(path))
    }

    /// Returns a grant that allows changing `path`, with its root and its origin.
    ///
    /// What the product itself relies on (the policy file, workspaces, interpreters) must be
    /// outside all of them.
    pub fn writable_over(&self, path: &HostPath) -> Option<(&HostPath, &Origin)> {
        self.grants_at(path)
            .find(|(_, grant)| grant.rights().is_writing())
            .map(|(root, grant)| (root, grant.origin()))
    }

    /// Returns the widest policy that is within both.
    ///
    /// This never happens by itself: [`derive()`](crate::derive()) refuses what is too wide instead of
    /// quietly narrowing it. Origins are those of `self`.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let net = self.net.meet(&other.net);
        let net_origin = if net == Net::None {
            None
        } else {
            self.net_origin.clone()
        };
        let both = |mine: &BTreeMap<EnvName, Origin>| {
            let shared = mine
                .iter()
                .filter(|(name, _)| other.env.contains_key(*name));
            shared
                .map(|(name, origin)| (name.clone(), origin.clone()))
                .collect()
        };
        Self {
            fs: self.meet_fs(other),
            net,
            net_origin,
            unix: self.unix.min(other.unix),
            exec: self
                .exec
                .iter()
                .filter(|(program, _)| other.exec.contains_key(*program))
                .map(|(program, origin)| (program.clone(), origin.clone()))
                .collect(),
            syscalls: self.syscalls.min(other.syscalls),
            limits: self.limits.meet(&other.limits),
            env: both(&self.env),
            require: self.require.union(&other.require).copied().collect(),
            written_in: self.written_in.clone(),
        }
    }

    /// Rights change only at a root of either policy, so meeting them at every root of both gives
    /// the intersection everywhere.
    fn meet_fs(&self, other: &Self) -> BTreeMap<HostPath, Vec<Grant>> {
        let breakpoints: BTreeSet<_> = self.fs.keys().chain(other.fs.keys()).collect();
        let mut fs = BTreeMap::new();
        for root in breakpoints {
            let allowed = other.effective_rights(root);
            let mut grants: Vec<Grant> = Vec::new();
            for (_, grant) in self.grants_at(root) {
                let rights = grant.rights.intersection(allowed);
                let held = grants
                    .iter()
                    .fold(Rights::NONE, |held, grant| held | grant.rights);
                if !rights.difference(held).is_empty() {
                    grants.push(Grant {
                        rights,
                        origin: grant.origin.clone(),
                    });
                }
            }
            if !grants.is_empty() {
                fs.insert(root.clone(), grants);
            }
        }
        fs
    }
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self::deny_all()
    }
}

/// Rights that one rule gives at a root.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grant {
    rights: Rights,
    origin: Origin,
}

impl Grant {
    /// Returns the rights that the rule gives.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Returns where the rule was written.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}
