//! What one launch does, as bytes: the host writes a plan, the launcher reads it.
//!
//! The layout is fixed and versioned. Numbers are little-endian; a string is its length (with the
//! final NUL) and its bytes; a list is its count and its items. [`Plan::decode`] checks every
//! bound and every index once, allocates nothing and never panics, so that the launcher can walk
//! the lists afterwards without a decision of its own.

use core::ffi::CStr;

/// The first word of a plan, "BWPL".
pub const MAGIC: u32 = u32::from_le_bytes(*b"BWPL");
/// The layout that this source describes.
pub const VERSION: u32 = 2;
/// The longest plan in bytes; the launcher's buffer has this size.
pub const MAX_BYTES: usize = 512 << 10;
/// The most descriptors that accompany a plan. The kernel passes at most 253 in one message.
pub const MAX_DESCRIPTORS: u32 = 240;
/// The most arguments of a program, its own name included.
pub const MAX_ARGUMENTS: u32 = 4096;
/// The most environment variables.
pub const MAX_VARIABLES: u32 = 256;
/// The longest seccomp program in instructions, which is the kernel's own bound (`BPF_MAXINSNS`).
pub const MAX_FILTER: usize = 4096;
/// An index that means "none".
pub const NONE: u32 = u32::MAX;

/// A plan is refused for this reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(launcher), non_exhaustive)]
pub enum PlanError {
    /// The bytes end inside an item.
    Short,
    /// Bytes follow the last item.
    Long,
    /// The first words are not those of a plan of this version.
    Version,
    /// A number is outside its range.
    Range,
    /// A string has no final NUL, or one before the end.
    Text,
}

/// A decoded plan, borrowing from its bytes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_enums, reason = "the launcher handles every mode")
)]
pub enum Plan<'a> {
    /// Make the namespaces of a run and wait for its program.
    Run(Run<'a>),
    /// Start the program of a run, whose namespaces are there.
    Execute(Execute<'a>),
    /// Make a root that runs begin from, say so, and hold it until the host closes its socket.
    HoldTemplate(Template<'a>),
    /// Make a user namespace, say so, and hold it until the host closes its socket.
    HoldUserNamespace,
    /// The same with a network namespace, for a host without privileges inside a user namespace
    /// that maps one user and group.
    HoldNetworkNamespace(Option<Ids>),
    /// Try sets of namespaces and report what the kernel says of each.
    Probe(List<'a, Trial>),
}

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Ids {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// How the namespaces of a run are made, and what its program is held to.
///
/// Nothing in it depends on what the run is called with: a launcher can be started, and can come as
/// far as this leads, before there is a call.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Run<'a> {
    /// The namespaces to make, as `CLONE_NEW*` bits.
    pub namespaces: u64,
    /// What else happens; bits of [`flag`].
    pub flags: u32,
    /// The user that the program runs as.
    pub uid: u32,
    /// The group that the program runs as.
    pub gid: u32,
    /// How many descriptors accompany the plan. The first `cgroups` are `cgroup.procs` files.
    pub descriptors: u32,
    /// How many `cgroup.procs` files there are.
    pub cgroups: u32,
    /// The index of a user-namespace descriptor that is joined before the network's, or [`NONE`]:
    /// the owner of that one.
    pub user: u32,
    /// The index of a network-namespace descriptor that is joined, or [`NONE`]. A run that joins
    /// one makes none and raises no device, since others are in it.
    pub network: u32,
    /// The index of the mount namespace of a [`Template`] that is joined and copied, or [`NONE`].
    /// The steps of the root are then done in the copy.
    pub template: u32,
    /// The index of the first of the rulesets that are applied, one for each layer, or [`NONE`]
    /// where the run builds its own.
    pub rulesets: u32,
    /// Resource limits, set in this order.
    pub limits: List<'a, Limit>,
    /// The prepared root, built in this order. Empty without a mount namespace.
    pub root: List<'a, Step<'a>>,
    /// The directory whose handle is sent to the host; empty for none.
    pub out: &'a CStr,
    /// The Landlock layers.
    pub landlock: Landlock<'a>,
    /// The seccomp program: `sock_filter` items of eight bytes; empty for none.
    pub filter: &'a [u8],
    /// Layers left out, bits of [`skip`]. Exists only in the build that tests weaken.
    #[cfg(weaken)]
    pub skip: u32,
}

/// What a run executes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Execute<'a> {
    /// Where the program starts.
    pub cwd: &'a CStr,
    /// The file to execute.
    pub program: &'a CStr,
    /// Its arguments, name first.
    pub arguments: List<'a, &'a CStr>,
    /// Its environment, as `NAME=value`.
    pub environment: List<'a, &'a CStr>,
}

/// A root that several runs begin from.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Template<'a> {
    /// The user of the runs.
    pub uid: u32,
    /// The group of the runs.
    pub gid: u32,
    /// How many descriptors accompany the plan.
    pub descriptors: u32,
    /// What is the same in every run.
    pub root: List<'a, Step<'a>>,
    /// The Landlock layers, on what is the same in every run.
    pub landlock: Landlock<'a>,
}

/// Landlock layers and their rules.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Landlock<'a> {
    /// File-system rights that the rulesets handle.
    pub handled_fs: u64,
    /// Network rights that the rulesets handle.
    pub handled_net: u64,
    /// Scopes that the rulesets set.
    pub scoped: u64,
    /// How many Landlock layers are applied; the rules name theirs.
    pub layers: u32,
    /// The rules of all layers.
    pub rules: List<'a, Rule<'a>>,
}

