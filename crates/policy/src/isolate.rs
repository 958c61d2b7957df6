//! How much one call of an isolated tool may use.
//!
//! One table lists the axes; the enum, the names, the accessors, the defaults, the bounds of what a
//! policy file may write and the reasons for them all come from it, so that none can forget one.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::limits::Quantity;
use crate::units::ByteSize;

/// Limits of one call of an isolated tool.
///
/// The time of a call is bounded by `wall` of the [`RunLimits`](crate::RunLimits), which both tiers
/// share. The default is what a call gets without any policy file. The order is pointwise; fuel that
/// is off is above every number.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::IsolateLimits;
///
/// let limits = IsolateLimits::default().with_memory(16 << 20).with_fuel(Some(1_000_000));
/// assert_eq!(limits.memory(), 16 << 20);
/// assert_eq!(limits.fuel(), Some(1_000_000));
/// assert_eq!(limits.host_calls(), 1000);
/// ```
///
/// # Not enforced
///
/// The bounds [`IsolateAxis::least`] and [`IsolateAxis::most`] are those of a policy file; a
/// program that sets a limit by itself is not held to them here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IsolateLimits([u64; IsolateAxis::ALL.len()]);

impl IsolateLimits {
    /// Returns the bound of one axis: bytes for sizes, else a count; [`u64::MAX`] for fuel that is
    /// off.
    pub fn amount(&self, axis: IsolateAxis) -> u64 {
        self.0[axis as usize]
    }

    /// Sets the bound of one axis: bytes for sizes, else a count; [`u64::MAX`] turns fuel off.
    #[must_use]
    pub fn with_amount(mut self, axis: IsolateAxis, amount: u64) -> Self {
        self.0[axis as usize] = amount;
        self
    }

    /// Returns the lower bound of the two on every axis.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self(IsolateAxis::ALL.map(|axis| self.amount(axis).min(other.amount(axis))))
    }

    /// Says whether no axis exceeds that of `ceiling`.
    pub fn is_within(&self, ceiling: &Self) -> bool {
        let mut axes = IsolateAxis::ALL.into_iter();
        axes.all(|axis| self.amount(axis) <= ceiling.amount(axis))
    }

    /// Returns these limits, lowered to a skill's own.
    pub(crate) fn lowered_by(&self, own: &OwnIsolateLimits) -> Self {
        let lower = |axis| own.amount(axis).unwrap_or(u64::MAX).min(self.amount(axis));
        Self(IsolateAxis::ALL.map(lower)).settled()
    }

    /// Returns these limits with no more host calls at one time than there may be at all.
    ///
    /// Only a bound that nobody wrote is lowered here: one that somebody wrote is refused when it
    /// is read.
    pub(crate) fn settled(self) -> Self {
        let concurrent = self.host_calls_concurrent().min(self.host_calls()).max(1);
        self.with_host_calls_concurrent(concurrent)
    }
}

impl Default for IsolateLimits {
    fn default() -> Self {
        Self(IsolateAxis::ALL.map(IsolateAxis::default_amount))
    }
}

impl fmt::Display for IsolateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, axis) in IsolateAxis::ALL.into_iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{axis} {}", axis.show(self.amount(axis)))?;
        }
        Ok(())
    }
}

impl Serialize for IsolateLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(IsolateAxis::ALL.len()))?;
        for axis in IsolateAxis::ALL {
            let amount = self.amount(axis);
            if axis.is_number(amount) {
                map.serialize_entry(axis.as_str(), &amount)?;
            } else {
                map.serialize_entry(axis.as_str(), &axis.show(amount))?;
            }
        }
        map.end()
    }
}

/// What a skill says about its own limits; an axis that is not set is the ceiling's.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnIsolateLimits([Option<u64>; IsolateAxis::ALL.len()]);

impl OwnIsolateLimits {
    pub(crate) fn amount(&self, axis: IsolateAxis) -> Option<u64> {
        self.0[axis as usize]
    }

    #[must_use]
    pub(crate) fn with_amount(mut self, axis: IsolateAxis, amount: u64) -> Self {
        self.0[axis as usize] = Some(amount);
        self
    }
}

/// How the bound of an axis is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum IsolateForm {
    /// A whole number.
    Count,
    /// A whole number, or `"off"`.
    CountOrOff,
    /// A size such as `64MiB`.
    Size,
}

impl Quantity for Option<u64> {
    fn pack(self) -> u64 {
        self.unwrap_or(OFF)
    }

    fn unpack(amount: u64) -> Self {
        (amount != OFF).then_some(amount)
    }
}

