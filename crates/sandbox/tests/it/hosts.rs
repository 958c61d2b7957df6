//! Hosts that die, and machines that lack something: what is left is found, and nothing is claimed
//! that is not so.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;
use std::process::Stdio;

use bailiwick_core::Code;
use bailiwick_policy::{LimitAxis, Rights, ThreatClass};
use bailiwick_sandbox::{End, Host, HostConfig, Layer, SandboxError, Session, spawn};

use crate::bed::{
    Bed, alive, alone, command, groups, host, is_alone, needs, needs_layer, open_folder, shown,
    succeed_alone, until,
};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn the_death_of_a_host_ends_its_runs_and_the_next_host_removes_what_is_left() {
    const TEST: &str =
        "hosts::the_death_of_a_host_ends_its_runs_and_the_next_host_removes_what_is_left";
    const STATE: &str = "BAILIWICK_TEST_STATE";
    // One block of uids, so that the next host has none unless the dead one's is free.
    let probe = |state: &Path| {
        Host::probe(HostConfig::new(state.join("state")).with_uids(0x7000_f000..0x7000_f100))
    };
    if is_alone() {
        let (_, state) = std::env::vars()
            .find(|(name, _)| name == STATE)
            .expect("a folder");
        let bed = Bed::on(probe(Path::new(&state)).expect("a host"));
        let _run = bed.start_script("sleep 88.125 & setsid sleep 88.125 & sleep 88.125");
        println!("up");
        loop {
            std::thread::park();
        }
    }
    let state = tempfile::tempdir().expect("a folder");
    let mut victim = alone(&[], TEST)
        .env(STATE, state.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a host");
    let output = BufReader::new(victim.stdout.take().expect("its output"));
    assert!(
        output
            .lines()
            .map_while(Result::ok)
            .any(|line| line.ends_with("up"))
    );
    until("the run is there", || alive("88.125") >= 3);
    assert!(
        probe(state.path()).is_err() || !is_root(),
        "its uids are its own"
    );
    let pid = victim.id();
    assert_eq!(
        groups(pid).is_empty(),
        !host().layers().is_in_force(Layer::CgroupPids)
    );

    victim.kill().expect("it is killed");
    victim.wait().expect("it is dead");
    until("the run is dead", || alive("88.125") == 0);
    until("the next host has swept", || {
        probe(state.path()).is_ok() && groups(pid).is_empty()
    });
    for entry in fs::read_dir(state.path().join("state")).expect("the state") {
        let name = entry.expect("an entry").file_name();
        assert!(name.to_string_lossy().starts_with("uids-"), "{name:?}");
    }
}

#[test]
fn what_one_run_was_refused_is_not_reported_for_the_next() {
    const TEST: &str = "hosts::what_one_run_was_refused_is_not_reported_for_the_next";
    // Without a group that counts, nothing is kept between runs.
    if !needs_layer(Layer::CgroupPids) {
        return;
    }
    if !is_alone() {
        return succeed_alone(&[], TEST);
    }
    let bed = Bed::new().limited(|limits| limits.with_processes(8));
    let bomb = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 44.125 & done; sleep 1; exit 1";
    let first = bed.script(bomb);
    assert_eq!(
        first.end,
        End::Limit(LimitAxis::Processes),
        "{}",
        shown(&first)
    );
    let leaves = groups(std::process::id());
    let second = bed.script("exit 1");
    assert_eq!(second.end, End::Exited(1), "{}", shown(&second));
    assert_eq!(second.limits_hit, []);
    assert_eq!(second.denials.len(), 0);
    // The second run had the first one's leaf, and its limits are its own.
    assert_eq!(groups(std::process::id()), leaves);
    let wider = Bed::new().limited(|limits| limits.with_processes(40));
    let third = wider.script("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 44.125 & done; exit 1");
    assert_eq!(third.end, End::Exited(1), "{}", shown(&third));
    assert_eq!(groups(std::process::id()), leaves);
}

#[test]
fn memory_that_an_earlier_run_still_holds_is_not_charged_to_the_next() {
    const TEST: &str = "hosts::memory_that_an_earlier_run_still_holds_is_not_charged_to_the_next";
    if !needs_layer(Layer::CgroupMemory) {
        return;
    }
    if !is_alone() {
        return succeed_alone(&[], TEST);
    }
    let bed = Bed::new().limited(|limits| limits.with_memory(64 << 20).with_workspace(60 << 20));
    let fill = "head -c 50000000 /dev/zero > out/f";
    let first = bed.script(fill);
    assert_eq!(first.end, End::Exited(0), "{}", shown(&first));
    let leaves = groups(std::process::id());
    // Its results are held, and with them the memory that they are in.
    assert!(first.out_dir.is_some());
    let second = bed.script(fill);
    assert_eq!(second.end, End::Exited(0), "{}", shown(&second));
    assert_ne!(groups(std::process::id()), leaves);
    drop(first);
}

#[test]
fn the_launcher_is_kept_in_a_file_where_nothing_is_executed_from_memory() {
    const TEST: &str =
        "hosts::the_launcher_is_kept_in_a_file_where_nothing_is_executed_from_memory";
    let refuse = "echo 2 > /proc/sys/vm/memfd_noexec && exec \"$@\"";
    let unshare = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        refuse,
        "sh",
    ];
    if !is_alone() {
        let works = needs("/usr/bin/unshare")
            && std::process::Command::new("unshare")
                .args([&unshare[1..], &["true"]].concat())
                .output()
                .is_ok_and(|output| output.status.success());
        // Only root may set it, where the kernel has it.
        return if works {
            succeed_alone(&unshare, TEST);
        };
    }
    let state = tempfile::tempdir().expect("a folder");
    let folder = state.path().join("state");
    let names = || {
        let entries = fs::read_dir(&folder).expect("the state").flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with("launcher-")).count()
    };
    let host = Host::probe(HostConfig::new(&folder)).expect("a host");
    assert_eq!(names(), 1);
    let bed = Bed::on(host);
    assert_eq!(bed.prints("echo confined"), "confined\n");
    drop(bed);
    assert_eq!(names(), 0);
    // What a host that was killed has left is removed by the next.
    fs::write(folder.join("launcher-0-0-0"), "").expect("a file");
    let left = fs::read_link("/proc/self/ns/pid").expect("a namespace");
    let left = left.to_string_lossy();
    let space: String = left.chars().filter(char::is_ascii_digit).collect();
    fs::write(folder.join(format!("launcher-{space}-999999-1")), "").expect("a file");
    let host = Host::probe(HostConfig::new(&folder)).expect("a host");
    assert_eq!(names(), 2, "its own, and that of another namespace");
    drop(host);
}

