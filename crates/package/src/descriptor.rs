//! What loading a package's skill needs, from what was checked.

use bailiwick_core::{Digest, SkillDescriptor};

use crate::diagnostic::Diagnostic;
use crate::inventory::tool_files;
use crate::package::Package;

/// Describes a package's skill to the manager.
pub(crate) fn describe(
    package: &Package,
    digest: Option<Digest>,
    diagnostics: &[Diagnostic],
) -> SkillDescriptor {
    let manifest = package.manifest();
    let sidecar = package.sidecar();
    let mut descriptor = SkillDescriptor::new(
        manifest.name.clone(),
        manifest.version.clone(),
        &manifest.description,
    );
    descriptor.digest = digest;
    descriptor.scripts.clone_from(&sidecar.scripts);
    let files = manifest.tools.iter().flat_map(tool_files);
    descriptor.listed = files.filter_map(|path| path.parse().ok()).collect();
    let sources = sidecar.isolated.iter().map(|tool| tool.source.clone());
    descriptor.listed.extend(sources);
    descriptor.fail_on_nonzero_exit = sidecar.fail_on_nonzero_exit;
    descriptor.notes = diagnostics.iter().map(ToString::to_string).collect();
    if !manifest.allowed_tools.is_empty() {
        descriptor.notes.push(format!(
            "`allowed-tools` is a claim and grants nothing: {}",
            manifest.allowed_tools.join(" ")
        ));
    }
    for (grant, wished) in &sidecar.requests.lists {
        descriptor.notes.push(format!(
            "the skill would like `{grant}`: {}",
            wished.join(", ")
        ));
    }
    if sidecar.requests.undeclared_scripts {
        descriptor
            .notes
            .push("the skill would like `undeclared_scripts`".to_owned());
    }
    descriptor
}
