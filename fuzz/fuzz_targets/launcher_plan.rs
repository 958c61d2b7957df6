//! The launcher's plan: decoding never panics, and what it accepts can be walked without a check.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sandbox/launcher/plan.rs"]
#[expect(dead_code, reason = "the launcher and the host use the rest")]
mod plan;

use plan::{Landlock, List, NEW_NETWORK, NONE, Plan, Step, flag};

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = Plan::decode(bytes) else {
        return;
    };
    match plan {
        Plan::Run(run) => {
            let descriptors = run.cgroups..run.descriptors;
            let known = |index: u32| index == NONE || descriptors.contains(&index);
            check_root(run.root, &descriptors);
            check_layers(run.landlock);
            assert!(known(run.user) && known(run.network) && known(run.template));
            if run.rulesets != NONE {
                let last = run.rulesets + run.landlock.layers;
                assert!(descriptors.start <= run.rulesets && last <= descriptors.end);
            }
            let raises = run.flags & flag::LOOPBACK != 0 && run.namespaces & NEW_NETWORK != 0;
            assert!(raises || run.flags & flag::LISTEN == 0);
            assert!(run.filter.len() % 8 == 0);
            assert!(run.limits.iter().count() <= bytes.len());
        }
        Plan::Execute(execute) => {
            assert!(execute.arguments.iter().next().is_some());
            assert!(execute.environment.iter().count() <= bytes.len());
        }
        Plan::HoldTemplate(template) => {
            check_root(template.root, &(0..template.descriptors));
            check_layers(template.landlock);
        }
        Plan::Probe(trials) => assert!(trials.iter().count() <= bytes.len()),
        Plan::HoldUserNamespace => assert_eq!(bytes.len(), 12),
        Plan::HoldNetworkNamespace(_) => assert_eq!(bytes.len(), 24),
    }
    // One plan has one length: neither a shorter nor a longer text is a plan as well.
    assert!(Plan::decode(&bytes[..bytes.len() - 1]).is_err());
});

fn check_root(steps: List<'_, Step<'_>>, descriptors: &std::ops::Range<u32>) {
    for step in steps.iter() {
        match step {
            Step::Bind {
                path, source, map, ..
            } => {
                assert!(descriptors.contains(&source));
                assert!(map == NONE || descriptors.contains(&map));
                assert!(!path.to_bytes().starts_with(b"/"));
            }
            Step::Directory { path, .. }
            | Step::Link { path, .. }
            | Step::File { path, .. }
            | Step::Device { path, .. }
            | Step::Scratch { path, .. }
            | Step::Processes { path } => {
                let mut components = path.to_bytes().split(|byte| *byte == b'/');
                assert!(components.all(|component| component != b".."));
            }
        }
    }
}

fn check_layers(landlock: Landlock<'_>) {
    let mut rules = landlock.rules.iter();
    assert!(rules.all(|rule| rule.layer < landlock.layers));
}