#[test]
fn where_owners_cannot_be_mapped_a_run_has_the_owners_uid_and_claims_no_other() {
    const TEST: &str =
        "hosts::where_owners_cannot_be_mapped_a_run_has_the_owners_uid_and_claims_no_other";
    if !is_alone() {
        // Only a privileged host maps owners.
        let maps = host().layers().is_in_force(Layer::RunUid) && needs("/usr/bin/unshare");
        return if maps {
            succeed_alone(&["unshare", "--mount"], TEST);
        };
    }
    let folder = open_folder();
    let place = folder.path().join("place");
    fs::create_dir(&place).expect("a folder");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "ramfs", "none"])
        .arg(&place)
        .status();
    assert!(mounted.expect("a mount").success());
    let (own, roots) = (place.join("own"), place.join("roots"));
    fs::create_dir(&own).expect("a folder");
    fs::create_dir(&roots).expect("a folder");
    chown(&own, Some(61_001), Some(61_001)).expect("an owner");

    let bed = Bed::new().granted(&own, Rights::READ_WRITE);
    let compiled = bed.compile().expect("a policy");
    assert!(compiled.layers().is_in_force(Layer::RunUid));
    let script = format!("id -u; echo new > {}/new", own.display());
    let completion = spawn(&compiled, command(&["/bin/sh", "-c", &script]))
        .expect("a run")
        .wait();
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(crate::bed::stdout(&completion), "61001\n");
    assert_eq!(fs::metadata(own.join("new")).expect("a file").uid(), 61_001);
    assert!(completion.layers.is_missing(Layer::RunUid));
    assert!(compiled.layers().is_missing(Layer::RunUid));

    let bed = Bed::new().granted(&roots, Rights::READ_WRITE);
    let compiled = bed.compile().expect("a policy");
    let error = spawn(&compiled, command(&["/bin/true"])).expect_err("root's uid is not given");
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
    assert!(error.to_string().contains("id-mapped"), "{error}");
}

