//! The roots of a session, each opened once and pinned.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use bailiwick_policy::{EffectiveRoot, HostPath, RelPath};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat2};
use rustix::io::Errno;

use crate::error::SandboxError;

/// Every root of a session, opened and identified.
///
/// A path is resolved here once. It leads through no symbolic link but those of the system, in `/`,
/// `/usr` and `/etc`: any other may have been left by a run that was granted the folder around it.
/// From then on the descriptor pins the inode: whoever renames the path or swaps it for a link
/// afterwards changes nothing for the session. Roots of derived policies are opened beneath these
/// descriptors and nowhere else.
///
/// # Examples
///
/// ```
/// use bailiwick_sandbox::Session;
///
/// let session = Session::open(&["/usr/share".parse()?])?;
/// assert!(Session::open(&["/no/such/folder".parse()?]).is_err());
/// # drop(session);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    roots: Vec<Pinned>,
}

/// An opened root.
#[derive(Debug)]
struct Pinned {
    path: HostPath,
    descriptor: OwnedFd,
}

/// What a granted place is.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) descriptor: OwnedFd,
    pub(crate) directory: bool,
    pub(crate) owner: (u32, u32),
}

impl Session {
    /// Opens every root.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` naming the root that does not exist, leads through a link, is not an
    /// ordinary file or folder, or lies on a file system whose checks the kernel does not enforce as
    /// expected.
    pub fn open(roots: &[HostPath]) -> Result<Self, SandboxError> {
        let roots = roots.iter().map(pin).collect::<Result<_, _>>()?;
        Ok(Self { roots })
    }

    /// Opens a root of a derived policy beneath the session's root that it counts.
    pub(crate) fn open_beneath(&self, root: &EffectiveRoot) -> Result<Opened, SandboxError> {
        let path = root.host_path();
        let pinned = self
            .roots
            .get(root.session_root())
            .filter(|pinned| path.strip_prefix(&pinned.path).as_ref() == Some(root.path()))
            .ok_or_else(|| refuse(path, "the session that was opened does not hold it"))?;
        let relative = if root.path().is_empty() {
            "."
        } else {
            root.path().as_str()
        };
        // A root that is a file has nothing beneath it.
        let descriptor = if root.path().is_empty() {
            pinned
                .descriptor
                .try_clone()
                .map_err(|error| unreadable(path, &error))?
        } else {
            open(
                &pinned.descriptor,
                relative,
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
            )
            .map_err(|errno| unreadable(path, &errno.into()))?
        };
        identify(path, descriptor)
    }
}

impl Session {
    /// Finds the root that a path lies in, and the place inside it; the deepest root wins.
    pub(crate) fn holder(&self, path: &HostPath) -> Result<(&OwnedFd, RelPath), SandboxError> {
        let held = self.roots.iter().filter_map(|pinned| {
            path.strip_prefix(&pinned.path)
                .map(|inside| (&pinned.descriptor, inside))
        });
        held.min_by_key(|(_, inside)| inside.as_str().len())
            .ok_or_else(|| refuse(path, "the session that was opened does not hold it"))
    }
}

/// Opens a place of the host that is trusted by its configuration, such as an interpreter's.
pub(crate) fn open_trusted(path: &str) -> Result<OwnedFd, Errno> {
    open(CWD, path, ResolveFlags::empty())
}

/// Checks a place that an interpreter has beyond the base as a granted one is checked, and says
/// whether it is a folder that may hold sockets of others: any outside the system's own trees.
pub(crate) fn check_trusted(path: &HostPath) -> Result<bool, SandboxError> {
    let found = fs::canonicalize(path.as_path())
        .map_err(|source| SandboxError::host(format!("find `{path}`"), source))?;
    let real = found.to_str().and_then(|real| real.parse().ok());
    let real: HostPath =
        real.ok_or_else(|| refuse(path, "a link leads to a name that is not text"))?;
    grantable(path, &real)?;
    let descriptor =
        open_trusted(real.as_str()).map_err(|errno| unreadable(path, &errno.into()))?;
    let directory = identify(path, descriptor)?.directory;
    let is_of_system = SYSTEM_TREES.iter().any(|tree| found.starts_with(tree));
    Ok(directory && !is_of_system)
}

pub(crate) fn open(
    directory: impl AsFd,
    path: &str,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
    // The kernel answers EAGAIN when a rename raced with the walk; a few tries settle it.
    let mut tries = 0..8;
    loop {
        match openat2(&directory, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) if tries.next().is_some() => {}
            result => return result,
        }
    }
}

fn pin(path: &HostPath) -> Result<Pinned, SandboxError> {
    grantable(path, path)?;
    let real = real(path)?;
    grantable(path, &real)?;
    let descriptor = open(CWD, real.as_str(), ResolveFlags::NO_SYMLINKS)
        .map_err(|errno| unreadable(path, &errno.into()))?;
    let opened = identify(path, descriptor)?;
    Ok(Pinned {
        path: path.clone(),
        descriptor: opened.descriptor,
    })
}

