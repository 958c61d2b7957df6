//! A policy that was proven to lie inside the session's.

use std::collections::{BTreeMap, BTreeSet};

use crate::certificate::{Certificate, CertificateError};
use crate::env::EnvName;
use crate::error::PolicyWidened;
use crate::limits::RunLimits;
use crate::network::{Net, Unix};
use crate::origin::Origin;
use crate::path::{HostPath, RelPath};
use crate::policy::{Grant, SandboxPolicy};
use crate::prove::prove;
use crate::rights::Rights;
use crate::syscalls::SyscallProfile;
use crate::threat::ThreatClass;

/// Proves that `request` lies within `session` and returns what the sandbox may enforce.
///
/// A request that is too wide is refused and never narrowed in silence; who wants the narrower
/// policy asks for [`SandboxPolicy::meet`].
///
/// # Errors
///
/// [`PolicyWidened`] (`E_SKILL_SCRIPT_POLICY_WIDENED`) with every witness.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::{HostPath, Origin, Rights, SandboxPolicy, derive};
///
/// let docs: HostPath = "/home/ada/docs".parse()?;
/// let api: HostPath = "/home/ada/docs/api".parse()?;
/// let session = SandboxPolicy::deny_all().grant(docs, Rights::READ_ONLY, Origin::Code);
///
/// let request = SandboxPolicy::deny_all().grant(api.clone(), Rights::READ_ONLY, Origin::Code);
/// let policy = derive(&session, &request)?;
/// assert_eq!(policy.roots()[0].path().as_str(), "api");
///
/// let request = SandboxPolicy::deny_all().grant(api, Rights::READ_WRITE, Origin::Code);
/// assert!(derive(&session, &request).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn derive(
    session: &SandboxPolicy,
    request: &SandboxPolicy,
) -> Result<EffectivePolicy, PolicyWidened> {
    let proof = prove(request, session).map_err(|example| {
        PolicyWidened::from_witnesses(request.widens(session))
            .unwrap_or_else(|| PolicyWidened::one(example.witness().clone()))
    })?;
    let session_roots: Vec<_> = session.roots().map(|(root, _)| root.clone()).collect();
    let roots = effective_roots(request, &session_roots);
    Ok(EffectivePolicy {
        session_roots,
        roots,
        limits: request.limits().or(&RunLimits::default()),
        session: session.clone(),
        request: request.clone(),
        proof,
    })
}

/// What a run may touch, proven inside its session.
///
/// Only [`derive()`] makes one, so holding one is the proof. Its fields are private:
///
/// ```compile_fail,E0451
/// use bailiwick_policy::{EffectivePolicy, RunLimits, SandboxPolicy, prove};
///
/// let nothing = SandboxPolicy::deny_all();
/// let forged = EffectivePolicy {
///     session_roots: Vec::new(),
///     roots: Vec::new(),
///     limits: RunLimits::default(),
///     session: nothing.clone(),
///     request: nothing.clone(),
///     proof: prove(&nothing, &nothing).unwrap(),
/// };
/// ```
///
/// Nothing converts into one:
///
/// ```compile_fail,E0277
/// use bailiwick_policy::{EffectivePolicy, SandboxPolicy};
///
/// let converted: EffectivePolicy = SandboxPolicy::deny_all().into();
/// ```
///
/// And there is no default one:
///
/// ```compile_fail,E0277
/// use bailiwick_policy::EffectivePolicy;
///
/// let empty: EffectivePolicy = Default::default();
/// ```
///
/// It is symbolic: a root is a place inside a root of the session, to be opened beneath the handle
/// that the session holds. An axis of the limits that neither policy bounds has the default.
#[derive(Clone, Debug)]
pub struct EffectivePolicy {
    session_roots: Vec<HostPath>,
    roots: Vec<EffectiveRoot>,
    limits: RunLimits,
    session: SandboxPolicy,
    request: SandboxPolicy,
    proof: Certificate,
}

