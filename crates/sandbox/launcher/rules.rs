//! Landlock: rulesets built from the plan's rules, on the inodes of the finished root, or made by
//! whoever made the template that the root began from.

use core::ffi::CStr;

use crate::message::Stage;
use crate::plan::{Landlock, MAX_LAYERS, NONE, Run};
use crate::state::{self, At, Outcome};
use crate::sys::{self, AT_FDCWD, nr};

/// The rulesets of a run, outermost first.
#[derive(Clone, Copy)]
pub struct Rulesets {
    descriptors: [i32; MAX_LAYERS as usize],
    count: usize,
}

impl Rulesets {
    /// No layer.
    pub const NONE: Self = Self {
        descriptors: [-1; MAX_LAYERS as usize],
        count: 0,
    };

    /// Takes the layers that came with a run's plan, or builds them.
    pub fn of(run: Run<'static>) -> Outcome<Self> {
        if run.rulesets == NONE {
            return Self::build(run.landlock);
        }
        let count = run.landlock.layers as usize;
        let mut rulesets = Self {
            descriptors: [-1; MAX_LAYERS as usize],
            count,
        };
        let first = run.rulesets as usize;
        let came = &state::descriptors()[first..first + count];
        rulesets.descriptors[..count].copy_from_slice(came);
        Ok(rulesets)
    }

    /// Builds every layer.
    pub fn build(plan: Landlock<'static>) -> Outcome<Self> {
        let mut rulesets = Self {
            descriptors: [-1; MAX_LAYERS as usize],
            count: plan.layers as usize,
        };
        for layer in &mut rulesets.descriptors[..plan.layers as usize] {
            *layer = create([plan.handled_fs, plan.handled_net, plan.scoped]).at(Stage::Ruleset)?;
        }
        // The rules of one path follow each other, one for each layer.
        let mut last: Option<(&CStr, i32)> = None;
        for (item, rule) in plan.rules.iter().enumerate() {
            let inode = match last {
                Some((path, inode)) if path == rule.path => inode,
                Some(_) | None => {
                    let inode = sys::openat(AT_FDCWD, rule.path, O_PATH_CLOEXEC, 0)
                        .at_item(Stage::Ruleset, item)?;
                    // The one before stays open until the program closes everything.
                    last = Some((rule.path, inode));
                    inode
                }
            };
            let ruleset = rulesets.descriptors[rule.layer as usize];
            add(ruleset, inode, rule.access).at_item(Stage::Ruleset, item)?;
        }
        Ok(rulesets)
    }

    /// The layers as descriptors, outermost first.
    pub fn descriptors(&self) -> &[i32] {
        &self.descriptors[..self.count]
    }

    /// Applies every layer to this process. Needs `no_new_privs`.
    pub fn apply(&self) -> Outcome<()> {
        for (item, ruleset) in self.descriptors().iter().enumerate() {
            sys::numbers(nr::LANDLOCK_RESTRICT_SELF, *ruleset as usize, 0, 0, 0)
                .at_item(Stage::Landlock, item)?;
        }
        Ok(())
    }
}

fn create(attributes: [u64; 3]) -> sys::Result<i32> {
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the attributes are a `landlock_ruleset_attr` of 24 bytes that the kernel only reads;
    // an older kernel accepts the longer form when what it does not know is zero.
    let ruleset = unsafe {
        sys::call(
            nr::LANDLOCK_CREATE_RULESET,
            [
                attributes.as_ptr() as usize,
                size_of_val(&attributes),
                0,
                0,
                0,
                0,
            ],
        )
    }?;
    Ok(ruleset as i32)
}

fn add(ruleset: i32, inode: i32, access: u64) -> sys::Result<()> {
    const LANDLOCK_RULE_PATH_BENEATH: usize = 1;
    let rule = PathBeneath { access, inode };
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the rule is a live `landlock_path_beneath_attr` that the kernel only reads.
    unsafe {
        sys::call(
            nr::LANDLOCK_ADD_RULE,
            [
                ruleset as usize,
                LANDLOCK_RULE_PATH_BENEATH,
                &raw const rule as usize,
                0,
                0,
                0,
            ],
        )
    }
    .map(|_| ())
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    access: u64,
    inode: i32,
}

const O_PATH_CLOEXEC: i32 = 0o10_000_000 | 0o2_000_000;
