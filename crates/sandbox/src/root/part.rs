//! One part of a run's root: what it is, and how it is written into a plan.

use crate::encode::Writer;
use crate::plan::NONE;

use super::SCRATCH;

/// A uid and gid.
pub(crate) type Owner = (u32, u32);

/// One step of the root's making. Paths are relative to it.
#[derive(Debug)]
pub(super) enum Part {
    Directory {
        path: String,
        mode: u32,
        own: bool,
    },
    Link {
        path: String,
        target: String,
    },
    File {
        path: String,
        content: Content,
    },
    Device {
        path: String,
        number: u32,
    },
    Bind {
        path: String,
        source: usize,
        attributes: u64,
        owner: Option<Owner>,
    },
    Scratch {
        path: String,
        size: u64,
        inodes: u64,
    },
    Processes {
        path: String,
    },
}

/// What a made-up file holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Empty,
    Fixed(&'static str),
    Passwd,
    Group,
}

impl Part {
    /// Returns where it stands.
    pub(super) fn path(&self) -> &str {
        let (Self::Directory { path, .. }
        | Self::Link { path, .. }
        | Self::File { path, .. }
        | Self::Device { path, .. }
        | Self::Bind { path, .. }
        | Self::Scratch { path, .. }
        | Self::Processes { path }) = self;
        path
    }

    /// Says whether it is a folder that the root makes at a path.
    pub(super) fn is_directory(&self, at: &str) -> bool {
        match self {
            Self::Directory { path, .. } => path == at,
            Self::Link { .. }
            | Self::File { .. }
            | Self::Device { .. }
            | Self::Bind { .. }
            | Self::Scratch { .. }
            | Self::Processes { .. } => false,
        }
    }

    /// Says whether each run needs its own.
    pub(super) fn is_of_one_run(&self) -> bool {
        match self {
            Self::Directory { own, .. } => *own,
            Self::Scratch { .. } | Self::Processes { .. } => true,
            Self::Link { .. } | Self::File { .. } | Self::Device { .. } | Self::Bind { .. } => {
                false
            }
        }
    }

    /// Returns the owner that is mapped to the run's user, of a granted place.
    pub(super) fn owner(&self) -> Option<Owner> {
        match self {
            Self::Bind { owner, .. } => *owner,
            Self::Directory { .. }
            | Self::Link { .. }
            | Self::File { .. }
            | Self::Device { .. }
            | Self::Scratch { .. }
            | Self::Processes { .. } => None,
        }
    }

    /// Writes it into a plan, as [`Root::write`](super::Root::write) says.
    pub(super) fn write(
        &self,
        writer: &mut Writer,
        first: u32,
        user: Owner,
        map: impl Fn(Owner) -> Option<u32>,
    ) {
        match self {
            Self::Directory { path, mode, own } => writer.directory(path, *mode, *own),
            Self::Link { path, target } => writer.link(path, target),
            Self::File { path, content } => {
                writer.file(path, 0o444, content.text(user).as_bytes());
            }
            Self::Device { path, number } => writer.device(path, *number),
            Self::Bind {
                path,
                source,
                attributes,
                owner,
            } => {
                let source = first.saturating_add(u32::try_from(*source).unwrap_or(NONE));
                writer.bind(
                    path,
                    source,
                    *attributes,
                    owner.and_then(&map).unwrap_or(NONE),
                );
            }
            Self::Scratch { path, size, inodes } => {
                let options = format!("size={size},nr_inodes={inodes},mode=755");
                writer.scratch(path, &options);
            }
            Self::Processes { path } => writer.processes(path),
        }
    }
}

impl Content {
    fn text(self, (uid, gid): Owner) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Fixed(text) => text.to_owned(),
            Self::Passwd => format!(
                "root:x:0:0:root:/:/usr/sbin/nologin\n\
                 skill:x:{uid}:{gid}:skill:{SCRATCH}/home:/bin/sh\n"
            ),
            Self::Group => format!("root:x:0:\nskill:x:{gid}:\n"),
        }
    }
}
