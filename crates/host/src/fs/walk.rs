//! A walk over directory handles: sorted, bounded, and never through a link.

use std::ops::ControlFlow;

use bailiwick_core::SkillError;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::budget::Bound;
use super::ignored::{FILES, Rules};
use crate::open::refuse_process_information;
use crate::work::Stop;

/// What a walk leaves out and how far it goes.
pub(crate) struct Walk<'a> {
    pub(crate) stop: &'a Stop,
    pub(crate) rules: Rules,
    /// Whether names that begin with a dot are visited.
    pub(crate) hidden: bool,
    /// Whether what ignore files leave out is visited.
    pub(crate) ignored: bool,
    /// The most directory entries that are looked at.
    pub(crate) max_entries: u64,
}

/// A regular file of the walk, as the directory listed it.
pub(crate) struct Found<'a> {
    pub(crate) dir: &'a Dir,
    pub(crate) name: &'a str,
    /// Relative to where the walk began.
    pub(crate) path: &'a str,
}

/// How a walk ended.
pub(crate) struct WalkEnd {
    /// What ended it early, or kept it out of a directory.
    pub(crate) bound: Option<Bound>,
    /// How many entries could not be read or have a name that is no text.
    pub(crate) skipped: u64,
}

impl Walk<'_> {
    /// Visits the files beneath a directory in the order of their paths.
    ///
    /// `enter` says of a directory's path whether anything beneath it is wanted.
    pub(crate) fn run(
        self,
        dir: &Dir,
        enter: impl Fn(&str) -> bool,
        visit: impl FnMut(&Found<'_>) -> Result<ControlFlow<Bound>, SkillError>,
    ) -> Result<WalkEnd, SkillError> {
        let mut walker = Walker {
            walk: self,
            enter,
            visit,
            seen: 0,
            end: WalkEnd {
                bound: None,
                skipped: 0,
            },
        };
        if let ControlFlow::Break(bound) = walker.folder(dir, "", 0)? {
            walker.end.bound = Some(bound);
        }
        Ok(walker.end)
    }
}

struct Walker<'a, E, V> {
    walk: Walk<'a>,
    enter: E,
    visit: V,
    seen: u64,
    end: WalkEnd,
}

struct Entry {
    name: String,
    is_dir: bool,
}

