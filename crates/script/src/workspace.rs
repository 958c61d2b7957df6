//! Where a loaded skill's files are kept for its scripts (contracts 5.4).

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bailiwick_core::{Code, Digest, ModeClass, SkillError, SkillFile, SkillName, SkillPath};
use cap_std::ambient_authority;
use cap_std::fs::{
    Dir, DirBuilder, DirBuilderExt as _, OpenOptions, OpenOptionsExt as _, Permissions,
    PermissionsExt as _,
};

use bailiwick_sandbox::SCRATCH_LINKS;

use crate::error::ScriptError;

/// Keeps copies of skills' files.
///
/// Both methods may block on a disk: call them from a thread of their own.
pub trait SkillWorkspace: fmt::Debug + Send + Sync {
    /// Copies the files of one revision, never linking, and returns a root that is absolute and
    /// unique among live revisions.
    ///
    /// Where the skill has no file or folder of that name itself, the root holds the links of
    /// [`SCRATCH_LINKS`], which lead to a run's own folders.
    ///
    /// # Errors
    ///
    /// `E_SKILL_WORKSPACE_FAILED`; nothing is left behind.
    fn materialize(&self, skill: &SkillName, files: &[SkillFile]) -> Result<PathBuf, SkillError>;

    /// Removes a root that [`materialize`](Self::materialize) returned.
    ///
    /// # Errors
    ///
    /// `E_SKILL_WORKSPACE_FAILED`.
    fn dispose(&self, root: &Path) -> Result<(), SkillError>;
}

/// A workspace in a folder of the host, private to its user.
///
/// Every process keeps its roots in a folder of its own under a lock; what a killed process left
/// behind is swept when the next one opens the workspace.
pub struct DirWorkspace {
    base: PathBuf,
    own: String,
    dir: Dir,
    next: AtomicU64,
    /// Held as long as this process lives; whoever can take it may sweep.
    #[cfg_attr(not(test), expect(dead_code, reason = "held, not read"))]
    lock: File,
}

impl DirWorkspace {
    /// Opens a workspace folder, creating it where it is missing, and sweeps what dead processes
    /// left.
    ///
    /// # Errors
    ///
    /// `E_SKILL_WORKSPACE_FAILED` when the folder cannot be made, locked or swept.
    pub fn open(base: impl AsRef<Path>) -> Result<Self, SkillError> {
        Ok(Self::open_dir(base.as_ref())?)
    }

    fn open_dir(base: &Path) -> Result<Self, ScriptError> {
        let wrap = ScriptError::workspace;
        Dir::create_ambient_dir_all(base, ambient_authority())
            .map_err(wrap("create its folder"))?;
        let base = base.canonicalize().map_err(wrap("resolve its folder"))?;
        let root =
            Dir::open_ambient_dir(&base, ambient_authority()).map_err(wrap("open its folder"))?;
        check_private(&root).map_err(wrap("trust its folder"))?;
        sweep(&root).map_err(wrap("sweep what a dead process left"))?;
        let own = format!("host-{}-{:08x}", std::process::id(), unique());
        let lock = take_lock(&root, &own).map_err(wrap("take its lock"))?;
        root.create_dir_with(&own, &private())
            .map_err(wrap("create its own folder"))?;
        let dir = root.open_dir(&own).map_err(wrap("open its own folder"))?;
        Ok(Self {
            base,
            own,
            dir,
            next: AtomicU64::new(0),
            lock,
        })
    }

    fn fill(&self, name: &str, files: &[SkillFile]) -> std::io::Result<()> {
        open_to_all(&self.dir, Path::new(name))?;
        let root = self.dir.open_dir(name)?;
        for file in files {
            let path = Path::new(file.path.as_str());
            let above: Vec<_> = path
                .ancestors()
                .skip(1)
                .filter(|folder| !folder.as_os_str().is_empty())
                .collect();
            for folder in above.into_iter().rev() {
                open_to_all(&root, folder)?;
            }
            let mode = match file.mode {
                ModeClass::Regular => 0o444,
                ModeClass::Executable => 0o555,
            };
            let mut copy = root.open_with(
                path,
                OpenOptions::new().write(true).create_new(true).mode(mode),
            )?;
            copy.write_all(&file.bytes)?;
            copy.set_permissions(Permissions::from_mode(mode))?;
        }
        for (link, target) in SCRATCH_LINKS {
            if !files
                .iter()
                .any(|file| file.path.segments().next() == Some(link))
            {
                root.symlink_contents(target, link)?;
            }
        }
        Ok(())
    }
}

