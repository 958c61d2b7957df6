//! Skills in folders, as a source for the manager.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_core::{
    BoxFuture, CancelToken, DiscoveredSkill, Discovery, FileEntry, FileStat, Scope,
    SkillDescriptor, SkillError, SkillPath, SkillSource, Skip,
};
use cap_std::fs::Dir;

use crate::descriptor::describe;
use crate::diagnostic::Diagnostic;
use crate::discover::{self, Root};
use crate::disk;
use crate::error::PackageError;
use crate::front_matter::Profile;
use crate::package::Package;
use crate::survey::{SkillCopy, Survey};
use crate::thread::on_thread;
use crate::walk;

/// Skills found in folders, the nearest first.
///
/// Loading never writes, and nothing is cached: each question looks at the folders as they are.
/// File work happens on threads of its own and stops between two files once the caller cancels.
///
/// # Examples
///
/// ```
/// use bailiwick_core::{CancelToken, SkillSource as _};
/// use bailiwick_package::{DirectorySource, scaffold};
///
/// let folder = tempfile::tempdir()?;
/// let skill = folder.path().join("greeter");
/// std::fs::create_dir_all(skill.join("scripts"))?;
/// for (path, text) in scaffold(&"greeter".parse()?) {
///     let mut file = std::fs::File::create(skill.join(path.as_str()))?;
///     std::io::Write::write_all(&mut file, text.as_bytes())?;
/// }
/// let source = DirectorySource::open(folder.path())?;
/// let survey = source.survey(&CancelToken::new())?;
/// assert_eq!(survey.lookup("greeter")?.scope.as_str(), "path");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DirectorySource {
    id: String,
    roots: Arc<Vec<Root>>,
    /// The folders that would be searched, and why they are not.
    refused: Arc<Vec<Skip>>,
    profile: Profile,
}

impl DirectorySource {
    /// Searches one folder that a person named; its skills have the scope `path`.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when it is no folder that can be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PackageError> {
        Self::empty("directory").with_root(path, Scope::Path)
    }

    /// Searches as a project does: `.agents/skills` from `cwd` up to the repository root (the
    /// folder that holds `.git`), nearest first, then `~/.agents/skills` beneath `home`.
    ///
    /// Folders that do not exist are left out. Without a repository only `cwd` itself is
    /// searched. A project's folder that leads out of its repository is passed over, as is one
    /// that cannot be searched; each is reported as skipped, and the others are searched all the
    /// same. The user's own folder is never taken for a project's.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when `cwd` does not exist.
    pub fn project(cwd: impl AsRef<Path>, home: Option<&Path>) -> Result<Self, PackageError> {
        let cwd = canonical(cwd.as_ref())?;
        let user = home.map(|home| home.join(SKILLS_FOLDER));
        let users_own = user.as_ref().and_then(|user| user.canonicalize().ok());
        let repository = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let top = repository.unwrap_or(&cwd);
        let mut source = Self::empty("project");
        for folder in cwd.ancestors().take_while(|folder| folder.starts_with(top)) {
            let skills = folder.join(SKILLS_FOLDER);
            let real = skills.canonicalize().ok();
            match real {
                Some(real) if Some(&real) == users_own.as_ref() => {}
                Some(real) if !real.starts_with(top) => source.refuse(
                    &skills,
                    "the skills folder leads out of the repository".to_owned(),
                    "put the skills into the repository, or name their folder yourself",
                ),
                Some(_) | None => source.add_if_there(&skills, Scope::Project),
            }
        }
        if let Some(user) = user {
            source.add_if_there(&user, Scope::User);
        }
        Ok(source)
    }

    /// Adds a folder to search after the others.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when it is no folder that can be opened.
    pub fn with_root(mut self, path: impl AsRef<Path>, scope: Scope) -> Result<Self, PackageError> {
        let path = path.as_ref();
        self.add(root(path, scope).map_err(|source| cannot_search(path, source))?);
        Ok(self)
    }

    /// Sets the scope of every folder given so far. Defaults to `path` for [`open`](Self::open).
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        for root in Arc::make_mut(&mut self.roots) {
            root.scope = scope;
        }
        self
    }

    /// Sets the label of the source. Defaults to `directory` or `project`.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the rules that skills are held to. Defaults to [`Profile::Tool`].
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Returns the folders that are searched, canonical, the winning first.
    pub fn roots(&self) -> impl Iterator<Item = (&Path, Scope)> {
        self.roots
            .iter()
            .map(|root| (root.path.as_path(), root.scope))
    }

    /// Searches the folders and reports every copy of every skill, on the caller's thread.
    ///
    /// # Errors
    ///
    /// `E_SKILL_CANCELLED` between two folders.
    pub fn survey(&self, cancel: &CancelToken) -> Result<Survey, PackageError> {
        let mut survey = discover::survey(&self.roots, self.profile, cancel)?;
        survey.skipped.extend(self.refused.iter().cloned());
        Ok(survey)
    }

    /// Opens and checks the package of a skill that was found, on the caller's thread.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` when the package has errors, `E_SKILL_SOURCE_FAILED` when its
    /// folder is gone, `E_SKILL_CANCELLED` between two files.
    pub fn package(
        &self,
        skill: &DiscoveredSkill,
        cancel: &CancelToken,
    ) -> Result<(Package, Vec<Diagnostic>), PackageError> {
        let dir = self.folder(skill)?;
        match Package::open_cancellable(&dir, skill.name.as_str(), self.profile, cancel)? {
            (Some(package), diagnostics) => Ok((package, diagnostics)),
            (None, diagnostics) => Err(invalid(skill, diagnostics)),
        }
    }

    fn folder(&self, skill: &DiscoveredSkill) -> Result<Dir, PackageError> {
        discover::open_location(&self.roots, Path::new(&skill.location)).map_err(|source| {
            PackageError::Skill {
                location: skill.location.clone(),
                source,
            }
        })
    }

    fn read_now(
        &self,
        skill: &DiscoveredSkill,
        path: Option<&SkillPath>,
    ) -> Result<Vec<u8>, PackageError> {
        let dir = self.folder(skill)?;
        match path {
            Some(path) => disk::read_file(&dir, path),
            None => disk::read_body(&dir, skill.name.as_str(), self.profile)
                .map_err(|diagnostics| invalid(skill, diagnostics)),
        }
    }

    /// Adds a folder where there is one, and reports one that cannot be searched.
    fn add_if_there(&mut self, path: &Path, scope: Scope) {
        match root(path, scope) {
            Ok(root) => self.add(root),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {}
            Err(error) => self.refuse(
                path,
                format!("the skills folder cannot be searched: {error}"),
                "make it a folder that you may read, or remove it",
            ),
        }
    }

    fn add(&mut self, root: Root) {
        if !self.roots.contains(&root) {
            Arc::make_mut(&mut self.roots).push(root);
        }
    }

    fn refuse(&mut self, path: &Path, reason: String, fix: &str) {
        let skip = Skip::new(path.to_string_lossy(), reason, fix);
        Arc::make_mut(&mut self.refused).push(skip);
    }

    fn empty(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            roots: Arc::default(),
            refused: Arc::default(),
            profile: Profile::Tool,
        }
    }

    /// Works with a skill's package on a thread of its own.
    fn with_package<T: Send + 'static>(
        &self,
        skill: &DiscoveredSkill,
        cancel: CancelToken,
        work: impl FnOnce(&Package, Vec<Diagnostic>, &CancelToken) -> Result<T, PackageError>
        + Send
        + 'static,
    ) -> BoxFuture<'static, Result<T, SkillError>> {
        let (source, skill) = (self.clone(), skill.clone());
        on_thread(cancel, move |cancel| {
            let (package, diagnostics) = source.package(&skill, cancel)?;
            work(&package, diagnostics, cancel)
        })
    }
}

