//! The same program under bubblewrap, with a profile as strict as it can make one.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::{command, text};
use crate::measure::{BoxError, timed};

/// What one run costs, where the program is installed.
pub(super) type Run<'a> = Box<dyn FnMut() -> Result<Duration, BoxError> + 'a>;

/// Returns the run: every namespace, a new session, no capabilities, a root of a few binds.
pub(super) fn strict(target: &Path) -> Result<Run<'_>, BoxError> {
    let words = [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--dir",
        "/skill",
        "--chdir",
        "/skill",
        "--ro-bind",
    ];
    let program = text(target)?;
    let run = move || {
        timed(|| {
            let status = command("bwrap")
                .args(words)
                .args([program, "/skill/raw", "/skill/raw"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            if status.success() {
                Ok(())
            } else {
                Err(format!("`bwrap` ended with {status}").into())
            }
        })
    };
    run().map_err(|error| format!("`bwrap` does not run here: {error}"))?;
    Ok(Box::new(run))
}
