//! Starts one confined program, or tries what this machine can do.
//!
//! The host starts this program with a socket as standard input and the run's pipes as standard
//! output and error. Three processes take part in a run: this launcher, which stays outside and
//! waits; the init of the run's namespaces ([`init`]); and the program ([`program`]). The three
//! share memory until the program is executed, so that none of them copies the others.

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

use message::Stage;
use plan::{NONE, Plan, Run};
use state::{At, Failure, Outcome};
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
    let bytes = socket::receive_plan()?;
    let plan = Plan::decode(bytes).map_err(|error| Failure {
        stage: Stage::Plan,
        errno: EINVAL,
        item: error as u32,
    })?;
    if plan.descriptors() as usize != state::descriptors().len() {
        return Err(Failure {
            stage: Stage::Plan,
            errno: EINVAL,
            item: 0,
        });
    }
    match plan {
        Plan::Run(run) => start(run),
        Plan::HoldUserNamespace => namespace::hold(namespace::USER),
        Plan::HoldNetworkNamespace => namespace::hold(namespace::NETWORK),
        Plan::Probe(trials) => probe::run(trials),
    }
}

/// Steps 1 to 3 and the birth of init; then waits for its end, which is the end of the run.
fn start(run: Run<'static>) -> Outcome<()> {
    state::set_run(run);
    let descriptors = state::descriptors();
    sys::numbers(nr::DUP3, descriptors[0] as usize, 0, 0, 0).at(Stage::Stdio)?;
    fresh_session().at(Stage::Session)?;
    for (item, procs) in descriptors
        .iter()
        .skip(1)
        .take(run.cgroups as usize)
        .enumerate()
    {
        sys::write(*procs, b"0").at_item(Stage::Cgroup, item)?;
    }
    if run.network != NONE {
        let network = descriptors[run.network as usize];
        namespace::join_network(network).at(Stage::Namespaces)?;
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