/// Refuses a root for where it is, or where it leads.
fn grantable(path: &HostPath, real: &HostPath) -> Result<(), SandboxError> {
    if real.kernel_interface().is_some() {
        let why = "it is an interface of the kernel, or contains one";
        return Err(refuse(path, why));
    }
    let real = real.as_path();
    let is_reserved = |reserved: &Path| real.starts_with(reserved) || reserved.starts_with(real);
    if RESERVED.map(Path::new).into_iter().any(is_reserved) {
        return Err(refuse(path, "a run has a place of its own there"));
    }
    Ok(())
}

/// Follows the links of the system on the way to a root, and refuses any other.
fn real(path: &HostPath) -> Result<HostPath, SandboxError> {
    let mut real = PathBuf::from(path.as_str());
    for _ in 0..MOST_LINKS {
        let Some((link, target)) = first_link(&real) else {
            let text = real.to_str().and_then(|text| text.parse().ok());
            return text.ok_or_else(|| refuse(path, "a link leads to a name that is not text"));
        };
        let folder = link.parent().unwrap_or_else(|| Path::new("/"));
        let is_of_system =
            folder == Path::new("/") || SYSTEM.iter().any(|system| folder.starts_with(system));
        if !is_of_system {
            let why = format!(
                "`{}` is a symbolic link to `{}`, and whoever can write there chooses where it \
                 leads: grant the place itself",
                link.display(),
                target.display(),
            );
            return Err(refuse(path, &why));
        }
        let rest = real.strip_prefix(&link).unwrap_or_else(|_| Path::new(""));
        real = normal(&folder.join(target).join(rest));
    }
    Err(unreadable(path, &Errno::LOOP.into()))
}

/// Finds the first component of a path that is a link, and what it holds.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut walked = PathBuf::new();
    path.components().find_map(|component| {
        walked.push(component);
        let target = fs::read_link(&walked).ok()?;
        Some((walked.clone(), target))
    })
}

/// Resolves `..` in a path that holds no link up to there.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(component);
        }
    }
    normal
}

/// Checks what was opened.
fn identify(path: &HostPath, descriptor: OwnedFd) -> Result<Opened, SandboxError> {
    let stat = fstat(&descriptor).map_err(|errno| unreadable(path, &errno.into()))?;
    let directory = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => true,
        FileType::RegularFile => false,
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => {
            return Err(refuse(path, "it is neither a file nor a folder"));
        }
    };
    let system = fstatfs(&descriptor).map_err(|errno| unreadable(path, &errno.into()))?;
    let kind = system.f_type;
    if let Some((_, name)) = REFUSED_FILE_SYSTEMS
        .iter()
        .find(|(magic, _)| *magic == kind)
    {
        return Err(refuse(
            path,
            &format!("it lies on {name}, where checks are not enforced"),
        ));
    }
    Ok(Opened {
        descriptor,
        directory,
        owner: (stat.st_uid, stat.st_gid),
    })
}

pub(crate) fn refuse(path: &HostPath, why: &str) -> SandboxError {
    SandboxError::Root {
        path: path.as_str().to_owned(),
        why: why.to_owned(),
    }
}

pub(crate) fn unreadable(path: &HostPath, error: &io::Error) -> SandboxError {
    SandboxError::Root {
        path: path.as_str().to_owned(),
        why: error.to_string(),
    }
}

/// Where the prepared root keeps what belongs to the run.
const RESERVED: [&str; 2] = ["/skill", "/run/rw"];

/// Where links belong to the system, besides those in `/`, which nobody can be granted.
const SYSTEM: [&str; 2] = ["/usr", "/etc"];

/// What the base `usr` binds: programs and libraries of the system, and no socket.
const SYSTEM_TREES: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// As many links as the kernel follows, `path_resolution(7)`.
const MOST_LINKS: u32 = 40;

/// Magic numbers of `linux/magic.h`, with the name that people know.
const REFUSED_FILE_SYSTEMS: [(i64, &str); 7] = [
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6367_7270, "cgroup2"),
    (0x0027_e0eb, "cgroup"),
    (0x6462_6720, "debugfs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_kernel_interfaces_and_what_a_run_keeps_for_itself() {
        for path in [
            "/proc",
            "/sys/fs",
            "/dev",
            "/",
            "/skill",
            "/run/rw/out",
            "/run",
        ] {
            let root = path.parse::<HostPath>().expect("a path");
            let refused = Session::open(&[root]).expect_err(path);
            assert_eq!(
                refused.code(),
                bailiwick_core::Code::InvalidSkillsConfig,
                "{path}"
            );
        }
    }

    #[test]
    fn links_are_resolved_by_what_they_hold() {
        assert_eq!(normal(Path::new("/usr/../b/./c/..")), Path::new("/b"));
        assert_eq!(first_link(Path::new("/no/such/place")), None);
        let (link, _) = first_link(Path::new("/proc/self/maps")).expect("a link");
        assert_eq!(link, Path::new("/proc/self"));
    }

    #[test]
    fn a_name_that_only_starts_alike_is_not_covered() {
        let is_grantable = |path: &str| {
            let path = path.parse().expect("a path");
            grantable(&path, &path).is_ok()
        };
        assert!(!is_grantable("/run/rw/x") && is_grantable("/run/rwx"));
    }
}
