//! What the attempts are aimed at: the host's files, sockets, descriptors and a process of its own.

use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bailiwick_sandbox::selftest::attack_program;
use rustix::fs::XattrFlags;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use tempfile::{NamedTempFile, TempDir};

use super::notation::Structures;
use crate::bed::open_folder;

/// The host's own things, until they are dropped.
pub(super) struct Targets {
    folder: TempDir,
    /// The program that makes calls, where the run finds it too.
    pub(super) program: TempDir,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    listeners: Vec<UnixListener>,
    datagram: UnixDatagram,
    leaked: [OwnedFd; 3],
    shared: NamedTempFile,
    temporary: NamedTempFile,
}

/// Whose targets an attempt is aimed at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    /// Those of a run.
    Confined,
    /// Those of the same attempt without confinement, which may be spoiled.
    Control,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Confined => "confined",
            Self::Control => "control",
        }
    }
}

impl Targets {
    pub(super) fn new() -> Self {
        let (folder, program) = (open_folder(), open_folder());
        put(&program.path().join("attack"), attack_program(), 0o755);
        let mut listeners = vec![listen(&folder.path().join("socket"))];
        for side in [Side::Confined, Side::Control] {
            prepare(&folder.path().join(side.name()));
            let grants = folder.path().join(format!("{}-grants", side.name()));
            put_grants(&grants);
            listeners.push(listen(&grants.join("ro/socket")));
        }
        let name = abstract_name(folder.path());
        let address = SocketAddr::from_abstract_name(name).expect("an address");
        listeners.push(UnixListener::bind_addr(&address).expect("a listener"));
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let leaked = leak(folder.path(), &tcp);
        // The leaked connection is known.
        tcp.accept().expect("it is there");
        Self {
            victim: victim(&program, &folder.path().join("confined")),
            datagram: UnixDatagram::bind(folder.path().join("datagram")).expect("a socket"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a socket"),
            shared: NamedTempFile::new_in("/dev/shm").expect("shared memory"),
            temporary: NamedTempFile::new_in("/tmp").expect("a file"),
            listeners,
            folder,
            program,
            tcp,
            leaked,
        }
    }

    /// Returns the folder of one side, which is not granted.
    pub(super) fn place(&self, side: Side) -> std::path::PathBuf {
        self.folder.path().join(side.name())
    }

    /// Returns the folder that holds the granted ones.
    pub(super) fn grants(&self, side: Side) -> std::path::PathBuf {
        self.folder.path().join(format!("{}-grants", side.name()))
    }

    /// Says what has reached a socket of the host's since the last time.
    pub(super) fn heard(&self) -> Vec<&'static str> {
        let mut heard = Vec::new();
        let (mut bytes, wait) = ([0; 16], "a socket can be made not to wait");
        self.tcp.set_nonblocking(true).expect(wait);
        self.udp.set_nonblocking(true).expect(wait);
        self.datagram.set_nonblocking(true).expect(wait);
        if self.tcp.accept().is_ok() {
            heard.push("tcp");
        }
        if self.udp.recv(&mut bytes).is_ok() {
            heard.push("udp");
        }
        if self.datagram.recv(&mut bytes).is_ok() {
            heard.push("datagram");
        }
        for listener in &self.listeners {
            listener.set_nonblocking(true).expect(wait);
            if listener.accept().is_ok() {
                heard.push("unix");
            }
        }
        heard
    }

