//! How much a run may use.
//!
//! One table lists the axes; the enum, the names, the accessors of both types and the defaults all
//! come from it, so that none of them can forget one.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::units::{ByteSize, TimeSpan};

/// Limits as a policy states them: an axis that is not set has no bound.
///
/// The order is pointwise, with no bound at the top.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use bailiwick_policy::Limits;
///
/// let limits = Limits::unlimited().with_wall(Duration::from_secs(5));
/// assert_eq!(limits.wall(), Some(Duration::from_secs(5)));
/// assert_eq!(limits.memory(), None);
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Limits([Option<u64>; LimitAxis::ALL.len()]);

impl Limits {
    /// Returns limits that bound nothing.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Returns the bound of one axis: nanoseconds for time, bytes for sizes, else a count.
    pub fn amount(&self, axis: LimitAxis) -> Option<u64> {
        self.0[axis as usize]
    }

    /// Sets the bound of one axis: nanoseconds for time, bytes for sizes, else a count.
    #[must_use]
    pub fn with_amount(mut self, axis: LimitAxis, amount: u64) -> Self {
        self.0[axis as usize] = Some(amount);
        self
    }

    /// Returns the lower bound of the two on every axis.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self(
            LimitAxis::ALL.map(|axis| match (self.amount(axis), other.amount(axis)) {
                (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
                (one, None) | (None, one) => one,
            }),
        )
    }

    /// Returns these limits with `defaults` where there is no bound.
    pub fn or(&self, defaults: &RunLimits) -> RunLimits {
        RunLimits(
            LimitAxis::ALL.map(|axis| self.amount(axis).unwrap_or_else(|| defaults.amount(axis))),
        )
    }

    /// Shows the bound of one axis with its unit, or `no limit`.
    pub fn show(&self, axis: LimitAxis) -> String {
        self.amount(axis)
            .map_or_else(|| "no limit".to_owned(), |amount| axis.show(amount))
    }
}

/// Limits of one run: every axis has a bound.
///
/// The default is what a run gets without any policy file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunLimits([u64; LimitAxis::ALL.len()]);

impl RunLimits {
    /// Returns the bound of one axis: nanoseconds for time, bytes for sizes, else a count.
    pub fn amount(&self, axis: LimitAxis) -> u64 {
        self.0[axis as usize]
    }

    /// Sets the bound of one axis: nanoseconds for time, bytes for sizes, else a count.
    #[must_use]
    pub fn with_amount(mut self, axis: LimitAxis, amount: u64) -> Self {
        self.0[axis as usize] = amount;
        self
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self(LimitAxis::ALL.map(LimitAxis::default_amount))
    }
}

impl From<&RunLimits> for Limits {
    fn from(limits: &RunLimits) -> Self {
        Self(limits.0.map(Some))
    }
}

impl fmt::Display for RunLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, axis) in LimitAxis::ALL.into_iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{axis} {}", axis.show(self.amount(axis)))?;
        }
        Ok(())
    }
}

impl Serialize for RunLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(LimitAxis::ALL.len()))?;
        for axis in LimitAxis::ALL {
            match axis.unit() {
                LimitUnit::Count => map.serialize_entry(axis.as_str(), &self.amount(axis))?,
                LimitUnit::Time | LimitUnit::Size => {
                    map.serialize_entry(axis.as_str(), &axis.show(self.amount(axis)))?;
                }
            }
        }
        map.end()
    }
}

/// How the bound of an axis is written.
#[expect(
    clippy::exhaustive_enums,
    reason = "there are no other quantities to bound"
)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LimitUnit {
    /// A duration such as `10s`.
    Time,
    /// A size such as `64MiB`.
    Size,
    /// A whole number.
    Count,
}

/// A type that the bound of an axis is handed out as.
pub(crate) trait Quantity {
    fn pack(self) -> u64;
    fn unpack(amount: u64) -> Self;
}

impl Quantity for Duration {
    /// Saturates at 584 years, which bounds nothing.
    fn pack(self) -> u64 {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX)
    }

    fn unpack(amount: u64) -> Self {
        Self::from_nanos(amount)
    }
}

impl Quantity for u64 {
    fn pack(self) -> u64 {
        self
    }

    fn unpack(amount: u64) -> Self {
        amount
    }
}

impl Quantity for u32 {
    fn pack(self) -> u64 {
        self.into()
    }

    /// Saturates, because a larger bound than the type holds is still a bound.
    fn unpack(amount: u64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }
}

