//! A policy made ready for this machine: everything that runs of one skill under it share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bailiwick_policy::{
    EffectivePolicy, EffectiveRoot, HostPath, Net, RunLimits, ThreatClass, Unix,
};

use crate::class::{Layer, LayerReport, coverage};
use crate::error::SandboxError;
use crate::host::Host;
use crate::landlock::{self, Handled, LandlockFacts};
use crate::limits::resource_limits;
use crate::plan::Limit;
use crate::root::{Base, Program, Root, SKILL};
use crate::seccomp;
use crate::session::Session;
use crate::shape::Shape;
use crate::spawn::Warm;
use crate::template::Templates;

/// A policy compiled for one skill revision on one machine.
///
/// Making one opens every granted place beneath its session root, lays out the root, and compiles
/// the filter. Runs share it; nothing in it changes between them.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) host: Host,
    pub(crate) shape: Shape,
    /// What every run executes, whatever its first argument calls it.
    pub(crate) program: HostPath,
    pub(crate) root: Root,
    pub(crate) filter: Vec<u8>,
    pub(crate) handled: Option<(u32, Handled)>,
    pub(crate) limits: RunLimits,
    required: BTreeSet<ThreatClass>,
    identity: ByIdentity,
    /// Roots that later runs begin from, where they can.
    pub(crate) templates: Option<Templates>,
    /// Launchers that wait for a command.
    pub(crate) warm: Warm,
    /// Set once a file system has refused an id-mapped mount: then runs take the owner's uid.
    unmapped: OnceLock<ByIdentity>,
}

/// What depends on whom a run has as its user.
#[derive(Debug)]
struct ByIdentity {
    layers: LayerReport,
    resources: Vec<Limit>,
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
        apart(host, policy, program, skill_root)?;
        let mut shape = Shape::of(host, policy.net());
        let needs_loopback = matches!(policy.net(), Net::Loopback | Net::Proxy(_));
        if needs_loopback && !shape.network.has_loopback() {
            return Err(SandboxError::Unavailable {
                class: ThreatClass::IpNetwork,
                why: "a network of the run's own needs a network namespace".to_owned(),
                hint: Layer::NetworkNamespace.remedy().to_owned(),
            });
        }
        if !shape.mount {
            return Err(SandboxError::Unavailable {
                class: ThreatClass::FsData,
                why: "the run's scratch and the skill's read-only view need a mount namespace"
                    .to_owned(),
                hint: Layer::PreparedRoot.remedy().to_owned(),
            });
        }
        if !shape.pid && !cfg!(weaken) {
            return Err(SandboxError::Unavailable {
                class: ThreatClass::KillAll,
                why: "the end of every process of a run needs a process namespace".to_owned(),
                hint: Layer::PidNamespace.remedy().to_owned(),
            });
        }
        let root = Root::new(session, policy, program, skill_root, base, shape)?;
        #[cfg(weaken)]
        let root = root.weakened(host)?;
        shape.grants_folder = root.grants_folder();
        let required = policy.required().iter().copied().collect();
        let identity = ByIdentity::of(host, shape, policy.limits(), &required)?;
        let filter = match host.probe.seccomp() {
            Ok(()) => seccomp::program(policy.syscalls(), shape.filter(host)),
            Err(_) => Vec::new(),
        };
        let templates = (shape.run_uid && root.has_template()).then(Templates::default);
        let abi = host.probe.landlock().ok().map(LandlockFacts::abi);
        Ok(Self {
            host: host.clone(),
            shape,
            program: program.path.clone(),
            root,
            filter,
            handled: abi.map(|abi| (abi, landlock::handled(abi))),
            limits: policy.limits().clone(),
            required,
            identity,
            templates,
            warm: Warm::default(),
            unmapped: OnceLock::new(),
        })
    }

    /// Returns the layers that runs will have. A run that finds a file system which refuses to map
    /// owners has no uid of its own, and neither have those after it.
    pub fn layers(&self) -> &LayerReport {
        &self.by_identity().layers
    }

    /// Returns the limits that the kernel keeps per process.
    pub(crate) fn resources(&self) -> &[Limit] {
        &self.by_identity().resources
    }

    fn by_identity(&self) -> &ByIdentity {
        self.unmapped.get().unwrap_or(&self.identity)
    }

    /// Returns where the skill's files are, as the run sees them.
    pub fn inside_skill_root(&self) -> &str {
        SKILL
    }

    /// Says whether granted places keep their owner, because a file system refuses to map it.
    pub(crate) fn is_unmapped(&self) -> bool {
        self.unmapped.get().is_some()
    }

    /// Remembers that a file system refuses to map owners, and refuses where a required class then
    /// has no closer.
    pub(crate) fn set_unmapped(&self) -> Result<(), SandboxError> {
        let shape = self.shape.without_maps();
        let identity = ByIdentity::of(&self.host, shape, &self.limits, &self.required)?;
        // Whoever was first found the same.
        let _ = self.unmapped.set(identity);
        Ok(())
    }
}

impl ByIdentity {
    fn of(
        host: &Host,
        shape: Shape,
        limits: &RunLimits,
        required: &BTreeSet<ThreatClass>,
    ) -> Result<Self, SandboxError> {
        let layers = shape.report(host);
        closed(&layers, required)?;
        Ok(Self {
            layers,
            resources: resource_limits(limits, shape.counting(host)),
        })
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
        Net::None | Net::Loopback | Net::Proxy(_) => {}
        Net::Full => return unsupported("network = full"),
    }
    match policy.unix() {
        Unix::None => Ok(()),
    }
}

/// Refuses a grant or a place of the interpreter that reaches into what is the host's own, or
/// contains it.
fn apart(
    host: &Host,
    policy: &EffectivePolicy,
    program: &Program,
    skill_root: &Path,
) -> Result<(), SandboxError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let own = host.apart.iter().map(PathBuf::as_path);
    let own: Vec<_> = own
        .chain([host.state.as_path(), skill_root])
        .map(real)
        .collect();
    let granted = policy.roots().iter().map(EffectiveRoot::host_path);
    let places = program
        .read
        .iter()
        .chain(&program.exec)
        .chain(policy.exec().keys())
        .chain([&program.path]);
    for path in granted.chain(places) {
        let granted = real(path.as_path());
        if own
            .iter()
            .any(|own| granted.starts_with(own) || own.starts_with(&granted))
        {
            return Err(SandboxError::Root {
                path: path.as_str().to_owned(),
                why: "it holds what is the host's own, or lies in it: grant only the folders that \
                      the skill needs"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Refuses a run in which a required class has no closer.
fn closed(layers: &LayerReport, required: &BTreeSet<ThreatClass>) -> Result<(), SandboxError> {
    let coverage = coverage(layers);
    let open = coverage.open_among(required.iter().copied());
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
