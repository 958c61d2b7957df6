//! Processor time: the limit is that of the whole tree.

use std::time::Duration;

use bailiwick_policy::LimitAxis;
use bailiwick_sandbox::{Completion, End};

use crate::bed::{Bed, needs, shown};

fn with_a_second() -> Vec<Bed> {
    let beds = Bed::with_and_without_groups().into_iter();
    beds.map(|bed| {
        bed.limited(|limits| {
            limits
                .with_cpu(Duration::from_secs(1))
                .with_wall(Duration::from_secs(30))
        })
    })
    .collect()
}

fn is_limit(completion: &Completion) {
    assert_eq!(
        completion.end,
        End::Limit(LimitAxis::Cpu),
        "{}",
        shown(completion)
    );
    assert_eq!(completion.limits_hit, [LimitAxis::Cpu]);
    assert!(completion.confirmed_dead.confirmed);
}

#[test]
fn processor_time_is_limited() {
    for bed in with_a_second() {
        is_limit(&bed.script("while :; do :; done"));
    }
}

/// Each alone would be ended at a second of its own, and the shell would exit with 0.
#[test]
fn spinners_in_children_share_the_processor_time() {
    for bed in with_a_second() {
        is_limit(&bed.script("for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait"));
    }
}

#[test]
fn spinners_that_leave_their_parent_share_the_processor_time() {
    for bed in with_a_second() {
        is_limit(&bed.script(
            "for i in 1 2 3 4; do setsid sh -c '(while :; do :; done) &' & done; sleep 20",
        ));
    }
}

#[test]
fn the_time_of_the_dead_counts() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in with_a_second() {
        is_limit(&bed.python(
            "import os, time\n\
             while True:\n\
             \x20   if os.fork() == 0:\n\
             \x20       while time.process_time() < 0.1: pass\n\
             \x20       os._exit(0)\n\
             \x20   os.wait()",
        ));
    }
}

#[test]
fn threads_share_the_processor_time() {
    if !needs("/usr/bin/node") {
        return;
    }
    for bed in with_a_second() {
        let bed = bed.limited(|limits| {
            limits
                .with_memory(1 << 30)
                .with_cpu(Duration::from_secs(1))
                .with_wall(Duration::from_secs(30))
        });
        let program = "const { Worker } = require('worker_threads');\n\
                       for (let i = 0; i < 3; i++) new Worker('for (;;);', { eval: true });";
        is_limit(&bed.run(&["/usr/bin/node", "-e", program]));
    }
}

#[test]
fn a_failure_of_a_run_that_used_little_time_is_no_limit() {
    for bed in with_a_second() {
        // The status that a shell has whose child the limit ended.
        let completion = bed.script("exit 152");
        assert_eq!(completion.end, End::Exited(152));
        assert_eq!(completion.limits_hit, []);
    }
}

/// A run's leaf may have counted for others before it.
#[test]
fn the_time_of_earlier_runs_is_not_counted() {
    for bed in with_a_second() {
        for _ in 0..2 {
            is_limit(&bed.script("while :; do :; done"));
        }
        for _ in 0..3 {
            let completion = bed.script("exit 4");
            assert_eq!(completion.end, End::Exited(4), "{}", shown(&completion));
            assert_eq!(completion.limits_hit, []);
        }
    }
}
