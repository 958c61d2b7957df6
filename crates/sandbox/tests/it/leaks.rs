//! What is left after many runs: nothing.

use std::fs;

use bailiwick_policy::Rights;
use bailiwick_sandbox::{Host, HostConfig, spawn};

use crate::bed::{Bed, alive, command, groups, is_alone, open_folder, succeed_alone};

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

#[test]
fn runs_leave_no_group_process_uid_or_mount() {
    if !is_alone() {
        return succeed_alone(&[], "leaks::runs_leave_no_group_process_uid_or_mount");
    }
    let state = tempfile::tempdir().expect("a folder");
    let host = Host::probe(
        HostConfig::new(state.path().join("state")).with_uids(0x7000_4000..0x7000_8000),
    )
    .expect("a host");
    let folder = open_folder();
    let bed = Bed::on(host.clone()).granted(folder.path(), Rights::READ_WRITE);
    let compiled = bed.compile().expect("a policy");
    let mounts = || {
        fs::read_to_string("/proc/self/mountinfo")
            .expect("mounts")
            .lines()
            .count()
    };
    let before = mounts();
    for _ in 0..50 {
        let arguments = ["/bin/sh", "-c", "sleep 66.125 & sleep 66.125 & exit 0"];
        let completion = spawn(&compiled, command(&arguments)).expect("a run").wait();
        assert!(completion.confirmed_dead.confirmed);
    }
    assert_eq!(alive("66.125"), 0);
    assert_eq!(host.uids_in_use(), 0);
    assert_eq!(mounts(), before);
    drop((compiled, bed, host));
    assert_eq!(groups(std::process::id()), [""; 0]);
}

#[test]
fn runs_leave_no_descriptor_open() {
    if !is_alone() {
        return succeed_alone(&[], "leaks::runs_leave_no_descriptor_open");
    }
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    let run = || {
        drop(
            spawn(&compiled, command(&["/bin/true"]))
                .expect("a run")
                .wait(),
        );
    };
    // The first makes what the host keeps, the second what later runs begin from.
    run();
    run();
    let before = descriptors();
    (0..30).for_each(|_| run());
    assert_eq!(descriptors(), before);
}
