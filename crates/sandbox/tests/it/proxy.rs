//! A run to which hosts are granted: the one socket of its network that leads anywhere, and that
//! nothing else does.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;

use bailiwick_policy::{LimitAxis, Net};
use bailiwick_sandbox::{
    Completion, ConfinedChild, End, LISTENER_PORT, Layer, SandboxError, spawn,
};

use crate::bed::{Bed, alive, command, nap, needs, shown, stdout, until, without};

/// A bed whose policy grants one host, which none of these tests reaches.
fn bed() -> Bed {
    let host = "api.example:443".parse().expect("a host");
    Bed::new().networked(Net::to_hosts([host]))
}

fn start(bed: &Bed, program: &str) -> (ConfinedChild, OwnedFd) {
    let mut child = bed.start(&["/usr/bin/python3", "-B", "-c", program]);
    let listener = child.take_listener().expect("a socket that listens");
    assert!(child.take_listener().is_none(), "it is taken once");
    (child, listener)
}

/// Runs Python in a network in which a thread answers every connection with what it was told.
fn run(program: &str) -> Completion {
    let (child, listener) = start(&bed(), program);
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().expect("its address");
    assert_eq!(address, (Ipv4Addr::LOCALHOST, LISTENER_PORT).into());
    // The thread ends with this process: it waits for connections that no longer come.
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || echo(stream?));
        }
        Ok::<_, std::io::Error>(())
    });
    child.wait()
}

fn echo(mut stream: TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    stream.write_all(&byte)
}

/// Connects to the socket of the host and compares what comes back.
const REACH: &str = "\
import errno, os, socket
def reach(word=b'x'):
    with socket.create_connection(('127.0.0.1', 3128), 20) as s:
        s.sendall(word)
        return s.recv(1) == word
def answer(family, kind, address):
    try: s = socket.socket(family, kind)
    except OSError as error: return errno.errorcode[error.errno]
    s.settimeout(20)
    return errno.errorcode.get(s.connect_ex(address), 'connected')
";

#[test]
fn a_run_to_which_hosts_are_granted_reaches_the_socket_that_its_host_was_given() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let completion = run(&format!("{REACH}print(reach(), reach())"));
    assert_eq!(stdout(&completion), "True True\n", "{}", shown(&completion));
    assert!(completion.layers.is_in_force(Layer::NetworkNamespace));
}

#[test]
fn nothing_else_is_reached_from_there() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let local = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let any = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a listener");
    let local = local.local_addr().expect("its address").port();
    let any = any.local_addr().expect("its address").port();
    // The machine's own address, which the system finds without sending anything; one without a
    // network has none, and then nobody's is tried.
    let probe = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let machine = probe
        .connect("192.0.2.1:9")
        .and_then(|()| probe.local_addr())
        .map_or_else(
            |_| "192.0.2.2".to_owned(),
            |address| address.ip().to_string(),
        );
    let completion = run(&format!(
        "{REACH}
I, S, D = socket.AF_INET, socket.SOCK_STREAM, socket.SOCK_DGRAM
print(answer(I, S, ('127.0.0.1', {local})), answer(I, S, ('127.0.0.1', {any})))
print(answer(I, S, ('127.0.0.1', 53)), answer(I, S, ('127.0.0.53', 53)))
print(answer(I, S, ('{machine}', {any})), answer(I, S, ('192.0.2.1', 80)))
print(answer(I, S, ('169.254.169.254', 80)))
print(answer(socket.AF_INET6, S, ('2001:db8::1', 80)))
print(answer(I, D, ('127.0.0.1', 53)), answer(socket.AF_INET6, D, ('::1', 53)))
print(answer(I, socket.SOCK_RAW, ('127.0.0.1', 0)), answer(socket.AF_NETLINK, D, (0, 0)))
try: print(socket.getaddrinfo('localhost.bailiwick.example', 80))
except OSError as error: print(type(error).__name__)
print(reach())
"
    ));
    assert_eq!(
        stdout(&completion),
        "ECONNREFUSED ECONNREFUSED\n\
         ECONNREFUSED ECONNREFUSED\n\
         ENETUNREACH ENETUNREACH\n\
         ENETUNREACH\n\
         ENETUNREACH\n\
         EPERM EPERM\n\
         EPERM EPERM\n\
         gaierror\n\
         True\n",
        "{}",
        shown(&completion)
    );
}

#[test]
fn sockets_of_the_hosts_programs_are_as_far_away_as_without_a_network() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let folder = crate::bed::open_folder();
    let path = folder.path().join("socket");
    let _named = UnixListener::bind(&path).expect("a socket");
    let name = format!("bailiwick-proxied-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name);
    let _abstract = UnixListener::bind_addr(&address.expect("a name")).expect("a socket");
    let program = format!(
        "{REACH}
U = socket.AF_UNIX
print(answer(U, socket.SOCK_STREAM, '{}'))
print(answer(U, socket.SOCK_STREAM, '\\0{name}'))
print(answer(U, socket.SOCK_DGRAM, '\\0{name}'))",
        path.display()
    );
    let proxied = run(&program);
    let loopback = Bed::new().networked(Net::Loopback).python(&program);
    assert_eq!(stdout(&proxied), stdout(&loopback), "{}", shown(&proxied));
    assert_eq!(stdout(&proxied).lines().count(), 3, "{}", shown(&proxied));
    assert!(
        !stdout(&proxied).contains("connected"),
        "{}",
        shown(&proxied)
    );
}

