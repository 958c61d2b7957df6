//! What each class is without its closers, in the build that can leave them out: the self-test
//! must see it, or what it says of a whole host would prove nothing.

use std::collections::BTreeSet;

use bailiwick_core::Code;
use bailiwick_policy::ThreatClass;
use bailiwick_sandbox::class::{Cover, coverage};
use bailiwick_sandbox::plan::skip;
use bailiwick_sandbox::selftest::{self, SelfTest, Verdict};
use bailiwick_sandbox::{Host, Layer};

use crate::bed::{Bed, host};

fn is_open_without_its_closers(class: ThreatClass) {
    let weakened = host().clone().without_class(class);
    let test = selftest::attack(&weakened, &BTreeSet::from([class])).expect("a self-test");
    assert_eq!(coverage(test.claimed()).class(class), Cover::Open);
    assert_eq!(test.class(class), Verdict::Open, "{:#?}", test.attempts());
    assert_eq!(test.not_denied([class]), [class]);
    if class.is_hard_by_default() {
        let refused = Bed::on(weakened)
            .compile()
            .expect_err("the class is required");
        assert_eq!(refused.code(), Code::ScriptSandboxUnavailable);
    }
}

/// The probe is made to lie: it claims every layer while none that closes the class is there.
fn a_lie_about_it_changes_no_verdict(class: ThreatClass) {
    let liar = host().clone().lying_about(class);
    let claimed = liar.layers();
    assert_eq!(claimed, host().layers(), "the lie is complete");
    let test = selftest::attack(&liar, &BTreeSet::from([class])).expect("a self-test");
    assert_eq!(test.claimed(), &claimed);
    let open: Vec<_> = test
        .attempts()
        .iter()
        .filter(|attempt| attempt.class == class && attempt.verdict == Verdict::Open)
        .collect();
    assert!(!open.is_empty(), "{class}: {:#?}", test.attempts());
    assert_eq!(test.class(class), Verdict::Open);
    assert_eq!(test.not_denied([class]), [class], "so the tier is refused");
    // Whoever trusts the claim alone would have run under it.
    if coverage(&claimed).class(class) != Cover::Open {
        let mut bed = Bed::on(liar);
        bed.policy = bed.policy.require(class);
        assert_eq!(
            bed.compile().expect("the claim is believed").layers(),
            &claimed
        );
    }
}

/// A self-test on a host whose launcher leaves steps out without a word.
fn silently(host: Host, steps: u32) -> SelfTest {
    let claimed = host.layers();
    let test = selftest::run(&host.weakened(steps)).expect("a self-test");
    assert_eq!(test.claimed(), &claimed, "no report tells of it");
    test
}

/// The verdict of one attempt.
fn of(test: &SelfTest, name: &str) -> Verdict {
    let mut attempts = test.attempts().iter();
    let found = attempts.find(|attempt| attempt.name == name);
    found.expect("it is tried").verdict
}

#[test]
fn a_filter_that_is_claimed_and_left_out_shows_in_what_it_should_have_denied() {
    let test = silently(host().clone(), skip::SECCOMP);
    assert!(test.claimed().is_in_force(Layer::Seccomp));
    assert_eq!(test.class(ThreatClass::KernelSurface), Verdict::Open);
    assert_eq!(
        test.not_denied([ThreatClass::KernelSurface]),
        [ThreatClass::KernelSurface]
    );
}

#[test]
fn domains_that_are_claimed_and_left_out_show_where_nothing_else_hides_the_files() {
    // As an ordinary user sees it whose root cannot be hidden either.
    let bare = host()
        .clone()
        .without(Layer::PreparedRoot)
        .without(Layer::RunUid);
    let whole = selftest::run(&bare).expect("a self-test");
    assert_eq!(whole.class(ThreatClass::FsData), Verdict::Denied);
    let test = silently(bare, skip::LANDLOCK);
    assert!(test.claimed().is_in_force(Layer::Landlock));
    assert_eq!(test.class(ThreatClass::FsData), Verdict::Open);
    assert_eq!(of(&test, "read"), Verdict::Open);
}

