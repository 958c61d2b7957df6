//! The launcher's plan: decoding never panics, and what it accepts can be walked without a check.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sandbox/launcher/plan.rs"]
#[expect(dead_code, reason = "the launcher and the host use the rest")]
mod plan;

use plan::{NONE, Plan, Step};

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = Plan::decode(bytes) else {
        return;
    };
    match plan {
        Plan::Run(run) => {
            let descriptors = run.cgroups + 1..run.descriptors;
            let known = |index: u32| index == NONE || descriptors.contains(&index);
            for step in run.root.iter() {
                match step {
                    Step::Bind {
                        path, source, map, ..
                    } => {
                        assert!(descriptors.contains(&source) && known(map));
                        assert!(!path.to_bytes().starts_with(b"/"));
                    }
                    Step::Directory { path, .. }
                    | Step::Link { path, .. }
                    | Step::File { path, .. }
                    | Step::Device { path, .. }
                    | Step::Alias { path, .. }
                    | Step::Scratch { path, .. }
                    | Step::Processes { path } => {
                        let mut components = path.to_bytes().split(|byte| *byte == b'/');
                        assert!(components.all(|component| component != b".."));
                    }
                }
            }
            assert!(
                run.rules
                    .iter()
                    .all(|rule| rule.layer < run.layers && known(rule.source))
            );
            assert!(known(run.network));
            assert!(run.filter.len() % 8 == 0 && run.arguments.iter().next().is_some());
            assert!(run.limits.iter().count() + run.environment.iter().count() <= bytes.len());
        }
        Plan::Probe(trials) => assert!(trials.iter().count() <= bytes.len()),
        Plan::HoldUserNamespace | Plan::HoldNetworkNamespace => assert_eq!(bytes.len(), 12),
    }
    // One plan has one length: neither a shorter nor a longer text is a plan as well.
    assert!(Plan::decode(&bytes[..bytes.len() - 1]).is_err());
});
