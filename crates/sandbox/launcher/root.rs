//! The prepared root: builds what the plan lists, enters it and lets the old root go.

use core::ffi::CStr;

use crate::message::Stage;
use crate::namespace::decimal;
use crate::plan::{List, NONE, Step};
use crate::state::{self, At, Failure, Outcome};
use crate::sys::{self, AT_FDCWD, Errno, nr};

/// Builds the root in this mount namespace and makes it the process's own.
///
/// Binds are cloned first, while the host's tree is whole; the root's own tmpfs is then mounted
/// over a directory of it, filled, sealed and entered.
pub fn enter(steps: List<'static, Step<'static>>, own: (u32, u32)) -> Outcome<()> {
    private().at(Stage::Private)?;
    for (item, step) in steps.iter().enumerate() {
        if let Step::Bind {
            source,
            attributes,
            map,
            ..
        } = step
        {
            clone_source(item, source, attributes, map)?;
        }
    }
    let root = stage_root().at(Stage::Tmpfs)?;
    complete(steps, own)?;
    let seal = Attributes {
        set: READ_ONLY,
        clear: 0,
        propagation: 0,
        map: 0,
    };
    set_attributes(root, 0, &seal).at(Stage::MountAttributes)?;
    pivot().at(Stage::Pivot)
}

/// Does steps of the root in the working directory. Binds are those of cloned sources.
pub fn complete(steps: List<'static, Step<'static>>, own: (u32, u32)) -> Outcome<()> {
    for (item, step) in steps.iter().enumerate() {
        perform(item, step, own)?;
    }
    Ok(())
}

/// Keeps mounts of this namespace from reaching another one.
pub fn private() -> sys::Result<()> {
    const MS_REC_PRIVATE: usize = 0x4000 | 1 << 18;
    mount(c"none", c"/", c"none", MS_REC_PRIVATE, c"")
}

/// Mounts an empty tmpfs over a directory of the host's tree and enters it.
pub fn stage_root() -> sys::Result<i32> {
    const O_PATH_DIRECTORY: i32 = 0o10_000_000 | 0o200_000 | 0o2_000_000;
    let options = c"size=1m,nr_inodes=2k,mode=755";
    // It holds the devices of the plan; once it is sealed nobody makes another.
    let flags = INERT & !NO_DEVICES;
    let place = match mount(c"tmpfs", c"/tmp", c"tmpfs", flags, options) {
        Ok(()) => c"/tmp",
        Err(_) => {
            mount(c"tmpfs", c"/usr", c"tmpfs", flags, options)?;
            c"/usr"
        }
    };
    let root = sys::openat(AT_FDCWD, place, O_PATH_DIRECTORY, 0)?;
    sys::numbers(nr::FCHDIR, root as usize, 0, 0, 0)?;
    Ok(root)
}

/// Mounts a `proc` of this PID namespace.
pub fn mount_proc(path: &CStr) -> sys::Result<()> {
    const MS_RDONLY: usize = 1;
    mount(c"proc", path, c"proc", INERT | MS_RDONLY, c"subset=pid")
}

/// Replaces a descriptor by a detached clone of the tree that it names.
///
/// The descriptor belongs to the host's mount namespace, so the tree is found again by the name
/// that the kernel gives the descriptor now, and compared with it: a swapped path is refused.
fn clone_source(item: usize, source: u32, attributes: u64, map: u32) -> Outcome<()> {
    let slot = &mut state::descriptors()[source as usize];
    let pinned = *slot;
    let mut name = [0_u8; 4096];
    let tree = name_of(pinned, &mut name)
        .and_then(open_tree)
        .at_item(Stage::Source, item)?;
    if identity(tree).at_item(Stage::Source, item)?
        != identity(pinned).at_item(Stage::Source, item)?
    {
        return Err(Failure {
            stage: Stage::Source,
            errno: ESTALE,
            item: item as u32,
        });
    }
    let mut change = Attributes {
        set: attributes,
        clear: 0,
        propagation: 0,
        map: 0,
    };
    if map == NONE {
        set_attributes(tree, AT_RECURSIVE, &change).at_item(Stage::MountAttributes, item)?;
    } else {
        change.set |= ID_MAP;
        change.map = state::descriptors()[map as usize] as u64;
        set_attributes(tree, AT_RECURSIVE, &change).at_item(Stage::IdMappedMount, item)?;
    }
    sys::close(pinned);
    state::descriptors()[source as usize] = tree;
    Ok(())
}

fn perform(item: usize, step: Step<'_>, own: (u32, u32)) -> Outcome<()> {
    match step {
        Step::Directory {
            path,
            mode,
            own: owned,
        } => {
            let owner = if owned { Some(own) } else { None };
            directory(path, mode, owner).at_item(Stage::Root, item)
        }
        Step::Link { path, target } => link(path, target).at_item(Stage::Root, item),
        Step::File {
            path,
            mode,
            content,
        } => file(path, mode, content).at_item(Stage::Root, item),
        Step::Device { path, number } => device(path, number).at_item(Stage::Root, item),
        Step::Bind { path, source, .. } => {
            attach(state::descriptors()[source as usize], path).at_item(Stage::Root, item)
        }
        Step::Scratch { path, options } => {
            mount(c"tmpfs", path, c"tmpfs", INERT, options).at_item(Stage::Tmpfs, item)
        }
        Step::Processes { path } => mount_proc(path).at_item(Stage::Proc, item),
    }
}

