//! The rules of `.gitignore` and `.ignore` files, read through directory handles.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;

use bailiwick_core::SkillError;
use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::open::open_file;
use crate::roots::Location;
use crate::work::Stop;

/// The rules that hold in a directory: its own, and those of the directories above it up to the
/// root.
#[derive(Default)]
pub(crate) struct Rules {
    levels: Vec<Level>,
}

/// The rules of one directory.
struct Level {
    matchers: Vec<Gitignore>,
    /// The way from this directory down to where the walk began, with a trailing `/`, or empty.
    above: String,
    /// How many bytes of a walk's path lead to this directory.
    within: usize,
}

impl Rules {
    /// Reads the rules of the directories above a place, from its root on.
    pub(crate) fn above(place: &Location<'_>, stop: &Stop) -> Result<Self, SkillError> {
        let mut rules = Self::default();
        let names: Vec<&OsStr> = place.rest.iter().collect();
        for depth in 0..names.len() {
            stop.check()?;
            let folder: std::path::PathBuf = names[..depth].iter().collect();
            let folder = Path::new(".").join(folder);
            let Ok(dir) = place.dir.open_dir(folder) else {
                continue;
            };
            let above = names[depth..].iter().map(|name| name.to_string_lossy());
            let above: String = above.flat_map(|name| [name, "/".into()]).collect();
            rules.push(&dir, FILES.iter().copied(), above, 0);
        }
        Ok(rules)
    }

    /// Adds the rules of a directory of the walk, which has these ignore files, and says whether
    /// there are any; they go again with [`leave`](Self::leave).
    pub(crate) fn enter(&mut self, dir: &Dir, files: &[&'static str], within: usize) -> bool {
        !files.is_empty() && self.push(dir, files.iter().copied(), String::new(), within)
    }

    /// Forgets the rules that were added last.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Returns whether a path of the walk is ignored; the nearest rule decides.
    pub(crate) fn ignore(&self, path: &str, is_dir: bool) -> bool {
        for level in self.levels.iter().rev() {
            let below = path.get(level.within..).unwrap_or(path);
            let seen = format!("{}{below}", level.above);
            for matcher in &level.matchers {
                match matcher.matched(&seen, is_dir) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
        }
        false
    }

    fn push(
        &mut self,
        dir: &Dir,
        files: impl Iterator<Item = &'static str>,
        above: String,
        within: usize,
    ) -> bool {
        let matchers: Vec<_> = files.filter_map(|name| matcher(dir, name)).collect();
        if matchers.is_empty() {
            return false;
        }
        self.levels.push(Level {
            matchers,
            above,
            within,
        });
        true
    }
}

/// Reads one file of rules; a line that is none is left out, as git does.
fn matcher(dir: &Dir, name: &str) -> Option<Gitignore> {
    let (file, _) = open_file(dir, Path::new(name), false).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_RULES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _not_a_rule = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// The files that hold rules; the first of one directory goes before the second.
pub(crate) const FILES: [&str; 2] = [".ignore", ".gitignore"];

/// The most bytes that are read of one file of rules.
const MAX_RULES: u64 = 64 * 1024;
