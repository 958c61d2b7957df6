//! The filter answers, call by call, as the data does.

use std::collections::BTreeMap;

use bailiwick_policy::SyscallProfile;
use proptest::prelude::*;

use super::assemble::{ALLOW, ERRNO, KILL_PROCESS, X32};
use super::interpret::{CallData, run, trace};
#[cfg(target_arch = "x86_64")]
use super::known;
use super::rules::{Decision, ENOSYS, ENOTSUP, EPERM, Test, decisions};
use super::table::{Arch, Call, HIGHEST_KNOWN};
use super::{FilterFacts, Internet, assemble, check, compile, program};

const PROFILES: [SyscallProfile; 3] = [
    SyscallProfile::Strict,
    SyscallProfile::Standard,
    SyscallProfile::Wide,
];

/// Every combination of facts.
fn all_facts() -> Vec<FilterFacts> {
    let mut all = Vec::new();
    for bits in 0..8 {
        for internet in [
            Internet::Denied,
            Internet::Streams,
            Internet::StreamsAndDatagrams,
        ] {
            all.push(FilterFacts {
                metadata_by_path: bits & 1 != 0,
                hidden_paths: bits & 2 != 0,
                unix_streams: bits & 4 != 0,
                internet,
            });
        }
    }
    all
}

/// What a decision means for concrete arguments, without any BPF.
fn verdict(decision: Option<&Decision>, args: &[u64; 6]) -> u32 {
    let refused = ERRNO | u32::from(EPERM);
    match decision {
        None => refused,
        Some(Decision::Allow) => ALLOW,
        Some(Decision::Errno(errno)) => ERRNO | u32::from(*errno),
        Some(Decision::AllowIf(cases)) => {
            let passes = |test: &Test| match test {
                Test::OneOf { arg, mask, values } => {
                    let low = u32::try_from(args[usize::from(*arg)] & 0xffff_ffff).expect("low");
                    values.contains(&(low & mask))
                }
                Test::Zero { arg } => args[usize::from(*arg)] == 0,
            };
            if cases.iter().any(|case| case.iter().all(passes)) {
                ALLOW
            } else {
                refused
            }
        }
    }
}

/// Arguments worth trying against a decision: each listed value, its neighbours, values with a
/// dirty upper half, and nothing.
fn interesting(decision: Option<&Decision>) -> Vec<[u64; 6]> {
    let mut all = vec![[0; 6], [u64::MAX; 6], [1 << 32; 6]];
    let Some(Decision::AllowIf(cases)) = decision else {
        return all;
    };
    for case in cases {
        let mut passing = [0_u64; 6];
        for test in case {
            if let Test::OneOf { arg, values, .. } = test {
                passing[usize::from(*arg)] = values[0].into();
            }
        }
        all.push(passing);
        for test in case {
            let (arg, values) = match test {
                Test::OneOf { arg, values, .. } => (usize::from(*arg), values.clone()),
                Test::Zero { arg } => (usize::from(*arg), vec![0]),
            };
            for value in values {
                for bit in 0..64 {
                    let mut args = passing;
                    args[arg] = u64::from(value) ^ (1 << bit);
                    all.push(args);
                }
                for tried in [u64::from(value), u64::from(value) + 1, u64::from(!value)] {
                    let mut args = passing;
                    args[arg] = tried;
                    all.push(args);
                }
            }
        }
    }
    all
}

