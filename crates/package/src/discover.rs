//! The bounded search for skills below folders (contracts 7.4).

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use bailiwick_core::{CancelToken, DiscoveredSkill, Scope, SkillName, Skip};
use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::diagnostic::Diagnostic;
use crate::error::PackageError;
use crate::front_matter::Profile;
use crate::id::DiagnosticId;
use crate::manifest::Manifest;
use crate::survey::{SkillCopy, Survey};

/// A folder that is searched for skills, and whose skills they are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Root {
    /// The folder, canonical.
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
}

/// Searches roots in order of precedence.
///
/// # Errors
///
/// [`PackageError::Cancelled`] between two folders.
pub(crate) fn survey(
    roots: &[Root],
    profile: Profile,
    cancel: &CancelToken,
) -> Result<Survey, PackageError> {
    let mut survey = Survey::default();
    for root in roots {
        match Dir::open_ambient_dir(&root.path, ambient_authority()) {
            Ok(dir) => {
                let mut search = Search {
                    roots,
                    root,
                    profile,
                    cancel,
                    survey: &mut survey,
                    children: BTreeMap::new(),
                    nothing: "there is no `SKILL.md` in it",
                };
                search.run(&dir)?;
            }
            Err(error) => survey.skipped.push(Skip::new(
                root.path.to_string_lossy(),
                format!("the skills folder cannot be opened: {error}"),
                "check that it exists and that you may read it",
            )),
        }
    }
    Ok(survey)
}

/// Opens the folder of a skill that a survey found, without following a link below its root.
pub(crate) fn open_location(roots: &[Root], location: &Path) -> io::Result<Dir> {
    for root in roots {
        if let Ok(below) = location.strip_prefix(&root.path) {
            let dir = Dir::open_ambient_dir(&root.path, ambient_authority())?;
            return open_below(dir, below);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is under none of the source's folders",
    ))
}

fn open_below(mut dir: Dir, below: &Path) -> io::Result<Dir> {
    for segment in below {
        dir = dir.open_dir_nofollow(segment)?;
    }
    Ok(dir)
}

/// The search of one root.
struct Search<'a> {
    roots: &'a [Root],
    root: &'a Root,
    profile: Profile,
    cancel: &'a CancelToken,
    survey: &'a mut Survey,
    /// The folders directly in the root, and whether a skill was found in each.
    children: BTreeMap<OsString, bool>,
    /// Why a folder without a skill is one, as far as was searched.
    nothing: &'static str,
}

/// A folder that is still to be searched.
struct Pending {
    /// Its path below the root.
    below: PathBuf,
    depth: usize,
    kind: Kind,
}

