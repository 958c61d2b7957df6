//! Paths as people write them in a policy file or a flag.

use super::source::is_hidden;
use crate::path::{HostPath, PathError, PathErrorKind};

/// Why a path of a policy file or of a flag is refused.
#[derive(Debug)]
pub(crate) struct PathRefused {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Resolves a path against the folder it is relative to.
///
/// `..` may only lead: it leaves the base, which is canonical, so that what is meant does not
/// depend on links.
pub(crate) fn resolve(text: &str, base: &HostPath) -> Result<HostPath, PathRefused> {
    let shown = text.escape_debug();
    if let Some(at) = text.find(['*', '?', '[', ']', '{', '}']) {
        let (above, glob) = text.split_at(at);
        let glob = glob.chars().next().unwrap_or_default();
        return Err(PathRefused {
            message: format!(
                "`{shown}` holds `{glob}`: patterns are refused for files, even where that is a real name"
            ),
            hint: without_pattern(above),
        });
    }
    if text.chars().any(is_hidden) {
        return Err(PathRefused {
            message: format!("`{shown}` holds a character that cannot be seen"),
            hint: "rename the folder: what is granted must be readable".to_owned(),
        });
    }
    let mut root = Some(base.clone());
    let mut rest = text;
    if !text.is_empty() && !text.starts_with(['/', '~']) {
        while let Some((first, tail)) = leading_dots(rest) {
            rest = tail;
            if first == ".." {
                root = root.and_then(|root| root.parent());
            }
        }
        let Some(root) = root else {
            return Err(PathRefused {
                message: format!("`{shown}` climbs above the root of the file system"),
                hint: "write the absolute path".to_owned(),
            });
        };
        return rest
            .parse()
            .map(|inside| root.join(&inside))
            .map_err(|error| refused(&error));
    }
    text.parse().map_err(|error| refused(&error))
}

fn leading_dots(text: &str) -> Option<(&str, &str)> {
    let (first, tail) = text.split_once('/').unwrap_or((text, ""));
    matches!(first, "." | "..").then(|| (first, tail.trim_start_matches('/')))
}

/// Says how to do without a pattern; `above` is the path before its first character.
fn without_pattern(above: &str) -> String {
    let folder = match above.rsplit_once('/') {
        Some(("", _)) => return "name a folder, or rename the one that is called so".to_owned(),
        Some((folder, _)) => folder,
        None => ".",
    };
    let folder = folder.escape_debug();
    format!(
        "name the folder above, `{folder}`, which covers everything beneath it, or rename what is called so"
    )
}

fn refused(error: &PathError) -> PathRefused {
    let hint = match error.kind() {
        PathErrorKind::Home => "write the absolute path",
        PathErrorKind::Dots => "`..` may only lead a path",
        PathErrorKind::Empty => "write `.` for the folder itself",
        PathErrorKind::Absolute
        | PathErrorKind::Control
        | PathErrorKind::Relative
        | PathErrorKind::TooLong => "write an absolute path, or a relative one",
    };
    PathRefused {
        message: error.to_string(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_against_the_folder_of_the_file() {
        let base: HostPath = "/home/ada/project".parse().unwrap();
        for (text, path) in [
            ("/srv/data/", "/srv/data"),
            ("docs", "/home/ada/project/docs"),
            ("./docs", "/home/ada/project/docs"),
            (".", "/home/ada/project"),
            ("./.", "/home/ada/project"),
            ("..", "/home/ada"),
            ("../../shared/a", "/home/shared/a"),
            (".//docs//a", "/home/ada/project/docs/a"),
        ] {
            assert_eq!(resolve(text, &base).unwrap().as_str(), path, "{text}");
        }
    }

    #[test]
    fn refuses_paths_whose_meaning_depends_on_something_else() {
        let base: HostPath = "/home/ada".parse().unwrap();
        for text in [
            "",
            "~",
            "~/docs",
            "a/../b",
            "/a/..",
            "../../../x",
            "a/*",
            "/a/[b]",
            "a\0b",
            "a\u{202E}b",
        ] {
            assert!(resolve(text, &base).is_err(), "{text:?}");
        }
    }
}