#[test]
fn the_program_holds_no_descriptor_of_the_socket_and_cannot_take_its_place() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let completion = run(&format!(
        "{REACH}
print(sorted(os.listdir('/proc/self/fd'))[:-1])
for address in ('127.0.0.1', '0.0.0.0'):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try: s.bind((address, 3128)); s.listen(); print('listens')
    except OSError as error: print(errno.errorcode[error.errno])
print(reach())
"
    ));
    assert_eq!(
        stdout(&completion),
        "['0', '1', '2']\nEADDRINUSE\nEADDRINUSE\nTrue\n",
        "{}",
        shown(&completion)
    );
}

#[test]
fn the_socket_is_of_the_run_alone() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let program = format!("{REACH}print(reach(), os.readlink('/proc/self/ns/net'))");
    let both = [(); 2].map(|()| {
        let program = program.clone();
        thread::spawn(move || stdout(&run(&program)))
    });
    let seen = both.map(|run| run.join().expect("a run"));
    assert!(
        seen.iter().all(|seen| seen.starts_with("True net:")),
        "{seen:?}"
    );
    assert_ne!(seen[0], seen[1], "each has a network of its own");
}

#[test]
fn a_run_that_waits_for_its_socket_ends_when_it_is_cancelled_or_out_of_time() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let word = nap();
    // Nobody accepts, so that the run waits for an answer.
    let waiting = format!("{REACH}print('waits', flush=True); reach(); '{word}'");
    let (child, listener) = start(&bed(), &waiting);
    until("it runs", || alive(&word) > 0);
    child.canceller().cancel();
    let completion = child.wait();
    assert_eq!(completion.end, End::Cancelled, "{}", shown(&completion));
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive(&word), 0);
    drop(listener);

    let brief = bed().limited(|limits| limits.with_amount(LimitAxis::Wall, 300));
    let (child, _listener) = start(&brief, &waiting);
    let completion = child.wait();
    assert_eq!(completion.end, End::TimedOut, "{}", shown(&completion));
    assert!(completion.confirmed_dead.confirmed);
}

#[test]
fn a_socket_that_nobody_takes_is_closed_with_the_run() {
    let sockets = || {
        let open = fs::read_dir("/proc/self/fd").expect("the descriptors");
        let links = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        let names = links.filter_map(|link| link.into_os_string().into_string().ok());
        names.filter(|name| name.starts_with("socket:")).count()
    };
    if !crate::bed::is_alone() {
        crate::bed::succeed_alone(
            &[],
            "proxy::a_socket_that_nobody_takes_is_closed_with_the_run",
        );
        return;
    }
    let bed = bed();
    let once = |bed: &Bed| assert_eq!(bed.script("true").end, End::Exited(0));
    once(&bed);
    let before = sockets();
    once(&bed);
    assert_eq!(sockets(), before);
}

#[test]
fn a_launcher_that_waits_has_the_socket_ready() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = bed();
    let compiled = bed.compile_for("/usr/bin/python3").expect("a policy");
    assert_eq!(compiled.keep_warm(1).expect("a launcher"), 1);
    let program = format!("{REACH}print(reach())");
    let words = ["/usr/bin/python3", "-B", "-c", &program];
    let mut child = spawn(&compiled, command(&words)).expect("a run");
    let listener = child.take_listener().expect("a socket");
    assert!(listener.as_raw_fd() > 2);
    let listener = TcpListener::from(listener);
    let answering = thread::spawn(move || echo(listener.accept()?.0));
    let completion = child.wait();
    assert_eq!(stdout(&completion), "True\n", "{}", shown(&completion));
    answering.join().expect("a thread").expect("an answer");
}

#[test]
fn other_runs_have_no_such_socket() {
    for net in [Net::None, Net::Loopback] {
        let mut child = Bed::new().networked(net).start_script("true");
        assert!(child.take_listener().is_none());
        assert_eq!(child.wait().end, End::Exited(0));
    }
}

#[test]
fn without_a_network_namespace_no_host_can_be_granted() {
    let host = "api.example:443".parse().expect("a host");
    let mut bed = Bed::on(without(&[Layer::NetworkNamespace])).networked(Net::to_hosts([host]));
    let refused = bed.compile().expect_err("refused");
    assert!(
        matches!(refused, SandboxError::Unavailable { .. }),
        "{refused}"
    );
    assert!(!refused.to_string().is_empty());
    // Nor where the policy does not insist on a closed network.
    bed.policy = bed
        .policy
        .without_requirement(bailiwick_policy::ThreatClass::IpNetwork);
    assert!(matches!(
        bed.compile(),
        Err(SandboxError::Unavailable { .. })
    ));
}