impl Search<'_> {
    fn run(&mut self, dir: &Dir) -> Result<(), PackageError> {
        let named_by_a_person = self.root.scope == Scope::Path;
        let mut pending = VecDeque::from([Pending {
            below: PathBuf::new(),
            depth: 0,
            kind: Kind::Folder,
        }]);
        let mut visited = 0_usize;
        while let Some(next) = pending.pop_front() {
            if self.cancel.is_cancelled() {
                return Err(PackageError::Cancelled);
            }
            visited += 1;
            if visited > MAX_FOLDERS {
                let reason = format!("the search stopped after {MAX_FOLDERS} folders");
                self.skip(
                    &next.below,
                    &reason,
                    "move skills into a folder of their own",
                );
                self.nothing = "the search stopped before a `SKILL.md` was found in it";
                break;
            }
            match next.kind {
                Kind::Folder => self.folder(dir, &next, named_by_a_person, &mut pending),
                Kind::Link => self.link(&next.below),
                Kind::Other => {}
            }
        }
        self.empty_children();
        Ok(())
    }

    /// Searches one folder: it is a skill, or its folders may be.
    fn folder(&mut self, root: &Dir, next: &Pending, named: bool, pending: &mut VecDeque<Pending>) {
        let opened = root
            .try_clone()
            .and_then(|dir| open_below(dir, &next.below));
        let listed = opened.and_then(|dir| Ok((list(&dir)?, dir)));
        let (entries, dir) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let reason = format!("the folder cannot be read: {error}");
                self.skip(&next.below, &reason, "check its permissions");
                return;
            }
        };
        let is_skill = entries.iter().any(|(name, _)| is_skill_file(name));
        if is_skill && (next.depth > 0 || named) {
            self.found(&dir, &self.root.path.join(&next.below), &next.below);
            return;
        }
        if is_skill {
            let reason = "a `SKILL.md` stands in the skills folder itself";
            self.skip(&next.below, reason, "move it into a folder of its own");
        }
        for (name, kind) in entries {
            let below = next.below.join(&name);
            match kind {
                Kind::Other => {}
                Kind::Folder | Kind::Link if is_passed_over(&name) => {
                    let fix = "move the skill elsewhere if there is one in it";
                    self.skip(
                        &below,
                        "hidden folders and dependencies are not searched",
                        fix,
                    );
                }
                Kind::Folder if next.depth == MAX_DEPTH => {
                    let reason = format!("the search ends {MAX_DEPTH} folders deep");
                    self.skip(&below, &reason, "move the skill up");
                }
                Kind::Folder => {
                    if next.depth == 0 {
                        self.children.insert(name, false);
                    }
                    pending.push_back(Pending {
                        below,
                        depth: next.depth + 1,
                        kind,
                    });
                }
                Kind::Link => pending.push_back(Pending {
                    below,
                    depth: next.depth + 1,
                    kind,
                }),
            }
        }
    }

    /// Follows a link to a folder that is a skill under a root at least as trusted.
    fn link(&mut self, below: &Path) {
        let link = self.root.path.join(below);
        let target = match link.canonicalize() {
            Ok(target) if target.is_dir() => target,
            Ok(_) => return,
            Err(error) => {
                self.broken(below, &link, &format!("the link leads nowhere: {error}"));
                return;
            }
        };
        let allowed = self.roots.iter().any(|root| {
            root.scope >= self.root.scope && target != root.path && target.starts_with(&root.path)
        });
        if !allowed {
            let reason = format!(
                "the link leads to {}, under no folder that is searched for the scope `{}`",
                target.display(),
                self.root.scope
            );
            self.broken(below, &link, &reason);
            return;
        }
        match open_location(self.roots, &target).and_then(|dir| Ok((list(&dir)?, dir))) {
            Ok((entries, dir)) if entries.iter().any(|(name, _)| is_skill_file(name)) => {
                self.found(&dir, &target, below);
            }
            Ok(_) => self.broken(
                below,
                &link,
                "the link leads to a folder without `SKILL.md`",
            ),
            Err(error) => {
                let reason = format!("the link's folder cannot be read: {error}");
                self.broken(below, &link, &reason);
            }
        }
    }

    /// Takes a folder with a `SKILL.md`; its name is the one it was found by.
    fn found(&mut self, dir: &Dir, location: &Path, below: &Path) {
        if let Some(child) = below
            .iter()
            .next()
            .and_then(|child| self.children.get_mut(child))
        {
            *child = true;
        }
        let folder = if below.as_os_str().is_empty() {
            location
        } else {
            below
        };
        let directory = folder.file_name().unwrap_or_default().to_string_lossy();
        let (manifest, diagnostics) = Manifest::read(dir, &directory, self.profile);
        let location = location.to_string_lossy().into_owned();
        let skill = manifest.map(|manifest| {
            DiscoveredSkill::new(
                manifest.name,
                manifest.version,
                manifest.description,
                self.root.scope,
                &location,
            )
        });
        match directory.parse::<SkillName>() {
            Ok(name) => self.survey.add(SkillCopy {
                skill,
                name,
                scope: self.root.scope,
                location,
                diagnostics,
                shadowed_by: None,
            }),
            Err(error) => {
                let fix = "rename the folder and the skill";
                self.survey
                    .skipped
                    .push(Skip::new(location, error.to_string(), fix));
            }
        }
    }

    /// Takes a link that is refused. One directly in the root blocks its name: the copy exists
    /// and is broken.
    fn broken(&mut self, below: &Path, location: &Path, reason: &str) {
        let directly = below.components().count() == 1;
        let name = below.to_string_lossy().parse::<SkillName>();
        match (directly, name) {
            (true, Ok(name)) => self.block(name, location, reason),
            (true | false, Ok(_) | Err(_)) => {
                self.skip(below, reason, "put the folder itself there");
            }
        }
    }

    /// Reports the folders of the root in which there is no skill; each blocks its name, because
    /// the folder that wins exists.
    fn empty_children(&mut self) {
        let children = std::mem::take(&mut self.children);
        for (child, _) in children.into_iter().filter(|(_, found)| !found) {
            let location = self.root.path.join(&child);
            let name = child
                .to_str()
                .and_then(|name| name.parse::<SkillName>().ok());
            match name {
                Some(name) => self.block(name, &location, self.nothing),
                None => self.skip(
                    Path::new(&child),
                    self.nothing,
                    "add one or remove the folder",
                ),
            }
        }
    }

    fn block(&mut self, name: SkillName, location: &Path, reason: &str) {
        let diagnostic = Diagnostic::error(DiagnosticId::SkillFileMissing, reason)
            .help("put a `SKILL.md` there or remove it; its name is taken until then");
        self.survey.add(SkillCopy {
            skill: None,
            name,
            scope: self.root.scope,
            location: location.to_string_lossy().into_owned(),
            diagnostics: vec![diagnostic],
            shadowed_by: None,
        });
    }

    fn skip(&mut self, below: &Path, reason: &str, fix: &str) {
        let location = self.root.path.join(below);
        self.survey
            .skipped
            .push(Skip::new(location.to_string_lossy(), reason, fix));
    }
}

/// What an entry of a folder is, as far as a search cares.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    Folder,
    Link,
    Other,
}

/// Lists a folder in byte order of the names.
fn list(dir: &Dir) -> io::Result<Vec<(OsString, Kind)>> {
    let mut entries = Vec::new();
    for entry in dir.entries()? {
        let entry = entry?;
        if entries.len() == MAX_ENTRIES {
            return Err(io::Error::other(format!(
                "it has more than {MAX_ENTRIES} entries"
            )));
        }
        let kind = entry.file_type()?;
        let kind = if kind.is_dir() {
            Kind::Folder
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Other
        };
        entries.push((entry.file_name(), kind));
    }
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

fn is_skill_file(name: &OsString) -> bool {
    name == "SKILL.md" || name == "skill.md"
}

fn is_passed_over(name: &OsString) -> bool {
    name == "node_modules" || name.as_encoded_bytes().starts_with(b".")
}

/// The deepest folder below a root that is searched (contracts 7.4).
const MAX_DEPTH: usize = 6;

/// The most folders that are searched below one root (contracts 7.4).
const MAX_FOLDERS: usize = 2000;

/// The most entries of one folder; many more than folders that are searched.
const MAX_ENTRIES: usize = 65_536;