#[test]
fn domains_that_are_left_out_behind_a_whole_root_open_nothing_and_nothing_is_said_to_be_open() {
    let test = silently(host().clone(), skip::LANDLOCK);
    assert_eq!(test.class(ThreatClass::FsData), Verdict::Denied);
}

#[test]
fn capabilities_that_are_claimed_to_be_gone_and_are_not_show_in_the_sets() {
    let test = silently(host().clone(), skip::CAPABILITIES);
    assert!(test.claimed().is_in_force(Layer::NoCapabilities));
    // What an ordinary user has in its own namespace is lost on execution, and that is seen too.
    let verdict = if host().abilities().privileged() {
        Verdict::Open
    } else {
        Verdict::Denied
    };
    assert_eq!(of(&test, "capabilities"), verdict);
    assert_eq!(test.class(ThreatClass::Privilege), verdict);
}

#[test]
fn privileges_that_can_still_be_gained_show_in_the_programs_own_state() {
    // Without the capabilities a process that may gain privileges gets no filter from the kernel.
    let test = silently(host().clone(), skip::NO_NEW_PRIVILEGES | skip::CAPABILITIES);
    assert!(test.claimed().is_in_force(Layer::NoNewPrivileges));
    assert_eq!(of(&test, "new-privileges"), Verdict::Open);
    let alone = host().clone().weakened(skip::NO_NEW_PRIVILEGES);
    let refused = selftest::run(&alone).expect_err("the kernel refuses the filter");
    assert_eq!(refused.code(), Code::ScriptSandboxUnavailable);
}

#[test]
fn descriptors_that_are_claimed_to_be_closed_and_are_not_show_as_open() {
    let test = silently(host().clone(), skip::CLOSE_DESCRIPTORS);
    assert!(test.claimed().is_in_force(Layer::Descriptors));
    assert_eq!(of(&test, "descriptors"), Verdict::Open);
    assert_eq!(test.class(ThreatClass::EnvAndDescriptors), Verdict::Open);
}

#[test]
fn limits_that_are_claimed_and_left_out_show_where_no_group_counts() {
    let bare = host().clone().without(Layer::CgroupPids);
    let test = silently(bare, skip::LIMITS);
    assert!(test.claimed().is_in_force(Layer::Rlimits));
    assert_eq!(test.class(ThreatClass::ProcessCount), Verdict::Open);
}

#[test]
fn every_step_that_can_be_left_out_is_left_out_in_a_test() {
    let tested = skip::CAPABILITIES
        | skip::CLOSE_DESCRIPTORS
        | skip::LANDLOCK
        | skip::LIMITS
        | skip::NO_NEW_PRIVILEGES
        | skip::SECCOMP;
    let source = include_str!("../../launcher/plan.rs");
    let (_, listed) = source.split_once("pub mod skip {").expect("a list of bits");
    let (listed, _) = listed.split_once("\n}").expect("its end");
    let bits = listed.matches("pub const").count();
    assert_eq!(tested.count_ones() as usize, bits);
}

macro_rules! classes {
    ($($name:ident: $class:ident,)*) => {
        $(
            #[test]
            fn $name() {
                is_open_without_its_closers(ThreatClass::$class);
                a_lie_about_it_changes_no_verdict(ThreatClass::$class);
            }
        )*

        #[test]
        fn every_class_is_weakened_in_a_test() {
            assert_eq!([$(ThreatClass::$class),*], ThreatClass::ALL);
        }
    };
}

classes! {
    files_can_be_read_and_written: FsData,
    metadata_can_be_changed: FsMetadataWrite,
    metadata_can_be_seen: FsMetadataRead,
    addresses_can_be_reached: IpNetwork,
    sockets_can_be_reached: UnixIpc,
    processes_can_be_signalled: Processes,
    processes_can_be_tuned: Tuning,
    the_kernels_surface_can_be_reached: KernelSurface,
    privileges_can_be_gained: Privilege,
    what_is_the_hosts_is_inherited: EnvAndDescriptors,
    a_daemon_outlives_its_run: KillAll,
    memory_has_no_bound: Memory,
    processes_have_no_bound: ProcessCount,
    time_has_no_bound: Cpu,
    the_disk_has_no_bound: Disk,
}
