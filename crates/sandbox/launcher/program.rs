//! The last steps, in the program's own process, up to its execution.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::message::Stage;
use crate::namespace;
use crate::plan::{Execute, MAX_ARGUMENTS, MAX_VARIABLES, NONE, Run, flag};
use crate::state::{self, At, Outcome, Place};
use crate::sys::{self, nr};

/// Runs the last steps. A failure is left in the shared memory for init.
pub extern "C" fn main() -> ! {
    if let Err(failure) = execute(state::run(), state::execute()) {
        state::leave(failure);
    }
    sys::exit(127)
}

fn execute(run: Run<'static>, execute: Execute<'static>) -> Outcome<()> {
    sys::numbers(nr::UMASK, 0o077, 0, 0, 0).at(Stage::Session)?;
    if kept(run, Part::Limits) {
        for (item, limit) in run.limits.iter().enumerate() {
            set_limit(limit.resource, [limit.soft, limit.hard]).at_item(Stage::Limits, item)?;
        }
    }
    let privileged = run.flags & (flag::OWN_UID | flag::MAP_IDS) != 0;
    if kept(run, Part::Capabilities) {
        if privileged {
            forgo_capabilities(run).at(Stage::Capabilities)?;
        }
        if run.flags & flag::OWN_UID != 0 {
            take_identity(run.uid, run.gid).at(Stage::Identity)?;
        }
        keep_capabilities(0).at(Stage::Capabilities)?;
    }
    if kept(run, Part::NoNewPrivileges) {
        no_new_privileges().at(Stage::NoNewPrivileges)?;
    }
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is NUL-terminated and only read.
    unsafe { sys::call(nr::CHDIR, [execute.cwd.as_ptr() as usize, 0, 0, 0, 0, 0]) }
        .at(Stage::WorkingDirectory)?;
    if kept(run, Part::Landlock) {
        state::rulesets().apply()?;
    }
    #[cfg(weaken)]
    end_with_init(run).at(Stage::Process)?;
    let (arguments, environment) = vectors(execute);
    if kept(run, Part::CloseDescriptors) {
        sys::numbers(nr::CLOSE_RANGE, 3, u32::MAX as usize, 0, 0).at(Stage::CloseDescriptors)?;
    } else {
        // Everything of ours closes on execution; this stands for a descriptor of a careless host.
        const F_DUPFD: usize = 0;
        sys::numbers(nr::FCNTL, 0, F_DUPFD, 3, 0).at(Stage::CloseDescriptors)?;
    }
    if kept(run, Part::Seccomp) && !run.filter.is_empty() {
        filter(run.filter).at(Stage::Seccomp)?;
    }
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: path and strings are NUL-terminated, both vectors end in a null pointer, and all of
    // it lives in statics.
    unsafe {
        sys::call(
            nr::EXECVE,
            [
                execute.program.as_ptr() as usize,
                arguments as usize,
                environment as usize,
                0,
                0,
                0,
            ],
        )
    }
    .at(Stage::Execute)
    .map(|_| ())
}

/// A part that the build for weakened tests can leave out.
#[derive(Clone, Copy)]
enum Part {
    Capabilities,
    CloseDescriptors,
    Landlock,
    Limits,
    NoNewPrivileges,
    Seccomp,
}

#[cfg(not(weaken))]
fn kept(_run: Run<'static>, _part: Part) -> bool {
    true
}

#[cfg(weaken)]
fn kept(run: Run<'static>, part: Part) -> bool {
    use crate::plan::skip;
    let bit = match part {
        Part::Capabilities => skip::CAPABILITIES,
        Part::CloseDescriptors => skip::CLOSE_DESCRIPTORS,
        Part::Landlock => skip::LANDLOCK,
        Part::Limits => skip::LIMITS,
        Part::NoNewPrivileges => skip::NO_NEW_PRIVILEGES,
        Part::Seccomp => skip::SECCOMP,
    };
    run.skip & bit == 0
}

/// A weakened run may have no process namespace, whose end would be the program's.
#[cfg(weaken)]
fn end_with_init(run: Run<'static>) -> sys::Result<()> {
    const PR_SET_PDEATHSIG: usize = 1;
    const SIGKILL: usize = 9;
    if run.namespaces & crate::namespace::PID != 0 {
        return Ok(());
    }
    sys::numbers(nr::PRCTL, PR_SET_PDEATHSIG, SIGKILL, 0, 0).map(|_| ())
}