/// The least or the most that a policy file may write, and why.
struct Bound {
    amount: u64,
    why: &'static str,
}

macro_rules! isolate_axes {
    ($(
        $axis:ident $get:ident $with:ident $kind:ty, $form:ident, $default:expr,
        least $least:expr, $little:literal,
        most $most:expr, $much:literal,
        $doc:literal;
    )*) => {
        /// One thing that a call of an isolated tool may use only so much of.
        #[expect(
            clippy::exhaustive_enums,
            reason = "a limit that some match forgets would be a limit that is not enforced"
        )]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum IsolateAxis {
            $(#[doc = concat!("Bounds ", $doc, ".")] $axis,)*
        }

        impl IsolateAxis {
            /// Every axis, in the order of the policy file.
            pub const ALL: [Self; [$(stringify!($axis)),*].len()] = [$(Self::$axis),*];

            /// Returns the key of `[limits.isolate]`, used in reports too.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$axis => stringify!($get),)*
                }
            }

            /// Returns the key below `[limits]`, which tells it from a limit of a script.
            pub(crate) const fn qualified(self) -> &'static str {
                match self {
                    $(Self::$axis => concat!("isolate.", stringify!($get)),)*
                }
            }

            /// Says in a few words what the axis bounds.
            pub const fn describe(self) -> &'static str {
                match self {
                    $(Self::$axis => $doc,)*
                }
            }

            pub(crate) const fn form(self) -> IsolateForm {
                match self {
                    $(Self::$axis => IsolateForm::$form,)*
                }
            }

            fn default_amount(self) -> u64 {
                match self {
                    $(Self::$axis => <$kind as Quantity>::pack($default),)*
                }
            }

            fn lower_bound(self) -> Bound {
                match self {
                    $(Self::$axis => Bound { amount: $least, why: $little },)*
                }
            }

            fn upper_bound(self) -> Bound {
                match self {
                    $(Self::$axis => Bound { amount: $most, why: $much },)*
                }
            }
        }

        impl IsolateLimits {
            $(
                #[doc = concat!(
                    "Returns the bound on ", $doc, ". Defaults to `", stringify!($default), "`."
                )]
                pub fn $get(&self) -> $kind {
                    Quantity::unpack(self.amount(IsolateAxis::$axis))
                }

                #[doc = concat!(
                    "Bounds ", $doc, ". Defaults to `", stringify!($default), "`."
                )]
                #[must_use]
                pub fn $with(self, bound: $kind) -> Self {
                    self.with_amount(IsolateAxis::$axis, bound.pack())
                }
            )*
        }
    };
}

isolate_axes! {
    Fuel fuel with_fuel Option<u64>, CountOrOff, None,
        least 1, "a call would end before its first operation",
        most FUEL_MOST, "TOML holds no larger number",
        "the operations of a call, the same number for the same call; `off` counts none";
    Memory memory with_memory u64, Size, 64 * MIB,
        least ENGINE_MEMORY, "the engine itself needs that much",
        most MEMORY_MOST, "no call may take more of the host",
        "the bytes of memory of the guest, the engine included";
    Stack stack with_stack u64, Size, 512 * KIB,
        least STACK_LEAST, "the engine itself needs that much",
        most STACK_MOST, "only up to there is too deep a recursion sure to end in a `RangeError`",
        "the bytes of the stack of the guest's language";
    HostCalls host_calls with_host_calls u32, Count, 1000,
        least 0, "",
        most 1_000_000, "each call is a record of the audit log",
        "the calls of a guest to its host, from start to end";
    HostCallsConcurrent host_calls_concurrent with_host_calls_concurrent u32, Count, 32,
        least 1, "no host call could start, and `host_calls = 0` is how to allow none",
        most 1_000, "each call that waits holds a task of the host",
        "the calls of a guest to its host that wait at one time";
    HostCallBytes host_call_bytes with_host_call_bytes u64, Size, MIB,
        least 1, "no host call could carry anything",
        most MEMORY_MOST, "no guest has more memory",
        "the bytes of one host call, of its arguments and of its result each";
    Result result with_result u64, Size, 10 * MIB,
        least 1, "no result has fewer",
        most MEMORY_MOST, "no guest has more memory",
        "the bytes of a call's result";
    LogEvents log_events with_log_events u32, Count, 1000,
        least 0, "",
        most 1_000_000, "the report of a call holds them all",
        "the number of log events that are kept of a call";
    LogBytes log_bytes with_log_bytes u64, Size, 8 * KIB,
        least 1, "every event would be empty, and `log_events = 0` is how to keep none",
        most MIB, "the report of a call holds them all",
        "the bytes that are kept of one log event";
    Table table with_table u32, Count, 10_000,
        least 1, "the engine itself calls through it",
        most 1_000_000, "its entries take memory of the host that `memory` does not count",
        "the number of entries in the guest's tables of functions";
    JsonDepth json_depth with_json_depth u32, Count, 64,
        least 1, "not even an empty list could be passed",
        most JSON_DEPTH_MOST, "the host's own parser descends no further",
        "the depth of lists and objects in what crosses the boundary";
    JsonNodes json_nodes with_json_nodes u32, Count, 100_000,
        least 1, "not even `null` could be passed",
        most 10_000_000, "each value takes memory of the host",
        "the number of values in what crosses the boundary at one time";
}

