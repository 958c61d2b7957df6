//! Paths of the host and paths inside a granted root.
//!
//! A grant covers a folder and everything beneath it. There are no patterns: what the kernel can
//! enforce is a subtree, so a subtree is all that can be said. Comparison is per component and
//! case-sensitive: `/a/b` covers `/a/b/c` and never `/a/bc`.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

/// An absolute, normalised path of the host.
///
/// `//` and a trailing `/` normalise; everything that would need the file system to be understood
/// (`.`, `..`, `~`) is rejected. Glob characters are literal. The path says nothing about what is
/// there: the sandbox opens it once and keeps the handle.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::HostPath;
///
/// let docs: HostPath = "/home/ada//docs/".parse()?;
/// assert_eq!(docs.as_str(), "/home/ada/docs");
/// assert!("/home/ada/docs/a.md".parse::<HostPath>()?.starts_with(&docs));
/// assert!(!"/home/ada/docs2".parse::<HostPath>()?.starts_with(&docs));
/// assert!("docs".parse::<HostPath>().is_err());
/// # Ok::<(), bailiwick_policy::PathError>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct HostPath(String);

impl HostPath {
    /// Returns the root of the file system.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Returns a path that this crate writes down itself, absolute and normal.
    pub(crate) fn known(text: &'static str) -> Self {
        debug_assert_eq!(text.parse(), Ok(Self(text.to_owned())));
        Self(text.to_owned())
    }

    /// Returns the path as text. It starts with `/` and has no trailing `/` unless it is the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path in the form the standard library takes.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Says whether this path is `ancestor` or lies beneath it.
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        self.beneath(ancestor).is_some()
    }

    /// Returns the path of `inside` beneath this one.
    #[must_use]
    pub fn join(&self, inside: &RelPath) -> Self {
        match (self.0.as_str(), inside.as_str()) {
            (_, "") => self.clone(),
            ("/", rest) => Self(format!("/{rest}")),
            (root, rest) => Self(format!("{root}/{rest}")),
        }
    }

    /// Returns what remains of this path beneath `root`, or nothing if it is not beneath it.
    pub fn strip_prefix(&self, root: &Self) -> Option<RelPath> {
        self.beneath(root).map(|rest| RelPath(rest.to_owned()))
    }

    /// Returns the folder that holds this path, or nothing for the root.
    pub fn parent(&self) -> Option<Self> {
        let (parent, name) = self.0.rsplit_once('/')?;
        match (parent, name) {
            ("", "") => None,
            ("", _) => Some(Self::root()),
            (parent, _) => Some(Self(parent.to_owned())),
        }
    }

    /// Iterates over this path and every folder above it, deepest first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + use<> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// Says why this path can never be granted, if it cannot.
    ///
    /// `/proc`, `/sys` and `/dev` are interfaces of the kernel and not files: a grant there would
    /// hand out other processes, devices or the control groups that hold the run. The root and
    /// anything else that contains them is refused with them. `/dev/null`, `zero`, `full`,
    /// `random` and `urandom` are in the base of every run already.
    pub fn kernel_interface(&self) -> Option<&'static str> {
        const INTERFACES: [&str; 3] = ["/proc", "/sys", "/dev"];
        INTERFACES.into_iter().find(|interface| {
            let interface = Self((*interface).to_owned());
            self.starts_with(&interface) || interface.starts_with(self)
        })
    }

    fn beneath(&self, root: &Self) -> Option<&str> {
        if root.0 == "/" {
            return self.0.strip_prefix('/');
        }
        let rest = self.0.strip_prefix(root.as_str())?;
        if rest.is_empty() {
            Some(rest)
        } else {
            rest.strip_prefix('/')
        }
    }
}

impl FromStr for HostPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let reject = |kind| PathError {
            path: text.to_owned(),
            kind,
        };
        check_text(text).map_err(reject)?;
        if text.starts_with('~') {
            return Err(reject(PathErrorKind::Home));
        }
        if !text.starts_with('/') {
            return Err(reject(PathErrorKind::Relative));
        }
        Ok(Self(format!("/{}", normalise(text).map_err(reject)?)))
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<Path> for HostPath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl<'de> Deserialize<'de> for HostPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// A path inside a root; empty for the root itself.
///
/// It never climbs: there is no `..` in it, so joining it to a root stays beneath that root.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

impl RelPath {
    /// Returns the path as text, without a leading or trailing `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path in the form the standard library takes.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Says whether this is the root itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for RelPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let reject = |kind| PathError {
            path: text.to_owned(),
            kind,
        };
        if text.is_empty() {
            return Ok(Self::default());
        }
        check_text(text).map_err(reject)?;
        if text.starts_with('/') {
            return Err(reject(PathErrorKind::Absolute));
        }
        Ok(Self(normalise(text).map_err(reject)?))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "." } else { &self.0 })
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// A path that cannot be taken as written.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the path `{}` {kind}", path.escape_debug())]
pub struct PathError {
    path: String,
    kind: PathErrorKind,
}

impl PathError {
    /// Returns the path as it was written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns what is wrong with it.
    pub fn kind(&self) -> PathErrorKind {
        self.kind
    }
}

