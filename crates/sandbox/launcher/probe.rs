//! Tries sets of namespaces, each in a process of its own, and reports the first step that fails.

use crate::message::{Message, Stage};
use crate::namespace;
use crate::plan::{List, Trial};
use crate::root;
use crate::socket;
use crate::state::{At, Failure, Outcome};
use crate::sys::{self, nr};

/// Runs every trial and reports it.
pub fn run(trials: List<'static, Trial>) -> Outcome<()> {
    const SIGCHLD: usize = 17;
    for (item, trial) in trials.iter().enumerate() {
        let report = |stage: Stage, errno: i32| {
            socket::tell(
                Message::Tried {
                    trial: item as u32,
                    stage,
                    errno,
                },
                &[],
            );
        };
        match sys::numbers(nr::CLONE, trial.namespaces as usize | SIGCHLD, 0, 0, 0) {
            Ok(0) => {
                match attempt(trial) {
                    Ok(()) => report(Stage::Execute, 0),
                    Err(Failure { stage, errno, .. }) => report(stage, errno),
                }
                sys::exit(0)
            }
            Ok(child) => {
                let _ = sys::numbers(nr::WAIT4, child, 0, 0, 0);
            }
            Err(sys::Errno(errno)) => report(Stage::Namespaces, errno),
        }
    }
    Ok(())
}

/// What a run does in its namespaces, as far as it can fail for want of the machine's support.
fn attempt(trial: Trial) -> Outcome<()> {
    if trial.namespaces & namespace::USER != 0 {
        namespace::map_ids(trial.uid, trial.gid).at(Stage::IdMap)?;
    }
    if trial.namespaces & namespace::MOUNT != 0 {
        root::private().at(Stage::Private)?;
        root::stage_root().at(Stage::Tmpfs)?;
        if trial.namespaces & namespace::PID != 0 {
            root::mount_proc(c".").at(Stage::Proc)?;
        }
    }
    Ok(())
}