impl IsolateAxis {
    /// Returns the least bound that a policy file may write: bytes for sizes, else a count.
    pub fn least(self) -> u64 {
        self.lower_bound().amount
    }

    /// Returns the highest bound that a policy file may write: bytes for sizes, else a count.
    pub fn most(self) -> u64 {
        self.upper_bound().amount
    }

    /// Shows an amount of this axis with its unit, as a policy file writes it.
    pub fn show(self, amount: u64) -> String {
        match self.form() {
            IsolateForm::Size => ByteSize::new(amount).to_string(),
            IsolateForm::CountOrOff if amount == OFF => OFF_WORD.to_owned(),
            IsolateForm::Count | IsolateForm::CountOrOff => amount.to_string(),
        }
    }

    /// Says why an amount cannot be the bound, if it cannot.
    pub(crate) fn refusal(self, amount: u64) -> Option<String> {
        let is_off = self.form() == IsolateForm::CountOrOff && amount == OFF;
        let (side, bound) = match (self.lower_bound(), self.upper_bound()) {
            (least, _) if amount < least.amount => ("below", least),
            (_, most) if amount > most.amount && !is_off => ("above", most),
            (_, _) => return None,
        };
        let (shown, why) = (self.show(amount), bound.why);
        let bound = self.show(bound.amount);
        Some(format!("`{self}` of {shown} is {side} {bound}: {why}"))
    }

    /// Says what may be written.
    pub(crate) fn range(self) -> String {
        let (least, most) = (self.show(self.least()), self.show(self.most()));
        match self.form() {
            IsolateForm::CountOrOff => format!("write `\"{OFF_WORD}\"`, or {least} to {most}"),
            IsolateForm::Count => format!("write {least} to {most}"),
            IsolateForm::Size => format!("write `{least}` to `{most}`"),
        }
    }

    fn is_number(self, amount: u64) -> bool {
        match self.form() {
            IsolateForm::Count => true,
            IsolateForm::CountOrOff => amount != OFF,
            IsolateForm::Size => false,
        }
    }
}

impl fmt::Display for IsolateAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for IsolateAxis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How a policy file writes that an axis has no bound.
pub(crate) const OFF_WORD: &str = "off";

/// The amount of an axis without a bound, above every number that a policy file can write.
pub(crate) const OFF: u64 = u64::MAX;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The largest integer of TOML.
const FUEL_MOST: u64 = i64::MAX as u64;

/// What the engine's image takes of a guest's memory with some room to start in.
const ENGINE_MEMORY: u64 = 4 * MIB;

/// The memory of one guest, beyond which a few concurrent calls would take all of a host's.
const MEMORY_MOST: u64 = 1 << 30;

/// What the engine needs for one parse and one call of a host function.
const STACK_LEAST: u64 = 64 * KIB;

/// The engine checks the stack of its language, and the sandbox around it the native one. Their
/// proven ratio is kept for this size: above it, recursion would end in a trap.
const STACK_MOST: u64 = 512 * KIB;