/// The bits of [`Run::flags`].
pub mod flag {
    /// The host is privileged: the program's user is changed and privileges are dropped from it.
    pub const OWN_UID: u32 = 1;
    /// Map the program's user and group in a fresh user namespace.
    pub const MAP_IDS: u32 = 1 << 1;
    /// Bring the loopback device of a fresh network namespace up.
    pub const LOOPBACK: u32 = 1 << 2;
    /// Listen on it, for the host to answer.
    pub const LISTEN: u32 = 1 << 3;
    /// Every bit.
    pub const ALL: u32 = OWN_UID | MAP_IDS | LOOPBACK | LISTEN;
}

/// The bits of `Run::skip`.
#[cfg(weaken)]
pub mod skip {
    /// `no_new_privs` is not set.
    pub const NO_NEW_PRIVILEGES: u32 = 1;
    /// Descriptors above 2 stay open.
    pub const CLOSE_DESCRIPTORS: u32 = 1 << 1;
    /// Capabilities are kept.
    pub const CAPABILITIES: u32 = 1 << 2;
    /// Resource limits are not set.
    pub const LIMITS: u32 = 1 << 3;
    /// The Landlock layers are not applied.
    pub const LANDLOCK: u32 = 1 << 4;
    /// The seccomp program is not applied.
    pub const SECCOMP: u32 = 1 << 5;
}

/// One resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Limit {
    /// `RLIMIT_*`.
    pub resource: u32,
    /// The value at which the kernel reacts.
    pub soft: u64,
    /// The value that the program cannot exceed.
    pub hard: u64,
}

/// One step of the prepared root. Paths are relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_enums, reason = "the launcher handles every step")
)]
pub enum Step<'a> {
    /// A directory; one that exists is left as it is.
    Directory {
        /// Where.
        path: &'a CStr,
        /// Permission bits.
        mode: u32,
        /// Whether it belongs to the program's user.
        own: bool,
    },
    /// A symbolic link.
    Link {
        /// Where.
        path: &'a CStr,
        /// What it holds.
        target: &'a CStr,
    },
    /// A regular file with its content; an existing one is left as it is when there is none.
    File {
        /// Where.
        path: &'a CStr,
        /// Permission bits.
        mode: u32,
        /// What it holds.
        content: &'a [u8],
    },
    /// A character device that everyone may read and write. Only a privileged host makes one.
    Device {
        /// Where.
        path: &'a CStr,
        /// The kernel's number of it: `major << 8 | minor`.
        number: u32,
    },
    /// A recursive bind of what a descriptor names.
    Bind {
        /// Where; it exists.
        path: &'a CStr,
        /// The index of the descriptor.
        source: u32,
        /// `MOUNT_ATTR_*` bits to set on it and beneath.
        attributes: u64,
        /// The index of a user-namespace descriptor whose map is applied, or [`NONE`].
        map: u32,
    },
    /// A fresh tmpfs without devices, set-uid programs or anything executable.
    Scratch {
        /// Where; it exists.
        path: &'a CStr,
        /// Mount options: size, inodes, mode and owner.
        options: &'a CStr,
    },
    /// A `proc` that shows the processes of the namespace and nothing else.
    Processes {
        /// Where; it exists.
        path: &'a CStr,
    },
}

