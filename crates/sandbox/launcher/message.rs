//! What the launcher tells the host: one fixed record per message.

/// The length of a message in bytes.
pub const BYTES: usize = 48;

/// The most descriptors that accompany a message: init, the folder of results, the listener; or the
/// rulesets of a template.
pub const MOST_DESCRIPTORS: usize = 3;

/// The byte that the host sends to have the main process terminated.
pub const TERMINATE: u8 = b'T';

/// The port of the run's own loopback device on which the socket for the host listens. The namespace
/// is fresh, so that nobody else can have it.
pub const LISTENER_PORT: u16 = 3128;

/// A step of the launch, named in every failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[cfg_attr(not(launcher), non_exhaustive)]
pub enum Stage {
    /// Receiving the plan and its descriptors.
    Receive = 1,
    /// Decoding the plan.
    Plan = 2,
    /// Moving the standard descriptors into place.
    Stdio = 3,
    /// Resetting signals and making a session.
    Session = 4,
    /// Joining the control group.
    Cgroup = 5,
    /// Making namespaces.
    Namespaces = 6,
    /// Writing the user and group maps of the user namespace.
    IdMap = 7,
    /// Making the mount tree private.
    Private = 8,
    /// Finding again what a descriptor pins, with the same identity.
    Source = 9,
    /// Setting the attributes of a mount.
    MountAttributes = 10,
    /// Applying an id map to a mount.
    IdMappedMount = 11,
    /// Mounting a fresh file system.
    Tmpfs = 12,
    /// Mounting `proc`.
    Proc = 13,
    /// Creating a file, link or directory of the root, or attaching a mount.
    Root = 14,
    /// Entering the root and letting go of the old one.
    Pivot = 15,
    /// Bringing the loopback device up.
    Loopback = 16,
    /// Setting a resource limit.
    Limits = 17,
    /// Taking the run's user and group.
    Identity = 18,
    /// Dropping capabilities.
    Capabilities = 19,
    /// Setting `no_new_privs`.
    NoNewPrivileges = 20,
    /// Entering the working directory.
    WorkingDirectory = 21,
    /// Building a Landlock ruleset.
    Ruleset = 22,
    /// Applying a Landlock layer.
    Landlock = 23,
    /// Closing descriptors.
    CloseDescriptors = 24,
    /// Applying the seccomp program.
    Seccomp = 25,
    /// Executing the program.
    Execute = 26,
    /// Starting a process.
    Process = 27,
    /// The launcher itself broke.
    Panic = 28,
    /// Joining the mount namespace of a template.
    Template = 29,
    /// Joining the network namespace that runs share.
    Network = 30,
    /// Listening on the loopback device.
    Listen = 31,
}

impl Stage {
    /// Every stage, in the order of their numbers.
    pub const ALL: [Self; 31] = [
        Self::Receive,
        Self::Plan,
        Self::Stdio,
        Self::Session,
        Self::Cgroup,
        Self::Namespaces,
        Self::IdMap,
        Self::Private,
        Self::Source,
        Self::MountAttributes,
        Self::IdMappedMount,
        Self::Tmpfs,
        Self::Proc,
        Self::Root,
        Self::Pivot,
        Self::Loopback,
        Self::Limits,
        Self::Identity,
        Self::Capabilities,
        Self::NoNewPrivileges,
        Self::WorkingDirectory,
        Self::Ruleset,
        Self::Landlock,
        Self::CloseDescriptors,
        Self::Seccomp,
        Self::Execute,
        Self::Process,
        Self::Panic,
        Self::Template,
        Self::Network,
        Self::Listen,
    ];

