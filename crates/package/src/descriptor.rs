//! What loading a package's skill needs, from what was checked.

use bailiwick_core::{Digest, IsolatedDeclaration, IsolatedForm, SkillDescriptor};

use crate::diagnostic::Diagnostic;
use crate::inventory::{is_wasm, tool_files};
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
    descriptor.isolated = package.isolated_tools();
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
    if !manifest.deferred_tools.is_empty() {
        descriptor.notes.push(
            "`deferred-tools` takes no effect in this version: every tool is published at once"
                .to_owned(),
        );
    }
    descriptor
}

/// Returns the isolated tools that the skill publishes; a wasm module is none yet, which the
/// diagnostics say.
pub(crate) fn isolated_tools(package: &Package) -> Vec<IsolatedDeclaration> {
    let listed = package.manifest().tools.iter().filter_map(|tool| {
        let files = package.files().iter();
        let mut files =
            files.filter(|file| tool_files(tool).iter().any(|own| own == file.path.as_str()));
        let path = files.next()?.path.clone();
        Some(IsolatedDeclaration::new(
            tool.clone(),
            path,
            IsolatedForm::Module,
        ))
    });
    let declared = package.sidecar().isolated.iter().filter_map(|tool| {
        let form = IsolatedForm::Arrow {
            description: tool.description.clone(),
            params: tool.params.clone(),
        };
        let name = tool.name.parse().ok()?;
        (!is_wasm(&tool.source)).then(|| IsolatedDeclaration::new(name, tool.source.clone(), form))
    });
    listed.chain(declared).collect()
}
