//! Files that a run left in `out/`, kept as artifacts (contracts 5.4).

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;

use bailiwick_core::{ArtifactId, ArtifactSource, ArtifactStore, NewArtifact, one_line};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

/// Stores the regular files beneath a folder, never following a link, in the order of their names.
///
/// Everything else is named in a warning. At most `budget` bytes are read, whatever sizes the files
/// claim: a sparse file costs a script nothing.
pub(crate) fn collect(
    folder: OwnedFd,
    budget: u64,
    store: &dyn ArtifactStore,
    source: &ArtifactSource,
) -> (Vec<ArtifactId>, Vec<String>) {
    let mut found = Found {
        store,
        source,
        ids: Vec::new(),
        warnings: Vec::new(),
        seen: 0,
        budget,
    };
    let folder = Dir::from_std_file(std::fs::File::from(folder));
    found.walk(&folder, "", 0);
    (found.ids, found.warnings)
}

struct Found<'a> {
    store: &'a dyn ArtifactStore,
    source: &'a ArtifactSource,
    ids: Vec<ArtifactId>,
    warnings: Vec<String>,
    seen: usize,
    budget: u64,
}

impl Found<'_> {
    fn walk(&mut self, folder: &Dir, prefix: &str, depth: usize) {
        let Ok(entries) = folder.entries() else {
            return self.warn(prefix, "could not be listed");
        };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            if self.seen == MAX_FILES {
                return self.warn(prefix, "holds more than 256 files; the rest were left");
            }
            self.seen += 1;
            let shown = format!(
                "{prefix}{}",
                one_line(&name.to_string_lossy(), MAX_NAME_CHARS)
            );
            match folder
                .symlink_metadata(&name)
                .map(|metadata| metadata.file_type())
            {
                Ok(kind) if kind.is_file() => self.keep(folder, &name, &shown),
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => match folder.open_dir(&name) {
                    Ok(inner) => self.walk(&inner, &format!("{shown}/"), depth + 1),
                    Err(_) => self.warn(&shown, "could not be opened"),
                },
                Ok(kind) if kind.is_dir() => self.warn(&shown, "is nested too deep"),
                Ok(_) => self.warn(&shown, "is not a regular file"),
                Err(_) => self.warn(&shown, "could not be looked at"),
            }
        }
    }

    fn keep(&mut self, folder: &Dir, name: &OsStr, shown: &str) {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .follow(FollowSymlinks::No)
            .custom_flags(nonblocking());
        let most = self.budget.min(MAX_FILE_BYTES);
        let opened = folder.open_with(name, &options).and_then(|file| {
            let metadata = file.metadata()?;
            let mut bytes = Vec::new();
            if metadata.is_file() && metadata.len() <= most {
                file.take(most + 1).read_to_end(&mut bytes)?;
            }
            Ok((metadata, bytes))
        });
        match opened {
            Ok((metadata, _)) if !metadata.is_file() => self.warn(shown, "is not a regular file"),
            Ok((metadata, bytes)) if metadata.len().max(bytes.len() as u64) > most => {
                self.warn(shown, "is larger than what is left to be kept of one run");
            }
            Ok((_, bytes)) => {
                self.budget -= bytes.len() as u64;
                self.store(name, shown, &bytes);
            }
            Err(_) => self.warn(shown, "could not be read"),
        }
    }

    fn store(&mut self, name: &OsStr, shown: &str, bytes: &[u8]) {
        let artifact = NewArtifact::new(bytes, FILE_KIND, self.source.clone())
            .media_type(media_type(name.to_str()))
            .name(shown);
        match self.store.put(artifact) {
            Ok(artifact) => self.ids.push(artifact.id),
            Err(error) => self.warn(shown, error.message()),
        }
    }

    fn warn(&mut self, name: &str, reason: &str) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings
                .push(format!("out/{}: {reason}", name.trim_end_matches('/')));
        }
    }
}

/// A script may put a FIFO in place of a file between the look and the open.
fn nonblocking() -> i32 {
    nix::fcntl::OFlag::O_NONBLOCK.bits()
}

/// Guesses a media type by extension; what is unknown is bytes.
fn media_type(name: Option<&str>) -> &'static str {
    let extension = name
        .and_then(|name| name.rsplit_once('.'))
        .map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref() {
        Some("txt" | "log") => "text/plain",
        Some("md") => "text/markdown",
        Some("csv") => "text/csv",
        Some("html" | "htm") => "text/html",
        Some("json") => "application/json",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    }
}