/// One Landlock rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Rule<'a> {
    /// The layer, from 0.
    pub layer: u32,
    /// Access bits.
    pub access: u64,
    /// The path inside the finished root.
    pub path: &'a CStr,
}

/// One set of namespaces to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(launcher),
    expect(clippy::exhaustive_structs, reason = "the launcher reads every field")
)]
pub struct Trial {
    /// `CLONE_NEW*` bits.
    pub namespaces: u64,
    /// The user and group to map when a user namespace is among them.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// A checked list inside a plan.
#[derive(Debug)]
pub struct List<'a, T> {
    bytes: &'a [u8],
    count: u32,
    item: core::marker::PhantomData<T>,
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<'a, T: Item<'a>> List<'a, T> {
    /// Walks the items.
    pub fn iter(self) -> impl Iterator<Item = T> + use<'a, T> {
        let mut cursor = Cursor { bytes: self.bytes };
        // The bytes were decoded once when the plan was, so every item is there.
        (0..self.count).map_while(move |_| T::decode(&mut cursor).ok())
    }
}

/// What a list can hold.
pub trait Item<'a>: Sized {
    /// Reads one item.
    ///
    /// # Errors
    ///
    /// When the bytes do not hold one.
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError>;
}

/// A place in the bytes of a plan.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], PlanError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(PlanError::Short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, PlanError> {
        let (word, rest) = self.bytes.split_first_chunk().ok_or(PlanError::Short)?;
        self.bytes = rest;
        Ok(u32::from_le_bytes(*word))
    }

    fn long(&mut self) -> Result<u64, PlanError> {
        let (long, rest) = self.bytes.split_first_chunk().ok_or(PlanError::Short)?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*long))
    }

    fn blob(&mut self) -> Result<&'a [u8], PlanError> {
        let length = self.word()? as usize;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a CStr, PlanError> {
        CStr::from_bytes_with_nul(self.blob()?).map_err(|_| PlanError::Text)
    }

    fn list<T: Item<'a>>(&mut self, most: u32) -> Result<List<'a, T>, PlanError> {
        let count = at_most(self.word()?, most)?;
        let start = self.bytes;
        for _ in 0..count {
            T::decode(self)?;
        }
        let length = start.len() - self.bytes.len();
        let bytes = start.get(..length).ok_or(PlanError::Short)?;
        Ok(List {
            bytes,
            count,
            item: core::marker::PhantomData,
        })
    }
}

impl<'a> Item<'a> for &'a CStr {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        cursor.text()
    }
}

impl<'a> Item<'a> for Limit {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        Ok(Self {
            resource: cursor.word()?,
            soft: cursor.long()?,
            hard: cursor.long()?,
        })
    }
}

impl<'a> Item<'a> for Trial {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        Ok(Self {
            namespaces: cursor.long()?,
            uid: cursor.word()?,
            gid: cursor.word()?,
        })
    }
}

impl<'a> Item<'a> for Rule<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        Ok(Self {
            layer: at_most(cursor.word()?, MAX_LAYERS - 1)?,
            access: cursor.long()?,
            path: cursor.text()?,
        })
    }
}

