//! The self-test: its matrix is what the kernel answered, whatever the probe says.

use std::collections::BTreeSet;

use bailiwick_policy::ThreatClass;
use bailiwick_sandbox::Layer;
use bailiwick_sandbox::class::{Cover, coverage};
use bailiwick_sandbox::selftest::{self, SelfTest, Verdict};

use crate::bed::host;

fn hard() -> impl Iterator<Item = ThreatClass> {
    ThreatClass::ALL
        .into_iter()
        .filter(|class| class.is_hard_by_default())
}

/// The attempts with a verdict, for messages.
fn with(test: &SelfTest, verdict: Verdict) -> Vec<String> {
    let chosen = test
        .attempts()
        .iter()
        .filter(|attempt| attempt.verdict == verdict);
    chosen.map(|attempt| format!("{attempt:?}")).collect()
}

#[test]
fn every_hard_class_is_denied_under_the_default_policy() {
    let host = host();
    let test = selftest::run(host).expect("a self-test");
    assert_eq!(with(&test, Verdict::Open), [""; 0]);
    assert_eq!(
        test.not_denied(hard()),
        [],
        "{:#?}",
        with(&test, Verdict::Inconclusive)
    );
    assert!(test.attempts().len() >= 50);
}

#[test]
fn a_denial_carries_the_errno_that_the_kernel_gave() {
    const ENOENT: i32 = 2;
    const EPERM: i32 = 1;
    let host = host();
    let test = selftest::run(host).expect("a self-test");
    let errno = |name: &str| {
        let attempt = test.attempts().iter().find(|attempt| attempt.name == name);
        attempt.and_then(|attempt| attempt.errno)
    };
    // The root does not contain the file; the filter refuses the socket.
    assert_eq!(errno("read"), Some(ENOENT));
    assert_eq!(errno("tcp-connect"), Some(EPERM));
    assert!(errno("mptcp-connect").is_some());
}

#[test]
fn the_matrix_shows_an_open_kernel_surface_when_the_filter_is_left_out() {
    let host = host().clone().without(Layer::Seccomp);
    let test = selftest::run(&host).expect("a self-test");
    assert_eq!(test.class(ThreatClass::KernelSurface), Verdict::Open);
    assert!(
        test.not_denied(hard())
            .contains(&ThreatClass::KernelSurface)
    );
    // What other layers close stays closed, and the attempts say so.
    assert_eq!(test.class(ThreatClass::FsData), Verdict::Denied);
    assert_eq!(test.class(ThreatClass::Processes), Verdict::Denied);
}

#[test]
fn the_hosts_connections_are_seen_where_the_network_namespace_is_left_out() {
    let verdict = |host| {
        let test = selftest::run(host).expect("a self-test");
        let mut attempts = test.attempts().iter();
        let seen = attempts.find(|attempt| attempt.name == "host-network");
        (
            seen.expect("it is tried").verdict,
            coverage(test.claimed()).class(ThreatClass::IpNetwork),
        )
    };
    assert_eq!(verdict(host()), (Verdict::Denied, Cover::Strong));
    let without = host().clone().without(Layer::NetworkNamespace);
    assert_eq!(verdict(&without), (Verdict::Open, Cover::Weak));
}

#[test]
fn a_probe_that_denies_a_layer_changes_no_verdict_where_another_closes_the_class() {
    let host = host();
    for layer in [
        Layer::Landlock,
        Layer::CgroupPids,
        Layer::CgroupMemory,
        Layer::CgroupKill,
    ] {
        let host = host.clone().without(layer);
        let test = selftest::run(&host).expect("a self-test");
        assert!(!test.claimed().is_in_force(layer), "{layer}");
        assert_eq!(with(&test, Verdict::Open), [""; 0], "without {layer}");
        assert_eq!(test.not_denied(hard()), [], "without {layer}");
    }
}

#[test]
fn what_coverage_calls_closed_the_self_test_never_finds_open() {
    let host = host();
    let weaker = |layer| host.clone().without(layer);
    for host in [
        host.clone(),
        weaker(Layer::Seccomp),
        weaker(Layer::Landlock),
    ] {
        let test = selftest::run(&host).expect("a self-test");
        let judged = coverage(test.claimed());
        let open: BTreeSet<_> = judged.open_among(ThreatClass::ALL).into_iter().collect();
        for class in ThreatClass::ALL {
            if !open.contains(&class) {
                assert_ne!(
                    test.class(class),
                    Verdict::Open,
                    "{class}: {:#?}",
                    test.attempts()
                );
            }
        }
    }
}