const FILE_KIND: &str = "script-file";
const MAX_FILES: usize = 256;
const MAX_DEPTH: usize = 8;
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
const MAX_WARNINGS: usize = 16;
const MAX_NAME_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use std::fs::{DirBuilder, File};
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::Mutex;
    use std::time::{Duration, SystemTime};

    use bailiwick_core::{Artifact, Code, Line, SkillError};
    use nix::sys::stat::Mode;

    use super::*;

    /// A store that notes what it is given.
    #[derive(Debug, Default)]
    struct Shelf(Mutex<Vec<(String, u64)>>);

    impl ArtifactStore for Shelf {
        fn put(&self, new: NewArtifact<'_>) -> Result<Artifact, SkillError> {
            let mut kept = self.0.lock().unwrap();
            let id = format!("a{}", kept.len() + 1).parse().unwrap();
            let artifact = Artifact::describe(id, &new, SystemTime::now(), Duration::from_hours(1));
            kept.push((artifact.name.clone().unwrap_or_default(), artifact.size));
            Ok(artifact)
        }

        fn stat(&self, _: &ArtifactId) -> Result<Artifact, SkillError> {
            Err(unused())
        }

        fn read(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<u8>, SkillError> {
            Err(unused())
        }

        fn lines(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<Line>, SkillError> {
            Err(unused())
        }

        fn grep(&self, _: &ArtifactId, _: &str, _: usize) -> Result<Vec<Line>, SkillError> {
            Err(unused())
        }

        fn list(&self) -> Result<Vec<Artifact>, SkillError> {
            Err(unused())
        }

        fn remove(&self, _: &ArtifactId) -> Result<(), SkillError> {
            Err(unused())
        }
    }

    fn unused() -> SkillError {
        SkillError::new(Code::ArtifactUnavailable, "collecting only puts")
    }

    fn collected(folder: &Path, budget: u64) -> (Vec<(String, u64)>, Vec<String>) {
        let store = Shelf::default();
        let source = ArtifactSource::new("demo".parse().unwrap(), "run_demo_run".parse().unwrap());
        let opened = OwnedFd::from(File::open(folder).unwrap());
        let (ids, warnings) = collect(opened, budget, &store, &source);
        let kept = store.0.into_inner().unwrap();
        assert_eq!(ids.len(), kept.len());
        (kept, warnings)
    }

    fn put(path: &Path) {
        std::io::Write::write_all(&mut File::create(path).unwrap(), b"x").unwrap();
    }

    #[test]
    fn a_deep_tree_is_left_where_it_becomes_too_deep() {
        let folder = tempfile::tempdir().unwrap();
        let deep = (0..500).fold(folder.path().to_owned(), |path, _| path.join("d"));
        DirBuilder::new().recursive(true).create(&deep).unwrap();
        put(&deep.join("lost"));
        put(&folder.path().join("d/d/kept"));
        let (kept, warnings) = collected(folder.path(), 100);
        assert_eq!(kept, [("d/d/kept".to_owned(), 1)]);
        assert_eq!(warnings, ["out/d/d/d/d/d/d/d/d/d: is nested too deep"]);
    }

    #[test]
    fn hostile_names_and_kinds_are_named_in_one_line_and_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
        for name in [
            b"-rf".as_slice(),
            b"a\nnote: forged",
            b"\xff\xfe",
            b"\x1b[2J",
            &[b'x'; 255],
        ] {
            put(&at(name));
        }
        symlink("/etc/passwd", at(b"link")).unwrap();
        symlink("/", at(b"root")).unwrap();
        symlink("loop", at(b"loop")).unwrap();
        nix::unistd::mkfifo(&at(b"pipe"), Mode::S_IRUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at(b"socket")).unwrap();
        let (kept, warnings) = collected(folder.path(), 100);
        assert_eq!(kept.len(), 5);
        for text in kept.iter().map(|(name, _)| name).chain(&warnings) {
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert!(text.chars().count() < MAX_NAME_CHARS + 50, "{text:?}");
        }
        assert_eq!(
            warnings,
            ["link", "loop", "pipe", "root", "socket"]
                .map(|name| format!("out/{name}: is not a regular file"))
        );
    }

    #[test]
    fn more_files_and_more_bytes_than_are_kept_are_left() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_FILES + 10 {
            put(&folder.path().join(format!("{number:04}")));
        }
        let (kept, warnings) = collected(folder.path(), u64::MAX);
        assert_eq!(kept.len(), MAX_FILES);
        assert_eq!(warnings.len(), 1);
        let (kept, warnings) = collected(folder.path(), 3);
        assert_eq!(kept.len(), 3);
        assert_eq!(warnings.len(), MAX_WARNINGS);
    }
}