impl<'a> Item<'a> for Step<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        let kind = cursor.word()?;
        let path = inside(cursor.text()?)?;
        Ok(match kind {
            step::DIRECTORY => Self::Directory {
                path,
                mode: at_most(cursor.word()?, 0o7777)?,
                own: at_most(cursor.word()?, 1)? == 1,
            },
            step::LINK => Self::Link {
                path,
                target: cursor.text()?,
            },
            step::FILE => Self::File {
                path,
                mode: at_most(cursor.word()?, 0o777)?,
                content: cursor.blob()?,
            },
            step::BIND => Self::Bind {
                path,
                source: cursor.word()?,
                attributes: cursor.long()?,
                map: cursor.word()?,
            },
            step::SCRATCH => Self::Scratch {
                path,
                options: cursor.text()?,
            },
            step::PROCESSES => Self::Processes { path },
            step::DEVICE => Self::Device {
                path,
                number: at_most(cursor.word()?, 0xffff)?,
            },
            _ => return Err(PlanError::Range),
        })
    }
}

impl<'a> Plan<'a> {
    /// Reads and checks a whole plan.
    ///
    /// # Errors
    ///
    /// When the bytes are not exactly one plan of this version.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, PlanError> {
        let mut cursor = Cursor { bytes };
        if cursor.word()? != MAGIC || cursor.word()? != VERSION {
            return Err(PlanError::Version);
        }
        let plan = match cursor.word()? {
            mode::RUN => Self::Run(Run::decode(&mut cursor)?),
            mode::EXECUTE => Self::Execute(Execute::decode(&mut cursor)?),
            mode::HOLD_TEMPLATE => Self::HoldTemplate(Template::decode(&mut cursor)?),
            mode::HOLD_USER_NAMESPACE => Self::HoldUserNamespace,
            mode::HOLD_NETWORK_NAMESPACE => {
                let inside = at_most(cursor.word()?, 1)? == 1;
                let ids = Ids {
                    uid: cursor.word()?,
                    gid: cursor.word()?,
                };
                Self::HoldNetworkNamespace(inside.then_some(ids))
            }
            mode::PROBE => Self::Probe(cursor.list(MAX_TRIALS)?),
            _ => return Err(PlanError::Range),
        };
        if cursor.bytes.is_empty() {
            Ok(plan)
        } else {
            Err(PlanError::Long)
        }
    }

    /// How many descriptors accompany the plan.
    pub fn descriptors(&self) -> u32 {
        match self {
            Self::Run(run) => run.descriptors,
            // Its standard streams.
            Self::Execute(_) => 3,
            Self::HoldTemplate(template) => template.descriptors,
            Self::HoldUserNamespace | Self::HoldNetworkNamespace(_) | Self::Probe(_) => 0,
        }
    }
}

impl<'a> Run<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        let run = Self {
            namespaces: cursor.long()?,
            flags: at_most(cursor.word()?, flag::ALL)?,
            uid: cursor.word()?,
            gid: cursor.word()?,
            descriptors: at_most(cursor.word()?, MAX_DESCRIPTORS)?,
            cgroups: cursor.word()?,
            user: cursor.word()?,
            network: cursor.word()?,
            template: cursor.word()?,
            rulesets: cursor.word()?,
            limits: cursor.list(MAX_LIMITS)?,
            root: cursor.list(MAX_STEPS)?,
            out: cursor.text()?,
            landlock: Landlock::decode(cursor)?,
            filter: cursor.blob()?,
            #[cfg(weaken)]
            skip: cursor.word()?,
        };
        run.check_indices()?;
        Ok(run)
    }

    /// Every index names a descriptor that comes with the plan and serves that purpose.
    fn check_indices(&self) -> Result<(), PlanError> {
        let raises = self.flags & flag::LOOPBACK != 0 && self.namespaces & NEW_NETWORK != 0;
        if self.cgroups > self.descriptors
            || !self.filter.len().is_multiple_of(8)
            || self.filter.len() / 8 > MAX_FILTER
            || (self.flags & flag::LISTEN != 0 && !raises)
        {
            return Err(PlanError::Range);
        }
        let free = self.cgroups..self.descriptors;
        let joins = |index| index != NONE;
        if joins(self.network)
            && !(free.contains(&self.network)
                && self.flags & flag::LOOPBACK == 0
                && self.namespaces & NEW_NETWORK == 0)
        {
            return Err(PlanError::Range);
        }
        if joins(self.user) && !(free.contains(&self.user) && joins(self.network)) {
            return Err(PlanError::Range);
        }
        if joins(self.template)
            && !(free.contains(&self.template) && self.namespaces & NEW_MOUNT != 0)
        {
            return Err(PlanError::Range);
        }
        if joins(self.rulesets) {
            let end = self.rulesets.checked_add(self.landlock.layers);
            let are_there = self.rulesets >= free.start && end.is_some_and(|end| end <= free.end);
            if !are_there || self.landlock.rules.count != 0 {
                return Err(PlanError::Range);
            }
        }
        check_binds(self.root, &free)
    }
}