impl EffectivePolicy {
    /// Returns the granted roots in the order of their paths.
    ///
    /// A root that gives nothing beyond what a folder above it gives already is left out.
    pub fn roots(&self) -> &[EffectiveRoot] {
        &self.roots
    }

    /// Returns the roots of the session, which [`EffectiveRoot::session_root`] counts.
    pub fn session_roots(&self) -> &[HostPath] {
        &self.session_roots
    }

    /// Returns the rights held at `path`.
    pub fn effective_rights(&self, path: &HostPath) -> Rights {
        self.request.effective_rights(path)
    }

    /// Returns how far the script reaches over IP.
    pub fn net(&self) -> &Net {
        self.request.net()
    }

    /// Returns how far the script reaches over Unix sockets.
    pub fn unix(&self) -> Unix {
        self.request.unix()
    }

    /// Returns the programs that may be started, each with its origin.
    pub fn exec(&self) -> &BTreeMap<HostPath, Origin> {
        self.request.exec()
    }

    /// Returns the profile of system calls.
    pub fn syscalls(&self) -> SyscallProfile {
        self.request.syscalls()
    }

    /// Returns the limits of the run.
    pub fn limits(&self) -> &RunLimits {
        &self.limits
    }

    /// Returns the names of the variables handed on, each with its origin.
    pub fn env(&self) -> &BTreeMap<EnvName, Origin> {
        self.request.env()
    }

    /// Returns the classes of threats that must be closed.
    pub fn required(&self) -> &BTreeSet<ThreatClass> {
        self.request.required()
    }

    /// Returns the ceiling that the policy was proven against.
    pub fn session(&self) -> &SandboxPolicy {
        &self.session
    }

    /// Returns the proof that the policy lies within the session's.
    pub fn proof(&self) -> &Certificate {
        &self.proof
    }

    /// Checks the proof again, against both policies.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] where the proof does not hold; no policy that [`derive()`] made has one.
    pub fn check_proof(&self) -> Result<(), CertificateError> {
        self.proof.check(&self.request, &self.session)
    }

    pub(crate) fn request(&self) -> &SandboxPolicy {
        &self.request
    }
}

/// A granted root: a place inside a root of the session, and the rights held there.
#[derive(Clone, Debug)]
pub struct EffectiveRoot {
    session_root: usize,
    host_path: HostPath,
    path: RelPath,
    rights: Rights,
    grants: Vec<Grant>,
}

impl EffectiveRoot {
    /// Returns the index of the session's root in [`EffectivePolicy::session_roots`].
    pub fn session_root(&self) -> usize {
        self.session_root
    }

    /// Returns the place inside the session's root; empty for the root itself.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns the rights held here, with those that folders above give.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Returns the first rule that grants this root.
    pub fn origin(&self) -> &Origin {
        self.grants[0].origin()
    }

    /// Returns every rule written for this root.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Returns the absolute path, as the policy spells it.
    pub fn host_path(&self) -> &HostPath {
        &self.host_path
    }
}

/// Anchors each root of the request at the deepest root of the session above it.
fn effective_roots(request: &SandboxPolicy, session_roots: &[HostPath]) -> Vec<EffectiveRoot> {
    let mut roots = Vec::new();
    for (host_path, grants) in request.roots() {
        let rights = request.effective_rights(host_path);
        let above = host_path
            .parent()
            .map_or(Rights::NONE, |parent| request.effective_rights(&parent));
        if above == rights {
            continue;
        }
        // The subset proof found rights of the session here, so a root of it lies above.
        let anchor = session_roots
            .iter()
            .enumerate()
            .filter_map(|(index, root)| host_path.strip_prefix(root).map(|path| (index, path)))
            .min_by_key(|(_, path)| path.as_str().len());
        if let Some((session_root, path)) = anchor {
            let (host_path, grants) = (host_path.clone(), grants.to_vec());
            roots.push(EffectiveRoot {
                session_root,
                host_path,
                path,
                rights,
                grants,
            });
        }
    }
    roots
}
