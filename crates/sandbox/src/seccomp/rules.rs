//! Which system calls a profile allows, as reviewed data: one comment for each rule.
//!
//! A rule says from which profile on it holds, which fact of the run it needs, and what it
//! answers. Rules only ever add: several rules on one call allow what any of them allows, so the
//! profiles nest by construction. A call without a rule answers `EPERM`.

use std::collections::BTreeMap;

use bailiwick_policy::SyscallProfile::{self, Standard, Strict, Wide};

use super::table::{Arch, Call};
use super::{FilterFacts, Internet};

/// The errno values that a filter answers with; the numbers are the same on every architecture.
pub(super) const EPERM: u16 = 1;
pub(super) const ENOSYS: u16 = 38;
pub(super) const ENOTSUP: u16 = 95;

/// What the filter answers for one system-call number.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Decision {
    /// The call goes through.
    Allow,
    /// The call goes through when all tests of any one case pass, else it answers `EPERM`.
    AllowIf(Vec<Case>),
    /// The call is answered with this errno.
    Errno(u16),
}

/// Tests that must all pass.
pub(super) type Case = Vec<Test>;

/// A test of one argument.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Test {
    /// The low 32 bits, masked, are one of these values. The kernel reads no more than that of
    /// the arguments tested so; comparing 64 bits would let a caller set the upper half to slip by.
    OneOf {
        /// The argument, from 0.
        arg: u8,
        /// The bits that count.
        mask: u32,
        /// The values allowed under the mask.
        values: Vec<u32>,
    },
    /// All 64 bits are zero: a null pointer or an empty length.
    Zero {
        /// The argument, from 0.
        arg: u8,
    },
}

/// Returns the decision for each number that has one; all others answer `EPERM`.
pub(super) fn decisions(
    arch: Arch,
    profile: SyscallProfile,
    facts: FilterFacts,
) -> BTreeMap<u32, Decision> {
    let mut decisions = BTreeMap::new();
    for rule in RULES {
        if rule.from > profile || !rule.needs.hold(facts) {
            continue;
        }
        for number in rule.calls.iter().filter_map(|call| call.number(arch)) {
            add(&mut decisions, number, rule.grant);
        }
    }
    decisions
}

/// Adds one rule's answer to what earlier rules said of the same call.
fn add(decisions: &mut BTreeMap<u32, Decision>, number: u32, grant: Grant) {
    let merged = match (decisions.remove(&number), grant) {
        (Some(Decision::Allow), _) | (_, Grant::Always) => Decision::Allow,
        (Some(Decision::AllowIf(mut cases)), Grant::When(tests)) => {
            cases.push(case(tests));
            Decision::AllowIf(cases)
        }
        (Some(kept @ Decision::AllowIf(_)), Grant::Answer(_)) => kept,
        (None | Some(Decision::Errno(_)), Grant::When(tests)) => {
            Decision::AllowIf(vec![case(tests)])
        }
        (None | Some(Decision::Errno(_)), Grant::Answer(errno)) => Decision::Errno(errno),
    };
    decisions.insert(number, merged);
}

fn case(tests: &[Arg]) -> Case {
    tests
        .iter()
        .map(|test| match *test {
            Arg::Is(arg, values) => Test::OneOf {
                arg,
                mask: u32::MAX,
                values: values.to_vec(),
            },
            Arg::Masked(arg, mask, values) => Test::OneOf {
                arg,
                mask,
                values: values.to_vec(),
            },
            Arg::Zero(arg) => Test::Zero { arg },
        })
        .collect()
}

/// One reviewed rule.
struct Rule {
    from: SyscallProfile,
    needs: Needs,
    grant: Grant,
    calls: &'static [Call],
}

/// The fact that a rule depends on.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    MetadataByPath,
    HiddenPaths,
    UnixStreams,
    Streams,
    Datagrams,
    AnySocket,
}

impl Needs {
    fn hold(self, facts: FilterFacts) -> bool {
        match self {
            Self::Nothing => true,
            Self::MetadataByPath => facts.metadata_by_path,
            Self::HiddenPaths => facts.hidden_paths,
            Self::UnixStreams => facts.unix_streams,
            Self::Streams => facts.internet >= Internet::Streams,
            Self::Datagrams => facts.internet >= Internet::StreamsAndDatagrams,
            Self::AnySocket => facts.unix_streams || facts.internet >= Internet::Streams,
        }
    }
}

