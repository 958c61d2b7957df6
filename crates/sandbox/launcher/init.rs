//! The first process of a run's namespaces: prepares them, starts the program, reaps, reports.
//!
//! Its end is the end of every process of the run: the kernel sees to that, since it is the first
//! of a PID namespace. There is no run without one; the host refuses it.

use crate::message::{Message, Stage, TERMINATE};
use crate::namespace;
use crate::plan::{NONE, Plan, Run, flag};
use crate::program;
use crate::root;
use crate::rules::Rulesets;
use crate::socket::{self, SOCKET};
use crate::state::{self, At, Failure, Outcome};
use crate::sys::{self, AT_FDCWD, nr};

/// Runs a whole life.
pub extern "C" fn main() -> ! {
    let run = state::run();
    match prepare(run) {
        Ok(main) => watch(main),
        Err(failure) => {
            socket::tell(failure.message(), &[]);
            sys::exit(1)
        }
    }
}

/// Namespaces, root, the program's process; then gives up every privilege.
fn prepare(run: Run<'static>) -> Outcome<i32> {
    die_with_launcher().at(Stage::Process)?;
    // The modes of the root's parts are those of the plan.
    sys::numbers(nr::UMASK, 0, 0, 0, 0).at(Stage::Process)?;
    if run.flags & flag::MAP_IDS != 0 {
        namespace::map_ids(run.uid, run.gid).at(Stage::IdMap)?;
    }
    if run.namespaces & namespace::UTS != 0 {
        name_host().at(Stage::Namespaces)?;
    }
    if run.flags & flag::LOOPBACK != 0 {
        namespace::raise_loopback().at(Stage::Loopback)?;
    }
    let listener = if run.flags & flag::LISTEN != 0 {
        Some(namespace::listen().at(Stage::Listen)?)
    } else {
        None
    };
    let own = (run.uid, run.gid);
    if run.template != NONE {
        root::complete(run.root, own)?;
    } else if run.namespaces & namespace::MOUNT != 0 {
        root::enter(run.root, own)?;
    }
    let out = open_out(run)?;
    // The next plan's descriptors take the place of those that these may be.
    state::set_rulesets(Rulesets::of(run)?);
    take_program()?;
    // A launcher that was killed before this process could ask to die with it cannot take it along.
    if socket::is_closed() {
        return Err(Failure {
            stage: Stage::Process,
            errno: EPIPE,
            item: 0,
        });
    }
    const PR_SET_DUMPABLE: usize = 4;
    sys::numbers(nr::PRCTL, PR_SET_DUMPABLE, 0, 0, 0).at(Stage::Process)?;
    let main = state::spawn_program(program::main).at(Stage::Process)?;
    if let Some(failure) = state::left() {
        return Err(failure);
    }
    // Without it a privileged host's init could not terminate a program of another uid; its process
    // namespace keeps it from naming any other process.
    const CAP_KILL: u32 = 1 << 5;
    let kept = if run.flags & flag::OWN_UID != 0 {
        CAP_KILL
    } else {
        0
    };
    program::keep_capabilities(kept).at(Stage::Capabilities)?;
    program::no_new_privileges().at(Stage::NoNewPrivileges)?;
    announce(out, listener)?;
    Ok(main)
}

/// Waits to be told what is executed, and with which standard streams.
fn take_program() -> Outcome<()> {
    let Plan::Execute(execute) = socket::receive_plan()? else {
        return Err(socket::out_of_turn());
    };
    for (number, stream) in state::descriptors().iter().enumerate() {
        sys::numbers(nr::DUP3, *stream as usize, number, 0, 0).at_item(Stage::Stdio, number)?;
    }
    state::set_execute(execute);
    Ok(())
}

/// Sends the host a descriptor of this process, of the directory for results, and of the socket that
/// listens; none of them stays here.
fn announce(out: Option<i32>, listener: Option<i32>) -> Outcome<()> {
    let own = sys::numbers(nr::GETPID, 0, 0, 0, 0).at(Stage::Process)?;
    let own = sys::numbers(nr::PIDFD_OPEN, own, 0, 0, 0).at(Stage::Process)? as i32;
    let mut sent = [own; 3];
    let mut count = 1;
    for descriptor in [out, listener].into_iter().flatten() {
        sent[count] = descriptor;
        count += 1;
    }
    let descriptors = count as u32;
    socket::tell(Message::Started { descriptors }, &sent[..count]);
    socket::keep_only_socket();
    Ok(())
}

