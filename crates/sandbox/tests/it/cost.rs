//! What confinement costs, as a ratio to the same program started without it.

use std::time::{Duration, Instant};

use bailiwick_policy::ThreatClass;
use bailiwick_sandbox::{End, Host, Layer, selftest, spawn};

use crate::bed::{Bed, command, host, open_folder};

/// Printed, not judged: a test machine is too busy for that. `cargo xtask bench` judges.
#[test]
#[ignore = "a measurement, run by hand"]
fn a_confined_run_against_a_raw_spawn() {
    let folder = open_folder();
    let program = folder.path().join("noop");
    let source = folder.path().join("noop.c");
    std::fs::write(&source, "int main(){return 0;}").expect("a source");
    let built = std::process::Command::new("cc")
        .args(["-O2", "-static", "-o"])
        .args([&program, &source])
        .status()
        .expect("a C compiler");
    assert!(built.success());
    let program = program.to_str().expect("text");
    let whole = host().clone();
    let groups = [Layer::CgroupMemory, Layer::CgroupPids, Layer::CgroupKill];
    let no_group = groups.into_iter().fold(whole.clone(), Host::without);
    let no_network = whole.clone().without(Layer::NetworkNamespace);
    let mut variants = vec![("raw", None, Vec::new())];
    let mut beds = Vec::new();
    for (name, host) in [
        ("default", whole),
        ("without control groups", no_group),
        ("without a network namespace", no_network),
    ] {
        let bed = Bed::on(host);
        let compiled = bed.compile_for(program).expect("a policy");
        variants.push((name, Some(compiled), Vec::new()));
        beds.push(bed);
    }
    for _ in 0..120 {
        for (_, compiled, times) in &mut variants {
            let started = Instant::now();
            if let Some(compiled) = compiled {
                let child = spawn(compiled, command(&[program])).expect("a run");
                let spawned = started.elapsed();
                assert_eq!(child.wait().end, End::Exited(0));
                times.push((started.elapsed(), spawned));
            } else {
                let status = std::process::Command::new(program).status().expect("a run");
                assert!(status.success());
                times.push((started.elapsed(), started.elapsed()));
            }
        }
    }
    let mut raw = (Duration::ZERO, Duration::ZERO);
    for (name, _, times) in &mut variants {
        times.sort_unstable();
        let (median, spawned) = times[times.len() / 2];
        let (low, high) = (times[times.len() / 10].0, times[times.len() * 95 / 100].0);
        if raw == (Duration::ZERO, Duration::ZERO) {
            raw = (median, high);
        }
        let ratio = |time: Duration, raw: Duration| time.as_secs_f64() / raw.as_secs_f64();
        let (p50, p95) = (ratio(median, raw.0), ratio(high, raw.1));
        println!(
            "{name}: p10 {low:?} p50 {median:?} p95 {high:?} (started after {spawned:?}), \
             ratios p50 {p50:.2} p95 {p95:.2}"
        );
    }
}

#[test]
#[ignore = "a measurement, run by hand"]
fn the_self_test_before_the_first_script() {
    let hard = ThreatClass::ALL
        .into_iter()
        .filter(|class| class.is_hard_by_default())
        .collect();
    for _ in 0..5 {
        let started = Instant::now();
        let test = selftest::attack(host(), &hard).expect("a self-test");
        let took = started.elapsed();
        println!("self-test of the hard classes: {took:?}");
        assert_eq!(test.not_denied(hard.iter().copied()), []);
    }
}
