//! What is left after many runs: nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bailiwick_policy::Rights;
use bailiwick_sandbox::{Host, HostConfig};

use crate::bed::{Bed, alive, open_folder};

/// Our control groups, named by the process that made them.
fn groups() -> usize {
    let mine = format!("bailiwick-{}-leak", std::process::id());
    let memberships = fs::read_to_string("/proc/self/cgroup").expect("memberships");
    let own: BTreeSet<_> = memberships
        .lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .collect();
    let tops = ["unified", "pids", "memory", ""];
    tops.iter()
        .flat_map(|top| {
            own.iter()
                .map(move |group| format!("/sys/fs/cgroup/{top}{group}"))
        })
        .filter_map(|path| fs::read_dir(path).ok())
        .flat_map(Iterator::flatten)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine))
        .count()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

#[test]
fn runs_leave_no_group_process_uid_or_mount() {
    let state = tempfile::tempdir().expect("a folder");
    let config = HostConfig::new(state.path().join("state")).with_uids(0x7000_4000..0x7000_8000);
    let host = Host::probe(config).expect("a host");
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
    for number in 0..50 {
        let arguments = ["/bin/sh", "-c", "sleep 66.125 & sleep 66.125 & exit 0"];
        let command = bailiwick_sandbox::ConfinedCommand::new(format!("leak-{number}"), arguments)
            .expect("a command");
        let completion = bailiwick_sandbox::spawn(&compiled, command)
            .expect("a run")
            .wait();
        assert!(completion.confirmed_dead.confirmed);
    }
    assert_eq!(groups(), 0);
    assert_eq!(alive("66.125"), 0);
    assert_eq!(host.uids_in_use(), 0);
    assert_eq!(mounts(), before);
}

/// Other tests of this process open descriptors meanwhile, so the count is that of a child: this
/// very program, running this test alone.
#[test]
fn runs_leave_no_descriptor_open() {
    const ALONE: &str = "BAILIWICK_TEST_ALONE";
    if std::env::vars().any(|(name, _)| name == ALONE) {
        let bed = Bed::new();
        let compiled = bed.compile().expect("a policy");
        let run = || {
            let command = crate::bed::command(&["/bin/true"]);
            drop(
                bailiwick_sandbox::spawn(&compiled, command)
                    .expect("a run")
                    .wait(),
            );
        };
        run();
        let before = descriptors();
        (0..30).for_each(|_| run());
        assert_eq!(descriptors(), before);
        return;
    }
    let status = std::process::Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "leaks::runs_leave_no_descriptor_open"])
        .env(ALONE, "1")
        .output()
        .expect("a test run");
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stdout)
    );
    assert!(Path::new("/proc/self/fd").exists());
}
