//! `test`: every test, as whoever runs it and, when that is root, again as a plain user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;
use crate::scratch::Scratch;
use crate::setup::{self, Purpose};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    setup::ensure(workspace, Purpose::Test)?;
    require_sandbox(workspace.sh());
    let (no_user, rest): (Vec<_>, Vec<_>) = arguments
        .iter()
        .cloned()
        .partition(|word| word == "--no-user");
    as_invoked(workspace, &rest)?;
    if no_user.is_empty() && is_root(workspace.sh())? {
        as_plain_user(workspace, &rest)?;
    }
    if !rest.is_empty() {
        return Ok(());
    }
    weakened(workspace)?;
    doctests(workspace)
}

/// Runs the tests of the build that can leave layers out: each proves that a claim turns red
/// without the layers that hold it.
///
/// `tidy` proves that no released build has the feature.
pub(crate) fn weakened(workspace: &Workspace) -> Result {
    let (sh, only) = (workspace.sh(), "test(/weaken/)");
    Ok(cmd!(
        sh,
        "cargo nextest run --workspace --features bailiwick-cli/weaken --test it --locked -E {only}"
    )
    .run()?)
}

/// Runs the tests as the user who asked.
pub(crate) fn as_invoked(workspace: &Workspace, filter: &[String]) -> Result {
    let sh = workspace.sh();
    Ok(cmd!(sh, "cargo nextest run --workspace --locked {filter...}").run()?)
}

/// Runs the documentation's examples.
pub(crate) fn doctests(workspace: &Workspace) -> Result {
    let sh = workspace.sh();
    Ok(cmd!(sh, "cargo test --workspace --doc --locked").run()?)
}

/// Tells whether the tests can be run as another user.
pub(crate) fn is_root(sh: &Shell) -> Result<bool> {
    Ok(cmd!(sh, "id -u").quiet().read()? == "0")
}

/// Runs the tests from an archive in a folder of their own, under a uid that nobody has, without
/// groups or capabilities.
pub(crate) fn as_plain_user(workspace: &Workspace, filter: &[String]) -> Result {
    let sh = workspace.sh();
    let uid = unused_uid(sh)?;
    let place = Place::create(workspace, uid)?;
    let archive = place.dir.join("tests.tar.zst");
    cmd!(
        sh,
        "cargo nextest archive --workspace --locked --archive-file {archive}"
    )
    .run()?;
    workspace.copy_sources(&place.dir.join("source"))?;
    let nextest = place.copy_program(sh, "cargo-nextest")?;
    place.open_to_everyone(sh)?;

    let (source, unpacked) = (place.dir.join("source"), place.dir.join("unpacked"));
    let (home, tmp) = (place.dir.join("home"), place.dir.join("tmp"));
    let environment = [
        "PATH=/usr/local/bin:/usr/bin:/bin".to_owned(),
        "LANG=C.UTF-8".to_owned(),
        format!("HOME={}", home.display()),
        format!("TMPDIR={}", tmp.display()),
        // Snapshots are compared where the sources are now, and never rewritten.
        format!("INSTA_WORKSPACE_ROOT={}", source.display()),
        "INSTA_UPDATE=no".to_owned(),
        format!("{REQUIRED}={}", required(sh)),
    ];
    let id = uid.to_string();
    let _in_source = sh.push_dir(&source);
    let result = cmd!(
        sh,
        "setpriv --reuid {id} --regid {id} --clear-groups --inh-caps=-all --bounding-set=-all
         env -i {environment...}
         {nextest} nextest run --profile user --archive-file {archive} --extract-to {unpacked}
         --workspace-remap {source} {filter...}"
    )
    .run();
    let left = processes_of(sh, uid)?;
    if !left.is_empty() {
        return Err(format!(
            "the tests left processes of uid {uid} behind: {}",
            left.join(", ")
        )
        .into());
    }
    Ok(result?)
}

