//! The self-test: one operation after the other that must be denied, with what the kernel said.
//!
//! `control` tries what has a target, without confinement, so that a denial later proves something:
//! it leaves out everything that could harm the machine it runs on.
//!
//! Each line is `NAME VERDICT ERRNO`. The verdict is the operation's own result and nothing else:
//! `open` when the kernel did it, or got so far as to look at arguments that are wrong on purpose;
//! `denied` with the errno otherwise; `absent` when the host named no target for it. The words
//! name the targets: `secret= writable= movable= tcp= udp= unix= abstract= pid=`.

use core::ffi::CStr;

use crate::kernel::{self, Address, Environment, blind, number};
use crate::say::{self, Number};
use crate::sys::{self, Errno, Result, nr, numbers};
use crate::verbs;
use crate::words::Words;

/// Runs every operation; ends with 0 when any was open, since then an attack succeeded.
pub fn run(words: &Words, environment: Environment) -> i32 {
    const CLONE_NEWUSER: usize = 0x1000_0000;
    let mut any_open = false;
    let mut report = reporter(&mut any_open);
    // First: later operations may leave descriptors of their own.
    report(b"descriptors", Some(open_descriptors()));
    targets(words, environment, &mut report);
    surface(&mut report);
    privileges(&mut report);
    // After the privileges: a namespace of its own would give it all of them, inside.
    report(
        b"new-user-namespace",
        Some(numbers(nr::UNSHARE, CLONE_NEWUSER, 0, 0, 0)),
    );
    // Last: what it leaves behind is the host's to find, which alone can tell whether it died.
    let _ = verbs::daemon();
    drop(report);
    i32::from(!any_open)
}

/// Runs the operations that have a target, and leaves the daemon.
pub fn control(words: &Words, environment: Environment) -> i32 {
    let mut any_open = false;
    targets(words, environment, &mut reporter(&mut any_open));
    let _ = verbs::daemon();
    i32::from(!any_open)
}

fn targets(words: &Words, environment: Environment, report: &mut Report<'_>) {
    files(words, environment, report);
    processes(words, report);
    sockets(words, report);
    report(b"environment", Some(foreign_variable(environment)));
}

/// Prints each result, and remembers whether any was open.
fn reporter(any_open: &mut bool) -> impl FnMut(&[u8], Option<Result<usize>>) {
    |name, result| {
        let (verdict, errno): (&[u8], i32) = match result {
            None => (b"absent", 0),
            Some(Ok(_)) => (b"open", 0),
            Some(Err(Errno(errno))) => (b"denied", errno),
        };
        *any_open |= matches!(result, Some(Ok(_)));
        say::line(&[name, b" ", verdict, b" ", &Number::of(errno)]);
    }
}

type Report<'a> = dyn FnMut(&[u8], Option<Result<usize>>) + 'a;

const EPERM: Errno = Errno(1);
const ENOENT: Errno = Errno(2);
const EBADF: Errno = Errno(9);
const ENOEXEC: Errno = Errno(8);
const EFAULT: Errno = Errno(14);
const EINVAL: Errno = Errno(22);

fn files(words: &Words, environment: Environment, report: &mut Report<'_>) {
    let secret = words.value(b"secret");
    let writable = words.value(b"writable");
    let movable = words.value(b"movable");
    let open = |path: &CStr, flags| kernel::open(path, flags).map(|fd| fd as usize);
    report(b"read", secret.map(kernel::read_some));
    report(b"read-alias", words.value(b"alias").map(kernel::read_some));
    report(
        b"write",
        writable.map(|path| open(path, kernel::O_WRONLY | kernel::O_APPEND)),
    );
    report(
        b"truncate-open",
        writable.map(|path| open(path, kernel::O_RDONLY | kernel::O_TRUNC)),
    );
    report(
        b"truncate",
        writable.map(|path| kernel::with_path(number::TRUNCATE, path, [0; 3])),
    );
    report(
        b"link",
        secret.map(|path| kernel::with_paths(number::LINK, path, c"out/linked")),
    );
    report(
        b"rename",
        movable.map(|path| kernel::with_paths(number::RENAME, path, c"out/moved")),
    );
    report(
        b"chmod",
        writable.map(|path| kernel::with_path(number::CHMOD, path, [0o600, 0, 0])),
    );
    report(
        b"chown",
        writable.map(|path| {
            let own = numbers(nr::GETUID, 0, 0, 0, 0)?;
            kernel::with_path(number::CHOWN, path, [own, usize::MAX, 0])
        }),
    );
    report(b"utimens", writable.map(kernel::touch));
    report(b"setxattr", writable.map(kernel::set_attribute));
    report(b"stat", secret.map(kernel::look_at));
    report(b"exec-dropped", Some(execute_dropped(environment)));
}