impl SkillWorkspace for DirWorkspace {
    fn materialize(&self, skill: &SkillName, files: &[SkillFile]) -> Result<PathBuf, SkillError> {
        let name = format!("{skill}-{}", self.next.fetch_add(1, Ordering::Relaxed));
        match self.fill(&name, files) {
            Ok(()) => Ok(self.base.join(&self.own).join(name)),
            Err(error) => {
                // The first failure is the one worth telling; the sweep removes what this misses.
                let _ = self.dir.remove_dir_all(&name);
                Err(ScriptError::workspace("copy the skill's files")(error).into())
            }
        }
    }

    fn dispose(&self, root: &Path) -> Result<(), SkillError> {
        let inside = root
            .strip_prefix(self.base.join(&self.own))
            .ok()
            .and_then(|rest| rest.to_str());
        let name = inside.filter(|name| !name.is_empty() && !name.contains('/') && *name != "..");
        let Some(name) = name else {
            let outside = std::io::Error::other("the root is not one of this workspace");
            return Err(ScriptError::workspace("remove a skill's files")(outside).into());
        };
        Ok(self
            .dir
            .remove_dir_all(name)
            .map_err(ScriptError::workspace("remove a skill's files"))?)
    }
}

impl Drop for DirWorkspace {
    fn drop(&mut self) {
        // Best effort: the next process sweeps what is left, since the lock goes with this one.
        if let Ok(root) = Dir::open_ambient_dir(&self.base, ambient_authority()) {
            let _ = root.remove_dir_all(&self.own);
            let _ = root.remove_file(format!("{}{LOCK_SUFFIX}", self.own));
        }
    }
}

impl fmt::Debug for DirWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirWorkspace")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

/// The materialised files of one loaded revision of a skill.
///
/// Whoever may still run a script of the revision holds it; the files go with the last holder.
#[derive(Debug)]
pub struct Revision {
    root: PathBuf,
    workspace: Arc<dyn SkillWorkspace>,
    disposed: bool,
}

impl Revision {
    /// Copies a skill's files into a workspace.
    ///
    /// # Errors
    ///
    /// `E_SKILL_DIGEST_MISMATCH` when the files are not those of `digest`, and what the workspace
    /// fails with.
    pub fn materialize(
        workspace: Arc<dyn SkillWorkspace>,
        skill: &SkillName,
        digest: Option<Digest>,
        files: &[SkillFile],
    ) -> Result<Arc<Self>, SkillError> {
        if digest.is_some_and(|digest| digest != SkillFile::digest(files)) {
            return Err(ScriptError::Changed {
                skill: skill.to_string(),
            }
            .into());
        }
        let root = workspace.materialize(skill, files)?;
        Ok(Arc::new(Self {
            root,
            workspace,
            disposed: false,
        }))
    }

    /// Returns the authoritative root of the files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads the beginning of a file, as much as choosing an interpreter needs.
    ///
    /// # Errors
    ///
    /// `E_SKILL_NOT_FOUND` when the skill has no such file.
    pub fn head(&self, path: &SkillPath) -> Result<Vec<u8>, SkillError> {
        let read = || {
            let root = Dir::open_ambient_dir(&self.root, ambient_authority())?;
            let mut head = Vec::with_capacity(HEAD_BYTES);
            root.open(path.as_str())?
                .take(HEAD_BYTES as u64)
                .read_to_end(&mut head)?;
            Ok(head)
        };
        read().map_err(|error: std::io::Error| {
            SkillError::new(Code::NotFound, format!("the skill has no file `{path}`"))
                .with_hint("`bailiwick inspect` lists the files of a skill")
                .with_detail("path", path.as_str())
                .with_source(error)
        })
    }

    /// Lets go of the revision; the last holder removes the files and learns whether that worked.
    ///
    /// # Errors
    ///
    /// `E_SKILL_WORKSPACE_FAILED` when this was the last holder and removing failed.
    pub fn release(self: Arc<Self>) -> Result<(), SkillError> {
        match Arc::into_inner(self) {
            Some(mut last) => {
                last.disposed = true;
                last.workspace.dispose(&last.root)
            }
            None => Ok(()),
        }
    }
}

impl Drop for Revision {
    fn drop(&mut self) {
        if !self.disposed {
            // Nobody is left to tell; the sweep at the next start removes what this misses.
            let _ = self.workspace.dispose(&self.root);
        }
    }
}

/// Refuses a folder that somebody else could put files into.
fn check_private(folder: &Dir) -> std::io::Result<()> {
    let metadata = folder.try_clone()?.into_std_file().metadata()?;
    let is_ours = metadata.uid() == nix::unistd::geteuid().as_raw();
    if is_ours && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::PermissionDenied,
        "others may write to it; name a folder of this user alone",
    ))
}

