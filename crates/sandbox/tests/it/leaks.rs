//! What is left after many runs: nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bailiwick_policy::{LimitAxis, Rights};
use bailiwick_sandbox::{End, Host, HostConfig, spawn};

use crate::bed::{
    Bed, alive, alone, command, groups, is_alone, nap, open_folder, shown, succeed_alone, until,
};

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

#[test]
fn runs_leave_no_group_process_uid_or_mount() {
    let nap = nap();
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
        let arguments = [
            "/bin/sh",
            "-c",
            &format!("sleep {nap} & sleep {nap} & exit 0"),
        ];
        let completion = spawn(&compiled, command(&arguments)).expect("a run").wait();
        assert!(completion.confirmed_dead.confirmed);
    }
    assert_eq!(alive(&nap), 0);
    assert_eq!(host.uids_in_use(), 0);
    // Launchers that nobody uses leave as little.
    compiled.keep_warm(3).expect("launchers");
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

/// What is counted before the runs and after them.
#[derive(Debug, Eq, PartialEq)]
struct Left {
    descriptors: usize,
    mounts: usize,
    threads: usize,
    uids: usize,
    children: String,
    files: BTreeSet<PathBuf>,
}

impl Left {
    fn count(host: &Host) -> Self {
        let lines = |path: &str| fs::read_to_string(path).expect("a file").lines().count();
        let tasks = || fs::read_dir("/proc/self/task").expect("threads").flatten();
        let children = tasks().map(|task| fs::read_to_string(task.path().join("children")));
        Self {
            mounts: lines("/proc/self/mountinfo"),
            threads: tasks().count(),
            uids: host.uids_in_use(),
            children: children.flatten().collect(),
            files: files(&std::env::temp_dir()),
            descriptors: descriptors(),
        }
    }
}

/// Every path beneath a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}

/// A few runs go before, in which the host makes what it keeps: control groups and namespaces.
#[test]
fn a_thousand_runs_that_end_in_every_way_leave_nothing() {
    const TEST: &str = "leaks::a_thousand_runs_that_end_in_every_way_leave_nothing";
    let nap = nap();
    if !is_alone() {
        let place = tempfile::tempdir().expect("a folder");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        let output = alone(&[], TEST)
            .env("TMPDIR", place.path())
            .output()
            .expect("a test run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let left: Vec<_> = files(place.path()).into_iter().collect();
        assert_eq!(left, [""; 0].map(PathBuf::from));
        return;
    }
    let state = tempfile::tempdir().expect("a folder");
    let config = HostConfig::new(state.path().join("state")).with_uids(0x7000_4000..0x7000_8000);
    let host = Host::probe(config).expect("a host");
    let bed = Bed::on(host.clone()).limited(|limits| limits.with_output(64).with_flood(1 << 16));
    let compiled = bed.compile().expect("a policy");
    let sleep = format!("sleep {nap} & exec sleep {nap}");
    let turn = |number: usize| {
        let (script, deadline, expected) = match number % 5 {
            0 => ("exit 7", MINUTE, End::Exited(7)),
            1 => ("kill -SEGV $$", MINUTE, End::Signalled { signal: 11 }),
            2 => (sleep.as_str(), SOON, End::TimedOut),
            3 => (sleep.as_str(), MINUTE, End::Cancelled),
            _ => ("exec yes", MINUTE, End::Limit(LimitAxis::Output)),
        };
        let command = command(&["/bin/sh", "-c", script]).with_deadline(deadline);
        let child = spawn(&compiled, command).expect("a run");
        if expected == End::Cancelled {
            child.canceller().cancel();
        }
        let completion = child.wait();
        assert_eq!(completion.end, expected, "{script}: {}", shown(&completion));
        assert!(completion.confirmed_dead.confirmed, "{script}");
    };
    let runs = |count: usize| {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        turn(number);
                    }
                });
            }
        });
    };
    let threads = Left::count(&host).threads;
    // A thread is over some moments after it has been joined.
    let settle = || until("the threads end", || Left::count(&host).threads == threads);
    runs(100);
    settle();
    let (before, kept) = (Left::count(&host), groups(std::process::id()).len());
    runs(1000);
    settle();
    assert_eq!(Left::count(&host), before);
    assert_eq!(before.uids, 0);
    assert_eq!(alive(&nap), 0);
    // A leaf is kept for a later run, and no more of them than runs were there at once.
    let now = groups(std::process::id()).len();
    assert!(now <= kept.max(8), "{now} groups, {kept} before");
    drop((compiled, bed, host));
    assert_eq!(groups(std::process::id()), [""; 0]);
}

const MINUTE: Duration = Duration::from_mins(1);
const SOON: Duration = Duration::from_millis(10);