/// Drops a file and executes it. What is in it is no program, so a kernel that would execute it
/// says so, and nothing runs.
fn execute_dropped(environment: Environment) -> Result<usize> {
    let fd = kernel::open(c"out/dropped", kernel::O_WRONLY | kernel::O_CREAT)?;
    let written = sys::write(fd, b"no program");
    sys::close(fd);
    written?;
    match kernel::execute(c"out/dropped", environment) {
        ENOEXEC => Ok(0),
        errno => Err(errno),
    }
}

fn processes(words: &Words, report: &mut Report<'_>) {
    const PTRACE_SEIZE: usize = 0x4206;
    const NICER: usize = 1;
    let pid = words
        .value(b"pid")
        .and_then(|pid| crate::words::parse(pid.to_bytes()));
    report(b"kill", pid.map(|pid| kernel::kill(pid, kernel::SIGURG)));
    report(
        b"ptrace",
        pid.map(|pid| numbers(nr::PTRACE, PTRACE_SEIZE, pid, 0, 0)),
    );
    report(
        b"process-vm-readv",
        pid.map(|pid| match kernel::read_memory(pid) {
            // The other process has no page there; that it was looked at is what counts.
            Err(EFAULT) => Ok(0),
            other => other,
        }),
    );
    report(b"environ", words.value(b"environ").map(kernel::read_some));
    report(b"prlimit", pid.map(kernel::limit_other));
    report(
        b"setpriority",
        pid.map(|pid| numbers(number::SETPRIORITY, 0, pid, NICER, 0)),
    );
    report(b"sched-setaffinity", pid.map(kernel::pin_other));
}

fn sockets(words: &Words, report: &mut Report<'_>) {
    const LOCALHOST: [u8; 4] = [127, 0, 0, 1];
    const MSG_FASTOPEN: usize = 0x2000_0000;
    const MPTCP: usize = 262;
    let number = |key: &[u8]| {
        let port = crate::words::parse(words.value(key)?.to_bytes())?;
        u16::try_from(port).ok()
    };
    let port = |key: &[u8]| Some(Address::internet(LOCALHOST, number(key)?));
    let stream = |domain, protocol, address: &Address| {
        kernel::socket(domain, 1, protocol).and_then(|fd| kernel::connect(fd, address))
    };
    let tcp = port(b"tcp");
    let tcp = tcp.as_ref();
    report(b"tcp-connect", tcp.map(|address| stream(2, 0, address)));
    report(
        b"mptcp-connect",
        tcp.map(|address| stream(2, MPTCP, address)),
    );
    report(
        b"tcp-fastopen",
        tcp.map(|address| {
            kernel::socket(2, 1, 0).and_then(|fd| kernel::send_to(fd, MSG_FASTOPEN, address))
        }),
    );
    report(
        b"udp-send",
        port(b"udp")
            .as_ref()
            .map(|address| kernel::socket(2, 2, 0).and_then(|fd| kernel::send_to(fd, 0, address))),
    );
    report(b"host-network", number(b"tcp").map(find_listener));
    report(
        b"unix-path",
        words
            .value(b"unix")
            .map(|path| stream(1, 0, &Address::unix(path.to_bytes(), false))),
    );
    report(
        b"unix-abstract",
        words
            .value(b"abstract")
            .map(|name| stream(1, 0, &Address::unix(name.to_bytes(), true))),
    );
}

/// Looks for a listener of the host's in what the kernel tells of the network, by every name.
fn find_listener(port: u16) -> Result<usize> {
    let mut line = *b"0100007F:0000 00000000:0000 0A";
    for (place, shift) in line[9..13].iter_mut().zip([12, 8, 4, 0]) {
        *place = b"0123456789ABCDEF"[usize::from(port >> shift & 0xf)];
    }
    let names = [
        c"/proc/self/net/tcp",
        c"/proc/thread-self/net/tcp",
        c"/proc/net/tcp",
    ];
    let mut refusal = ENOENT;
    for name in names {
        match kernel::holds(name, &line) {
            Ok(true) => return Ok(0),
            Ok(false) => {}
            Err(errno) => refusal = errno,
        }
    }
    Err(refusal)
}

