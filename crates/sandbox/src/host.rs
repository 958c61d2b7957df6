//! A machine and what it can do, found out once.

use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_policy::Net;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::cgroup::{Cgroups, Service};
use crate::class::{Layer, LayerReport};
use crate::error::SandboxError;
use crate::launch::Launcher;
use crate::maker;
use crate::probe::Probe;
use crate::shape::Shape;
use crate::uid::UidPool;

/// Where a host keeps what it needs, and what the operator gives it.
#[derive(Clone, Debug)]
pub struct HostConfig {
    state: PathBuf,
    cgroup_parent: Option<PathBuf>,
    uids: Range<u32>,
}

impl HostConfig {
    /// Names the folder for locks and, where executing from memory is refused, for the launcher.
    ///
    /// It is made when it is not there, belongs to this user alone, and lies outside every grant.
    /// Privileged hosts of one machine name the same folder, so that their runs never share a uid.
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self {
            state: state.into(),
            cgroup_parent: None,
            uids: UIDS,
        }
    }

    /// Names the folder that all privileged hosts of a machine share, `/run/bailiwick`, where this
    /// host is privileged and may use it; else a folder of its own.
    pub fn shared_or(own: impl Into<PathBuf>) -> Self {
        let shared = Path::new(SHARED_STATE);
        if rustix::process::geteuid().is_root() && own_folder(shared).is_ok() {
            Self::new(shared)
        } else {
            Self::new(own)
        }
    }

    /// Names a control group, of version 2 and without processes, in which runs get their leaves.
    /// Defaults to the group that this process is in or, where that passes no controller on, the
    /// group above it, if that holds no process and is delegated to this user. This process is
    /// never moved.
    #[must_use]
    pub fn with_cgroup_parent(mut self, parent: impl Into<PathBuf>) -> Self {
        self.cgroup_parent = Some(parent.into());
        self
    }

    /// Sets the uids that a privileged host gives to runs. Defaults to 1879048192 to 1879113727,
    /// where no distribution's accounts, containers or dynamic users lie.
    #[must_use]
    pub fn with_uids(mut self, uids: Range<u32>) -> Self {
        self.uids = uids;
        self
    }
}

/// What this machine can do, and what runs are started with. Cheap to clone.
///
/// # Examples
///
/// ```no_run
/// use bailiwick_sandbox::{Host, HostConfig};
///
/// let host = Host::probe(HostConfig::new("/run/bailiwick"))?;
/// for (layer, state) in host.layers().iter() {
///     assert!(!layer.as_str().is_empty(), "{state:?}");
/// }
/// # Ok::<(), bailiwick_sandbox::SandboxError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Host {
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) probe: Probe,
    pub(crate) cgroups: Cgroups,
    pub(crate) uids: Option<Arc<UidPool>>,
    pub(crate) state: PathBuf,
    /// What no grant may reach, besides.
    pub(crate) apart: Vec<PathBuf>,
    /// Whether this process may make devices.
    pub(crate) devices: bool,
    without: BTreeSet<Layer>,
    /// What the launcher leaves out, as bits of [`crate::plan::skip`].
    #[cfg(weaken)]
    skipped: u32,
    /// What every report says, whatever is there.
    #[cfg(weaken)]
    claims: Option<Arc<LayerReport>>,
}

impl Host {
    /// Tries what the machine can do, in processes that are thrown away.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` when the launcher cannot be started, or the state folder
    /// cannot be used.
    pub fn probe(config: HostConfig) -> Result<Self, SandboxError> {
        own_folder(&config.state)?;
        let launcher = Launcher::new(&config.state)?;
        let probe = Probe::of(&launcher)?;
        let uids = if probe.privileged() {
            Some(Arc::new(UidPool::reserve(&config.state, &config.uids)?))
        } else {
            None
        };
        let cgroups = Cgroups::detect(config.cgroup_parent.as_deref(), &launcher);
        if let Some(parent) = &config.cgroup_parent
            && !(cgroups.have(Service::Memory) || cgroups.have(Service::Processes))
        {
            let errno = cgroups.failed(Service::Memory);
            return Err(SandboxError::Host {
                doing: format!("make runs' control groups beneath `{}`", parent.display()),
                source: errno.map_or_else(
                    || std::io::ErrorKind::NotFound.into(),
                    std::io::Error::from_raw_os_error,
                ),
            });
        }
        let devices = probe.privileged() && makes_devices(&config.state);
        Ok(Self {
            launcher: Arc::new(launcher),
            probe,
            cgroups,
            uids,
            state: config.state,
            apart: Vec::new(),
            devices,
            without: BTreeSet::new(),
            #[cfg(weaken)]
            skipped: 0,
            #[cfg(weaken)]
            claims: None,
        })
    }