    /// The name that people read.
    #[cfg(not(launcher))]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Plan => "plan",
            Self::Stdio => "stdio",
            Self::Session => "session",
            Self::Cgroup => "cgroup",
            Self::Namespaces => "namespaces",
            Self::IdMap => "id-map",
            Self::Private => "private-mounts",
            Self::Source => "source",
            Self::MountAttributes => "mount-attributes",
            Self::IdMappedMount => "id-mapped-mount",
            Self::Tmpfs => "tmpfs",
            Self::Proc => "proc",
            Self::Root => "root",
            Self::Pivot => "pivot",
            Self::Loopback => "loopback",
            Self::Limits => "limits",
            Self::Identity => "identity",
            Self::Capabilities => "capabilities",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::WorkingDirectory => "working-directory",
            Self::Ruleset => "ruleset",
            Self::Landlock => "landlock",
            Self::CloseDescriptors => "close-descriptors",
            Self::Seccomp => "seccomp",
            Self::Execute => "execute",
            Self::Process => "process",
            Self::Panic => "panic",
            Self::Template => "template",
            Self::Network => "network",
            Self::Listen => "listen",
        }
    }

    /// The stage with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage as u32 == number)
    }
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(launcher), non_exhaustive)]
pub enum Message {
    /// The program runs. Carries the descriptor of the namespace's init, when there is a scratch
    /// the directory that results are collected from, and when there is one the socket that listens
    /// on the run's loopback device.
    Started {
        /// The init process as the host sees it through the descriptor; zero inside a namespace.
        descriptors: u32,
    },
    /// The launch failed and nothing runs.
    Failed {
        /// Where.
        stage: Stage,
        /// The kernel's answer.
        errno: i32,
        /// Which item of the stage's list, from 0.
        item: u32,
    },
    /// The main process ended.
    Exited {
        /// The raw wait status.
        status: i32,
        /// Time in user mode, of it and its awaited children, in microseconds.
        user: u64,
        /// Time in kernel mode, likewise.
        system: u64,
        /// The largest resident set of any one of them, in KiB.
        peak: u64,
    },
    /// A namespace is held. With a template come the rulesets of its layers.
    Holding,
    /// One trial of a probe ended.
    Tried {
        /// Which, from 0.
        trial: u32,
        /// The step that failed; `Execute` when none did.
        stage: Stage,
        /// The kernel's answer; zero when none failed.
        errno: i32,
    },
}

impl Message {
    /// Writes the record.
    pub fn encode(self) -> [u8; BYTES] {
        let words: [u64; 6] = match self {
            Self::Started { descriptors } => [1, u64::from(descriptors), 0, 0, 0, 0],
            Self::Failed { stage, errno, item } => [
                2,
                stage as u64,
                u64::from(errno.unsigned_abs()),
                u64::from(item),
                0,
                0,
            ],
            Self::Exited {
                status,
                user,
                system,
                peak,
            } => [3, u64::from(status.cast_unsigned()), user, system, peak, 0],
            Self::Holding => [4, 0, 0, 0, 0, 0],
            Self::Tried {
                trial,
                stage,
                errno,
            } => [
                5,
                u64::from(trial),
                stage as u64,
                u64::from(errno.unsigned_abs()),
                0,
                0,
            ],
        };
        let mut bytes = [0; BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a record; `None` when it is not one.
    #[cfg(not(launcher))]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let mut words = [0_u64; 6];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().ok()?);
        }
        let [kind, a, b, c, d, _] = words;
        let narrow = |word: u64| u32::try_from(word).ok();
        let errno = |word: u64| i32::try_from(word).ok();
        Some(match kind {
            1 => Self::Started {
                descriptors: narrow(a)?,
            },
            2 => Self::Failed {
                stage: Stage::from_number(narrow(a)?)?,
                errno: errno(b)?,
                item: narrow(c)?,
            },
            3 => Self::Exited {
                status: narrow(a)?.cast_signed(),
                user: b,
                system: c,
                peak: d,
            },
            4 => Self::Holding,
            5 => Self::Tried {
                trial: narrow(a)?,
                stage: Stage::from_number(narrow(b)?)?,
                errno: errno(c)?,
            },
            _ => return None,
        })
    }
}
