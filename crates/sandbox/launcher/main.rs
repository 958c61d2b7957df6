//! Starts one confined program, or tries what this machine can do.
//!
//! The host starts this program with a socket as standard input. Three processes take part in a
//! run: this launcher, which stays outside and waits; the init of the run's namespaces ([`init`]);
//! and the program ([`program`]). The three share memory until the program is executed, so that
//! none of them copies the others.
//!
//! A run is told in two plans: the first says how its namespaces are made, the second what is
//! executed in them. A host can send the first long before the second.

#![no_std]
#![no_main]

mod init;
mod message;
mod namespace;
mod plan;
mod probe;
mod program;
mod root;
mod rules;
mod socket;
mod state;
mod sys;
mod template;

use message::Stage;
use plan::{NONE, Plan, Run};
use state::{At, Outcome};
use sys::nr;

/// The entry point.
///
/// # Safety
///
/// Called once by the kernel, through `_start`.
pub unsafe extern "C" fn entry(_stack: *const usize) -> ! {
    match launch() {
        Ok(()) => sys::exit(0),
        Err(failure) => {
            socket::tell(failure.message(), &[]);
            sys::exit(1)
        }
    }
}

/// Says that the launcher broke, and where it was.
pub fn on_panic() {
    socket::tell(state::interrupted().message(), &[]);
}

fn launch() -> Outcome<()> {
    socket::settle().at(Stage::Receive)?;
    // What depends on no plan is done while the host still writes it.
    fresh_session().at(Stage::Session)?;
    // A weakened run may be one that keeps it.
    #[cfg(not(weaken))]
    program::empty_bounding_set();
    match socket::receive_plan()? {
        Plan::Run(run) => start(run),
        Plan::Execute(_) => Err(socket::out_of_turn()),
        Plan::HoldTemplate(plan) => template::hold(plan),
        Plan::HoldUserNamespace => namespace::hold(namespace::USER, None),
        Plan::HoldNetworkNamespace(None) => namespace::hold(namespace::NETWORK, None),
        Plan::HoldNetworkNamespace(inside) => {
            namespace::hold(namespace::USER | namespace::NETWORK, inside)
        }
        Plan::Probe(trials) => probe::run(trials),
    }
}

/// Joins what the run joins and starts init; then waits for its end, which is the end of the run.
fn start(run: Run<'static>) -> Outcome<()> {
    state::set_run(run);
    let descriptors = state::descriptors();
    for (item, procs) in descriptors.iter().take(run.cgroups as usize).enumerate() {
        sys::write(*procs, b"0").at_item(Stage::Cgroup, item)?;
    }
    for (joined, kind, stage) in [
        (run.user, namespace::USER, Stage::Network),
        (run.network, namespace::NETWORK, Stage::Network),
        (run.template, namespace::MOUNT, Stage::Template),
    ] {
        if joined != NONE {
            namespace::join(descriptors[joined as usize], kind).at(stage)?;
        }
    }
    let child = state::spawn_init(run.namespaces as usize, init::main).at(Stage::Namespaces)?;
    socket::keep_only_socket();
    let _ = sys::numbers(nr::WAIT4, child as usize, 0, 0, 0);
    Ok(())
}

/// Forgets the host's signal dispositions and mask, its session and its terminal.
fn fresh_session() -> sys::Result<()> {
    const SIG_SETMASK: usize = 2;
    const MASK_BYTES: usize = 8;
    let default = [0_usize; 4];
    for signal in 1..=64_usize {
        // Two signals cannot be changed and say so; there is nothing to reset for them.
        // JUSTIFICATION: see `sys::call`.
        // SAFETY: `default` is a `sigaction` of 32 bytes that the kernel only reads.
        let _ = unsafe {
            sys::call(
                nr::RT_SIGACTION,
                [signal, default.as_ptr() as usize, 0, MASK_BYTES, 0, 0],
            )
        };
    }
    let empty = 0_u64;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the mask is eight live bytes that the kernel only reads.
    unsafe {
        sys::call(
            nr::RT_SIGPROCMASK,
            [SIG_SETMASK, &raw const empty as usize, 0, MASK_BYTES, 0, 0],
        )
    }?;
    sys::numbers(nr::SETSID, 0, 0, 0, 0).map(|_| ())
}

/// The errno for a plan that cannot be right.
pub const EINVAL: i32 = 22;