fn surface(report: &mut Report<'_>) {
    const KEYCTL_GET_KEYRING: usize = 0;
    const SESSION_KEYRING: usize = -3_isize as usize;
    const PTRACE_TRACEME: usize = 0;
    const QUERY_PERSONALITY: usize = 0xffff_ffff;
    const AT_EMPTY_PATH: usize = 0x1000;
    const IPC_CREAT: usize = 0o1000;
    let reached = |result: Result<usize>| match result {
        // The kernel got as far as the arguments, which are wrong on purpose.
        Err(EFAULT | EINVAL) => Ok(0),
        other => other,
    };
    report(b"raw-socket", Some(kernel::socket(2, 3, 1)));
    report(b"packet-socket", Some(kernel::socket(17, 3, 0x0300)));
    report(
        b"ptrace-traceme",
        Some(numbers(nr::PTRACE, PTRACE_TRACEME, 0, 0, 0)),
    );
    report(b"netlink-socket", Some(kernel::socket(16, 3, 0)));
    report(b"vsock-socket", Some(kernel::socket(40, 1, 0)));
    report(b"alg-socket", Some(kernel::socket(38, 5, 0)));
    report(b"bpf", Some(reached(blind(number::BPF, [0; 6]))));
    report(
        b"io-uring",
        Some(reached(blind(number::IO_URING_SETUP, [1, 0, 0, 0, 0, 0]))),
    );
    report(
        b"userfaultfd",
        Some(reached(blind(number::USERFAULTFD, [0x1001, 0, 0, 0, 0, 0]))),
    );
    report(
        b"perf",
        Some(reached(blind(number::PERF_EVENT_OPEN, [0; 6]))),
    );
    report(
        b"keyctl",
        Some(numbers(
            number::KEYCTL,
            KEYCTL_GET_KEYRING,
            SESSION_KEYRING,
            0,
            0,
        )),
    );
    report(
        b"personality",
        Some(numbers(number::PERSONALITY, QUERY_PERSONALITY, 0, 0, 0)),
    );
    report(b"memfd", Some(kernel::nameless_file()));
    report(
        b"execveat",
        Some(reached(blind(
            number::EXECVEAT,
            [0, 0, 0, 0, AT_EMPTY_PATH, 0],
        ))),
    );
    report(b"inotify", Some(numbers(number::INOTIFY_INIT1, 0, 0, 0, 0)));
    report(
        b"shm",
        Some(numbers(number::SHMGET, 0, 4096, IPC_CREAT | 0o600, 0)),
    );
    report(b"clone3", Some(reached(blind(number::CLONE3, [0; 6]))));
    report(b"fsopen", Some(reached(blind(number::FSOPEN, [0; 6]))));
}

/// Looks for a variable of the host's among the run's own.
fn foreign_variable(environment: Environment) -> Result<usize> {
    let is_foreign = |variable: &CStr| {
        !OWN_VARIABLES.iter().any(|name| {
            variable
                .to_bytes()
                .strip_prefix(*name)
                .is_some_and(|rest| rest.starts_with(b"="))
        })
    };
    if environment.iter().any(is_foreign) {
        Ok(0)
    } else {
        Err(ENOENT)
    }
}

/// Looks for a descriptor of the host's.
fn open_descriptors() -> Result<usize> {
    const F_GETFD: usize = 1;
    const LAST: usize = 1023;
    let open = (3..=LAST).any(|fd| numbers(nr::FCNTL, fd, F_GETFD, 0, 0).is_ok());
    if open { Ok(0) } else { Err(EBADF) }
}

/// The names that a run's environment may hold without a grant.
const OWN_VARIABLES: [&[u8]; 10] = [
    b"PATH",
    b"HOME",
    b"TMPDIR",
    b"XDG_CACHE_HOME",
    b"LANG",
    b"PYTHONUTF8",
    b"PYTHONDONTWRITEBYTECODE",
    b"PYTHONPATH",
    b"SKILL_DIR",
    b"SKILL_NAME",
];

fn privileges(report: &mut Report<'_>) {
    const PR_GET_NO_NEW_PRIVS: usize = 39;
    const PR_CAPBSET_READ: usize = 23;
    const CAP_SYS_ADMIN: usize = 21;
    const ROOT: usize = 0;
    let held = |has: Result<bool>| match has {
        Ok(true) => Ok(0),
        Ok(false) => Err(EPERM),
        Err(errno) => Err(errno),
    };
    let no_new = numbers(nr::PRCTL, PR_GET_NO_NEW_PRIVS, 0, 0, 0);
    report(b"new-privileges", Some(held(no_new.map(|set| set == 0))));
    report(
        b"capabilities",
        Some(held(kernel::capabilities().map(|all| all != 0))),
    );
    let bounding = numbers(nr::PRCTL, PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0);
    // Where the host itself lacks the right to empty it, the set is inert without new privileges.
    let reachable = bounding.map(|in_set| in_set == 1 && no_new.is_ok_and(|set| set == 0));
    report(b"bounding-set", Some(held(reachable)));
    report(b"mount", Some(mount_inside()));
    report(
        b"chroot",
        Some(kernel::with_path(number::CHROOT, c".", [0; 3])),
    );
    report(
        b"become-root",
        Some(numbers(nr::SETRESUID, ROOT, ROOT, ROOT, 0)),
    );
}

/// Mounts over a folder that the run made itself.
fn mount_inside() -> Result<usize> {
    kernel::with_path(number::MKDIR, c"out/mounted", [0o700, 0, 0])?;
    kernel::mount_over(c"out/mounted")
}
