//! Namespaces: the maps of a user namespace, the loopback device and who listens on it, and holding
//! one for the host.

use core::ffi::CStr;

use crate::message::{LISTENER_PORT, Message, Stage};
use crate::plan::Ids;
use crate::socket;
use crate::state::{At, Outcome};
use crate::sys::{self, AT_FDCWD, nr};

/// `CLONE_NEWNS`.
pub const MOUNT: u64 = 0x0002_0000;
/// `CLONE_NEWUTS`.
pub const UTS: u64 = 0x0400_0000;
/// `CLONE_NEWUSER`.
pub const USER: u64 = 0x1000_0000;
/// `CLONE_NEWPID`.
pub const PID: u64 = 0x2000_0000;
/// `CLONE_NEWNET`.
pub const NETWORK: u64 = 0x4000_0000;

/// Maps one user and one group to themselves in this process's fresh user namespace.
pub fn map_ids(uid: u32, gid: u32) -> sys::Result<()> {
    // Without this the kernel refuses a group map from a process without privileges.
    put(c"/proc/self/setgroups", b"deny")?;
    let mut line = [0; 32];
    put(c"/proc/self/uid_map", identity_line(uid, &mut line))?;
    put(c"/proc/self/gid_map", identity_line(gid, &mut line))
}

/// Makes namespaces and holds them until the host closes the socket. A user namespace that the host
/// does not map itself gets the map of these.
pub fn hold(namespaces: u64, mapped: Option<Ids>) -> Outcome<()> {
    sys::numbers(nr::UNSHARE, namespaces as usize, 0, 0, 0).at(Stage::Namespaces)?;
    if let Some(Ids { uid, gid }) = mapped {
        map_ids(uid, gid).at(Stage::IdMap)?;
    }
    stay(&[]);
    Ok(())
}

/// Says that what the host wants held is there, and waits until it closes the socket.
pub fn stay(descriptors: &[i32]) {
    socket::tell(Message::Holding, descriptors);
    let mut byte = [0];
    let _ = sys::read(socket::SOCKET, &mut byte);
}

/// Joins the namespace that a descriptor names; the kernel refuses one of another kind.
pub fn join(descriptor: i32, kind: u64) -> sys::Result<()> {
    sys::numbers(nr::SETNS, descriptor as usize, kind as usize, 0, 0).map(|_| ())
}

/// Brings the loopback device of this network namespace up.
pub fn raise_loopback() -> sys::Result<()> {
    const AF_INET: usize = 2;
    const SOCK_DGRAM_CLOEXEC: usize = 2 | 0o2_000_000;
    const SIOCSIFFLAGS: usize = 0x8914;
    const IFF_UP: u8 = 1;
    let socket = sys::numbers(nr::SOCKET, AF_INET, SOCK_DGRAM_CLOEXEC, 0, 0)?;
    let mut request = [0_u8; 40];
    request[..2].copy_from_slice(b"lo");
    request[16] = IFF_UP;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the request is an `ifreq` of 40 bytes that the kernel only reads.
    let raised = unsafe {
        sys::call(
            nr::IOCTL,
            [socket, SIOCSIFFLAGS, request.as_ptr() as usize, 0, 0, 0],
        )
    };
    sys::close(socket as i32);
    raised.map(|_| ())
}

/// Listens on the loopback device. The socket stays in this namespace, whoever holds it.
pub fn listen() -> sys::Result<i32> {
    const AF_INET: u16 = 2;
    const SOCK_STREAM_CLOEXEC: usize = 1 | 0o2_000_000;
    /// As many may wait until the host has begun to answer, or while it answers others.
    const BACKLOG: usize = 1024;
    let socket = sys::numbers(nr::SOCKET, AF_INET.into(), SOCK_STREAM_CLOEXEC, 0, 0)?;
    let mut address = [0_u8; 16];
    address[..2].copy_from_slice(&AF_INET.to_ne_bytes());
    address[2..4].copy_from_slice(&LISTENER_PORT.to_be_bytes());
    address[4..8].copy_from_slice(&[127, 0, 0, 1]);
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the address is a `sockaddr_in` of 16 bytes that the kernel only reads.
    unsafe {
        sys::call(
            nr::BIND,
            [socket, address.as_ptr() as usize, address.len(), 0, 0, 0],
        )
    }?;
    sys::numbers(nr::LISTEN, socket, BACKLOG, 0, 0)?;
    Ok(socket as i32)
}

/// Writes the decimal digits of `number` at `at` and gives the place after them.
pub fn decimal(number: u32, into: &mut [u8], at: usize) -> usize {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = number;
    for place in (at..at + digits).rev() {
        into[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at + digits
}

fn identity_line(id: u32, line: &mut [u8; 32]) -> &[u8] {
    let after = decimal(id, line, 0);
    line[after] = b' ';
    let after = decimal(id, line, after + 1);
    line[after..after + 2].copy_from_slice(b" 1");
    &line[..after + 2]
}

fn put(path: &CStr, content: &[u8]) -> sys::Result<()> {
    const O_WRONLY_CLOEXEC: i32 = 1 | 0o2_000_000;
    let file = sys::openat(AT_FDCWD, path, O_WRONLY_CLOEXEC, 0)?;
    let written = sys::write(file, content);
    sys::close(file);
    written.map(|_| ())
}
