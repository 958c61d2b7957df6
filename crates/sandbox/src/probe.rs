//! What this machine can do, found out by trying.
//!
//! Versions and configuration files lie in both directions: fixes are ported back, containers mask
//! what the kernel has. So each namespace is made in a throw-away process, Landlock is asked
//! through its own system call, and what fails is kept with its errno for `doctor`. The result
//! decides how a run is built. Whether the layers then hold is shown by
//! [`selftest`](crate::selftest) and never by this.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use nix::libc;
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};

use crate::class::Layer;
use crate::error::SandboxError;
use crate::landlock::{self, LandlockFacts};
use crate::launch::Launcher;
use crate::message::Stage;
use crate::plan::Trial;

/// The abilities of a machine, for this process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Probe {
    privileged: bool,
    landlock: Result<LandlockFacts, i32>,
    seccomp: Result<(), i32>,
    namespaces: BTreeMap<Layer, Result<(), i32>>,
    proc: Result<(), i32>,
}

impl Probe {
    /// Tries everything; takes a few milliseconds.
    ///
    /// # Errors
    ///
    /// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` when the launcher itself cannot be started.
    pub(crate) fn of(launcher: &Launcher) -> Result<Self, SandboxError> {
        let privileged = is_privileged();
        // An ordinary user makes every other namespace inside a user namespace.
        let base = if privileged { 0 } else { NEW_USER };
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let trial = |namespaces| Trial {
            namespaces,
            uid,
            gid,
        };
        let flags = Layer::ALL
            .into_iter()
            .filter_map(|layer| Some((layer, flag(layer)?)));
        let (layers, mut trials): (Vec<_>, Vec<_>) = flags
            .map(|(layer, flag)| (layer, trial(base | flag)))
            .unzip();
        trials.push(trial(base | NEW_MOUNT | NEW_PID));
        let mut results = launcher.try_namespaces(&trials)?;
        let proc = results.pop().map_or(Err(libc::EPERM), outcome);
        let namespaces = layers
            .into_iter()
            .zip(results.into_iter().map(outcome))
            .collect();
        Ok(Self {
            privileged,
            landlock: landlock::facts(),
            seccomp: try_seccomp(),
            namespaces,
            proc,
        })
    }

    /// Says whether this process may give each run a uid of its own and build roots directly.
    pub const fn privileged(&self) -> bool {
        self.privileged
    }

    /// Returns the Landlock of this kernel, or the errno with which it is missing.
    pub const fn landlock(&self) -> Result<LandlockFacts, i32> {
        self.landlock
    }

    /// Returns whether the kernel takes system-call filters with the answers that ours give.
    pub const fn seccomp(&self) -> Result<(), i32> {
        self.seccomp
    }

    /// Returns whether the namespace behind a layer can be made, or the errno of the attempt.
    ///
    /// [`Layer::PreparedRoot`] stands for the mount namespace. A layer that is no namespace is
    /// `EINVAL`.
    pub fn namespace(&self, layer: Layer) -> Result<(), i32> {
        self.namespaces
            .get(&layer)
            .copied()
            .unwrap_or(Err(libc::EINVAL))
    }

    /// Returns whether a private `proc` can be mounted; containers that mask theirs refuse.
    pub const fn proc(&self) -> Result<(), i32> {
        self.proc
    }

    /// Says whether user namespaces can be made and hold no capability, so that nothing can be made
    /// inside them: what `AppArmor` does to a program that has no profile with `userns`.
    pub fn has_powerless_user_namespaces(&self) -> bool {
        let inside = self.namespace(Layer::PreparedRoot);
        !self.privileged
            && self.namespace(Layer::UserNamespace).is_ok()
            && matches!(inside, Err(libc::EPERM | libc::EACCES))
    }

    /// Returns the same probe as of an ordinary user whose user namespaces hold no capability.
    #[cfg(any(test, weaken))]
    #[must_use]
    pub(crate) fn powerless(mut self) -> Self {
        self.privileged = false;
        for (namespace, result) in &mut self.namespaces {
            *result = if *namespace == Layer::UserNamespace {
                Ok(())
            } else {
                Err(libc::EACCES)
            };
        }
        self.proc = Err(libc::EACCES);
        self
    }

    /// Returns the same probe with one layer missing, as if the attempt had failed.
    ///
    /// For tests of what remains. It can only take away, and coverage is judged from the result, so
    /// a run refuses where a class loses its last closer.
    #[must_use]
    pub fn without(mut self, layer: Layer) -> Self {
        if layer == Layer::Landlock {
            self.landlock = Err(libc::EOPNOTSUPP);
        }
        if layer == Layer::Seccomp {
            self.seccomp = Err(libc::EINVAL);
        }
        if layer == Layer::RunUid {
            self.privileged = false;
        }
        // Without privilege the other namespaces exist only inside a user namespace.
        let takes_all = layer == Layer::UserNamespace && !self.privileged;
        for (namespace, result) in &mut self.namespaces {
            if *namespace == layer || takes_all {
                *result = Err(libc::EPERM);
            }
        }
        if takes_all || matches!(layer, Layer::PreparedRoot | Layer::PidNamespace) {
            self.proc = Err(libc::EPERM);
        }
        self
    }
}