fn set_limit(resource: u32, values: [u64; 2]) -> sys::Result<()> {
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the values are an `rlimit64` of 16 bytes that the kernel only reads.
    unsafe {
        sys::call(
            nr::PRLIMIT64,
            [0, resource as usize, values.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(|_| ())
}

/// Empties the bounding set and locks the ways in which privileges come back.
fn forgo_capabilities(run: Run<'static>) -> sys::Result<()> {
    const PR_SET_SECUREBITS: usize = 28;
    // NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each locked, and KEEP_CAPS locked off.
    const LOCKED: usize = 0b1110_1111;
    // Who comes into a user namespace has all of its set again.
    if run.namespaces & namespace::USER != 0 || run.user != NONE || !IS_BOUNDED.load(Ordering::Relaxed) {
        drop_bounding_set()?;
    }
    sys::numbers(nr::PRCTL, PR_SET_SECUREBITS, LOCKED, 0, 0).map(|_| ())
}

/// Empties the bounding set of a launcher that may, and remembers that it did. Every process of the
/// run inherits it; nothing that a launcher executes gains what the set bounds.
#[cfg(not(weaken))]
pub fn empty_bounding_set() {
    if drop_bounding_set().is_ok() {
        IS_BOUNDED.store(true, Ordering::Relaxed);
    }
}

fn drop_bounding_set() -> sys::Result<()> {
    const PR_CAPBSET_DROP: usize = 24;
    for capability in 0..64 {
        match sys::numbers(nr::PRCTL, PR_CAPBSET_DROP, capability, 0, 0) {
            Ok(_) => {}
            // The first number that the kernel does not know ends the list.
            Err(sys::Errno(crate::EINVAL)) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

static IS_BOUNDED: AtomicBool = AtomicBool::new(false);

fn take_identity(uid: u32, gid: u32) -> sys::Result<()> {
    let (uid, gid) = (uid as usize, gid as usize);
    sys::numbers(nr::SETGROUPS, 0, 0, 0, 0)?;
    sys::numbers(nr::SETRESGID, gid, gid, gid, 0)?;
    sys::numbers(nr::SETRESUID, uid, uid, uid, 0).map(|_| ())
}

/// Empties every capability set of this process but for these, of the first 32.
pub fn keep_capabilities(kept: u32) -> sys::Result<()> {
    const PR_CAP_AMBIENT: usize = 47;
    const CLEAR_ALL: usize = 4;
    const VERSION_3: u32 = 0x2008_0522;
    sys::numbers(nr::PRCTL, PR_CAP_AMBIENT, CLEAR_ALL, 0, 0)?;
    let header = [VERSION_3, 0];
    let sets = [kept, kept, 0, 0, 0, 0];
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: header and sets have the sizes of version 3 and are only read.
    unsafe {
        sys::call(
            nr::CAPSET,
            [header.as_ptr() as usize, sets.as_ptr() as usize, 0, 0, 0, 0],
        )
    }
    .map(|_| ())
}

/// Sets `no_new_privs`, after which no execution gains privileges.
pub fn no_new_privileges() -> sys::Result<()> {
    const PR_SET_NO_NEW_PRIVS: usize = 38;
    sys::numbers(nr::PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0).map(|_| ())
}

fn filter(program: &'static [u8]) -> sys::Result<()> {
    const SECCOMP_SET_MODE_FILTER: usize = 1;
    let program = FilterProgram {
        length: (program.len() / 8) as u16,
        start: program.as_ptr(),
    };
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the structure is a live `sock_fprog`; the kernel reads `length` instructions of eight
    // bytes, which the plan's check has found there.
    unsafe {
        sys::call(
            nr::SECCOMP,
            [
                SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program as usize,
                0,
                0,
                0,
            ],
        )
    }
    .map(|_| ())
}

/// `struct sock_fprog`.
#[repr(C)]
struct FilterProgram {
    length: u16,
    start: *const u8,
}

/// The argument and environment vectors, each ended by a null pointer.
fn vectors(execute: Execute<'static>) -> (*const usize, *const usize) {
    static ARGUMENTS: Place<[usize; MAX_ARGUMENTS as usize + 1]> =
        Place::new([0; MAX_ARGUMENTS as usize + 1]);
    static ENVIRONMENT: Place<[usize; MAX_VARIABLES as usize + 1]> =
        Place::new([0; MAX_VARIABLES as usize + 1]);
    for (slot, text) in ARGUMENTS.borrow().iter_mut().zip(execute.arguments.iter()) {
        *slot = text.as_ptr() as usize;
    }
    for (slot, text) in ENVIRONMENT.borrow().iter_mut().zip(execute.environment.iter()) {
        *slot = text.as_ptr() as usize;
    }
    (ARGUMENTS.borrow().as_ptr(), ENVIRONMENT.borrow().as_ptr())
}
