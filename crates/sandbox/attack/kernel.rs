//! The system calls that the attacks make, with slices and strings instead of pointers.

use core::ffi::{CStr, c_char};

use crate::sys::{self, Errno, Result, call, nr, numbers};

/// Numbers of the x86-64 table that only the attacks use.
pub mod number {
    pub const MMAP: usize = 9;
    pub const RT_SIGACTION: usize = 13;
    pub const SHMGET: usize = 29;
    pub const PAUSE: usize = 34;
    pub const ALARM: usize = 37;
    pub const SOCKET: usize = 41;
    pub const CONNECT: usize = 42;
    pub const SENDTO: usize = 44;
    pub const FORK: usize = 57;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const KILL: usize = 62;
    pub const FLOCK: usize = 73;
    pub const TRUNCATE: usize = 76;
    pub const RENAME: usize = 82;
    pub const MKDIR: usize = 83;
    pub const LINK: usize = 86;
    pub const CHMOD: usize = 90;
    pub const CHOWN: usize = 92;
    pub const CAPGET: usize = 125;
    pub const PERSONALITY: usize = 135;
    pub const SETPRIORITY: usize = 141;
    pub const CHROOT: usize = 161;
    pub const MOUNT: usize = 165;
    pub const SETXATTR: usize = 188;
    pub const SCHED_SETAFFINITY: usize = 203;
    pub const KEYCTL: usize = 250;
    pub const UTIMENSAT: usize = 280;
    pub const INOTIFY_INIT1: usize = 294;
    pub const PERF_EVENT_OPEN: usize = 298;
    pub const PROCESS_VM_READV: usize = 310;
    pub const MEMFD_CREATE: usize = 319;
    pub const BPF: usize = 321;
    pub const EXECVEAT: usize = 322;
    pub const USERFAULTFD: usize = 323;
    pub const STATX: usize = 332;
    pub const IO_URING_SETUP: usize = 425;
    pub const FSOPEN: usize = 430;
    pub const CLONE3: usize = 435;
}

/// Opens for reading.
pub const O_RDONLY: i32 = 0;
/// Opens for writing.
pub const O_WRONLY: i32 = 1;
/// Creates the file.
pub const O_CREAT: i32 = 0o100;
/// Empties the file.
pub const O_TRUNC: i32 = 0o1000;
/// Writes at the end.
pub const O_APPEND: i32 = 0o2000;
/// The working directory.
pub const AT_FDCWD: i32 = -100;
/// Asks the process to look at its sockets; ignored by a process that did not ask.
pub const SIGURG: usize = 23;
/// Ends a process.
pub const SIGKILL: usize = 9;

/// The initial environment.
#[derive(Clone, Copy)]
pub struct Environment(*const *const c_char);

impl Environment {
    /// Takes the environment at its place on the initial stack.
    ///
    /// # Safety
    ///
    /// `place` is the environment vector of the process, ended by a null pointer.
    pub unsafe fn at(place: *const *const c_char) -> Self {
        Self(place)
    }

    /// Iterates over the variables as `NAME=value`.
    pub fn iter(self) -> impl Iterator<Item = &'static CStr> {
        let mut place = self.0;
        core::iter::from_fn(move || {
            // JUSTIFICATION: the vector exists only as pointers.
            // SAFETY: `place` walks the vector and stops at its null; strings live as long as the
            // process.
            unsafe {
                let variable = *place;
                if variable.is_null() {
                    return None;
                }
                place = place.add(1);
                Some(CStr::from_ptr(variable))
            }
        })
    }

    /// Returns the vector for `execve`.
    pub fn as_address(self) -> usize {
        self.0 as usize
    }
}

/// Makes a call whose pointers are null or left invalid on purpose: the kernel must refuse before
/// it looks, and answers `EFAULT` when it does not refuse.
pub fn blind(number: usize, args: [usize; 6]) -> Result<usize> {
    // JUSTIFICATION: system calls have no safe form without a library.
    // SAFETY: callers pass numbers and null pointers only, so the kernel writes nowhere.
    unsafe { call(number, args) }
}

