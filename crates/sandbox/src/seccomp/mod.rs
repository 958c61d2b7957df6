//! The system-call filter: default-deny profiles as reviewed data, compiled to classic BPF.
//!
//! Threat: the kernel's surface, and the operations that no other layer can see (other socket
//! families and protocols, metadata of paths, tuning of other processes, new namespaces).
//! Mechanism: [`rules`] holds which calls a profile allows and with which arguments; this module
//! turns them into one filter that is proven, call by call, to answer as the data does.
//! Residue: a filter cannot look behind a pointer, so whatever is decided by a path or a structure
//! belongs to Landlock, the prepared root and the namespaces.
//!
//! Answers, in the order in which the filter gives them: a foreign architecture and the x32
//! numbers (`0x4000_0000` and above) kill the process; numbers above the highest known one answer
//! `ENOSYS`, so that new C libraries fall back; `clone3` and `openat2` answer `ENOSYS`, because
//! their flags and mode hide behind a pointer; what is allowed passes; everything else answers
//! `EPERM`.

mod assemble;
mod check;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod interpret;
#[cfg(all(test, target_arch = "x86_64"))]
mod known;
mod rules;
mod table;
#[cfg(test)]
mod tests;

use bailiwick_policy::SyscallProfile;

use self::assemble::Instruction;
use self::table::Arch;

/// What the rest of a run's confinement makes safe, and so which argument rules may relax.
///
/// Starts closed; each method opens one thing and names the layer that must hold for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FilterFacts {
    metadata_by_path: bool,
    hidden_paths: bool,
    unix_streams: bool,
    internet: Internet,
}

/// Internet sockets that a run may make, inside a network namespace of its own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a fourth kind of network would change the filter"
)]
pub enum Internet {
    /// None: the socket call itself is refused.
    Denied,
    /// Stream sockets only: everything else is resolved by the proxy.
    Streams,
    /// Stream and datagram sockets: the namespace holds nothing but `lo`.
    StreamsAndDatagrams,
}

impl FilterFacts {
    /// Returns the facts of a run about which nothing else is known: every rule at its strictest.
    pub const fn closed() -> Self {
        Self {
            metadata_by_path: false,
            hidden_paths: false,
            unix_streams: false,
            internet: Internet::Denied,
        }
    }

    /// Allows changing modes, owners and times by path. Default: by descriptor only.
    ///
    /// Safe when the root is prepared and read-only, or the run's uid owns nothing.
    #[must_use]
    pub const fn with_metadata_by_path(mut self) -> Self {
        self.metadata_by_path = true;
        self
    }

    /// Allows reading extended attributes. Default: they answer `ENOTSUP`.
    ///
    /// Safe when the root does not contain what the run may not see.
    #[must_use]
    pub const fn with_hidden_paths(mut self) -> Self {
        self.hidden_paths = true;
        self
    }

    /// Allows stream sockets of the Unix family. Default: socket pairs only.
    ///
    /// Safe when the root hides every socket of the host, no host directory is granted, and
    /// abstract names are closed by a network namespace or by Landlock's scopes.
    #[must_use]
    pub const fn with_unix_streams(mut self) -> Self {
        self.unix_streams = true;
        self
    }

    /// Allows internet sockets. Default: [`Internet::Denied`].
    ///
    /// Safe only in a network namespace of the run's own.
    #[must_use]
    pub const fn with_internet(mut self, internet: Internet) -> Self {
        self.internet = internet;
        self
    }

    /// Returns the internet sockets that the filter lets through.
    pub const fn internet(self) -> Internet {
        self.internet
    }

    /// Says whether the filter lets changes of metadata by path through.
    pub const fn metadata_by_path(self) -> bool {
        self.metadata_by_path
    }

    /// Says whether the filter lets Unix stream sockets through.
    pub const fn unix_streams(self) -> bool {
        self.unix_streams
    }
}

/// Compiles a profile for the machine that this program runs on.
///
/// The bytes are an array of `struct sock_filter` in native byte order, as `seccomp(2)` takes it:
/// at most 4096 instructions, forward jumps only, every path ending in a return.
pub(crate) fn program(profile: SyscallProfile, facts: FilterFacts) -> Vec<u8> {
    let instructions = compile(Arch::NATIVE, profile, facts);
    instructions
        .iter()
        .flat_map(|instruction| instruction.to_bytes())
        .collect()
}

fn compile(arch: Arch, profile: SyscallProfile, facts: FilterFacts) -> Vec<Instruction> {
    let instructions = assemble::assemble(arch, &rules::decisions(arch, profile, facts));
    debug_assert_eq!(
        check::check(&instructions),
        Ok(()),
        "the assembler keeps its promise"
    );
    instructions
}