#[test]
fn every_filter_answers_every_number_as_its_profile_does() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        for profile in PROFILES {
            for facts in all_facts() {
                let filter = compile(arch, profile, facts);
                let expected = decisions(arch, profile, facts);
                for number in 0..=1024 {
                    for args in interesting(expected.get(&number)) {
                        let wanted = if number > HIGHEST_KNOWN {
                            ERRNO | u32::from(ENOSYS)
                        } else {
                            verdict(expected.get(&number), &args)
                        };
                        let data = CallData {
                            arch: arch.audit(),
                            number,
                            args,
                        };
                        assert_eq!(
                            run(&filter, &data),
                            wanted,
                            "{profile:?} {facts:?} {data:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_foreign_architecture_and_the_x32_numbers_kill() {
    const I386: u32 = 0x4000_0003;
    for profile in PROFILES {
        let filter = compile(Arch::X86_64, profile, FilterFacts::closed());
        for number in (0..=1024).chain([X32 - 1, X32, X32 + 1, u32::MAX]) {
            for arch in [I386, Arch::Aarch64.audit(), 0, u32::MAX] {
                let data = CallData {
                    arch,
                    number,
                    args: [0; 6],
                };
                assert_eq!(run(&filter, &data), KILL_PROCESS, "{data:?}");
            }
        }
        for number in [X32, X32 + 1, X32 + 59, X32 + 520, u32::MAX] {
            let data = CallData {
                arch: Arch::X86_64.audit(),
                number,
                args: [0; 6],
            };
            assert_eq!(run(&filter, &data), KILL_PROCESS, "{data:?}");
        }
        let below = CallData {
            arch: Arch::X86_64.audit(),
            number: X32 - 1,
            args: [0; 6],
        };
        assert_eq!(run(&filter, &below), ERRNO | u32::from(ENOSYS));
    }
}

#[test]
fn each_profile_lies_inside_the_next_and_no_two_are_equal() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        for facts in all_facts() {
            for pair in PROFILES.windows(2) {
                let (inner, outer) = (
                    decisions(arch, pair[0], facts),
                    decisions(arch, pair[1], facts),
                );
                assert_ne!(inner, outer, "{pair:?}");
                for number in 0..=HIGHEST_KNOWN {
                    let (small, large) = (inner.get(&number), outer.get(&number));
                    for args in interesting(small).into_iter().chain(interesting(large)) {
                        if verdict(small, &args) == ALLOW {
                            assert_eq!(verdict(large, &args), ALLOW, "{pair:?} {number} {args:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn more_facts_never_allow_less() {
    for profile in PROFILES {
        let closed = decisions(Arch::X86_64, profile, FilterFacts::closed());
        for facts in all_facts() {
            let open = decisions(Arch::X86_64, profile, facts);
            for (number, decision) in &closed {
                for args in interesting(Some(decision)) {
                    if verdict(Some(decision), &args) == ALLOW {
                        assert_eq!(verdict(open.get(number), &args), ALLOW, "{number} {args:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn no_profile_allows_what_must_never_be_allowed() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        for facts in all_facts() {
            let widest = decisions(arch, SyscallProfile::Wide, facts);
            for call in NEVER {
                if let Some(number) = call.number(arch) {
                    assert_eq!(widest.get(&number), None, "{}", call.name());
                }
            }
        }
    }
}

fn answer(facts: FilterFacts, call: Call, args: [u64; 6]) -> u32 {
    let filter = compile(Arch::X86_64, SyscallProfile::Wide, facts);
    let number = call.number(Arch::X86_64).expect("an x86-64 call");
    run(
        &filter,
        &CallData {
            arch: Arch::X86_64.audit(),
            number,
            args,
        },
    )
}

const REFUSED: u32 = ERRNO | EPERM as u32;

#[test]
fn a_new_namespace_is_refused_in_every_spelling_of_clone() {
    const SIGCHLD: u64 = 17;
    let closed = FilterFacts::closed();
    assert_eq!(answer(closed, Call::clone, [SIGCHLD, 0, 0, 0, 0, 0]), ALLOW);
    for flag in [
        0x2_0000,
        0x200_0000,
        0x400_0000,
        0x800_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
    ] {
        assert_eq!(
            answer(closed, Call::clone, [SIGCHLD | flag, 0, 0, 0, 0, 0]),
            REFUSED
        );
        let dirty = SIGCHLD | flag | 1 << 40;
        assert_eq!(answer(closed, Call::clone, [dirty, 0, 0, 0, 0, 0]), REFUSED);
    }
    assert_eq!(
        answer(closed, Call::clone3, [0; 6]),
        ERRNO | u32::from(ENOSYS)
    );
}

#[test]
fn a_terminal_cannot_be_typed_into_by_setting_the_upper_half_of_the_command() {
    const TIOCSTI: u64 = 0x5412;
    const TCGETS: u64 = 0x5401;
    let closed = FilterFacts::closed();
    assert_eq!(
        answer(closed, Call::ioctl, [0, TIOCSTI, 0, 0, 0, 0]),
        REFUSED
    );
    assert_eq!(
        answer(closed, Call::ioctl, [0, TIOCSTI | 1 << 32, 0, 0, 0, 0]),
        REFUSED
    );
    assert_eq!(answer(closed, Call::ioctl, [0, TCGETS, 0, 0, 0, 0]), ALLOW);
}

#[test]
fn sockets_open_one_kind_at_a_time() {
    const CLOEXEC: u64 = 0x8_0000;
    let socket = |facts, domain, kind, protocol| {
        answer(facts, Call::socket, [domain, kind, protocol, 0, 0, 0]) == ALLOW
    };
    let closed = FilterFacts::closed();
    let streams = closed.with_internet(Internet::Streams);
    let loopback = closed.with_internet(Internet::StreamsAndDatagrams);
    let unix = closed.with_unix_streams();
    for facts in [closed, streams, loopback, unix] {
        for (domain, kind, protocol) in [
            (16, 3, 0),  // netlink
            (17, 3, 3),  // packet
            (40, 1, 0),  // vsock
            (38, 5, 0),  // kernel cryptography
            (2, 3, 1),   // raw ICMP
            (2, 2, 1),   // ping
            (2, 1, 262), // MPTCP
            (2, 1, 132), // SCTP
            (1, 2, 0),   // Unix datagrams
        ] {
            assert!(
                !socket(facts, domain, kind, protocol),
                "{facts:?} {domain} {kind} {protocol}"
            );
        }
    }
    assert!(!socket(closed, 2, 1, 0) && !socket(closed, 2, 2, 0) && !socket(closed, 1, 1, 0));
    assert!(socket(streams, 10, 1 | CLOEXEC, 6) && !socket(streams, 2, 2, 0));
    assert!(socket(loopback, 2, 2 | CLOEXEC, 17) && !socket(loopback, 1, 1, 0));
    assert!(socket(unix, 1, 1 | CLOEXEC, 0) && !socket(unix, 2, 1, 0));
}

#[test]
fn without_a_network_send_takes_no_address() {
    let closed = FilterFacts::closed();
    assert_eq!(answer(closed, Call::sendto, [3, 4096, 1, 0, 0, 0]), ALLOW);
    assert_eq!(
        answer(closed, Call::sendto, [3, 4096, 1, 0, 4096, 16]),
        REFUSED
    );
    assert_eq!(
        answer(closed, Call::sendto, [3, 4096, 1, 0, 1 << 32, 0]),
        REFUSED
    );
    assert_eq!(
        answer(closed, Call::connect, [3, 4096, 16, 0, 0, 0]),
        REFUSED
    );
    assert_eq!(
        answer(closed, Call::sendmsg, [3, 4096, 0, 0, 0, 0]),
        REFUSED
    );
}

#[test]
fn metadata_of_paths_opens_with_its_fact_only() {
    let closed = FilterFacts::closed();
    let open = closed.with_metadata_by_path();
    for call in [
        Call::chmod,
        Call::fchmodat,
        Call::chown,
        Call::lchown,
        Call::utimes,
    ] {
        assert_eq!(answer(closed, call, [4096; 6]), REFUSED, "{}", call.name());
        assert_eq!(answer(open, call, [4096; 6]), ALLOW, "{}", call.name());
    }
    assert_eq!(
        answer(closed, Call::utimensat, [3, 0, 4096, 0, 0, 0]),
        ALLOW
    );
    assert_eq!(
        answer(closed, Call::utimensat, [3, 1 << 32, 4096, 0, 0, 0]),
        REFUSED
    );
    assert_eq!(answer(open, Call::utimensat, [3, 4096, 0, 0, 0, 0]), ALLOW);
    assert_eq!(
        answer(open, Call::setxattr, [4096; 6]),
        ERRNO | u32::from(ENOTSUP)
    );
    assert_eq!(
        answer(open, Call::getxattr, [4096; 6]),
        ERRNO | u32::from(ENOTSUP)
    );
    assert_eq!(
        answer(open.with_hidden_paths(), Call::getxattr, [4096; 6]),
        ALLOW
    );
}

#[test]
fn no_call_that_sets_a_mode_sets_a_set_id_bit() {
    const O_WRONLY_CREAT: u64 = 0o101;
    const O_TMPFILE: u64 = 0o20_200_001;
    const S_IFREG: u64 = 0o100_000;
    let open = FilterFacts::closed().with_metadata_by_path();
    let with = |flags: Option<(usize, u64)>, at: usize, mode: u64| {
        let mut args = [4096; 6];
        args[at] = mode;
        if let Some((at, flags)) = flags {
            args[at] = flags;
        }
        args
    };
    for (call, flags, at, kind) in [
        (Call::open, Some((1, O_WRONLY_CREAT)), 2, 0),
        (Call::open, Some((1, O_TMPFILE)), 2, 0),
        (Call::openat, Some((2, O_WRONLY_CREAT)), 3, 0),
        (Call::openat, Some((2, O_TMPFILE)), 3, 0),
        (Call::creat, None, 1, 0),
        (Call::fchmod, None, 1, 0),
        (Call::chmod, None, 1, 0),
        (Call::fchmodat, None, 2, 0),
        (Call::fchmodat2, None, 2, 0),
        (Call::mknod, None, 1, S_IFREG),
        (Call::mknodat, None, 2, S_IFREG),
    ] {
        let name = call.name();
        for mode in [0, 0o600, 0o644, 0o777, 0o1777] {
            let args = with(flags, at, mode | kind);
            assert_eq!(answer(open, call, args), ALLOW, "{name} {mode:o}");
        }
        for mode in [0o2000, 0o4000, 0o6000, 0o2755, 0o4755, 0o7777] {
            for dirty in [0, 1 << 32, 1 << 16] {
                let args = with(flags, at, mode | kind | dirty);
                assert_eq!(answer(open, call, args), REFUSED, "{name} {mode:o}");
            }
        }
    }
    // Without either flag the mode is whatever the register held.
    let garbage = u64::MAX;
    assert_eq!(answer(open, Call::open, [4096, 0, garbage, 0, 0, 0]), ALLOW);
    assert_eq!(
        answer(open, Call::openat, [3, 4096, 0o1, garbage, 0, 0]),
        ALLOW
    );
    assert_eq!(
        answer(open, Call::openat2, [0; 6]),
        ERRNO | u32::from(ENOSYS)
    );
}

#[test]
fn limits_and_priority_are_the_callers_own() {
    let closed = FilterFacts::closed();
    assert_eq!(
        answer(closed, Call::prlimit64, [0, 7, 0, 4096, 0, 0]),
        ALLOW
    );
    assert_eq!(
        answer(closed, Call::prlimit64, [1, 7, 0, 4096, 0, 0]),
        REFUSED
    );
    assert_eq!(answer(closed, Call::setpriority, [0, 0, 5, 0, 0, 0]), ALLOW);
    assert_eq!(
        answer(closed, Call::setpriority, [0, 1, 5, 0, 0, 0]),
        REFUSED
    );
    assert_eq!(
        answer(closed, Call::setpriority, [2, 0, 5, 0, 0, 0]),
        REFUSED
    );
}

#[test]
fn the_real_and_the_saved_identity_are_kept() {
    const KEEP: u64 = u32::MAX as u64;
    for call in [Call::setresuid, Call::setresgid] {
        let ask = |real, saved| answer(FilterFacts::closed(), call, [real, 1000, saved, 0, 0, 0]);
        assert_eq!(ask(KEEP, KEEP), ALLOW);
        // A 64-bit -1, as a C library may pass it.
        assert_eq!(ask(u64::MAX, u64::MAX), ALLOW);
        for (real, saved) in [(0, KEEP), (KEEP, 0), (1000, 1000), (0, 0)] {
            assert_eq!(ask(real, saved), REFUSED, "{real} {saved}");
        }
    }
}

#[test]
fn the_native_program_is_small_whole_and_accepted_by_our_own_check() {
    for profile in PROFILES {
        for facts in all_facts() {
            for arch in [Arch::X86_64, Arch::Aarch64] {
                assert_eq!(check::check(&compile(arch, profile, facts)), Ok(()));
            }
            let bytes = program(profile, facts);
            assert_eq!(bytes.len() % 8, 0);
            assert!(bytes.len() / 8 < 700, "{} instructions", bytes.len() / 8);
        }
    }
}

#[test]
fn no_call_costs_more_than_a_few_dozen_instructions() {
    for profile in PROFILES {
        for facts in all_facts() {
            let filter = compile(Arch::X86_64, profile, facts);
            for number in 0..=HIGHEST_KNOWN {
                let data = CallData {
                    arch: Arch::X86_64.audit(),
                    number,
                    args: [u64::MAX; 6],
                };
                let (_, steps) = trace(&filter, &data);
                assert!(
                    steps < 64,
                    "{steps} for call {number} under {profile:?} {facts:?}"
                );
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_numbers_are_those_of_the_c_library() {
    let facts = known::numbers();
    for call in Call::ALL {
        let ours = call.number(Arch::X86_64).map(i64::from);
        assert_eq!(ours, facts.get(call.name()).copied(), "{}", call.name());
    }
    assert_eq!(facts.len(), Call::ALL.len());
    assert_eq!(i64::from(HIGHEST_KNOWN), nix::libc::SYS_mseal);
}

#[test]
fn no_number_names_two_calls() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut seen = BTreeMap::new();
        for call in Call::ALL {
            if let Some(number) = call.number(arch) {
                assert!(number <= HIGHEST_KNOWN, "{}", call.name());
                let other = seen.insert(number, call.name());
                assert_eq!(other, None, "{} on {arch:?}", call.name());
            }
        }
    }
}

fn any_decision() -> impl Strategy<Value = Decision> {
    let values = prop_oneof![
        9 => prop::collection::vec(any::<u32>(), 0..8),
        1 => prop::collection::vec(any::<u32>(), 0..600),
    ];
    let test = prop_oneof![
        (0..6_u8, prop_oneof![Just(u32::MAX), any::<u32>()], values)
            .prop_map(|(arg, mask, values)| Test::OneOf { arg, mask, values }),
        (0..6_u8).prop_map(|arg| Test::Zero { arg }),
    ];
    let cases = prop::collection::vec(prop::collection::vec(test, 0..4), 0..4);
    prop_oneof![
        Just(Decision::Allow),
        (0..4096_u16).prop_map(Decision::Errno),
        cases.prop_map(Decision::AllowIf),
    ]
}

proptest! {
    #[test]
    fn random_rules_compile_to_what_they_say(
        rules in prop::collection::btree_map(0..=HIGHEST_KNOWN, any_decision(), 0..300),
        strays in prop::collection::vec(any::<[u64; 6]>(), 4),
    ) {
        let filter = assemble::assemble(Arch::X86_64, &rules);
        // A program of random lists may outgrow the kernel's limit, never bend its other rules.
        let flaw = check::check(&filter);
        prop_assert!(matches!(flaw, Ok(()) | Err(check::Flaw::Length(_))), "{flaw:?}");
        for number in 0..=HIGHEST_KNOWN {
            let decision = rules.get(&number);
            let mut tried = strays.clone();
            if let Some(Decision::AllowIf(cases)) = decision {
                for test in cases.iter().flatten() {
                    if let Test::OneOf { arg, values, .. } = test {
                        for value in values.iter().take(3).chain(values.last()) {
                            let mut args = [0; 6];
                            args[usize::from(*arg)] = u64::from(*value);
                            tried.push(args);
                        }
                    }
                }
                tried.push([0; 6]);
            }
            for args in tried {
                let data = CallData { arch: Arch::X86_64.audit(), number, args };
                prop_assert_eq!(run(&filter, &data), verdict(decision, &args), "{:?}", data);
            }
        }
    }
}

/// What no profile may ever allow.
const NEVER: &[Call] = &[
    Call::io_uring_setup,
    Call::io_uring_enter,
    Call::io_uring_register,
    Call::bpf,
    Call::perf_event_open,
    Call::userfaultfd,
    Call::keyctl,
    Call::add_key,
    Call::request_key,
    Call::ptrace,
    Call::process_vm_readv,
    Call::process_vm_writev,
    Call::process_madvise,
    Call::pidfd_getfd,
    Call::pidfd_send_signal,
    Call::kcmp,
    Call::mount,
    Call::umount2,
    Call::fsopen,
    Call::fsconfig,
    Call::fsmount,
    Call::fspick,
    Call::open_tree,
    Call::move_mount,
    Call::mount_setattr,
    Call::pivot_root,
    Call::chroot,
    Call::unshare,
    Call::setns,
    Call::init_module,
    Call::finit_module,
    Call::delete_module,
    Call::kexec_load,
    Call::kexec_file_load,
    Call::reboot,
    Call::swapon,
    Call::swapoff,
    Call::acct,
    Call::quotactl,
    Call::quotactl_fd,
    Call::open_by_handle_at,
    Call::name_to_handle_at,
    Call::personality,
    Call::modify_ldt,
    Call::iopl,
    Call::ioperm,
    Call::memfd_create,
    Call::memfd_secret,
    Call::execveat,
    Call::fanotify_init,
    Call::fanotify_mark,
    Call::inotify_init,
    Call::inotify_init1,
    Call::inotify_add_watch,
    Call::mq_open,
    Call::mq_unlink,
    Call::mq_timedsend,
    Call::mq_timedreceive,
    Call::mq_notify,
    Call::mq_getsetattr,
    Call::shmget,
    Call::shmat,
    Call::shmctl,
    Call::shmdt,
    Call::semget,
    Call::semop,
    Call::semtimedop,
    Call::semctl,
    Call::msgget,
    Call::msgsnd,
    Call::msgrcv,
    Call::msgctl,
    Call::syslog,
    Call::clock_settime,
    Call::clock_adjtime,
    Call::settimeofday,
    Call::adjtimex,
    Call::sethostname,
    Call::setdomainname,
    Call::seccomp,
    Call::vhangup,
    Call::lookup_dcookie,
    Call::move_pages,
    Call::migrate_pages,
    Call::setuid,
    Call::setgid,
    Call::setreuid,
    Call::setregid,
    Call::setgroups,
    Call::setfsuid,
    Call::setfsgid,
    Call::capset,
    Call::sched_setscheduler,
    Call::sched_setparam,
    Call::sched_setattr,
    Call::mlockall,
    Call::vmsplice,
    Call::process_mrelease,
];