    /// Has the launcher leave more out.
    #[cfg(weaken)]
    pub(crate) fn skip(&mut self, steps: u32) {
        self.skipped |= steps;
    }

    /// Returns what the launcher leaves out.
    #[cfg(weaken)]
    pub(crate) fn skipped(&self) -> u32 {
        self.skipped
    }

    /// Has every report say something, whatever is there.
    #[cfg(weaken)]
    pub(crate) fn claim(&mut self, report: LayerReport) {
        self.claims = Some(Arc::new(report));
    }

    /// Returns what every report says, where that is not what is there.
    #[cfg(weaken)]
    pub(crate) fn claims(&self) -> Option<&LayerReport> {
        self.claims.as_deref()
    }

    /// Names a folder of the host's own, such as that of its skills' copies or of its results: a
    /// grant that holds it or lies in it is refused, as for the state folder.
    #[must_use]
    pub fn apart_from(mut self, folder: impl Into<PathBuf>) -> Self {
        self.apart.push(folder.into());
        self
    }

    /// Returns the layers that a run without any grant has.
    pub fn layers(&self) -> LayerReport {
        Shape::of(self, &Net::None).report(self)
    }

    /// Returns what the machine can do.
    pub fn abilities(&self) -> &Probe {
        &self.probe
    }

    /// Returns the same host with one layer missing, as if the machine did not have it.
    ///
    /// For tests of what remains. It can only take away: where a required class loses its last
    /// closer, runs are refused. With the feature `weaken` the layer is missing in truth.
    #[must_use]
    pub fn without(mut self, layer: Layer) -> Self {
        #[cfg(weaken)]
        let fallen = crate::weaken::fall_with(layer);
        #[cfg(not(weaken))]
        let fallen = [layer];
        for layer in fallen {
            self.lose(layer);
        }
        self
    }

    fn lose(&mut self, layer: Layer) {
        #[cfg(weaken)]
        self.skip(crate::weaken::steps(layer));
        #[cfg(weaken)]
        let denied = !crate::weaken::is_kept(layer);
        #[cfg(not(weaken))]
        let denied = true;
        if denied {
            self.probe = self.probe.clone().without(layer);
        }
        if layer == Layer::RunUid {
            self.uids = None;
        }
        self.cgroups = self.cgroups.clone().without(layer);
        self.without.insert(layer);
    }

    /// Returns how many runs have a uid of their own now; leak tests ask.
    #[doc(hidden)]
    pub fn uids_in_use(&self) -> usize {
        self.uids.as_ref().map_or(0, |uids| uids.in_use())
    }

    /// Withdraws from a report what was taken away and is not missing already.
    pub(crate) fn take_from(&self, report: &mut LayerReport) {
        for layer in &self.without {
            if !report.is_missing(*layer) {
                report.missing(*layer, None, "taken away for a test");
            }
        }
    }

    /// Says whether a layer was taken away by [`without`](Self::without).
    pub(crate) fn is_without(&self, layer: Layer) -> bool {
        self.without.contains(&layer)
    }
}

/// Makes the state folder, or checks that the one that is there is ours alone to change.
fn own_folder(path: &Path) -> Result<(), SandboxError> {
    let doing = || format!("use the state folder `{}`", path.display());
    match std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
    {
        Ok(()) => {}
        Err(source) => return Err(SandboxError::host(doing(), source)),
    }
    let metadata = path
        .symlink_metadata()
        .map_err(|source| SandboxError::host(doing(), source))?;
    let ours = metadata.is_dir()
        && metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.mode() & 0o022 == 0;
    if ours {
        return Ok(());
    }
    Err(SandboxError::Host {
        doing: format!("{}: others can change it", doing()),
        source: std::io::ErrorKind::PermissionDenied.into(),
    })
}

/// Tries to make a device: a container may have root and not let it.
fn makes_devices(state: &Path) -> bool {
    let path = state.join(maker::fresh_name("device"));
    let null = makedev(1, 3);
    let made = mknodat(CWD, &path, FileType::CharacterDevice, Mode::RUSR, null).is_ok();
    // What stays behind is a second `/dev/null` in a folder of ours.
    let _ = std::fs::remove_file(&path);
    made
}

/// Where privileged hosts keep the locks of their uids.
const SHARED_STATE: &str = "/run/bailiwick";

/// 65536 uids from `0x7000_0000`: above systemd's dynamic and container ranges (`UIDS-GIDS`), below
/// the sign bit.
const UIDS: Range<u32> = 0x7000_0000..0x7001_0000;
