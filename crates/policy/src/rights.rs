//! What may be done to the files beneath a root.

use std::fmt;
use std::ops::BitOr;

use serde::{Serialize, Serializer};

/// A set of rights on a subtree.
///
/// The set mirrors what Landlock can tell apart, so that every right means one thing in the policy
/// and in the kernel.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::Rights;
///
/// assert!(Rights::READ_WRITE.contains(Rights::READ_ONLY));
/// assert_eq!(Rights::READ_ONLY.to_string(), "read+list");
/// assert_eq!(Rights::NONE.to_string(), "nothing");
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Rights(u16);

impl Rights {
    /// No right at all.
    pub const NONE: Self = Self(0);
    /// Reads the content of a file.
    pub const READ: Self = Self(1 << 0);
    /// Lists a folder.
    pub const LIST: Self = Self(1 << 1);
    /// Writes to a file that exists.
    pub const WRITE: Self = Self(1 << 2);
    /// Makes files, folders and links.
    pub const CREATE: Self = Self(1 << 3);
    /// Removes files and folders.
    pub const DELETE: Self = Self(1 << 4);
    /// Shortens a file.
    pub const TRUNCATE: Self = Self(1 << 5);
    /// Moves or links a file from one folder to another.
    pub const REFER: Self = Self(1 << 6);
    /// Executes a file.
    pub const EXEC: Self = Self(1 << 7);
    /// Controls a device.
    pub const IOCTL: Self = Self(1 << 8);
    /// Makes a named pipe.
    pub const MKFIFO: Self = Self(1 << 9);
    /// Makes a socket with a name.
    pub const MKSOCK: Self = Self(1 << 10);

    /// What `read` in a policy file grants: read and list.
    pub const READ_ONLY: Self = Self(Self::READ.0 | Self::LIST.0);
    /// What `write` in a policy file grants: read, list, write, create, delete, truncate, refer.
    pub const READ_WRITE: Self = Self(
        Self::READ_ONLY.0
            | Self::WRITE.0
            | Self::CREATE.0
            | Self::DELETE.0
            | Self::TRUNCATE.0
            | Self::REFER.0,
    );
    /// What a program needs to be started: read and execute.
    pub const EXECUTE: Self = Self(Self::READ.0 | Self::EXEC.0);
    /// Every right.
    pub const ALL: Self = Self((1 << NAMES.len()) - 1);

    /// Says whether every right of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the rights in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the rights in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the rights of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the first right of the set alone, in the order of the constants; nothing of nothing.
    #[must_use]
    pub const fn first(self) -> Self {
        Self(self.0 & self.0.wrapping_neg())
    }

    /// Iterates over the rights of the set one by one, in the order of the constants.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..NAMES.len())
            .map(move |bit| Self(self.0 & 1 << bit))
            .filter(|right| !right.is_empty())
    }

    /// Says whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Says whether anything beneath the root could be changed.
    pub const fn is_writing(self) -> bool {
        !self
            .difference(Self(Self::READ_ONLY.0 | Self::EXEC.0))
            .is_empty()
    }

    /// Iterates over the names of the rights in the set, in the order of the constants.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .enumerate()
            .filter_map(move |(bit, name)| (self.0 >> bit & 1 == 1).then_some(*name))
    }
}

impl BitOr for Rights {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.pad("nothing");
        }
        f.pad(&self.names().collect::<Vec<_>>().join("+"))
    }
}

impl Serialize for Rights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

/// The name of each right; its position is its bit.
const NAMES: [&str; 11] = [
    "read", "list", "write", "create", "delete", "truncate", "refer", "exec", "ioctl", "mkfifo",
    "mksock",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_every_right_by_its_own_bit() {
        let named = [
            (Rights::READ, "read"),
            (Rights::LIST, "list"),
            (Rights::WRITE, "write"),
            (Rights::CREATE, "create"),
            (Rights::DELETE, "delete"),
            (Rights::TRUNCATE, "truncate"),
            (Rights::REFER, "refer"),
            (Rights::EXEC, "exec"),
            (Rights::IOCTL, "ioctl"),
            (Rights::MKFIFO, "mkfifo"),
            (Rights::MKSOCK, "mksock"),
        ];
        let mut all = Rights::NONE;
        for (right, name) in named {
            assert_eq!(right.to_string(), name);
            assert!(!all.contains(right));
            all = all | right;
        }
        assert_eq!(all, Rights::ALL);
    }

    #[test]
    fn read_and_execute_change_nothing() {
        assert!(!Rights::READ_ONLY.is_writing());
        assert!(!Rights::EXECUTE.is_writing());
        for right in [
            Rights::WRITE,
            Rights::CREATE,
            Rights::DELETE,
            Rights::TRUNCATE,
        ] {
            assert!(right.is_writing());
        }
    }

    #[test]
    fn write_in_a_policy_file_never_grants_execution() {
        assert!(!Rights::READ_WRITE.contains(Rights::EXEC));
        assert!(!Rights::READ_WRITE.contains(Rights::MKFIFO));
        assert!(!Rights::READ_WRITE.contains(Rights::MKSOCK));
    }
}