/// Has tests fail that lack a program or a mechanism of the kernel, where they would otherwise be
/// skipped. Whoever has set the variable, to 0 for a machine without a sandbox, is obeyed.
pub(crate) fn require_sandbox(sh: &Shell) {
    sh.set_var(REQUIRED, required(sh));
}

fn required(sh: &Shell) -> String {
    sh.var(REQUIRED).unwrap_or_else(|_| "1".to_owned())
}

const REQUIRED: &str = "BAILIWICK_REQUIRE_SANDBOX";

/// A fresh world-readable folder, removed at the end.
struct Place {
    dir: PathBuf,
    _scratch: Scratch,
}

impl Place {
    fn create(workspace: &Workspace, uid: u32) -> Result<Self> {
        let sh = workspace.sh();
        let scratch = Scratch::create(sh)?;
        let place = Self {
            dir: scratch.path().to_owned(),
            _scratch: scratch,
        };
        for private in ["home", "tmp", "unpacked"] {
            let path = sh.create_dir(place.dir.join(private))?;
            let owner = format!("{uid}:{uid}");
            cmd!(sh, "chown {owner} {path}").quiet().run()?;
        }
        sh.create_dir(place.dir.join("source"))?;
        Ok(place)
    }

    /// Copies a program from the path, which may lead through a folder that only root can enter.
    fn copy_program(&self, sh: &Shell, name: &str) -> Result<PathBuf> {
        let lookup = format!("command -v {name}");
        let found = cmd!(sh, "sh -c {lookup}").quiet().read()?;
        let copy = self.dir.join(name);
        cmd!(sh, "cp -L {found} {copy}").quiet().run()?;
        Ok(copy)
    }

    fn open_to_everyone(&self, sh: &Shell) -> Result {
        let dir = &self.dir;
        Ok(cmd!(sh, "chmod -R a+rX {dir}").quiet().run()?)
    }
}

/// Returns a uid that has neither an account nor a process.
fn unused_uid(sh: &Shell) -> Result<u32> {
    let accounts: BTreeSet<u32> = sh
        .read_file("/etc/passwd")?
        .lines()
        .filter_map(|line| line.split(':').nth(2)?.parse().ok())
        .collect();
    for uid in 61_184..65_520 {
        if !accounts.contains(&uid) && processes_of(sh, uid)?.is_empty() {
            return Ok(uid);
        }
    }
    Err("no free uid between 61184 and 65520".into())
}

/// Returns the processes of `uid` as `pid (name)`.
fn processes_of(sh: &Shell, uid: u32) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in sh.read_dir("/proc")? {
        if is_pid(&entry) {
            // A process may end between the listing and the reading.
            let status = sh.read_file(entry.join("status")).unwrap_or_default();
            let field = |name: &str| {
                status
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            };
            // One that has ended waits for its parent to ask, which init does in its own time.
            let has_ended = field("State:").starts_with('Z');
            let uids = field("Uid:");
            if !has_ended && uids.split_whitespace().any(|id| id == uid.to_string()) {
                found.push(format!("{} ({})", field("Pid:"), field("Name:")));
            }
        }
    }
    Ok(found)
}

fn is_pid(entry: &Path) -> bool {
    entry
        .file_name()
        .is_some_and(|name| name.to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_uid_has_no_account_and_no_process() {
        let sh = Shell::new().unwrap();
        let uid = unused_uid(&sh).unwrap();
        assert!(uid >= 61_184);
        assert_eq!(processes_of(&sh, uid).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn the_processes_of_a_uid_are_seen() {
        let sh = Shell::new().unwrap();
        let uid = cmd!(sh, "id -u").quiet().read().unwrap().parse().unwrap();
        let own = format!("{} ", std::process::id());
        assert!(
            processes_of(&sh, uid)
                .unwrap()
                .iter()
                .any(|process| process.starts_with(&own))
        );
    }
}