/// The host parses by recursion too.
const JSON_DEPTH_MOST: u64 = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_documented_ones() {
        insta::assert_snapshot!(
            IsolateLimits::default(),
            @"fuel off, memory 64MiB, stack 512KiB, host_calls 1000, host_calls_concurrent 32, host_call_bytes 1MiB, result 10MiB, log_events 1000, log_bytes 8KiB, table 10000, json_depth 64, json_nodes 100000"
        );
    }

    #[test]
    fn every_default_may_be_written() {
        for axis in IsolateAxis::ALL {
            assert_eq!(axis.refusal(axis.default_amount()), None, "{axis}");
        }
    }

    #[test]
    fn each_axis_has_a_place_of_its_own() {
        for axis in IsolateAxis::ALL {
            let limits = IsolateLimits::default().with_amount(axis, 7);
            for other in IsolateAxis::ALL {
                let expected = if other == axis {
                    7
                } else {
                    other.default_amount()
                };
                assert_eq!(limits.amount(other), expected);
            }
        }
    }

    #[test]
    fn fuel_that_is_off_is_above_every_number() {
        let off = IsolateLimits::default();
        let some = off.with_fuel(Some(FUEL_MOST));
        assert!(some.is_within(&off) && !off.is_within(&some));
        assert_eq!(off.meet(&some), some);
        assert_eq!((off.fuel(), some.fuel()), (None, Some(FUEL_MOST)));
    }

    #[test]
    fn a_skill_only_lowers() {
        let own = OwnIsolateLimits::default()
            .with_amount(IsolateAxis::Memory, 8 * MIB)
            .with_amount(IsolateAxis::Table, 20_000)
            .with_amount(IsolateAxis::HostCalls, 5);
        let held = IsolateLimits::default().lowered_by(&own);
        assert!(held.is_within(&IsolateLimits::default()));
        assert_eq!((held.memory(), held.table()), (8 * MIB, 10_000));
        assert_eq!((held.host_calls(), held.host_calls_concurrent()), (5, 5));
    }

    #[test]
    fn says_the_limits_in_json_with_their_units() {
        let json = serde_json::to_value(IsolateLimits::default()).unwrap();
        assert_eq!(json["fuel"], "off");
        assert_eq!(json["memory"], "64MiB");
        assert_eq!(json["table"], 10_000);
        let json = serde_json::to_value(IsolateLimits::default().with_fuel(Some(9))).unwrap();
        assert_eq!(json["fuel"], 9);
    }

    #[test]
    fn says_why_an_amount_cannot_be_the_bound() {
        let all = IsolateAxis::ALL.into_iter().flat_map(|axis| {
            let below = axis.least().checked_sub(1);
            let refused = [below, Some(axis.most() + 1)].into_iter().flatten();
            refused.filter_map(move |amount| {
                Some(format!("{}; {}", axis.refusal(amount)?, axis.range()))
            })
        });
        insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @r#"
        `fuel` of 0 is below 1: a call would end before its first operation; write `"off"`, or 1 to 9223372036854775807
        `fuel` of 9223372036854775808 is above 9223372036854775807: TOML holds no larger number; write `"off"`, or 1 to 9223372036854775807
        `memory` of 4194303B is below 4MiB: the engine itself needs that much; write `4MiB` to `1GiB`
        `memory` of 1073741825B is above 1GiB: no call may take more of the host; write `4MiB` to `1GiB`
        `stack` of 65535B is below 64KiB: the engine itself needs that much; write `64KiB` to `512KiB`
        `stack` of 524289B is above 512KiB: only up to there is too deep a recursion sure to end in a `RangeError`; write `64KiB` to `512KiB`
        `host_calls` of 1000001 is above 1000000: each call is a record of the audit log; write 0 to 1000000
        `host_calls_concurrent` of 0 is below 1: no host call could start, and `host_calls = 0` is how to allow none; write 1 to 1000
        `host_calls_concurrent` of 1001 is above 1000: each call that waits holds a task of the host; write 1 to 1000
        `host_call_bytes` of 0B is below 1B: no host call could carry anything; write `1B` to `1GiB`
        `host_call_bytes` of 1073741825B is above 1GiB: no guest has more memory; write `1B` to `1GiB`
        `result` of 0B is below 1B: no result has fewer; write `1B` to `1GiB`
        `result` of 1073741825B is above 1GiB: no guest has more memory; write `1B` to `1GiB`
        `log_events` of 1000001 is above 1000000: the report of a call holds them all; write 0 to 1000000
        `log_bytes` of 0B is below 1B: every event would be empty, and `log_events = 0` is how to keep none; write `1B` to `1MiB`
        `log_bytes` of 1048577B is above 1MiB: the report of a call holds them all; write `1B` to `1MiB`
        `table` of 0 is below 1: the engine itself calls through it; write 1 to 1000000
        `table` of 1000001 is above 1000000: its entries take memory of the host that `memory` does not count; write 1 to 1000000
        `json_depth` of 0 is below 1: not even an empty list could be passed; write 1 to 120
        `json_depth` of 121 is above 120: the host's own parser descends no further; write 1 to 120
        `json_nodes` of 0 is below 1: not even `null` could be passed; write 1 to 10000000
        `json_nodes` of 10000001 is above 10000000: each value takes memory of the host; write 1 to 10000000
        "#);
    }
}
