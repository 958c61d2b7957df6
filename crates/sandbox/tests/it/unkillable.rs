//! What cannot be killed: the answer comes all the same, and nothing of it is given to a later run.
//!
//! A process in a frozen group of version 1 does not die before it is thawed. Where there is no such
//! hierarchy, the unit tests of `run` show the same on a process that does not end.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use bailiwick_sandbox::{End, Host, HostConfig};

use crate::bed::{Bed, alive, open_folder, shown};

/// A frozen group, or one that is about to be.
struct Freezer(PathBuf);

impl Freezer {
    /// Makes a group where this process may.
    fn new() -> Option<Self> {
        let name = format!("bailiwick-test-{}", std::process::id());
        let group = PathBuf::from("/sys/fs/cgroup/freezer").join(name);
        fs::create_dir(&group).ok()?;
        Some(Self(group))
    }

    fn freeze(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).expect("a member");
        self.set("FROZEN");
    }

    fn set(&self, state: &str) {
        let file = self.0.join("freezer.state");
        fs::write(&file, state).expect("a state");
        assert!(soon(
            || fs::read_to_string(&file).is_ok_and(|now| now.trim() == state)
        ));
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        let _ = soon(|| fs::remove_dir(&self.0).is_ok());
    }
}

/// Waits for something that happens in a moment.
fn soon(happens: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if happens() {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

/// The processes whose command line is that of a sleep.
fn sleeper(time: &str) -> Option<u32> {
    let line = format!("/bin/sleep\0{time}\0");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid: &u32| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == line.as_bytes())
        })
}

fn groups_of(pid: u32) -> Vec<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("its groups");
    let groups = groups.lines().filter_map(|line| line.rsplit('/').next());
    groups
        .filter(|name| name.starts_with("bailiwick.run"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_cannot_be_killed_is_answered_in_time_and_gives_nothing_to_a_later_run() {
    let Some(freezer) = Freezer::new() else {
        return;
    };
    let state = open_folder();
    let host = Host::probe(HostConfig::new(state.path().join("state"))).expect("a host");
    let bed = Bed::on(host.clone());
    let child = bed.start(&["/bin/sleep", "88.125"]);
    assert!(soon(|| sleeper("88.125").is_some()));
    let frozen = sleeper("88.125").expect("a process");
    let groups = groups_of(frozen);
    freezer.freeze(frozen);
    child.canceller().cancel();
    let completion = child.wait();
    assert_eq!(completion.end, End::Cancelled, "{}", shown(&completion));
    assert!(!completion.confirmed_dead.confirmed);
    // A second, on a machine that may be busy with others; never the minute of the program.
    assert!(completion.confirmed_dead.after < Duration::from_secs(30));
    let kept = host.uids_in_use();
    let later = bed.start(&["/bin/sleep", "88.25"]);
    assert!(soon(|| sleeper("88.25").is_some()));
    let other = sleeper("88.25").expect("a process");
    assert!(groups_of(other).iter().all(|group| !groups.contains(group)));
    assert_eq!(host.uids_in_use(), kept * 2, "each has one of its own");
    drop(later);
    assert_eq!(host.uids_in_use(), kept);
    drop(freezer);
    assert!(soon(|| alive("88.125") == 0));
    assert_eq!(host.uids_in_use(), kept, "it is never given again");
}
