//! The root of a weakened run: without the bounds, or open to the host's own tree.

use std::fs;

use super::{Part, Root, inside};
use crate::error::SandboxError;
use crate::session::open_trusted;

impl Root {
    /// Takes from the root what the host is to do without.
    pub(crate) fn weakened(mut self, host: &crate::Host) -> Result<Self, SandboxError> {
        if host.is_without(crate::Layer::SizedScratch) {
            for part in &mut self.parts {
                if let Part::Scratch { size, inodes, .. } = part {
                    // To a tmpfs, zero is no bound.
                    (*size, *inodes) = (0, 0);
                }
            }
        }
        if host.is_without(crate::Layer::PreparedRoot) {
            self.expose()?;
        }
        Ok(self)
    }

    /// Binds the host's own folders over the root's, writable, but for those that a run needs.
    fn expose(&mut self) -> Result<(), SandboxError> {
        let failed = |source| SandboxError::host("list the host's root", source);
        for entry in fs::read_dir("/").map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = format!("/{}", entry.file_name().to_string_lossy());
            let own = ["/dev", "/proc", "/run", "/skill", "/sys", "/usr"];
            if !entry.file_type().map_err(failed)?.is_dir() || own.contains(&path.as_str()) {
                continue;
            }
            let source = open_trusted(&path)
                .map_err(|errno| SandboxError::host(format!("open `{path}`"), errno))?;
            // A link of the root's is no place to mount on.
            self.parts.retain(|part| {
                !(matches!(part, Part::Link { .. }) && part.path() == inside(&path))
            });
            self.directory(&path);
            self.bind_opened(&path, source, 0, None);
        }
        Ok(())
    }
}