impl SkillSource for DirectorySource {
    fn id(&self) -> &str {
        &self.id
    }

    fn discover(&self, cancel: CancelToken) -> BoxFuture<'_, Result<Discovery, SkillError>> {
        let source = self.clone();
        on_thread(cancel, move |cancel| {
            let survey = source.survey(cancel)?;
            let mut discovery = Discovery::default();
            discovery.skipped = survey.skips();
            discovery.skills = survey
                .copies
                .into_iter()
                .filter_map(SkillCopy::listed)
                .collect();
            Ok(discovery)
        })
    }

    fn descriptor<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<SkillDescriptor, SkillError>> {
        self.with_package(skill, cancel, |package, diagnostics, cancel| {
            let digest = package.digest(cancel)?;
            Ok(describe(package, Some(digest), &diagnostics))
        })
    }

    fn read<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<u8>, SkillError>> {
        let path = path.cloned();
        let (source, skill) = (self.clone(), skill.clone());
        on_thread(cancel, move |_| source.read_now(&skill, path.as_ref()))
    }

    fn stat<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        path: Option<&'a SkillPath>,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<FileStat, SkillError>> {
        let path = path.cloned();
        let (source, skill) = (self.clone(), skill.clone());
        on_thread(cancel, move |_| match &path {
            Some(path) => {
                let (_, metadata) = walk::open_listed(&source.folder(&skill)?, path)?;
                Ok(FileStat::new(metadata.len()))
            }
            None => Ok(FileStat::new(source.read_now(&skill, None)?.len() as u64)),
        })
    }

    fn list<'a>(
        &'a self,
        skill: &'a DiscoveredSkill,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<FileEntry>, SkillError>> {
        self.with_package(skill, cancel, |package, _, _| Ok(package.files().to_vec()))
    }
}

impl fmt::Debug for DirectorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectorySource")
            .field("id", &self.id)
            .field("roots", &self.roots)
            .field("refused", &self.refused)
            .field("profile", &self.profile)
            .finish()
    }
}

fn invalid(skill: &DiscoveredSkill, diagnostics: Vec<Diagnostic>) -> PackageError {
    PackageError::Invalid {
        location: skill.location.clone(),
        diagnostics,
    }
}

fn canonical(path: &Path) -> Result<PathBuf, PackageError> {
    folder(path).map_err(|source| cannot_search(path, source))
}

fn root(path: &Path, scope: Scope) -> io::Result<Root> {
    let path = folder(path)?;
    Ok(Root { path, scope })
}

/// Returns the canonical path of a folder.
fn folder(path: &Path) -> io::Result<PathBuf> {
    let canonical = path.canonicalize()?;
    if canonical.is_dir() {
        Ok(canonical)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

fn cannot_search(path: &Path, source: io::Error) -> PackageError {
    PackageError::Root {
        path: path.to_owned(),
        source,
    }
}

/// Where a project and a user keep skills (contracts 7.4).
const SKILLS_FOLDER: &str = ".agents/skills";