/// Makes a call whose first argument is a path.
pub fn with_path(number: usize, path: &CStr, rest: [usize; 3]) -> Result<usize> {
    let [a, b, c] = rest;
    // JUSTIFICATION: see `blind`.
    // SAFETY: the path is NUL-terminated and only read; the rest are numbers or null.
    unsafe { call(number, [path.as_ptr() as usize, a, b, c, 0, 0]) }
}

/// Makes a call with two paths.
pub fn with_paths(number: usize, from: &CStr, to: &CStr) -> Result<usize> {
    // JUSTIFICATION: see `blind`.
    // SAFETY: both paths are NUL-terminated and only read.
    unsafe {
        call(
            number,
            [from.as_ptr() as usize, to.as_ptr() as usize, 0, 0, 0, 0],
        )
    }
}

/// Opens a path relative to the working directory.
pub fn open(path: &CStr, flags: i32) -> Result<i32> {
    sys::openat(AT_FDCWD, path, flags, 0o755)
}

/// Opens a file and reads up to 4 KiB of it; returns how much there was.
pub fn read_some(path: &CStr) -> Result<usize> {
    let fd = open(path, O_RDONLY)?;
    let mut bytes = [0; 4096];
    let read = sys::read(fd, &mut bytes);
    sys::close(fd);
    read
}

/// Says whether a file holds a text, which is shorter than a hundred bytes.
pub fn holds(path: &CStr, text: &[u8]) -> Result<bool> {
    let fd = open(path, O_RDONLY)?;
    let mut bytes = [0; 4096];
    let mut kept = 0;
    let held = loop {
        match sys::read(fd, &mut bytes[kept..]) {
            Err(errno) => break Err(errno),
            Ok(0) => break Ok(false),
            Ok(more) => {
                let filled = kept + more;
                if bytes[..filled].windows(text.len()).any(|part| part == text) {
                    break Ok(true);
                }
                // The text can begin in this part and end in the next.
                kept = filled.min(text.len() - 1);
                bytes.copy_within(filled - kept..filled, 0);
            }
        }
    };
    sys::close(fd);
    held
}

/// Reads a script of up to 4 KiB, with every blank turned into a NUL and a NUL before each newline.
pub fn read_script(path: &CStr) -> Result<&'static [u8]> {
    static mut SCRIPT: [u8; 8192] = [0; 8192];
    let fd = open(path, O_RDONLY)?;
    let mut raw = [0; 4096];
    let read = sys::read(fd, &mut raw);
    sys::close(fd);
    let read = read?;
    // JUSTIFICATION: words must live as long as the process and there is no allocator.
    // SAFETY: the program has one thread and calls this once, before anything refers to the buffer.
    let script = unsafe { &mut *(&raw mut SCRIPT) };
    let mut used = 0;
    for byte in raw.iter().take(read).chain(b"\n") {
        match byte {
            b' ' | b'\t' | b'\r' => script[used] = 0,
            b'\n' => {
                script[used] = 0;
                used += 1;
                script[used] = b'\n';
            }
            other => script[used] = *other,
        }
        used += 1;
    }
    Ok(&script[..used])
}

/// A socket address of up to 110 bytes.
pub struct Address {
    bytes: [u8; 110],
    length: usize,
}

impl Address {
    /// Returns an IPv4 address and port.
    pub fn internet(ip: [u8; 4], port: u16) -> Self {
        let mut bytes = [0; 110];
        bytes[0] = 2;
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[4..8].copy_from_slice(&ip);
        Self { bytes, length: 16 }
    }

    /// Returns a Unix address: a path, or an abstract name after a leading NUL.
    pub fn unix(name: &[u8], is_abstract: bool) -> Self {
        let mut bytes = [0; 110];
        bytes[0] = 1;
        let start = 2 + usize::from(is_abstract);
        let mut length = start;
        for (place, byte) in bytes.iter_mut().skip(start).zip(name) {
            *place = *byte;
            length += 1;
        }
        Self {
            bytes,
            length: length + usize::from(!is_abstract),
        }
    }
}