impl<'a> Execute<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        let execute = Self {
            cwd: cursor.text()?,
            program: cursor.text()?,
            arguments: cursor.list(MAX_ARGUMENTS)?,
            environment: cursor.list(MAX_VARIABLES)?,
        };
        if execute.arguments.count == 0 {
            return Err(PlanError::Range);
        }
        Ok(execute)
    }
}

impl<'a> Template<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        let template = Self {
            uid: cursor.word()?,
            gid: cursor.word()?,
            descriptors: at_most(cursor.word()?, MAX_DESCRIPTORS)?,
            root: cursor.list(MAX_STEPS)?,
            landlock: Landlock::decode(cursor)?,
        };
        check_binds(template.root, &(0..template.descriptors))?;
        Ok(template)
    }
}

impl<'a> Landlock<'a> {
    fn decode(cursor: &mut Cursor<'a>) -> Result<Self, PlanError> {
        let landlock = Self {
            handled_fs: cursor.long()?,
            handled_net: cursor.long()?,
            scoped: cursor.long()?,
            layers: at_most(cursor.word()?, MAX_LAYERS)?,
            rules: cursor.list(MAX_RULES)?,
        };
        let mut rules = landlock.rules.iter();
        if rules.any(|rule| rule.layer >= landlock.layers) {
            return Err(PlanError::Range);
        }
        Ok(landlock)
    }
}

fn check_binds(root: List<'_, Step<'_>>, free: &core::ops::Range<u32>) -> Result<(), PlanError> {
    for step in root.iter() {
        if let Step::Bind { source, map, .. } = step
            && !(free.contains(&source) && (map == NONE || free.contains(&map)))
        {
            return Err(PlanError::Range);
        }
    }
    Ok(())
}

/// Passes a number that is in range.
fn at_most(value: u32, most: u32) -> Result<u32, PlanError> {
    let fits = value <= most;
    fits.then_some(value).ok_or(PlanError::Range)
}

/// Passes a path that stays inside the root: relative, and without a `..` component.
fn inside(path: &CStr) -> Result<&CStr, PlanError> {
    let bytes = path.to_bytes();
    let climbs = bytes
        .split(|byte| *byte == b'/')
        .any(|component| component == b"..");
    if bytes.is_empty() || bytes.starts_with(b"/") || climbs {
        return Err(PlanError::Text);
    }
    Ok(path)
}

/// The most Landlock layers of a run: session and derived.
pub const MAX_LAYERS: u32 = 2;
/// `CLONE_NEWNS`.
const NEW_MOUNT: u64 = 0x0002_0000;
/// `CLONE_NEWNET`.
pub const NEW_NETWORK: u64 = 0x4000_0000;
const MAX_LIMITS: u32 = 16;
const MAX_STEPS: u32 = 1024;
const MAX_RULES: u32 = 1024;
const MAX_TRIALS: u32 = 32;

pub(crate) mod mode {
    pub(crate) const RUN: u32 = 1;
    pub(crate) const HOLD_USER_NAMESPACE: u32 = 2;
    pub(crate) const PROBE: u32 = 3;
    pub(crate) const HOLD_NETWORK_NAMESPACE: u32 = 4;
    pub(crate) const EXECUTE: u32 = 5;
    pub(crate) const HOLD_TEMPLATE: u32 = 6;
}

pub(crate) mod step {
    pub(crate) const DIRECTORY: u32 = 1;
    pub(crate) const LINK: u32 = 2;
    pub(crate) const FILE: u32 = 3;
    pub(crate) const BIND: u32 = 4;
    pub(crate) const SCRATCH: u32 = 5;
    pub(crate) const PROCESSES: u32 = 6;
    pub(crate) const DEVICE: u32 = 7;
}
