//! A policy made ready for this machine: everything that runs of one skill under it share.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_policy::{EffectivePolicy, Net, RunLimits, ThreatClass, Unix};

use crate::class::{LayerReport, coverage};
use crate::error::SandboxError;
use crate::host::Host;
use crate::landlock::{self, Handled, LandlockFacts};
use crate::limits::resource_limits;
use crate::plan::Limit;
use crate::root::{Base, Program, Root, SKILL};
use crate::seccomp;
use crate::session::Session;
use crate::shape::Shape;

/// A policy compiled for one skill revision on one machine.
///
/// Making one opens every granted place beneath its session root, lays out the root, and compiles
/// the filter. Runs share it; nothing in it changes between them.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) host: Host,
    pub(crate) shape: Shape,
    pub(crate) root: Root,
    pub(crate) filter: Vec<u8>,
    pub(crate) handled: Option<(u32, Handled)>,
    pub(crate) resources: Vec<Limit>,
    pub(crate) limits: RunLimits,
    layers: LayerReport,
    /// Set once a file system has refused an id-mapped mount: then runs take the owner's uid.
    unmapped: AtomicBool,
}

impl Compiled {
    /// Compiles a policy for the skill whose files are at `skill_root`.
    ///
    /// The folder is the materialised copy: it belongs to the host and nothing changes it while
    /// the result lives. Where it has no `tmp` and `out` of its own, links with these names to
    /// [`SCRATCH_LINKS`](crate::SCRATCH_LINKS) lead to the run's.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` when a required class of threats has no closer here;
    /// `E_INVALID_SKILLS_CONFIG` when a granted place is not there or cannot be granted, or the
    /// policy asks for a reach that is not supported.
    pub fn new(
        host: &Host,
        session: &Session,
        policy: &EffectivePolicy,
        program: &Program,
        skill_root: &Path,
        base: Base,
    ) -> Result<Self, SandboxError> {
        supported(policy)?;
        apart(host, policy)?;
        let mut shape = Shape::of(host, policy.net());
        if *policy.net() == Net::Loopback && !shape.loopback {
            return Err(SandboxError::Unavailable {
                class: ThreatClass::IpNetwork,
                why: "a loopback network needs a network namespace".to_owned(),
                hint: crate::Layer::NetworkNamespace.remedy().to_owned(),
            });
        }
        if !shape.prepared_root {
            return Err(SandboxError::Unavailable {
                class: ThreatClass::FsData,
                why: "the run's scratch and the skill's read-only view need a mount namespace"
                    .to_owned(),
                hint: crate::Layer::PreparedRoot.remedy().to_owned(),
            });
        }
        if !shape.pid {
            return Err(SandboxError::Unavailable {
                class: ThreatClass::KillAll,
                why: "the end of every process of a run needs a process namespace".to_owned(),
                hint: crate::Layer::PidNamespace.remedy().to_owned(),
            });
        }
        let root = Root::new(session, policy, program, skill_root, base, shape.proc)?;
        shape.grants_folder = root.grants_folder();
        let layers = shape.report(host);
        closed(&layers, policy)?;
        let filter = match host.probe.seccomp() {
            Ok(()) => seccomp::program(policy.syscalls(), shape.filter(host)),
            Err(_) => Vec::new(),
        };
        let abi = host.probe.landlock().ok().map(LandlockFacts::abi);
        Ok(Self {
            host: host.clone(),
            shape,
            root,
            filter,
            handled: abi.map(|abi| (abi, landlock::handled(abi))),
            resources: resource_limits(policy.limits(), shape.counting(host)),
            limits: policy.limits().clone(),
            layers,
            unmapped: AtomicBool::new(false),
        })
    }

    /// Returns the layers that runs will have.
    pub fn layers(&self) -> &LayerReport {
        &self.layers
    }

    /// Returns where the skill's files are, as the run sees them.
    pub fn inside_skill_root(&self) -> &str {
        SKILL
    }

    /// Says whether granted places keep their owner, because a file system refuses to map it.
    pub(crate) fn is_unmapped(&self) -> bool {
        self.unmapped.load(Ordering::Relaxed)
    }

    /// Remembers that a file system refuses to map owners.
    pub(crate) fn set_unmapped(&self) {
        self.unmapped.store(true, Ordering::Relaxed);
    }
}

/// Refuses what no mechanism of this version enforces.
fn supported(policy: &EffectivePolicy) -> Result<(), SandboxError> {
    let unsupported = |field: &str| {
        Err(SandboxError::Unsupported {
            field: field.to_owned(),
        })
    };
    match policy.net() {
        Net::None | Net::Loopback => {}
        Net::Proxy(_) => return unsupported("network.hosts"),
        Net::Full => return unsupported("network = full"),
    }
    match policy.unix() {
        Unix::None => Ok(()),
    }
}

/// Refuses a grant that reaches into the host's own folder, or contains it.
fn apart(host: &Host, policy: &EffectivePolicy) -> Result<(), SandboxError> {
    let state = host
        .state
        .canonicalize()
        .unwrap_or_else(|_| host.state.clone());
    for root in policy.roots() {
        let path = root.host_path().as_path();
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if real.starts_with(&state) || state.starts_with(&real) {
            return Err(SandboxError::Root {
                path: root.host_path().as_str().to_owned(),
                why: "it holds the host's own state, or lies in it".to_owned(),
            });
        }
    }
    Ok(())
}

/// Refuses a run in which a required class has no closer.
fn closed(layers: &LayerReport, policy: &EffectivePolicy) -> Result<(), SandboxError> {
    let coverage = coverage(layers);
    let open = coverage.open_among(policy.required().iter().copied());
    let Some(class) = open.first().copied() else {
        return Ok(());
    };
    let missing: Vec<_> = coverage
        .iter()
        .filter(|(judged, _)| *judged == class)
        .flat_map(|(_, cover)| cover.missing())
        .map(|layer| layer.as_str())
        .collect();
    Err(SandboxError::Unavailable {
        class,
        why: format!("none of {} is in force", missing.join(", ")),
        hint: coverage.remedies(class).join("; or "),
    })
}