impl<E, V> Walker<'_, E, V>
where
    E: Fn(&str) -> bool,
    V: FnMut(&Found<'_>) -> Result<ControlFlow<Bound>, SkillError>,
{
    /// Walks one directory; `prefix` is its path with a trailing `/`, or empty.
    fn folder(
        &mut self,
        dir: &Dir,
        prefix: &str,
        depth: usize,
    ) -> Result<ControlFlow<Bound>, SkillError> {
        let (entries, rules, is_cut) = self.list(dir)?;
        let has_rules = !self.walk.ignored && self.walk.rules.enter(dir, &rules, prefix.len());
        for entry in &entries {
            self.walk.stop.check()?;
            if let ControlFlow::Break(bound) = self.entry(dir, entry, prefix, depth)? {
                return Ok(ControlFlow::Break(bound));
            }
        }
        if has_rules {
            self.walk.rules.leave();
        }
        if is_cut {
            return Ok(ControlFlow::Break(Bound::Entries));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn entry(
        &mut self,
        dir: &Dir,
        entry: &Entry,
        prefix: &str,
        depth: usize,
    ) -> Result<ControlFlow<Bound>, SkillError> {
        let path = format!("{prefix}{}", entry.name);
        if !self.walk.ignored && self.walk.rules.ignore(&path, entry.is_dir) {
            return Ok(ControlFlow::Continue(()));
        }
        if !entry.is_dir {
            return (self.visit)(&Found {
                dir,
                name: &entry.name,
                path: &path,
            });
        }
        if !(self.enter)(&path) {
            return Ok(ControlFlow::Continue(()));
        }
        if depth == MAX_DEPTH {
            self.end.bound = Some(Bound::Depth);
            return Ok(ControlFlow::Continue(()));
        }
        // Whatever was put in its place since it was listed, a link is not followed.
        let inner = dir
            .open_dir_nofollow(&entry.name)
            .ok()
            .filter(|inner| refuse_process_information(inner).is_ok());
        let Some(inner) = inner else {
            self.end.skipped += 1;
            return Ok(ControlFlow::Continue(()));
        };
        self.folder(&inner, &format!("{path}/"), depth + 1)
    }

    /// Lists what a walk visits of one directory, sorted, with the files of rules in it, and
    /// whether there is more than may be looked at.
    fn list(&mut self, dir: &Dir) -> Result<(Vec<Entry>, Vec<&'static str>, bool), SkillError> {
        let (mut list, mut rules) = (Vec::new(), Vec::new());
        let Ok(entries) = dir.entries() else {
            self.end.skipped += 1;
            return Ok((list, rules, false));
        };
        let mut is_cut = false;
        for entry in entries {
            self.walk.stop.check()?;
            if self.seen == self.walk.max_entries {
                is_cut = true;
                break;
            }
            self.seen += 1;
            let named = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
            let Ok((name, kind)) = named else {
                self.end.skipped += 1;
                continue;
            };
            let Ok(name) = name.into_string() else {
                self.end.skipped += 1;
                continue;
            };
            rules.extend(FILES.iter().copied().filter(|file| *file == name));
            let is_hidden = name.starts_with('.') && !self.walk.hidden;
            if name != VERSION_CONTROL && !is_hidden && (kind.is_dir() || kind.is_file()) {
                let is_dir = kind.is_dir();
                list.push(Entry { name, is_dir });
            }
        }
        list.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        rules.sort_unstable_by_key(|name| FILES.iter().position(|file| file == name));
        Ok((list, rules, is_cut))
    }
}

/// A repository's own store is data of git, not of its user.
const VERSION_CONTROL: &str = ".git";

/// How deep a walk goes; each level holds one handle open.
const MAX_DEPTH: usize = 64;

/// The most directory entries that one call looks at.
pub(crate) const MAX_ENTRIES: u64 = 250_000;

#[cfg(test)]
mod tests {
    use bailiwick_core::CancelToken;
    use bailiwick_testkit::TempWorkspace;
    use cap_std::ambient_authority;

    use super::*;

    fn walked(workspace: &TempWorkspace, max_entries: u64) -> (Vec<String>, WalkEnd) {
        let dir = Dir::open_ambient_dir(workspace.path(), ambient_authority()).unwrap();
        let stop = Stop::new(CancelToken::new());
        let walk = Walk {
            stop: &stop,
            rules: Rules::default(),
            hidden: false,
            ignored: false,
            max_entries,
        };
        let mut paths = Vec::new();
        let end = walk.run(
            &dir,
            |_| true,
            |found| {
                paths.push(found.path.to_owned());
                Ok(ControlFlow::Continue(()))
            },
        );
        (paths, end.unwrap())
    }

    #[test]
    fn a_walk_is_sorted_and_ends_after_its_entries() {
        let workspace = TempWorkspace::new();
        for name in ["b/2", "b/1", "a", "c"] {
            workspace.write(name, "");
        }
        let (paths, end) = walked(&workspace, 5);
        assert_eq!(
            (paths.join(" "), end.bound),
            ("a b/1 b/2 c".to_owned(), None)
        );
        let (paths, end) = walked(&workspace, 4);
        assert_eq!(end.bound, Some(Bound::Entries));
        assert!(paths.len() < 4, "{paths:?}");
    }

    #[test]
    fn a_walk_goes_only_so_deep() {
        let workspace = TempWorkspace::new();
        workspace.write(&format!("{}deep", "d/".repeat(MAX_DEPTH)), "");
        workspace.write(&format!("{}deeper", "d/".repeat(MAX_DEPTH + 1)), "");
        let (paths, end) = walked(&workspace, MAX_ENTRIES);
        assert_eq!((paths.len(), end.bound), (1, Some(Bound::Depth)));
    }
}