/// Makes a socket.
pub fn socket(domain: usize, kind: usize, protocol: usize) -> Result<usize> {
    numbers(number::SOCKET, domain, kind, protocol, 0)
}

/// Connects a socket.
pub fn connect(fd: usize, address: &Address) -> Result<usize> {
    // JUSTIFICATION: see `blind`.
    // SAFETY: the address is live and its length is within it.
    unsafe {
        call(
            number::CONNECT,
            [fd, address.bytes.as_ptr() as usize, address.length, 0, 0, 0],
        )
    }
}

/// Sends one byte to an address.
pub fn send_to(fd: usize, flags: usize, address: &Address) -> Result<usize> {
    const BYTE: [u8; 1] = [b'x'];
    // JUSTIFICATION: see `blind`.
    // SAFETY: buffer and address are live and their lengths are their own.
    unsafe {
        call(
            number::SENDTO,
            [
                fd,
                BYTE.as_ptr() as usize,
                BYTE.len(),
                flags,
                address.bytes.as_ptr() as usize,
                address.length,
            ],
        )
    }
}

/// Lowers the core-dump limit of another process to nothing, which harms nobody.
pub fn limit_other(pid: usize) -> Result<usize> {
    const RLIMIT_CORE: usize = 4;
    let limit = [0_u64; 2];
    // JUSTIFICATION: see `blind`.
    // SAFETY: the new limit is live and only read; no old one is asked for.
    unsafe {
        call(
            nr::PRLIMIT64,
            [pid, RLIMIT_CORE, limit.as_ptr() as usize, 0, 0, 0],
        )
    }
}

/// Pins another process to the first processor.
pub fn pin_other(pid: usize) -> Result<usize> {
    let mask = [1_u64];
    // JUSTIFICATION: see `blind`.
    // SAFETY: the mask is live, of the length given, and only read.
    unsafe {
        call(
            number::SCHED_SETAFFINITY,
            [pid, 8, mask.as_ptr() as usize, 0, 0, 0],
        )
    }
}

/// Reads the first byte of another process's program, which is mapped at the same place as ours.
pub fn read_memory(pid: usize) -> Result<usize> {
    let mut byte = [0_u8; 1];
    let local = [byte.as_mut_ptr() as usize, byte.len()];
    let remote = [read_memory as *const () as usize, byte.len()];
    // JUSTIFICATION: see `blind`.
    // SAFETY: the local vector names one live byte; the remote one is checked by the kernel against
    // the other process.
    unsafe {
        call(
            number::PROCESS_VM_READV,
            [
                pid,
                local.as_ptr() as usize,
                1,
                remote.as_ptr() as usize,
                1,
                0,
            ],
        )
    }
}

/// Asks for the metadata of a path.
pub fn look_at(path: &CStr) -> Result<usize> {
    let mut buffer = [0_u64; 32];
    // JUSTIFICATION: see `blind`.
    // SAFETY: `struct statx` has 256 bytes, which the buffer has; the path is NUL-terminated.
    unsafe {
        call(
            number::STATX,
            [
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                0,
                0x7ff,
                buffer.as_mut_ptr() as usize,
                0,
            ],
        )
    }
}

/// Sets the times of a path to now.
pub fn touch(path: &CStr) -> Result<usize> {
    // JUSTIFICATION: see `blind`.
    // SAFETY: the path is NUL-terminated and only read; null times mean now.
    unsafe {
        call(
            number::UTIMENSAT,
            [AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0],
        )
    }
}

/// Sets an extended attribute of a path.
pub fn set_attribute(path: &CStr) -> Result<usize> {
    let (name, value) = (c"user.attack", [b'x']);
    // JUSTIFICATION: see `blind`.
    // SAFETY: strings are NUL-terminated, the value is live and of the length given.
    unsafe {
        call(
            number::SETXATTR,
            [
                path.as_ptr() as usize,
                name.as_ptr() as usize,
                value.as_ptr() as usize,
                1,
                0,
                0,
            ],
        )
    }
}