/// The namespace that a layer is made of, as `CLONE_NEW*`.
const fn flag(layer: Layer) -> Option<u64> {
    match layer {
        Layer::PreparedRoot => Some(NEW_MOUNT),
        Layer::PidNamespace => Some(NEW_PID),
        Layer::NetworkNamespace => Some(0x4000_0000),
        Layer::IpcNamespace => Some(0x0800_0000),
        Layer::UtsNamespace => Some(0x0400_0000),
        Layer::CgroupNamespace => Some(0x0200_0000),
        Layer::UserNamespace => Some(NEW_USER),
        Layer::Landlock
        | Layer::Seccomp
        | Layer::RunUid
        | Layer::NoCapabilities
        | Layer::NoNewPrivileges
        | Layer::Environment
        | Layer::Descriptors
        | Layer::CgroupKill
        | Layer::CgroupMemory
        | Layer::CgroupPids
        | Layer::CgroupCpu
        | Layer::Rlimits
        | Layer::Watchdog
        | Layer::Deadline
        | Layer::Subreaper
        | Layer::SizedScratch => None,
    }
}

const NEW_MOUNT: u64 = 0x0002_0000;
const NEW_USER: u64 = 0x1000_0000;
const NEW_PID: u64 = 0x2000_0000;

/// The launcher names the step that failed; the last step means that none did.
fn outcome((stage, errno): (Stage, i32)) -> Result<(), i32> {
    if stage == Stage::Execute && errno == 0 {
        return Ok(());
    }
    // A trial that ended without an answer was killed by the kernel: refused, errno unknown.
    Err(if errno == 0 { libc::EPERM } else { errno })
}

/// What a privileged host needs: namespaces, foreign uids, dropping, and killing what it made.
const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::KILL);

fn is_privileged() -> bool {
    geteuid().is_root() && capabilities(None).is_ok_and(|sets| sets.effective.contains(NEEDED))
}

/// Asks the kernel which answers a filter may give; the file exists only where filters do.
fn try_seccomp() -> Result<(), i32> {
    let mut actions = String::new();
    File::open("/proc/sys/kernel/seccomp/actions_avail")
        .and_then(|file| file.take(4096).read_to_string(&mut actions))
        .map_err(|error| errno_of(&error))?;
    let has = |action| {
        actions
            .split_whitespace()
            .any(|available| available == action)
    };
    if has("kill_process") && has("errno") && has("allow") {
        Ok(())
    } else {
        Err(libc::EOPNOTSUPP)
    }
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able(privileged: bool) -> Probe {
        Probe {
            privileged,
            landlock: Ok(LandlockFacts::new(7, u32::MAX)),
            seccomp: Ok(()),
            namespaces: Layer::ALL
                .into_iter()
                .filter(|layer| flag(*layer).is_some())
                .map(|layer| (layer, Ok(())))
                .collect(),
            proc: Ok(()),
        }
    }

    #[test]
    fn taking_a_layer_away_takes_nothing_else_from_a_privileged_host() {
        let probe = able(true).without(Layer::UserNamespace);
        assert_eq!(probe.namespace(Layer::UserNamespace), Err(libc::EPERM));
        assert_eq!(probe.namespace(Layer::PreparedRoot), Ok(()));
        assert_eq!(probe.proc(), Ok(()));
        assert!(able(true).without(Layer::Landlock).landlock().is_err());
        assert!(able(true).without(Layer::Seccomp).seccomp().is_err());
        assert!(!able(true).without(Layer::RunUid).privileged());
    }

    #[test]
    fn an_ordinary_user_without_user_namespaces_has_no_namespace_at_all() {
        let probe = able(false).without(Layer::UserNamespace);
        for layer in Layer::ALL {
            assert!(probe.namespace(layer).is_err(), "{layer}");
        }
        assert!(probe.proc().is_err());
    }

    #[test]
    fn user_namespaces_without_capabilities_are_told_from_none_and_from_whole_ones() {
        let is_powerless = |probe: Probe| probe.has_powerless_user_namespaces();
        assert!(is_powerless(able(false).powerless()));
        assert!(is_powerless(able(true).powerless()));
        assert!(!is_powerless(able(false)));
        assert!(!is_powerless(able(true).without(Layer::PreparedRoot)));
        assert!(!is_powerless(able(false).without(Layer::UserNamespace)));
    }

    #[test]
    fn a_trial_without_an_answer_counts_as_refused() {
        assert_eq!(outcome((Stage::Execute, 0)), Ok(()));
        assert_eq!(outcome((Stage::Process, 0)), Err(libc::EPERM));
        assert_eq!(outcome((Stage::Proc, 13)), Err(13));
    }
}