/// Makes a lock under another name and renames it once it is held: a sweep never finds it free.
fn take_lock(root: &Dir, own: &str) -> std::io::Result<File> {
    let new = format!("{own}.new");
    let lock = root.create(&new)?.into_std();
    lock.try_lock()?;
    root.rename(&new, root, format!("{own}{LOCK_SUFFIX}"))?;
    Ok(lock)
}

/// Makes a folder, unless it is there, that every uid may enter: a run has a uid of its own.
///
/// What keeps other people out is the private folder around it.
fn open_to_all(dir: &Dir, folder: &Path) -> std::io::Result<()> {
    match dir.create_dir(folder) {
        Ok(()) => dir.set_permissions(folder, Permissions::from_mode(0o755)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the folders of processes whose lock is free: they are dead.
fn sweep(root: &Dir) -> std::io::Result<()> {
    for entry in root.entries()? {
        let name = entry?.file_name();
        let Some(owner) = name
            .to_str()
            .and_then(|name| name.strip_suffix(LOCK_SUFFIX))
        else {
            continue;
        };
        let Ok(lock) = root.open(&name) else {
            continue;
        };
        if lock.into_std().try_lock().is_ok() {
            match root.remove_dir_all(owner) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            match root.remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Tells two workspaces of one process apart.
fn unique() -> u64 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    COUNTER.fetch_add(1, Ordering::Relaxed)
}

/// More than any shebang line needs.
const HEAD_BYTES: usize = 256;
const LOCK_SUFFIX: &str = ".lock";

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &[u8]) -> SkillFile {
        SkillFile::new(path.parse().unwrap(), ModeClass::Regular, bytes.to_vec())
    }

    fn skill() -> SkillName {
        "demo".parse().unwrap()
    }

    #[test]
    fn two_revisions_of_one_skill_have_roots_of_their_own_and_go_with_their_holders() {
        let folder = tempfile::tempdir().unwrap();
        let workspace: Arc<dyn SkillWorkspace> =
            Arc::new(DirWorkspace::open(folder.path()).unwrap());
        let files = [file("scripts/a.sh", b"echo"), file("SKILL.md", b"x")];
        let first = Revision::materialize(workspace.clone(), &skill(), None, &files).unwrap();
        let second = Revision::materialize(workspace, &skill(), None, &files).unwrap();
        assert_ne!(first.root(), second.root());
        let (root, in_flight) = (first.root().to_owned(), first.clone());
        first.release().unwrap();
        assert!(
            root.join("scripts/a.sh").exists(),
            "a call in flight keeps the files"
        );
        in_flight.release().unwrap();
        assert!(!root.exists() && second.root().exists());
    }

    #[test]
    fn files_that_are_not_those_of_the_digest_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Arc::new(DirWorkspace::open(folder.path()).unwrap());
        let digest = SkillFile::digest(&[file("a", b"x")]);
        let error = Revision::materialize(workspace, &skill(), Some(digest), &[file("a", b"y")])
            .unwrap_err();
        assert_eq!(error.code(), Code::DigestMismatch);
    }

    #[test]
    fn a_failed_copy_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = DirWorkspace::open(folder.path()).unwrap();
        let error = workspace
            .materialize(&skill(), &[file("a", b""), file("a/b", b"")])
            .unwrap_err();
        assert_eq!(error.code(), Code::WorkspaceFailed);
        assert_eq!(workspace.dir.entries().unwrap().count(), 0);
    }

    #[test]
    fn disposing_is_confined_to_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = DirWorkspace::open(folder.path()).unwrap();
        for outside in [
            Path::new("/"),
            folder.path(),
            &workspace.base.join(&workspace.own),
            &workspace.base.join(&workspace.own).join(".."),
        ] {
            assert!(workspace.dispose(outside).is_err(), "{outside:?}");
        }
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let error = DirWorkspace::open(folder.path()).unwrap_err();
        assert_eq!(error.code(), Code::WorkspaceFailed);
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let alive = DirWorkspace::open(folder.path()).unwrap();
        let root = alive.materialize(&skill(), &[file("a", b"")]).unwrap();
        // A process that is killed drops its lock and nothing else.
        let dead = std::mem::ManuallyDrop::new(DirWorkspace::open(folder.path()).unwrap());
        let left = dead.materialize(&skill(), &[file("a", b"")]).unwrap();
        dead.lock.unlock().unwrap();
        let _next = DirWorkspace::open(folder.path()).unwrap();
        assert!(root.exists() && !left.exists());
    }
}
