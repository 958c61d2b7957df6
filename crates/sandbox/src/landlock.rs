//! Landlock: what the kernel has, what our rulesets handle, and what our rights mean to it.
//!
//! A ruleset handles everything that the probed ABI can handle: all rights on files, all rights on
//! the network (with no rule, so all refused) and all scopes. What is handled and not granted is
//! refused. The launcher makes the rulesets, on the inodes of the finished root; nothing is best
//! effort there: what the kernel does not know fails the launch.
//!
//! # Not enforced
//!
//! Landlock does not judge metadata (modes, owners, times, attributes), existence, sockets other
//! than TCP below ABI 10, or what was opened before. Other layers close those classes; see
//! [`crate::class`].

use bailiwick_policy::Rights;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Erratum, LandlockStatus, RestrictSelf, Scope,
};
use nix::libc;

/// The Landlock of a running kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LandlockFacts {
    abi: u32,
    errata: u32,
}

impl LandlockFacts {
    /// Returns facts as a kernel would report them: an ABI version and its bit map of fixed errata.
    pub const fn new(abi: u32, errata: u32) -> Self {
        Self { abi, errata }
    }

    /// Returns the ABI version, from 1; the highest that both the kernel and this program know.
    pub const fn abi(self) -> u32 {
        self.abi
    }

    /// Says whether an erratum, by its number in the kernel's documentation, is fixed.
    ///
    /// Kernels that cannot be asked count as not fixed.
    pub const fn is_fixed(self, erratum: u32) -> bool {
        erratum > 0 && erratum <= u32::BITS && self.errata >> (erratum - 1) & 1 == 1
    }
}

/// Asks the running kernel.
///
/// # Errors
///
/// The errno with which Landlock refused: `ENOSYS` where it is not built in, `EOPNOTSUPP` where it
/// was not enabled at boot.
pub(crate) fn facts() -> Result<LandlockFacts, i32> {
    // Without a flag this only asks: nothing is restricted and no attribute of the thread changes.
    let asked = RestrictSelf::default().no_new_privs(false).apply();
    match asked.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => Ok(LandlockFacts {
            abi: effective_abi as u32,
            errata: Erratum::current().bits(),
        }),
        Ok(LandlockStatus::NotEnabled) => Err(libc::EOPNOTSUPP),
        Ok(LandlockStatus::NotImplemented) | Err(_) => Err(libc::ENOSYS),
    }
}

/// Everything that Landlock can handle at an ABI, as the kernel's bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Handled {
    /// Rights on files.
    pub(crate) fs: u64,
    /// Rights on the network.
    pub(crate) net: u64,
    /// Scopes.
    pub(crate) scoped: u64,
}

/// Returns what a ruleset of ours handles at an ABI: all of it, or the rest would be allowed.
pub(crate) fn handled(abi: u32) -> Handled {
    let version = version(abi);
    Handled {
        fs: AccessFs::from_all(version).bits(),
        net: AccessNet::from_all(version).bits(),
        scoped: Scope::from_all(version).bits(),
    }
}

/// Returns the kernel's bits for our rights on a directory or a file, as far as they apply there.
///
/// Zero means that there is nothing to grant, and so no rule to make.
pub(crate) fn access_bits(abi: u32, rights: Rights, is_directory: bool) -> u64 {
    (access(rights) & applicable(version(abi), is_directory)).bits()
}

fn version(abi: u32) -> ABI {
    ABI::from(i32::try_from(abi).unwrap_or(i32::MAX))
}

fn applicable(version: ABI, is_directory: bool) -> BitFlags<AccessFs> {
    if is_directory {
        AccessFs::from_all(version)
    } else {
        AccessFs::from_file(version)
    }
}

/// Translates our rights. Devices can be made, and named sockets of others reached, by no right.
fn access(rights: Rights) -> BitFlags<AccessFs> {
    const TABLE: [(Rights, &[AccessFs]); 11] = [
        (Rights::READ, &[AccessFs::ReadFile]),
        (Rights::LIST, &[AccessFs::ReadDir]),
        (Rights::WRITE, &[AccessFs::WriteFile]),
        (
            Rights::CREATE,
            &[AccessFs::MakeReg, AccessFs::MakeDir, AccessFs::MakeSym],
        ),
        (Rights::DELETE, &[AccessFs::RemoveFile, AccessFs::RemoveDir]),
        (Rights::TRUNCATE, &[AccessFs::Truncate]),
        (Rights::REFER, &[AccessFs::Refer]),
        (Rights::EXEC, &[AccessFs::Execute]),
        (Rights::IOCTL, &[AccessFs::IoctlDev]),
        (Rights::MKFIFO, &[AccessFs::MakeFifo]),
        (Rights::MKSOCK, &[AccessFs::MakeSock]),
    ];
    TABLE
        .into_iter()
        .filter(|(right, _)| rights.contains(*right))
        .flat_map(|(_, access)| access.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_means_something_and_none_makes_a_device() {
        let all = access(Rights::ALL);
        let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::ResolveUnix;
        assert_eq!(all, AccessFs::from_all(ABI::V10) & !never);
        assert_eq!(access(Rights::NONE), BitFlags::EMPTY);
        assert!(!access(Rights::READ_WRITE).contains(AccessFs::Execute));
    }

    #[test]
    fn a_file_takes_no_right_of_a_directory() {
        let on_file = access_bits(7, Rights::ALL, false);
        assert_eq!(on_file, AccessFs::from_file(ABI::V7).bits());
        let on_folder = access_bits(7, Rights::READ_ONLY, true);
        assert_eq!(on_folder, (AccessFs::ReadFile | AccessFs::ReadDir).bits());
        assert_eq!(access_bits(7, Rights::LIST, false), 0);
    }

    #[test]
    fn what_an_abi_does_not_handle_is_never_granted() {
        for abi in 0..=12 {
            let granted = access_bits(abi, Rights::ALL, true);
            assert_eq!(granted & !handled(abi).fs, 0, "ABI {abi}");
        }
        let truncate = AccessFs::Truncate | AccessFs::Refer;
        assert_eq!(
            access_bits(1, Rights::READ_WRITE, true) & truncate.bits(),
            0
        );
    }

    #[test]
    fn everything_that_an_abi_knows_is_handled() {
        assert_eq!(handled(1).net | handled(3).scoped, 0);
        assert_ne!(handled(4).net, 0);
        assert_ne!(handled(6).scoped, 0);
        // ABI 10 knows UDP.
        assert!(handled(10).net > handled(9).net);
        assert_eq!(handled(u32::MAX), handled(10));
    }

    #[test]
    fn a_kernel_that_cannot_be_asked_has_fixed_nothing() {
        let silent = LandlockFacts::new(3, 0);
        assert!((0..=33).all(|erratum| !silent.is_fixed(erratum)));
        let fixed = LandlockFacts::new(7, 0b100);
        assert!(fixed.is_fixed(3) && !fixed.is_fixed(2));
    }
}