/// Reaps and reports until the program has ended. A host that closes its end has died: then
/// everything ends.
fn watch(main: i32) -> ! {
    const POLLIN: u32 = 1;
    let Ok(children) = child_events() else {
        sys::exit(1)
    };
    let mut main = Some(main);
    loop {
        reap(&mut main);
        let Some(program) = main else {
            sys::exit(0);
        };
        // Two `struct pollfd`: the descriptor, and the events in the low half of the second word.
        let mut polled = [SOCKET as u32, POLLIN, children as u32, POLLIN];
        // JUSTIFICATION: see `sys::call`.
        // SAFETY: the array holds two `pollfd` of eight bytes.
        let ready = unsafe {
            sys::call(
                nr::POLL,
                [polled.as_mut_ptr() as usize, 2, usize::MAX, 0, 0, 0],
            )
        };
        if ready.is_err() {
            continue;
        }
        if polled[3] >> 16 != 0 {
            let mut information = [0_u8; 128];
            let _ = sys::read(children, &mut information);
        }
        if polled[1] >> 16 != 0 {
            obey(program);
        }
    }
}

/// Takes one order from the host: terminate the program, or end everything. A word that nobody says
/// and the end of the host end everything too.
fn obey(program: i32) {
    const SIGTERM: usize = 15;
    let mut order = [0];
    if sys::read(SOCKET, &mut order) != Ok(1) || order[0] != TERMINATE {
        sys::exit(0);
    }
    let _ = sys::numbers(nr::KILL, program as usize, SIGTERM, 0, 0);
}

/// Awaits everything that has ended.
fn reap(main: &mut Option<i32>) {
    const WNOHANG: usize = 1;
    loop {
        let mut status = 0_i32;
        let mut usage = [0_u64; 18];
        // JUSTIFICATION: see `sys::call`.
        // SAFETY: status and usage are live and have the sizes of `int` and `struct rusage`.
        let ended = unsafe {
            sys::call(
                nr::WAIT4,
                [
                    usize::MAX,
                    &raw mut status as usize,
                    WNOHANG,
                    usage.as_mut_ptr() as usize,
                    0,
                    0,
                ],
            )
        };
        match ended {
            Ok(0) | Err(_) => return,
            Ok(pid) if Some(pid as i32) == *main => {
                *main = None;
                socket::tell(exited(status, &usage), &[]);
            }
            Ok(_) => {}
        }
    }
}

fn exited(status: i32, usage: &[u64; 18]) -> Message {
    let microseconds =
        |seconds: u64, rest: u64| seconds.saturating_mul(1_000_000).saturating_add(rest);
    Message::Exited {
        status,
        user: microseconds(usage[0], usage[1]),
        system: microseconds(usage[2], usage[3]),
        peak: usage[4],
    }
}

fn die_with_launcher() -> sys::Result<()> {
    const PR_SET_PDEATHSIG: usize = 1;
    const SIGKILL: usize = 9;
    sys::numbers(nr::PRCTL, PR_SET_PDEATHSIG, SIGKILL, 0, 0).map(|_| ())
}

fn name_host() -> sys::Result<()> {
    let name = b"skill";
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: pointer and length are those of a literal that the kernel only reads.
    unsafe {
        sys::call(
            nr::SETHOSTNAME,
            [name.as_ptr() as usize, name.len(), 0, 0, 0, 0],
        )
    }
    .map(|_| ())
}

fn open_out(run: Run<'static>) -> Outcome<Option<i32>> {
    const O_DIRECTORY_CLOEXEC: i32 = 0o200_000 | 0o2_000_000;
    if run.out.is_empty() {
        return Ok(None);
    }
    sys::openat(AT_FDCWD, run.out, O_DIRECTORY_CLOEXEC, 0)
        .at(Stage::Root)
        .map(Some)
}

const EPIPE: i32 = 32;

/// A descriptor that is readable when a child has ended.
fn child_events() -> sys::Result<i32> {
    const SIG_BLOCK: usize = 0;
    const CHILD_ENDED: u64 = 1 << 16;
    const SFD_CLOEXEC: usize = 0o2_000_000;
    let mask = &raw const CHILD_MASK as usize;
    static CHILD_MASK: u64 = CHILD_ENDED;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the mask is a static of eight bytes that the kernel only reads.
    unsafe {
        sys::call(nr::RT_SIGPROCMASK, [SIG_BLOCK, mask, 0, 8, 0, 0])?;
        let events = sys::call(nr::SIGNALFD4, [usize::MAX, mask, 8, SFD_CLOEXEC, 0, 0])?;
        Ok(events as i32)
    }
}
