//! What remains when the machine lacks a layer: another closes the class, or the run is refused.

use bailiwick_core::Code;
use bailiwick_policy::LimitAxis;
use bailiwick_sandbox::{End, Layer, LayerState};

use crate::bed::{Bed, GROUPS, nap, needs, shown, without};

#[test]
fn a_run_without_control_groups_is_confined_killed_and_limited_all_the_same() {
    let nap = nap();
    let bed = Bed::on(without(&GROUPS));
    assert_eq!(bed.prints(&format!("sleep {nap} & echo done")), "done\n");
    assert_eq!(crate::bed::alive(&nap), 0);
    if needs("/usr/bin/python3") {
        let bed = bed.limited(|limits| limits.with_memory(100 << 20));
        let completion = bed.python("x = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))");
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Memory),
            "{}",
            shown(&completion)
        );
        let states: Vec<_> = completion.layers.iter().collect();
        assert!(states.contains(&(Layer::Watchdog, &LayerState::InForce)));
    }
}

#[test]
fn a_host_without_uids_to_give_confines_its_runs_all_the_same() {
    let bed = Bed::on(without(&[Layer::RunUid]));
    let completion = bed.script("echo x > /dev/null && echo up");
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert!(completion.layers.is_missing(Layer::RunUid));
    assert!(!completion.layers.is_in_force(Layer::RunUid));
}

#[test]
fn a_run_is_refused_where_a_required_class_has_no_closer() {
    for layers in [
        #[cfg(not(feature = "weaken"))]
        &[Layer::PreparedRoot][..],
        #[cfg(not(feature = "weaken"))]
        &[Layer::PidNamespace],
        &[Layer::Landlock][..],
        &[Layer::Seccomp],
        &[Layer::NoNewPrivileges],
        &[Layer::Descriptors],
    ] {
        let error = Bed::on(without(layers)).compile().expect_err("refused");
        assert_eq!(error.code(), Code::ScriptSandboxUnavailable, "{layers:?}");
        let error = bailiwick_core::SkillError::from(error);
        assert!(
            error.hint().is_some_and(|hint| !hint.is_empty()),
            "{layers:?}"
        );
        assert!(error.details().contains_key("class"), "{layers:?}");
    }
}
