//! What a run is given: its environment and descriptors, and nothing else.

use bailiwick_policy::Net;
use bailiwick_sandbox::{End, spawn};

use crate::bed::{Bed, command, needs, shown, stdout};

#[test]
fn the_environment_is_exactly_what_was_given() {
    let bed = Bed::new();
    let compiled = bed.compile_for("/usr/bin/env").expect("a policy");
    let command = bailiwick_sandbox::ConfinedCommand::new("env-test", ["/usr/bin/env"])
        .and_then(|command| command.with_env("ONE", "1"))
        .expect("a command");
    let completion = spawn(&compiled, command).expect("a run").wait();
    assert_eq!(stdout(&completion), "ONE=1\n");
}

#[test]
fn no_descriptor_above_two_is_open() {
    let bed = Bed::new();
    // The listing itself has one open.
    let open = bed.prints("exec ls /proc/self/fd");
    assert_eq!(open, "0\n1\n2\n3\n");
}

#[test]
fn no_descriptor_leads_to_the_host() {
    let bed = Bed::new();
    let script = "for f in 0 1 2; do readlink /proc/self/fd/$f; done | cut -d: -f1";
    let open = bed.prints(script);
    assert_eq!(open, "/dev/null\npipe\npipe\n");
}

#[test]
fn a_run_sees_only_its_own_processes_and_mounts() {
    let bed = Bed::new();
    assert_eq!(
        bed.prints("echo /proc/[0-9]*; cat /proc/1/environ 2>/dev/null | wc -c"),
        "/proc/1 /proc/2\n0\n"
    );
    let mounts = bed.prints("cut -d' ' -f5 /proc/self/mountinfo | sort");
    assert!(
        !mounts.contains("/sys") && !mounts.contains("/home"),
        "{mounts}"
    );
}

#[test]
fn a_run_has_no_privilege_and_no_way_to_one() {
    let bed = Bed::new();
    let status = bed.prints("grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups)' /proc/self/status");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(
            status.contains(&format!("{set}:\t0000000000000000")),
            "{status}"
        );
    }
    assert!(
        status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"),
        "{status}"
    );
}

#[test]
fn signals_start_at_their_defaults_and_unblocked() {
    let bed = Bed::new();
    let status = bed.prints("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
    assert_eq!(
        status,
        "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
    );
}

#[test]
fn no_socket_can_be_made_without_a_network() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let completion = Bed::new().python("import socket; socket.socket(socket.AF_INET)");
    assert_eq!(completion.end, End::Exited(1), "{}", shown(&completion));
    assert!(
        shown(&completion).contains("PermissionError"),
        "{}",
        shown(&completion)
    );
}

#[test]
fn a_loopback_network_is_the_runs_own() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let host = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = host.local_addr().expect("an address").port();
    let program = format!(
        "import socket\n\
         s = socket.create_server(('127.0.0.1', 0))\n\
         c = socket.create_connection(s.getsockname()); s.accept(); print('own')\n\
         try: socket.create_connection(('127.0.0.1', {port}), 2)\n\
         except OSError: print('not the host')\n"
    );
    let completion = Bed::new().networked(Net::Loopback).python(&program);
    assert_eq!(
        stdout(&completion),
        "own\nnot the host\n",
        "{}",
        shown(&completion)
    );
}

#[test]
fn a_network_that_is_not_built_is_refused_and_not_ignored() {
    let error = Bed::new()
        .networked(Net::Full)
        .compile()
        .expect_err("refused");
    assert_eq!(error.code(), bailiwick_core::Code::InvalidSkillsConfig);
    let command = command(&["/bin/true"]);
    assert!(spawn(&Bed::new().compile().expect("a policy"), command).is_ok());
}