/// Returns the effective, permitted and inheritable capabilities, all in one number.
pub fn capabilities() -> Result<u64> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let mut data = [0_u32; 6];
    // JUSTIFICATION: see `blind`.
    // SAFETY: version 3 writes two structures of three words, which the buffer has.
    unsafe {
        call(
            number::CAPGET,
            [
                header.as_ptr() as usize,
                data.as_mut_ptr() as usize,
                0,
                0,
                0,
                0,
            ],
        )
    }?;
    Ok(data.iter().fold(0, |all, word| all | u64::from(*word)))
}

/// Executes a file with no arguments.
pub fn execute(path: &CStr, environment: Environment) -> Errno {
    let arguments = [path.as_ptr() as usize, 0];
    // JUSTIFICATION: see `blind`.
    // SAFETY: path, arguments and environment are live, NUL-terminated and ended by null.
    let result = unsafe {
        call(
            number::EXECVE,
            [
                path.as_ptr() as usize,
                arguments.as_ptr() as usize,
                environment.as_address(),
                0,
                0,
                0,
            ],
        )
    };
    result.err().unwrap_or(Errno(0))
}

/// Mounts an empty file system on a directory.
pub fn mount_over(path: &CStr) -> Result<usize> {
    let kind = c"tmpfs";
    // JUSTIFICATION: see `blind`.
    // SAFETY: every string is NUL-terminated and only read.
    unsafe {
        call(
            number::MOUNT,
            [
                kind.as_ptr() as usize,
                path.as_ptr() as usize,
                kind.as_ptr() as usize,
                0,
                0,
                0,
            ],
        )
    }
}

/// Makes a file without a name.
pub fn nameless_file() -> Result<usize> {
    // JUSTIFICATION: see `blind`.
    // SAFETY: the name is NUL-terminated and only read.
    unsafe {
        call(
            number::MEMFD_CREATE,
            [c"attack".as_ptr() as usize, 0, 0, 0, 0, 0],
        )
    }
}

/// Maps private memory; the address is never used as a reference, only touched.
pub fn map(bytes: usize) -> Result<usize> {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    // JUSTIFICATION: see `blind`.
    // SAFETY: a fresh mapping at an address that the kernel chooses overlaps nothing.
    unsafe {
        call(
            number::MMAP,
            [0, bytes, READ_WRITE, PRIVATE_ANONYMOUS, usize::MAX, 0],
        )
    }
}

/// Writes to every page of a mapping.
pub fn touch_pages(address: usize, bytes: usize) {
    const PAGE: usize = 4096;
    for page in (0..bytes).step_by(PAGE) {
        // JUSTIFICATION: memory counts only once it is written to.
        // SAFETY: the page lies in a mapping made by `map` that nothing else refers to.
        unsafe { ((address + page) as *mut u8).write_volatile(1) };
    }
}

/// Makes a child process that shares nothing; zero in the child.
pub fn fork() -> Result<usize> {
    numbers(number::FORK, 0, 0, 0, 0)
}

/// Waits for any child to end.
pub fn wait() -> Result<usize> {
    numbers(number::WAIT4, usize::MAX, 0, 0, 0)
}

/// Sends a signal.
pub fn kill(pid: usize, signal: usize) -> Result<usize> {
    numbers(number::KILL, pid, signal, 0, 0)
}

/// Sleeps until a signal comes.
pub fn pause() {
    let _ = numbers(number::PAUSE, 0, 0, 0, 0);
}

/// Sleeps for some milliseconds.
pub fn sleep(milliseconds: u64) {
    let time = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
    // JUSTIFICATION: see `blind`.
    // SAFETY: `struct timespec` is two words, which are live and only read; no rest is asked for.
    let _ = unsafe { call(nr::NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Ignores a signal.
pub fn ignore(signal: usize) {
    const SIG_IGN: u64 = 1;
    let action = [SIG_IGN, 0, 0, 0];
    // JUSTIFICATION: see `blind`.
    // SAFETY: the kernel's `struct sigaction` is four words (handler, flags, restorer, mask of
    // eight bytes), live and only read.
    let _ = unsafe {
        call(
            number::RT_SIGACTION,
            [signal, action.as_ptr() as usize, 0, 8, 0, 0],
        )
    };
}