/// What a rule answers.
#[derive(Clone, Copy)]
enum Grant {
    Always,
    When(&'static [Arg]),
    Answer(u16),
}

/// A test as it is written in the table.
enum Arg {
    /// The low 32 bits of an argument are one of these.
    Is(u8, &'static [u32]),
    /// The same under a mask.
    Masked(u8, u32, &'static [u32]),
    /// The whole argument is zero.
    Zero(u8),
}

const fn rule(from: SyscallProfile, needs: Needs, grant: Grant, calls: &'static [Call]) -> Rule {
    Rule {
        from,
        needs,
        grant,
        calls,
    }
}

/// Flags of `clone` that make a namespace: mount, cgroup, UTS, IPC, user, PID, network.
const CLONE_NEW_ANY: u32 = 0x7e02_0000;
/// `(uid_t) -1`, which leaves an identity as it is.
const UNCHANGED: u32 = u32::MAX;
/// `S_ISUID | S_ISGID`: whoever executes the file gets its owner's, or its group's, identity.
const SET_ID: u32 = 0o6000;
/// `O_CREAT | __O_TMPFILE`, the flags with which an open reads its mode; alike on both
/// architectures.
const CREATING: u32 = 0o20_000_100;
/// `SOCK_NONBLOCK | SOCK_CLOEXEC`, which ride on the type of a socket.
const SOCKET_FLAGS: u32 = 0x0008_0800;
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
const SOCK_SEQPACKET: u32 = 5;
const IPPROTO_TCP: u32 = 6;
const IPPROTO_UDP: u32 = 17;

/// The rules. Numbers in argument lists are from the kernel's UAPI headers and named beside them.
#[rustfmt::skip] // one line would be spent on each name
const RULES: &[Rule] = &[
    // Bytes through descriptors that the run already holds.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::read, Call::write, Call::readv, Call::writev, Call::pread64, Call::pwrite64,
        Call::preadv, Call::pwritev, Call::preadv2, Call::pwritev2, Call::lseek, Call::close,
        Call::close_range, Call::dup, Call::dup2, Call::dup3, Call::pipe, Call::pipe2,
        Call::sendfile, Call::copy_file_range, Call::fsync, Call::fdatasync, Call::ftruncate,
        Call::fadvise64, Call::fallocate, Call::flock,
    ]),
    // Looking; Landlock and the root decide which paths.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::stat, Call::fstat, Call::lstat, Call::newfstatat, Call::statx, Call::statfs,
        Call::fstatfs, Call::access, Call::faccessat, Call::faccessat2, Call::readlink,
        Call::readlinkat, Call::getdents, Call::getdents64, Call::getcwd, Call::chdir,
        Call::fchdir, Call::umask,
    ]),
    // Opening what is there. The mode is not read then, and callers leave anything in its place.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(1, CREATING, &[0])]), &[Call::open]),
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(2, CREATING, &[0])]), &[Call::openat]),
    // Opening what may have to be made: never a file that acts as the owner of a granted place.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(2, SET_ID, &[0])]), &[Call::open]),
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(3, SET_ID, &[0])]), &[Call::openat]),
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(1, SET_ID, &[0])]), &[Call::creat]),
    // The mode of `openat2` lies behind a pointer; callers fall back to `openat` on this answer.
    rule(Strict, Needs::Nothing, Grant::Answer(ENOSYS), &[Call::openat2]),
    // Making, moving and removing names; Landlock decides beneath which directories. The kernel
    // itself drops the set-id bits of a new directory, and `cp -r` passes those of the old one.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::mkdir, Call::mkdirat, Call::rmdir, Call::rename, Call::renameat, Call::unlink,
        Call::unlinkat, Call::symlink, Call::symlinkat, Call::link, Call::linkat,
        Call::truncate,
    ]),
    // RENAME_NOREPLACE and RENAME_EXCHANGE. Not RENAME_WHITEOUT, which leaves a device behind that
    // Landlock does not judge: it hides a file of the same name below an overlay.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(4, !3, &[0])]), &[Call::renameat2]),
    // Modes and owners through a descriptor, which an open that Landlock judged has given. Never
    // the set-id bits: where owners are mapped, what the run writes belongs to the place's owner.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(1, SET_ID, &[0])]), &[Call::fchmod]),
    rule(Strict, Needs::Nothing, Grant::Always, &[Call::fchown]),
    // Times through a descriptor: the path argument is null.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Zero(1)]), &[Call::utimensat]),
    // Owners and times by path: `cp -p`, `tar`. Landlock does not judge them.
    rule(Strict, Needs::MetadataByPath, Grant::Always, &[
        Call::chown, Call::lchown, Call::fchownat, Call::utime, Call::utimes, Call::futimesat,
        Call::utimensat,
    ]),
    // Modes by path: `chmod +x`. Never the set-id bits.
    rule(Strict, Needs::MetadataByPath, Grant::When(&[Arg::Masked(1, SET_ID, &[0])]), &[
        Call::chmod,
    ]),
    rule(Strict, Needs::MetadataByPath, Grant::When(&[Arg::Masked(2, SET_ID, &[0])]), &[
        Call::fchmodat, Call::fchmodat2,
    ]),
    // Writing extended attributes is answered as on a file system without any, or `cp -p` fails.
    rule(Strict, Needs::Nothing, Grant::Answer(ENOTSUP), &[
        Call::setxattr, Call::lsetxattr, Call::fsetxattr, Call::removexattr, Call::lremovexattr,
        Call::fremovexattr,
    ]),
    // Reading them by path is an oracle on files outside every grant, so it answers alike ...
    rule(Strict, Needs::Nothing, Grant::Answer(ENOTSUP), &[
        Call::getxattr, Call::lgetxattr, Call::fgetxattr, Call::listxattr, Call::llistxattr,
        Call::flistxattr,
    ]),
    // ... unless the root does not contain those files.
    rule(Strict, Needs::HiddenPaths, Grant::Always, &[
        Call::getxattr, Call::lgetxattr, Call::fgetxattr, Call::listxattr, Call::llistxattr,
        Call::flistxattr,
    ]),
    // Pipes and special files, for a policy that grants them; never devices nor set-id files.
    // Masked by S_IFMT and the set-id bits: no type, S_IFIFO, S_IFREG.
    rule(Wide, Needs::Nothing, Grant::When(&[
        Arg::Masked(1, 0xf000 | SET_ID, &[0, 0x1000, 0x8000]),
    ]), &[Call::mknod]),
    rule(Wide, Needs::Nothing, Grant::When(&[
        Arg::Masked(2, 0xf000 | SET_ID, &[0, 0x1000, 0x8000]),
    ]), &[Call::mknodat]),
    // F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK,
    // F_OFD_SETLK, F_OFD_SETLKW, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS. Not F_SETOWN and
    // F_SETSIG, which send signals, nor leases and directory notification.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Is(1, &[
        0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034,
    ])]), &[Call::fcntl]),
    // F_SETPIPE_SZ: kernel memory, at most `pipe-max-size` a pipe.
    rule(Wide, Needs::Nothing, Grant::When(&[Arg::Is(1, &[1031])]), &[Call::fcntl]),
    // TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2: questions
    // about a descriptor and its flags. Not TIOCSTI and TIOCLINUX, which type into a terminal.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Is(1, &[
        0x5401, 0x540f, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451, 0x802c_542a,
    ])]), &[Call::ioctl]),
    // FICLONE and FICLONERANGE: `cp --reflink` between files that are open already.
    rule(Wide, Needs::Nothing, Grant::When(&[Arg::Is(1, &[0x4004_9409, 0x4020_940d])]), &[
        Call::ioctl,
    ]),
    // Waiting for descriptors.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::poll, Call::ppoll, Call::select, Call::pselect6, Call::epoll_create,
        Call::epoll_create1, Call::epoll_ctl, Call::epoll_wait, Call::epoll_pwait,
        Call::epoll_pwait2, Call::eventfd, Call::eventfd2,
    ]),
    // The process's own memory. Not memfd_create, which makes a file to execute without a path.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::brk, Call::mmap, Call::munmap, Call::mprotect, Call::mremap, Call::madvise,
        Call::msync, Call::membarrier,
    ]),
    // Protection keys, residency and the reading of memory policy: what language runtimes try.
    rule(Wide, Needs::Nothing, Grant::Always, &[
        Call::pkey_alloc, Call::pkey_free, Call::pkey_mprotect, Call::mincore, Call::get_mempolicy,
    ]),
    // Who and where the process is. Changing identity is not here.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::getpid, Call::getppid, Call::gettid, Call::getpgrp, Call::getpgid, Call::getsid,
        Call::getuid, Call::geteuid, Call::getgid, Call::getegid, Call::getresuid,
        Call::getresgid, Call::getgroups, Call::capget, Call::uname, Call::sysinfo, Call::times,
        Call::getrusage, Call::getcpu, Call::getrandom,
    ]),
    // The effective identity alone, to which `make` has each child return before it executes: the
    // kernel gives one without capabilities only what is its own already.
    rule(Standard, Needs::Nothing, Grant::When(&[Arg::Is(0, &[UNCHANGED]), Arg::Is(2, &[UNCHANGED])]), &[
        Call::setresuid, Call::setresgid,
    ]),
    // Leaving a session or a group is harmless: killing does not depend on either.
    rule(Strict, Needs::Nothing, Grant::Always, &[Call::setsid, Call::setpgid]),
    // Starting, ending and awaiting processes and threads of the run.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::fork, Call::vfork, Call::execve, Call::exit, Call::exit_group, Call::wait4,
        Call::waitid, Call::set_tid_address, Call::set_robust_list, Call::rseq, Call::futex,
        Call::sched_yield, Call::sched_getaffinity, Call::restart_syscall,
    ]),
    // `clone` without any new namespace; the flags are its first argument.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Masked(0, CLONE_NEW_ANY, &[0])]), &[
        Call::clone,
    ]),
    // The flags of `clone3` lie behind a pointer; C libraries fall back to `clone` on this answer.
    rule(Strict, Needs::Nothing, Grant::Answer(ENOSYS), &[Call::clone3]),
    // Thread-local storage: ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Is(0, &[0x1001, 0x1002, 0x1003, 0x1004])]), &[
        Call::arch_prctl,
    ]),
    // PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ,
    // PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_VMA. Not PR_SET_PDEATHSIG, PR_SET_SECCOMP
    // and PR_SET_DUMPABLE.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Is(0, &[
        2, 3, 15, 16, 23, 38, 39, 0x5356_4d41,
    ])]), &[Call::prctl]),
    // The caller's own limits only; raising a hard one needs a capability that it lacks.
    rule(Strict, Needs::Nothing, Grant::When(&[Arg::Is(0, &[0])]), &[Call::prlimit64]),
    rule(Strict, Needs::Nothing, Grant::Always, &[Call::getrlimit, Call::setrlimit]),
    // Priority of the caller (PRIO_PROCESS, 0) only: `nice`.
    rule(Standard, Needs::Nothing, Grant::When(&[Arg::Is(0, &[0]), Arg::Is(1, &[0])]), &[
        Call::getpriority, Call::setpriority,
    ]),
    // Reading scheduling attributes: thread libraries ask for them.
    rule(Standard, Needs::Nothing, Grant::Always, &[
        Call::sched_getparam, Call::sched_getscheduler, Call::sched_get_priority_max,
        Call::sched_get_priority_min,
    ]),
    // Pinning the caller itself to processors.
    rule(Wide, Needs::Nothing, Grant::When(&[Arg::Is(0, &[0])]), &[Call::sched_setaffinity]),
    // Signals: handlers and masks of the caller, and sending to what the run can reach, which
    // Landlock's scope, the PID namespace or the run's own uid decide.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::rt_sigaction, Call::rt_sigprocmask, Call::rt_sigreturn, Call::rt_sigsuspend,
        Call::rt_sigpending, Call::rt_sigtimedwait, Call::sigaltstack, Call::pause, Call::kill,
        Call::tkill, Call::tgkill,
    ]),
    // Queued signals with a value, and signals as a descriptor.
    rule(Standard, Needs::Nothing, Grant::Always, &[Call::signalfd, Call::signalfd4]),
    rule(Wide, Needs::Nothing, Grant::Always, &[Call::rt_sigqueueinfo, Call::rt_tgsigqueueinfo]),
    // Clocks, without setting them.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::clock_gettime, Call::clock_getres, Call::clock_nanosleep, Call::nanosleep,
        Call::gettimeofday, Call::time,
    ]),
    // Timers: `timeout` needs the POSIX ones, event loops the descriptors.
    rule(Standard, Needs::Nothing, Grant::Always, &[
        Call::alarm, Call::getitimer, Call::setitimer, Call::timer_create, Call::timer_settime,
        Call::timer_gettime, Call::timer_getoverrun, Call::timer_delete, Call::timerfd_create,
        Call::timerfd_settime, Call::timerfd_gettime,
    ]),
    // Moving bytes between pipes, and hints about files.
    rule(Standard, Needs::Nothing, Grant::Always, &[
        Call::splice, Call::tee, Call::readahead, Call::sync_file_range,
    ]),
    // A further Landlock layer can only tighten.
    rule(Strict, Needs::Nothing, Grant::Always, &[
        Call::landlock_create_ruleset, Call::landlock_add_rule, Call::landlock_restrict_self,
    ]),
    // Connected pairs. A datagram pair could be aimed anew at a socket of the host, so not those.
    rule(Standard, Needs::Nothing, Grant::When(&[
        Arg::Is(0, &[AF_UNIX]),
        Arg::Masked(1, !SOCKET_FLAGS, &[SOCK_STREAM, SOCK_SEQPACKET]),
        Arg::Is(2, &[0]),
    ]), &[Call::socketpair]),
    // `send` on such a pair: no address (event loops wake themselves with it).
    rule(Standard, Needs::Nothing, Grant::When(&[Arg::Zero(4), Arg::Zero(5)]), &[Call::sendto]),
    // Receiving on, closing and asking about sockets that the run already holds.
    rule(Standard, Needs::Nothing, Grant::Always, &[
        Call::recvfrom, Call::recvmsg, Call::recvmmsg, Call::shutdown, Call::getsockname,
        Call::getpeername, Call::getsockopt,
    ]),
    // Unix streams inside a root that holds no socket of the host.
    rule(Strict, Needs::UnixStreams, Grant::When(&[
        Arg::Is(0, &[AF_UNIX]),
        Arg::Masked(1, !SOCKET_FLAGS, &[SOCK_STREAM]),
        Arg::Is(2, &[0]),
    ]), &[Call::socket]),
    // Internet streams, plain TCP only: MPTCP (262), SCTP (132) and SMC take other protocols.
    rule(Strict, Needs::Streams, Grant::When(&[
        Arg::Is(0, &[AF_INET, AF_INET6]),
        Arg::Masked(1, !SOCKET_FLAGS, &[SOCK_STREAM]),
        Arg::Is(2, &[0, IPPROTO_TCP]),
    ]), &[Call::socket]),
    // Internet datagrams, plain UDP only: ICMP (1) would be a ping socket.
    rule(Strict, Needs::Datagrams, Grant::When(&[
        Arg::Is(0, &[AF_INET, AF_INET6]),
        Arg::Masked(1, !SOCKET_FLAGS, &[SOCK_DGRAM]),
        Arg::Is(2, &[0, IPPROTO_UDP]),
    ]), &[Call::socket]),
    // What one does with sockets once some kind may be made.
    rule(Strict, Needs::AnySocket, Grant::Always, &[
        Call::connect, Call::bind, Call::listen, Call::accept, Call::accept4, Call::sendto,
        Call::sendmsg, Call::sendmmsg, Call::recvfrom, Call::recvmsg, Call::recvmmsg,
        Call::shutdown, Call::getsockname, Call::getpeername, Call::getsockopt,
    ]),
    // SOL_SOCKET: SO_REUSEADDR, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_LINGER,
    // SO_REUSEPORT, SO_PASSCRED, SO_RCVTIMEO, SO_SNDTIMEO. Not SO_ATTACH_FILTER and its kin.
    rule(Strict, Needs::AnySocket, Grant::When(&[
        Arg::Is(1, &[1]),
        Arg::Is(2, &[2, 6, 7, 8, 9, 13, 15, 16, 20, 21]),
    ]), &[Call::setsockopt]),
    // IPPROTO_TCP: TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT,
    // TCP_QUICKACK, TCP_USER_TIMEOUT. Not TCP_ULP, which loads modules.
    rule(Strict, Needs::Streams, Grant::When(&[
        Arg::Is(1, &[6]),
        Arg::Is(2, &[1, 3, 4, 5, 6, 12, 18]),
    ]), &[Call::setsockopt]),
    // IPPROTO_IPV6: IPV6_V6ONLY, which every dual-stack listener sets.
    rule(Strict, Needs::Streams, Grant::When(&[Arg::Is(1, &[41]), Arg::Is(2, &[26])]), &[
        Call::setsockopt,
    ]),
];
