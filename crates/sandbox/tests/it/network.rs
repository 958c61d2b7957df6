//! What a run learns of the host's network, and what runs in one namespace learn of each other.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;

use bailiwick_policy::{Net, SandboxPolicy, ThreatClass};
use bailiwick_sandbox::{End, Host, LandlockFacts, Layer, spawn};

use bailiwick_testkit::require_sandbox;

use crate::bed::{Bed, command, host, needs, open_folder, shown, stdout};

#[test]
fn the_hosts_listeners_routes_and_neighbours_are_seen_under_no_name() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let port = listener.local_addr().expect("its address").port();
    let folder = open_folder();
    let socket = folder.path().join("socket");
    let _unix = UnixListener::bind(&socket).expect("a socket");
    let listening = format!("0100007F:{port:04X}");
    let named = socket.to_str().expect("text");
    let on_host = |name: &str| {
        std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).expect("the host's own")
    };
    assert!(on_host("tcp").contains(&listening) && on_host("unix").contains(named));

    for net in [Net::None, Net::Loopback] {
        let bed = Bed::new().networked(net.clone());
        for process in ["self", "thread-self", "1", "2"] {
            let read = |name: &str| {
                let script = format!("cat /proc/{process}/net/{name} 2>/dev/null || echo refused");
                bed.prints(&script)
            };
            // A title at most, or the refusal to look at init.
            for name in ["tcp", "tcp6", "udp", "route", "arp"] {
                let seen = read(name);
                assert!(
                    seen.lines().count() <= 1,
                    "{net:?} {process} {name}: {seen}"
                );
            }
            assert!(!read("unix").contains(named), "{net:?} {process}");
            let devices = read("dev");
            let real = on_host("dev");
            let real = real.lines().skip(2).filter_map(|line| line.split_once(':'));
            for (device, _) in real.filter(|(device, _)| device.trim().starts_with('e')) {
                assert!(
                    !devices.contains(device.trim()),
                    "{net:?} {process}: {devices}"
                );
            }
        }
        let title = bed.prints("cat /proc/self/net/tcp");
        assert!(title.contains("local_address"), "it can be read: {title}");
        let short = bed.prints("cat /proc/net/tcp 2>/dev/null || echo absent");
        assert_eq!(short, "absent\n");
    }
}

#[test]
fn every_run_has_a_network_namespace_that_is_not_the_hosts() {
    for net in [Net::None, Net::Loopback] {
        let completion = Bed::new()
            .networked(net)
            .script("readlink /proc/self/ns/net");
        assert!(completion.layers.is_in_force(Layer::NetworkNamespace));
        let own = std::fs::read_link("/proc/thread-self/ns/net").expect("the host's");
        let theirs = stdout(&completion);
        assert!(theirs.starts_with("net:"), "{}", shown(&completion));
        assert_ne!(theirs.trim(), own.to_str().expect("text"));
    }
}

#[test]
fn a_namespace_is_shared_only_where_something_else_parts_the_runs() {
    let namespace = |host: Host| {
        let mut bed = Bed::on(host);
        bed.policy = ThreatClass::ALL
            .into_iter()
            .fold(bed.policy, SandboxPolicy::without_requirement);
        bed.prints("readlink /proc/self/ns/net")
    };
    let scoped = host().clone().without(Layer::Seccomp);
    let filtered = host().clone().without(Layer::Landlock);
    let neither = scoped.clone().without(Layer::Landlock);
    let shared = namespace(host().clone());
    let abi = host().layers().landlock().map(LandlockFacts::abi);
    assert_eq!(namespace(scoped) == shared, abi >= Some(6));
    // An ordinary user's runs have one of their own there, and keep their Unix sockets.
    let privileged = host().layers().is_in_force(Layer::RunUid);
    assert_eq!(namespace(filtered) == shared, privileged);
    assert_ne!(namespace(neither), shared);
}

#[test]
fn runs_that_share_an_empty_namespace_do_not_reach_each_other() {
    const EPERM: &str = "1\n";
    // Landlock's scope is what parts them.
    let facts = host().layers().landlock();
    let scoped = facts.is_some_and(|facts| facts.abi() >= 6);
    let scoped = scoped.then_some(()).ok_or("Landlock's scope");
    if !needs("/usr/bin/python3") || !require_sandbox(scoped) {
        return;
    }
    let name = format!("bailiwick-{}", std::process::id());
    let python = |program: &str| {
        let bed = Bed::new();
        let words = ["/usr/bin/python3", "-B", "-c", program];
        let compiled = bed.compile_for("/usr/bin/python3").expect("a policy");
        spawn(&compiled, command(&words)).expect("a run")
    };
    let listening = python(&format!(
        "import socket, time\n\
         s = socket.socket(socket.AF_UNIX); s.bind('\\0{name}'); s.listen(); time.sleep(60)"
    ));
    let canceller = listening.canceller();
    // Until the name is there the answer is that nobody listens.
    let reaching = python(&format!(
        "import errno, socket, time\n\
         end = time.monotonic() + 30\n\
         while time.monotonic() < end:\n\
         \x20   s = socket.socket(socket.AF_UNIX)\n\
         \x20   answer = s.connect_ex('\\0{name}')\n\
         \x20   if answer != errno.ECONNREFUSED: break\n\
         \x20   time.sleep(0.01)\n\
         print(answer)"
    ))
    .wait();
    canceller.cancel();
    assert_eq!(listening.wait().end, End::Cancelled);
    assert_eq!(stdout(&reaching), EPERM, "{}", shown(&reaching));
}