#[test]
fn the_hosts_devices_are_bound_where_none_can_be_made() {
    const TEST: &str = "hosts::the_hosts_devices_are_bound_where_none_can_be_made";
    let devices = || {
        let bed = Bed::new();
        let script = "head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; echo x > /dev/null; \
                      echo x > /dev/full || ls /dev";
        let there = bed.prints(&format!("{script} 2>/dev/null"));
        assert_eq!(
            there,
            "4\n4\nfd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n"
        );
        let mounts = bed.prints("cut -d' ' -f5 /proc/self/mountinfo");
        mounts.lines().any(|place| place == "/dev/null")
    };
    if is_alone() {
        assert!(devices(), "the host's are bound");
        return;
    }
    let privileged = host().layers().is_in_force(Layer::RunUid);
    assert!(devices() || privileged, "an ordinary user makes none");
    if privileged && needs("/usr/bin/setpriv") {
        succeed_alone(&["setpriv", "--bounding-set", "-mknod"], TEST);
    }
}

/// The kernel calls a folder that is gone `NAME (deleted)`, a name that anyone can give.
#[test]
fn a_granted_folder_that_is_replaced_by_another_is_refused() {
    let parent = open_folder();
    let granted = parent.path().join("granted");
    fs::create_dir(&granted).expect("a folder");
    let bed = Bed::new().granted(&granted, Rights::READ_ONLY);
    let compiled = bed.compile().expect("a policy");
    fs::remove_dir(&granted).expect("it is gone");
    let impostor = parent.path().join("granted (deleted)");
    fs::create_dir(&impostor).expect("a folder");
    fs::write(impostor.join("secret"), "secret").expect("a file");
    symlink(&impostor, &granted).expect("a link");
    let error = spawn(&compiled, command(&["/bin/true"])).expect_err("refused");
    let shown = error.to_string();
    assert!(
        shown.contains("stage `source`") && shown.contains("granted"),
        "{shown}"
    );
    let SandboxError::Launch { source, .. } = error else {
        panic!("{shown}");
    };
    assert_eq!(
        source.raw_os_error(),
        Some(rustix::io::Errno::STALE.raw_os_error())
    );
}

#[test]
fn a_session_of_other_roots_opens_nothing_for_a_policy() {
    let (one, other) = (open_folder(), open_folder());
    let path = |folder: &tempfile::TempDir| {
        folder
            .path()
            .to_str()
            .expect("text")
            .parse()
            .expect("a path")
    };
    let session = Session::open(&[path(&one)]).expect("a session");
    let bed = Bed::new().granted(other.path(), Rights::READ_ONLY);
    let policy = bailiwick_policy::derive(&bed.policy, &bed.policy).expect("a policy");
    let shell = bailiwick_sandbox::Program::new("/bin/sh".parse().expect("a path"), vec![], vec![]);
    let compiled = bailiwick_sandbox::Compiled::new(
        &bed.host,
        &session,
        &policy,
        &shell,
        bed.skill.path(),
        bed.base,
    );
    assert_eq!(
        compiled.expect_err("refused").code(),
        Code::InvalidSkillsConfig
    );
    assert!(policy.required().contains(&ThreatClass::FsData));
}