    /// Puts the targets' names into what is tried.
    pub(super) fn fill(&self, text: &str, side: Side) -> String {
        let show = |path: &Path| path.display().to_string();
        let (place, grants) = (self.place(side), self.grants(side));
        let name = |file: &NamedTempFile| {
            let name = file.path().file_name().expect("a name");
            name.to_string_lossy().into_owned()
        };
        let pid = u64::from(self.victim.id());
        let port = self.tcp.local_addr().expect("an address").port();
        let [file, folder, socket] = &self.leaked;
        let abstract_name = abstract_name(self.folder.path());
        let values = [
            ("secret", show(&place.join("secret"))),
            ("movable", show(&place.join("movable"))),
            ("link", show(&place.join("link"))),
            ("place", show(&place)),
            ("ro", show(&grants.join("ro"))),
            ("rw", show(&grants.join("rw"))),
            ("program", show(&self.program.path().join("attack"))),
            ("pid", pid.to_string()),
            ("pid_word", (pid << 32 | F_OWNER_PID).to_string()),
            ("host", u64::from(std::process::id()).max(pid).to_string()),
            ("uid", rustix::process::getuid().as_raw().to_string()),
            ("text", IMAGE_BASE.to_string()),
            ("fd", file.as_raw_fd().to_string()),
            ("dirfd", folder.as_raw_fd().to_string()),
            ("sockfd", socket.as_raw_fd().to_string()),
            ("shm", show(self.shared.path())),
            ("temporary", name(&self.temporary)),
            ("tcp_hex", format!("{port:04X}")),
            ("abstract_length", (abstract_name.len() + 3).to_string()),
            ("abstract_name", abstract_name),
            ("too_large", TOO_LARGE.to_string()),
        ];
        let mut text = text.to_owned();
        for (name, value) in values {
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        text
    }

    /// The structures that the attempts name.
    pub(super) fn structures(&self, side: Side) -> Structures {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let inet = |port: u16| {
            let mut bytes = AF_INET.to_ne_bytes().to_vec();
            bytes.extend(port.to_be_bytes());
            bytes.extend([127, 0, 0, 1]);
            bytes.resize(16, 0);
            bytes
        };
        let unix = |path: &str| {
            let mut bytes = AF_UNIX.to_ne_bytes().to_vec();
            bytes.extend(path.as_bytes());
            assert!(bytes.len() < 110, "the path of a socket is short: {path}");
            bytes.resize(110, 0);
            bytes
        };
        let mut hidden = AF_UNIX.to_ne_bytes().to_vec();
        hidden.push(0);
        hidden.extend(abstract_name(self.folder.path()).as_bytes());
        let granted = self.grants(side).join("ro/socket").display().to_string();
        let mut rule = 1_u64.to_ne_bytes().to_vec();
        rule.extend(4_i32.to_ne_bytes());
        Structures::from([
            (
                "tcp",
                inet(self.tcp.local_addr().expect("an address").port()),
            ),
            (
                "udp",
                inet(self.udp.local_addr().expect("an address").port()),
            ),
            ("any", inet(0)),
            ("unix", unix(&at("socket"))),
            (
                "unix_alias",
                unix(&format!("/proc/self/root{}", at("socket"))),
            ),
            ("unix_granted", unix(&granted)),
            ("docker", unix("/var/run/docker.sock")),
            ("by_descriptor", unix("/proc/self/fd/3")),
            ("datagram", unix(&at("datagram"))),
            ("abstract", hidden),
            ("rule_on_four", rule),
        ])
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Fills a folder with what the attempts are aimed at.
fn prepare(place: &Path) {
    make(place);
    for folder in ["out", "tmp"] {
        make(&place.join(folder));
    }
    for name in ["secret", "movable"] {
        put(&place.join(name), b"nobody's business", 0o644);
    }
    // A file system without attributes leaves the controls that need one without effect.
    let _ = rustix::fs::setxattr(
        place.join("secret"),
        "user.there",
        b"x",
        XattrFlags::empty(),
    );
    symlink("/etc/hostname", place.join("link")).expect("a link");
}

fn put_grants(grants: &Path) {
    make(grants);
    put(&grants.join("secret"), b"nobody's business", 0o644);
    for name in ["ro", "rw"] {
        let granted = grants.join(name);
        make(&granted);
        for folder in ["folder", "empty"] {
            make(&granted.join(folder));
        }
        for name in ["file", "movable", "gone"] {
            put(&granted.join(name), b"to be read", 0o644);
        }
        put(&granted.join("program"), b"#!/bin/true\n", 0o755);
        put(&granted.join("set-id"), attack_program(), 0o4755);
        let _ = rustix::fs::setxattr(
            granted.join("file"),
            "user.there",
            b"x",
            XattrFlags::empty(),
        );
    }
}

fn make(folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn put(path: &Path, content: &[u8], mode: u32) {
    fs::write(path, content).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

fn listen(path: &Path) -> UnixListener {
    UnixListener::bind(path).expect("a listener")
}

/// A name that no other test has.
fn abstract_name(folder: &Path) -> String {
    let name = folder.file_name().expect("a name");
    format!("bailiwick{}", name.to_string_lossy())
}

/// Descriptors that a careless host left open across `exec`, far above those of a run.
fn leak(folder: &Path, tcp: &TcpListener) -> [OwnedFd; 3] {
    let open = |name: &str| OwnedFd::from(File::open(folder.join(name)).expect("it is there"));
    let address = tcp.local_addr().expect("an address");
    let socket = TcpStream::connect(address).expect("a connection").into();
    [open("confined/secret"), open("confined"), socket].map(|fd: OwnedFd| {
        let leaked = fcntl_dupfd_cloexec(fd.as_fd(), FAR).expect("a descriptor");
        fcntl_setfd(&leaked, FdFlags::empty()).expect("it is inherited");
        leaked
    })
}

/// A process with a secret in its environment and its arguments, whose number no process of a
/// run's namespace has.
fn victim(program: &TempDir, place: &Path) -> Child {
    loop {
        let mut victim = Command::new(program.path().join("attack"))
            .args(["pause", "--secret-of-the-victim"])
            .current_dir(place)
            .env_clear()
            .env("SECRET_OF_THE_VICTIM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a victim");
        if victim.id() > MOST_IN_NAMESPACE {
            // It speaks once it is what it looks like.
            let mut said = [0; 1];
            let stdout = victim.stdout.as_mut().expect("its output");
            stdout.read_exact(&mut said).expect("it speaks");
            return victim;
        }
        let _ = victim.kill();
        let _ = victim.wait();
    }
}

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const F_OWNER_PID: u64 = 1;
/// Where the linker puts the first byte of the attack program.
const IMAGE_BASE: u64 = 0x20_0000;
/// More than the default limit of one file and of the workspace.
const TOO_LARGE: u64 = 65 << 20;
/// A run of the table makes fewer processes.
const MOST_IN_NAMESPACE: u32 = 4096;
const FAR: i32 = 200;