macro_rules! axes {
    ($($axis:ident $get:ident $with:ident $kind:ty, $unit:ident, $default:expr, $doc:literal;)*) => {
        /// One thing that a run may use only so much of.
        #[expect(
            clippy::exhaustive_enums,
            reason = "a limit that some match forgets would be a limit that is not enforced"
        )]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum LimitAxis {
            $(#[doc = concat!("Bounds ", $doc, ".")] $axis,)*
        }

        impl LimitAxis {
            /// Every axis, in the order of the policy file.
            pub const ALL: [Self; [$(stringify!($axis)),*].len()] = [$(Self::$axis),*];

            /// Returns the key of the policy file, used in reports and errors too.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$axis => stringify!($get),)*
                }
            }

            /// Says in a few words what the axis bounds.
            pub const fn describe(self) -> &'static str {
                match self {
                    $(Self::$axis => $doc,)*
                }
            }

            /// Returns how the bound is written.
            pub const fn unit(self) -> LimitUnit {
                match self {
                    $(Self::$axis => LimitUnit::$unit,)*
                }
            }

            fn default_amount(self) -> u64 {
                match self {
                    $(Self::$axis => <$kind as Quantity>::pack($default),)*
                }
            }
        }

        impl Limits {
            $(
                #[doc = concat!("Returns the bound on ", $doc, ", if there is one.")]
                pub fn $get(&self) -> Option<$kind> {
                    self.amount(LimitAxis::$axis).map(Quantity::unpack)
                }

                #[doc = concat!("Bounds ", $doc, ". Without it there is no bound.")]
                #[must_use]
                pub fn $with(self, bound: $kind) -> Self {
                    self.with_amount(LimitAxis::$axis, bound.pack())
                }
            )*
        }

        impl RunLimits {
            $(
                #[doc = concat!(
                    "Returns the bound on ", $doc, ". Defaults to `", stringify!($default), "`."
                )]
                pub fn $get(&self) -> $kind {
                    Quantity::unpack(self.amount(LimitAxis::$axis))
                }

                #[doc = concat!(
                    "Bounds ", $doc, ". Defaults to `", stringify!($default), "`."
                )]
                #[must_use]
                pub fn $with(self, bound: $kind) -> Self {
                    self.with_amount(LimitAxis::$axis, bound.pack())
                }
            )*
        }
    };
}

axes! {
    Wall wall with_wall Duration, Time, Duration::from_secs(10),
        "the time from start to end";
    Cpu cpu with_cpu Duration, Time, Duration::from_secs(10),
        "the processor time of all processes together";
    Memory memory with_memory u64, Size, 256 * MIB,
        "the bytes of memory of all processes together";
    Processes processes with_processes u32, Count, 64,
        "the number of processes and threads at one time";
    Files files with_files u32, Count, 256,
        "the number of open descriptors per process";
    FileSize file_size with_file_size u64, Size, 64 * MIB,
        "the bytes of one file that a run writes";
    Workspace workspace with_workspace u64, Size, 64 * MIB,
        "the bytes of all files in a run's scratch space";
    Inodes inodes with_inodes u64, Count, 4096,
        "the number of files and folders in a run's scratch space";
    Output output with_output u64, Size, MIB,
        "the bytes captured from both output streams together";
    Flood flood with_flood u64, Size, 256 * MIB,
        "the bytes of output dropped before the run is killed";
    Reply reply with_reply u64, Size, 25 * KIB,
        "the bytes of a result that the model sees";
}

impl LimitAxis {
    /// Returns the least bound that a policy file may write.
    ///
    /// A long result is replaced by its ends and a note that names the whole, which takes some
    /// hundred bytes itself.
    pub(crate) fn least(self) -> u64 {
        match self {
            Self::Reply => KIB,
            Self::Wall
            | Self::Cpu
            | Self::Memory
            | Self::Processes
            | Self::Files
            | Self::FileSize
            | Self::Workspace
            | Self::Inodes
            | Self::Output
            | Self::Flood => 1,
        }
    }

    /// Shows an amount of this axis with its unit.
    pub fn show(self, amount: u64) -> String {
        match self.unit() {
            LimitUnit::Time => TimeSpan::new(Duration::from_nanos(amount)).to_string(),
            LimitUnit::Size => ByteSize::new(amount).to_string(),
            LimitUnit::Count => amount.to_string(),
        }
    }
}

impl fmt::Display for LimitAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for LimitAxis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_documented_ones() {
        insta::assert_snapshot!(
            RunLimits::default(),
            @"wall 10s, cpu 10s, memory 256MiB, processes 64, files 256, file_size 64MiB, workspace 64MiB, inodes 4096, output 1MiB, flood 256MiB, reply 25KiB"
        );
    }

    /// A run that forks is bounded as one that does not.
    #[test]
    fn processor_time_is_promised_for_the_whole_run() {
        assert_eq!(
            LimitAxis::Cpu.describe(),
            "the processor time of all processes together"
        );
    }

    #[test]
    fn each_axis_has_a_place_of_its_own() {
        for axis in LimitAxis::ALL {
            let limits = Limits::unlimited().with_amount(axis, 7);
            for other in LimitAxis::ALL {
                assert_eq!(limits.amount(other), (axis == other).then_some(7));
            }
        }
    }

    #[test]
    fn fills_only_what_is_not_bounded() {
        let filled = Limits::unlimited()
            .with_memory(MIB)
            .or(&RunLimits::default());
        assert_eq!(filled, RunLimits::default().with_memory(MIB));
    }

    #[test]
    fn says_the_limits_in_json_with_their_units() {
        let json = serde_json::to_value(RunLimits::default()).unwrap();
        assert_eq!(json["wall"], "10s");
        assert_eq!(json["memory"], "256MiB");
        assert_eq!(json["processes"], 64);
    }
}