fn directory(path: &CStr, mode: u32, owner: Option<(u32, u32)>) -> sys::Result<()> {
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is NUL-terminated and only read.
    let made = unsafe {
        sys::call(
            nr::MKDIRAT,
            [
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                mode as usize,
                0,
                0,
                0,
            ],
        )
    };
    match made {
        Ok(_) => {}
        Err(Errno(EEXIST)) => return Ok(()),
        Err(error) => return Err(error),
    }
    let Some((uid, gid)) = owner else {
        return Ok(());
    };
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is NUL-terminated and only read.
    unsafe {
        sys::call(
            nr::FCHOWNAT,
            [
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                uid as usize,
                gid as usize,
                AT_SYMLINK_NOFOLLOW,
                0,
            ],
        )
    }
    .map(|_| ())
}

fn link(path: &CStr, target: &CStr) -> sys::Result<()> {
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: both paths are NUL-terminated and only read.
    unsafe {
        sys::call(
            nr::SYMLINKAT,
            [
                target.as_ptr() as usize,
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                0,
                0,
                0,
            ],
        )
    }
    .map(|_| ())
}

fn file(path: &CStr, mode: u32, content: &[u8]) -> sys::Result<()> {
    const O_WRONLY_CREAT: i32 = 1 | 0o100 | 0o400_000 | 0o2_000_000;
    let file = sys::openat(AT_FDCWD, path, O_WRONLY_CREAT, mode)?;
    let written = if content.is_empty() {
        Ok(0)
    } else {
        sys::write(file, content)
    };
    sys::close(file);
    written.map(|_| ())
}

fn device(path: &CStr, number: u32) -> sys::Result<()> {
    const CHARACTER_DEVICE: usize = 0o020_000;
    const EVERYONE: usize = 0o666;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is NUL-terminated and only read.
    unsafe {
        sys::call(
            nr::MKNODAT,
            [
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                CHARACTER_DEVICE | EVERYONE,
                number as usize,
                0,
                0,
            ],
        )
    }
    .map(|_| ())
}

fn attach(tree: i32, path: &CStr) -> sys::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: usize = 4;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: both paths are NUL-terminated and only read.
    unsafe {
        sys::call(
            nr::MOVE_MOUNT,
            [
                tree as usize,
                c"".as_ptr() as usize,
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                MOVE_MOUNT_F_EMPTY_PATH,
                0,
            ],
        )
    }?;
    sys::close(tree);
    Ok(())
}

fn pivot() -> sys::Result<()> {
    const MNT_DETACH: usize = 2;
    let here = c".".as_ptr() as usize;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the paths are NUL-terminated literals that the kernel only reads.
    unsafe {
        sys::call(nr::PIVOT_ROOT, [here, here, 0, 0, 0, 0])?;
        sys::call(nr::UMOUNT2, [here, MNT_DETACH, 0, 0, 0, 0])?;
        sys::call(nr::CHDIR, [c"/".as_ptr() as usize, 0, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// The path that the kernel gives for a descriptor now.
fn name_of(descriptor: i32, into: &mut [u8; 4096]) -> sys::Result<&CStr> {
    let mut path = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    decimal(descriptor as u32, &mut path, 14);
    let room = into.len() - 1;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is NUL-terminated; the buffer is live and `room` bytes long.
    let length = unsafe {
        sys::call(
            nr::READLINKAT,
            [
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                into.as_mut_ptr() as usize,
                room,
                0,
                0,
            ],
        )
    }?;
    into[length] = 0;
    CStr::from_bytes_until_nul(into).map_err(|_| Errno(ESTALE))
}

fn open_tree(path: &CStr) -> sys::Result<i32> {
    const CLONE_CLOEXEC: usize = 1 | 0o2_000_000;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is NUL-terminated and only read.
    let tree = unsafe {
        sys::call(
            nr::OPEN_TREE,
            [
                AT_FDCWD as usize,
                path.as_ptr() as usize,
                CLONE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW,
                0,
                0,
                0,
            ],
        )
    }?;
    Ok(tree as i32)
}

/// Device and inode number.
fn identity(descriptor: i32) -> sys::Result<(u64, u64)> {
    let mut stat = [0_u64; 18];
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: `struct stat` has 144 bytes, as the buffer.
    unsafe {
        sys::call(
            nr::FSTAT,
            [descriptor as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0],
        )
    }?;
    Ok((stat[0], stat[1]))
}

/// `struct mount_attr`.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    map: u64,
}

fn set_attributes(tree: i32, recursive: usize, change: &Attributes) -> sys::Result<()> {
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the path is a NUL-terminated literal; the structure is live and its size is passed.
    unsafe {
        sys::call(
            nr::MOUNT_SETATTR,
            [
                tree as usize,
                c"".as_ptr() as usize,
                AT_EMPTY_PATH | recursive,
                core::ptr::from_ref(change) as usize,
                size_of::<Attributes>(),
                0,
            ],
        )
    }
    .map(|_| ())
}

fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: usize,
    options: &CStr,
) -> sys::Result<()> {
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: every argument but the flags is a NUL-terminated string that the kernel only reads.
    unsafe {
        sys::call(
            nr::MOUNT,
            [
                source.as_ptr() as usize,
                target.as_ptr() as usize,
                kind.as_ptr() as usize,
                flags,
                options.as_ptr() as usize,
                0,
            ],
        )
    }
    .map(|_| ())
}

/// `MS_NOSUID`, `MS_NODEV` and `MS_NOEXEC`.
const INERT: usize = 2 | NO_DEVICES | 8;
const NO_DEVICES: usize = 4;
const READ_ONLY: u64 = 1;
const ID_MAP: u64 = 0x0010_0000;
const AT_RECURSIVE: usize = 0x8000;
const AT_EMPTY_PATH: usize = 0x1000;
const AT_SYMLINK_NOFOLLOW: usize = 0x100;
const EEXIST: i32 = 17;
const ESTALE: i32 = 116;