/// What is wrong with a path.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PathErrorKind {
    /// It is absolute where a path inside a root was expected.
    #[error("is absolute, and a path inside a root is expected")]
    Absolute,
    /// It holds NUL or another control character.
    #[error("holds a control character")]
    Control,
    /// It holds a `.` or `..` component.
    #[error("holds a `.` or `..` component, which only the file system can resolve")]
    Dots,
    /// It is empty.
    #[error("is empty")]
    Empty,
    /// It starts with `~`, which is the shell's and not a path.
    #[error("starts with `~`, which only a shell expands")]
    Home,
    /// It is relative where an absolute path was expected.
    #[error("is relative, and an absolute path is expected")]
    Relative,
    /// It is longer than the kernel takes.
    #[error("is longer than {PATH_MAX} bytes, or has a name longer than {NAME_MAX}")]
    TooLong,
}

fn check_text(text: &str) -> Result<(), PathErrorKind> {
    if text.is_empty() {
        Err(PathErrorKind::Empty)
    } else if text.chars().any(char::is_control) {
        Err(PathErrorKind::Control)
    } else if text.len() > PATH_MAX {
        Err(PathErrorKind::TooLong)
    } else {
        Ok(())
    }
}

fn normalise(text: &str) -> Result<String, PathErrorKind> {
    let mut normal = String::with_capacity(text.len());
    for name in text.split('/').filter(|name| !name.is_empty()) {
        match name {
            "." | ".." => return Err(PathErrorKind::Dots),
            long if long.len() > NAME_MAX => return Err(PathErrorKind::TooLong),
            name => {
                if !normal.is_empty() {
                    normal.push('/');
                }
                normal.push_str(name);
            }
        }
    }
    Ok(normal)
}

/// `PATH_MAX` of `linux/limits.h`, without the NUL that ends a path there.
const PATH_MAX: usize = 4095;

/// `NAME_MAX` of `linux/limits.h`.
const NAME_MAX: usize = 255;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(text: &str) -> HostPath {
        text.parse().unwrap()
    }

    #[test]
    fn rejects_what_only_the_file_system_or_a_shell_understands() {
        for (text, kind) in [
            ("", PathErrorKind::Empty),
            ("docs", PathErrorKind::Relative),
            ("./docs", PathErrorKind::Relative),
            ("~/docs", PathErrorKind::Home),
            ("/a/../b", PathErrorKind::Dots),
            ("/a/.", PathErrorKind::Dots),
            ("/a\0b", PathErrorKind::Control),
            ("/a\nb", PathErrorKind::Control),
        ] {
            assert_eq!(
                text.parse::<HostPath>().unwrap_err().kind(),
                kind,
                "{text:?}"
            );
        }
        let long = format!("/{}", "x".repeat(256));
        assert_eq!(
            long.parse::<HostPath>().unwrap_err().kind(),
            PathErrorKind::TooLong
        );
        let long = "/x".repeat(2048);
        assert_eq!(
            long.parse::<HostPath>().unwrap_err().kind(),
            PathErrorKind::TooLong
        );
    }

    #[test]
    fn keeps_glob_characters_as_they_are() {
        assert_eq!(host("/a/*/[b]?").as_str(), "/a/*/[b]?");
        assert!(!host("/a/x").starts_with(&host("/a/*")));
    }

    #[test]
    fn covers_by_component_and_never_by_letters() {
        assert!(host("/a/b").starts_with(&host("/a/b")));
        assert!(host("/a/b/c").starts_with(&host("/a/b")));
        assert!(!host("/a/bc").starts_with(&host("/a/b")));
        assert!(!host("/A/b").starts_with(&host("/a")));
        assert!(host("/a").starts_with(&HostPath::root()));
        assert!(!HostPath::root().starts_with(&host("/a")));
    }

    #[test]
    fn knows_its_parents() {
        let above: Vec<_> = host("/a/b/c")
            .ancestors()
            .map(|path| path.to_string())
            .collect();
        assert_eq!(above, ["/a/b/c", "/a/b", "/a", "/"]);
        assert_eq!(HostPath::root().parent(), None);
    }

    #[test]
    fn refuses_the_interfaces_of_the_kernel_and_whatever_contains_them() {
        for text in [
            "/",
            "/proc",
            "/proc/self",
            "/sys/fs/cgroup",
            "/dev",
            "/dev/kvm",
        ] {
            assert!(host(text).kernel_interface().is_some(), "{text}");
        }
        for text in ["/procurement", "/home/dev", "/srv/sys"] {
            assert_eq!(host(text).kernel_interface(), None, "{text}");
        }
    }

    #[test]
    fn rejects_a_path_that_climbs_out_of_its_root() {
        assert!("../x".parse::<RelPath>().is_err());
        assert!("/x".parse::<RelPath>().is_err());
        assert!("a/../../x".parse::<RelPath>().is_err());
        assert!("".parse::<RelPath>().unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn joining_and_stripping_are_inverse(root in "(/[a-c]{1,2}){0,3}", inside in "([a-c]{1,2}(/[a-c]{1,2}){0,3})?") {
            let root = host(if root.is_empty() { "/" } else { &root });
            let inside: RelPath = inside.parse().unwrap();
            let joined = root.join(&inside);
            prop_assert!(joined.starts_with(&root));
            prop_assert_eq!(joined.strip_prefix(&root), Some(inside));
        }

        #[test]
        fn parsing_never_panics_and_is_idempotent(text in ".*") {
            if let Ok(path) = text.parse::<HostPath>() {
                prop_assert_eq!(path.as_str().parse::<HostPath>().unwrap(), path);
            }
            if let Ok(path) = text.parse::<RelPath>() {
                prop_assert_eq!(path.as_str().parse::<RelPath>().unwrap(), path);
            }
        }
    }
}
