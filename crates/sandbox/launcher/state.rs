//! What the three processes share: buffers, the plan, and how far a launch has come.
//!
//! They share memory but never use it at once: the launcher waits for init from the moment it has
//! started it, and init is suspended until the program is executed or has failed.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use crate::message::{Message, Stage};
use crate::plan::{Execute, MAX_BYTES, MAX_DESCRIPTORS, Run};
use crate::rules::Rulesets;
use crate::sys;

/// Why a launch ended early.
#[derive(Clone, Copy)]
pub struct Failure {
    pub stage: Stage,
    pub errno: i32,
    pub item: u32,
}

impl Failure {
    /// The failure as the host is told of it.
    pub fn message(self) -> Message {
        Message::Failed {
            stage: self.stage,
            errno: self.errno,
            item: self.item,
        }
    }
}

/// What a step gives.
pub type Outcome<T> = Result<T, Failure>;

/// Names the stage in which a system call failed.
pub trait At<T> {
    /// The stage, for a step that exists once.
    fn at(self, stage: Stage) -> Outcome<T>;
    /// The stage and the item, for a step that walks a list.
    fn at_item(self, stage: Stage, item: usize) -> Outcome<T>;
}

impl<T> At<T> for sys::Result<T> {
    fn at(self, stage: Stage) -> Outcome<T> {
        self.at_item(stage, 0)
    }

    fn at_item(self, stage: Stage, item: usize) -> Outcome<T> {
        self.map_err(|errno| Failure {
            stage,
            errno: errno.0,
            item: item as u32,
        })
    }
}

/// A place that one process at a time uses.
pub struct Place<T>(UnsafeCell<T>);

// JUSTIFICATION: a static that is written needs `Sync`, and locks would need a library.
// SAFETY: no process has a second thread, and the processes that share memory take turns as the
// module says.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    /// A place with its first value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The place, to be written.
    #[expect(
        clippy::mut_from_ref,
        reason = "the module's turn-taking makes the borrow exclusive"
    )]
    pub fn borrow(&self) -> &mut T {
        // JUSTIFICATION: see the `Sync` implementation.
        // SAFETY: one process at a time runs here, and no caller keeps the borrow across a call
        // that borrows the same place.
        unsafe { &mut *self.0.get() }
    }
}

/// The bytes of both plans of a run.
static PLANS: [Place<[u8; MAX_BYTES]>; 2] = [const { Place::new([0; MAX_BYTES]) }; 2];
static RECEIVED: AtomicUsize = AtomicUsize::new(0);
/// The descriptors that came with it; a bind's is replaced by its mount.
pub static DESCRIPTORS: Place<[i32; MAX_DESCRIPTORS as usize]> =
    Place::new([-1; MAX_DESCRIPTORS as usize]);
static COUNT: AtomicU32 = AtomicU32::new(0);
static RUN: Place<Option<Run<'static>>> = Place::new(None);
static EXECUTE: Place<Option<Execute<'static>>> = Place::new(None);
static RULESETS: Place<Rulesets> = Place::new(Rulesets::NONE);
static INIT_STACK: Place<Stack> = Place::new(Stack([0; STACK_BYTES]));
static PROGRAM_STACK: Place<Stack> = Place::new(Stack([0; STACK_BYTES]));
static FAILED: AtomicU32 = AtomicU32::new(0);
static ERRNO: AtomicI32 = AtomicI32::new(0);
static ITEM: AtomicU32 = AtomicU32::new(0);

/// Every frame of the launcher is small and nothing recurses.
const STACK_BYTES: usize = 64 << 10;

#[repr(align(16))]
struct Stack([u8; STACK_BYTES]);

impl Stack {
    fn end(&mut self) -> *mut u8 {
        self.0.as_mut_ptr_range().end
    }
}

/// Room for the plan that comes next. A launcher takes two at most, and ends at a third.
pub fn next_plan() -> &'static mut [u8; MAX_BYTES] {
    match PLANS.get(RECEIVED.fetch_add(1, Ordering::Relaxed)) {
        Some(plan) => plan.borrow(),
        None => sys::exit(sys::PANICKED),
    }
}

/// Remembers how many descriptors came.
pub fn set_count(count: u32) {
    COUNT.store(count, Ordering::Relaxed);
}

/// The descriptors that came with the plan.
pub fn descriptors() -> &'static mut [i32] {
    let count = COUNT.load(Ordering::Relaxed) as usize;
    &mut DESCRIPTORS.borrow()[..count]
}

/// Keeps the plan for init and the program.
pub fn set_run(run: Run<'static>) {
    *RUN.borrow() = Some(run);
}

/// The plan of this run. Only called once there is one.
pub fn run() -> Run<'static> {
    match RUN.borrow() {
        Some(run) => *run,
        None => sys::exit(sys::PANICKED),
    }
}

/// Keeps the rulesets for the program's process.
pub fn set_rulesets(rulesets: Rulesets) {
    *RULESETS.borrow() = rulesets;
}

/// The rulesets that the program's process applies.
pub fn rulesets() -> Rulesets {
    *RULESETS.borrow()
}

/// Keeps for the program's process what it executes.
pub fn set_execute(execute: Execute<'static>) {
    *EXECUTE.borrow() = Some(execute);
}

/// What the program's process executes. Only called once that is known.
pub fn execute() -> Execute<'static> {
    match EXECUTE.borrow() {
        Some(execute) => *execute,
        None => sys::exit(sys::PANICKED),
    }
}

/// Starts init in new namespaces.
pub fn spawn_init(namespaces: usize, start: extern "C" fn() -> !) -> sys::Result<i32> {
    // JUSTIFICATION: see `sys::clone_sharing`.
    // SAFETY: the stack is used by init alone, once; `start` does not return.
    unsafe { sys::clone_sharing(namespaces, INIT_STACK.borrow().end(), start) }
}

/// Starts the program's process and waits until it is executed or has failed.
pub fn spawn_program(start: extern "C" fn() -> !) -> sys::Result<i32> {
    const CLONE_VFORK: usize = 0x4000;
    // JUSTIFICATION: see `sys::clone_sharing`.
    // SAFETY: the stack is used by the program's process alone, once; `start` does not return.
    unsafe { sys::clone_sharing(CLONE_VFORK, PROGRAM_STACK.borrow().end(), start) }
}

/// Leaves a failure for the process that waits.
pub fn leave(failure: Failure) {
    ERRNO.store(failure.errno, Ordering::Relaxed);
    ITEM.store(failure.item, Ordering::Relaxed);
    FAILED.store(failure.stage as u32, Ordering::Release);
}

/// The failure that was left, if any.
pub fn left() -> Option<Failure> {
    let stage = Stage::from_number(FAILED.load(Ordering::Acquire))?;
    Some(Failure {
        stage,
        errno: ERRNO.load(Ordering::Relaxed),
        item: ITEM.load(Ordering::Relaxed),
    })
}

/// The failure that a panic is.
pub fn interrupted() -> Failure {
    Failure {
        stage: Stage::Panic,
        errno: 0,
        item: 0,
    }
}
