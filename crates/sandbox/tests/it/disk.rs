//! Limits of what a run writes: a run that fails at one says which, and one that fails beside it
//! does not.

use bailiwick_policy::LimitAxis;
use bailiwick_sandbox::{Completion, End};

use crate::bed::{Bed, needs, shown, stdout};

const MIB: u64 = 1 << 20;

fn is_limit(completion: &Completion, axis: LimitAxis) {
    assert_eq!(completion.end, End::Limit(axis), "{}", shown(completion));
    assert!(completion.limits_hit.contains(&axis));
    let hint = format!("raise `{axis}` under `[limits]`");
    assert!(completion.denials.iter().any(|denial| denial.hint == hint));
}

fn is_exit(completion: &Completion, code: i32) {
    assert_eq!(completion.end, End::Exited(code), "{}", shown(completion));
    assert_eq!(completion.limits_hit, []);
}

fn with_files_of(size: u64) -> Vec<Bed> {
    let beds = Bed::with_and_without_groups().into_iter();
    beds.map(|bed| bed.limited(|limits| limits.with_file_size(size)))
        .collect()
}

#[test]
fn one_file_cannot_exceed_its_size() {
    for bed in with_files_of(MIB) {
        let completion = bed.script("exec head -c 2000000 /dev/zero > out/f");
        is_limit(&completion, LimitAxis::FileSize);
        is_exit(&bed.script("exec head -c 1048576 /dev/zero > out/f"), 0);
        let more = bed.script("exec head -c 1048577 /dev/zero > out/f");
        is_limit(&more, LimitAxis::FileSize);
    }
}

#[test]
fn a_child_of_a_shell_that_exceeds_the_size_of_a_file_is_named() {
    for bed in with_files_of(MIB) {
        for place in ["out", "/tmp", "~", "/dev/shm"] {
            let script = format!("head -c 2000000 /dev/zero > {place}/f; exit $?");
            is_limit(&bed.script(&script), LimitAxis::FileSize);
            // What the shell made of it does not matter, as long as the file is there.
            let script = format!("head -c 2000000 /dev/zero > {place}/f || exit 1");
            is_limit(&bed.script(&script), LimitAxis::FileSize);
        }
    }
}

/// Python ignores the signal, and its programs get an exception.
#[test]
fn a_python_program_that_exceeds_the_size_of_a_file_is_named() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in with_files_of(MIB) {
        let completion = bed.python("open('/tmp/f', 'wb').write(bytes(2 << 20))");
        is_limit(&completion, LimitAxis::FileSize);
        let lived_with = bed.python(
            "try: open('out/f', 'wb').write(bytes(2 << 20))\n\
             except OSError: print('went on')",
        );
        assert_eq!(stdout(&lived_with), "went on\n");
        is_exit(&lived_with, 0);
    }
}

#[test]
fn a_node_program_that_exceeds_the_size_of_a_file_is_named() {
    if !needs("/usr/bin/node") {
        return;
    }
    for bed in with_files_of(MIB) {
        let bed = bed.limited(|limits| limits.with_file_size(MIB).with_memory(512 * MIB));
        let program = "require('fs').writeFileSync('out/f', Buffer.alloc(2 << 20))";
        let completion = bed.run(&["/usr/bin/node", "-e", program]);
        is_limit(&completion, LimitAxis::FileSize);
    }
}

#[test]
fn a_failure_beside_a_file_that_is_not_too_large_is_no_limit() {
    for bed in with_files_of(MIB) {
        is_exit(&bed.script("head -c 1048575 /dev/zero > out/f; exit 3"), 3);
    }
}

fn with_workspace_of(size: u64) -> Vec<Bed> {
    let beds = Bed::with_and_without_groups().into_iter();
    beds.map(|bed| bed.limited(|limits| limits.with_workspace(size)))
        .collect()
}

#[test]
fn many_files_cannot_exceed_the_workspace() {
    for bed in with_workspace_of(MIB) {
        let completion = bed.script(
            "for i in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/zero > out/$i || exit 1; done",
        );
        is_limit(&completion, LimitAxis::Workspace);
        let shared = bed
            .script("for d in /tmp /dev/shm ~; do head -c 600000 /dev/zero > $d/f || exit 1; done");
        is_limit(&shared, LimitAxis::Workspace);
    }
}

#[test]
fn a_workspace_that_is_full_to_its_limit_is_no_reason_of_another_failure() {
    for bed in with_workspace_of(MIB) {
        is_exit(&bed.script("head -c 1048576 /dev/zero > out/f; exit 3"), 3);
        let more = bed.script("head -c 1060000 /dev/zero > out/f || exit 3");
        is_limit(&more, LimitAxis::Workspace);
    }
}

/// It stays full for a moment: the host sees that only by looking.
#[test]
fn a_program_that_cleans_up_after_it_found_the_workspace_full_is_named() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in with_workspace_of(MIB) {
        let completion = bed.python(
            "import os, time\n\
             try: open('/tmp/f', 'wb').write(bytes(2 << 20))\n\
             except OSError: time.sleep(1); os.remove('/tmp/f'); raise",
        );
        is_limit(&completion, LimitAxis::Workspace);
    }
}

#[test]
fn a_node_program_that_finds_the_workspace_full_is_named() {
    if !needs("/usr/bin/node") {
        return;
    }
    for bed in with_workspace_of(MIB) {
        let bed = bed.limited(|limits| limits.with_workspace(MIB).with_memory(512 * MIB));
        let program = "require('fs').writeFileSync('out/f', Buffer.alloc(2 << 20))";
        let completion = bed.run(&["/usr/bin/node", "-e", program]);
        is_limit(&completion, LimitAxis::Workspace);
    }
}

#[test]
fn small_files_cannot_exceed_their_number() {
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_inodes(20));
        let fill = |count: u32, place: &str| {
            format!("i=0; while [ $i -lt {count} ]; do : > {place}/$i || exit 1; i=$((i+1)); done")
        };
        is_limit(&bed.script(&fill(30, "out")), LimitAxis::Inodes);
        is_limit(&bed.script(&fill(30, "/dev/shm")), LimitAxis::Inodes);
        is_exit(&bed.script(&fill(20, "out")), 0);
        is_exit(&bed.script(&format!("{}; exit 3", fill(20, "out"))), 3);
        let folders = "i=0; while [ $i -lt 30 ]; do mkdir /tmp/$i || exit 1; i=$((i+1)); done";
        is_limit(&bed.script(folders), LimitAxis::Inodes);
    }
}

#[test]
fn a_refusal_that_the_program_lived_with_is_reported_and_no_failure() {
    let bed = Bed::new().limited(|limits| limits.with_workspace(MIB));
    let completion = bed.script("head -c 2000000 /dev/zero > out/f 2>/dev/null; echo went on");
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(stdout(&completion), "went on\n");
    assert_eq!(completion.limits_hit, [LimitAxis::Workspace]);
    assert_eq!(completion.denials.len(), 1);
}
