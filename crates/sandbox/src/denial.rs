//! What the host itself saw refused.

use bailiwick_policy::LimitAxis;
use serde::Serialize;

/// One refusal that the host observed.
///
/// Only what was seen is listed; nothing is concluded from what a program printed. Most refusals
/// of Landlock, of the filter and of the root are seen by the program alone.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Denial {
    /// The layer that refused: `cgroup`, `rlimit`, `scratch`, `seccomp`, or the `host` itself.
    pub layer: &'static str,
    /// What was attempted.
    pub access: String,
    /// What it was attempted on.
    pub object: String,
    /// How often, where the kernel counts.
    pub count: u64,
    /// The line of the policy that would allow it.
    pub hint: String,
}

impl Denial {
    /// A refusal at a limit.
    pub(crate) fn at_limit(axis: LimitAxis, layer: &'static str, count: u64, amount: u64) -> Self {
        Self {
            layer,
            access: format!("exceed {}", axis.describe()),
            object: format!("limit {axis} = {}", axis.show(amount)),
            count,
            hint: format!("raise `{axis}` under `[limits]`"),
        }
    }

    /// A system call for which the filter kills.
    pub(crate) fn bad_system_call() -> Self {
        Self {
            layer: "seccomp",
            access: "make a system call".to_owned(),
            object: "of a foreign architecture".to_owned(),
            count: 1,
            hint: "no policy allows it; use a program built for this architecture".to_owned(),
        }
    }
}
