//! Whether what a skill declares is there, and under names it may publish (contracts 7.1, 7.2).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bailiwick_core::{FileEntry, Reserved, SkillPath, ToolName};

use crate::diagnostic::Diagnostic;
use crate::id::DiagnosticId;
use crate::manifest::Manifest;
use crate::sidecar::Sidecar;
use crate::text::SourceText;

/// Checks a manifest and a sidecar against the files of their package.
pub(crate) fn check(
    manifest: &Manifest,
    sidecar: &Sidecar,
    files: &[FileEntry],
    found: &mut Vec<Diagnostic>,
) {
    let mut checker = Checker {
        files,
        found,
        names: BTreeMap::new(),
    };
    checker.tools(manifest);
    if let Some(source) = &sidecar.source {
        checker.scripts(manifest, sidecar, source);
        checker.isolated(sidecar, source);
    }
}

/// Returns the file of a listed tool, in the two spellings that it may have.
pub(crate) fn tool_files(tool: &ToolName) -> [String; 2] {
    [format!("scripts/{tool}.js"), format!("scripts/{tool}.ts")]
}

/// Returns whether a source is a wasm module, by its name.
pub(crate) fn is_wasm(source: &SkillPath) -> bool {
    Path::new(source.as_str())
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"))
}

struct Checker<'a> {
    files: &'a [FileEntry],
    found: &'a mut Vec<Diagnostic>,
    /// The names published so far, lower-cased.
    names: BTreeMap<String, String>,
}

impl Checker<'_> {
    fn tools(&mut self, manifest: &Manifest) {
        for (tool, span) in manifest.tools.iter().zip(&manifest.tool_spans) {
            let place = (&manifest.source, span);
            let candidates = tool_files(tool);
            let [script, typed] = candidates.each_ref().map(|path| self.has(path));
            if script && typed {
                let message = format!("`{tool}` has both {} and {}", candidates[0], candidates[1]);
                let error = Diagnostic::error(DiagnosticId::InventoryToolFileBoth, message);
                self.report(error.help("keep one of them"), place);
            } else if !script && !typed {
                let message = format!("`{tool}` has no script file");
                let error = Diagnostic::error(DiagnosticId::InventoryToolFileMissing, message);
                let help = format!(
                    "add {} or {}, or remove the entry",
                    candidates[0], candidates[1]
                );
                self.report(error.help(help), place);
            }
            self.publish(tool, place);
        }
    }

    fn scripts(&mut self, manifest: &Manifest, sidecar: &Sidecar, source: &Arc<SourceText>) {
        for (script, span) in sidecar.scripts.iter().zip(&sidecar.script_spans) {
            let place = (source, span);
            self.file(&script.path, place);
            let owner = manifest.tools.iter().find(|tool| {
                tool_files(tool)
                    .iter()
                    .any(|file| file == script.path.as_str())
            });
            if let Some(tool) = owner {
                let message = format!("{} is the file of the listed tool `{tool}`", script.path);
                let error = Diagnostic::error(DiagnosticId::InventoryScriptIsTool, message);
                self.report(
                    error.help("declare it once: in `tools` or in `scripts`"),
                    place,
                );
            }
            match ToolName::for_script(&manifest.name, &script.name) {
                Ok(name) => self.publish(&name, place),
                Err(error) => self.invalid(&error.to_string(), place),
            }
        }
    }

    fn isolated(&mut self, sidecar: &Sidecar, source: &Arc<SourceText>) {
        for (tool, span) in sidecar.isolated.iter().zip(&sidecar.isolated_spans) {
            let place = (source, span);
            self.file(&tool.source, place);
            if is_wasm(&tool.source) {
                self.not_published(&tool.name, place);
            }
            match tool.name.parse::<ToolName>() {
                Ok(name) => self.publish(&name, place),
                Err(error) => self.invalid(&error.to_string(), place),
            }
        }
    }

    fn publish(&mut self, name: &ToolName, place: (&Arc<SourceText>, &Range<usize>)) {
        match name.reserved() {
            Some(Reserved::Absolutely) => {
                let message = format!("`{name}` belongs to the runtime");
                let error = Diagnostic::error(DiagnosticId::InventoryNameReserved, message);
                self.report(error.help("choose another name"), place);
            }
            // The bundled skills may publish these; who is bundled is the manager's to know.
            Some(Reserved::ForBundled) | None => {}
        }
        let folded = name.as_str().to_ascii_lowercase();
        if let Some(earlier) = self.names.insert(folded, name.to_string()) {
            let message = if earlier == name.as_str() {
                format!("`{name}` is published twice")
            } else {
                format!("`{name}` and `{earlier}` differ only by case")
            };
            let error = Diagnostic::error(DiagnosticId::InventoryNameTwice, message);
            self.report(error.help("rename one of them"), place);
        }
        if name.is_long() {
            let message = format!("the tool name `{name}` has more than 40 characters");
            let warning = Diagnostic::warning(DiagnosticId::InventoryNameLong, message);
            self.report(
                warning.help("hosts that prefix tool names may refuse it; shorten it"),
                place,
            );
        }
    }

    fn file(&mut self, path: &SkillPath, place: (&Arc<SourceText>, &Range<usize>)) {
        if !self.has(path.as_str()) {
            let message = format!("{path} is no file of the package");
            let error = Diagnostic::error(DiagnosticId::InventoryFileMissing, message);
            self.report(error.help("correct the path or add the file"), place);
        }
    }

    fn invalid(&mut self, message: &str, place: (&Arc<SourceText>, &Range<usize>)) {
        let error = Diagnostic::error(DiagnosticId::InventoryNameInvalid, message);
        self.report(error.help("choose a shorter or plainer name"), place);
    }

    fn not_published(&mut self, name: &str, place: (&Arc<SourceText>, &Range<usize>)) {
        let message = format!("`{name}` is a wasm module, which this version does not publish");
        let warning = Diagnostic::warning(DiagnosticId::InventoryNotPublished, message);
        self.report(
            warning.help("write its source as an async arrow function"),
            place,
        );
    }

    fn has(&self, path: &str) -> bool {
        self.files
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
            .is_ok()
    }

    fn report(
        &mut self,
        diagnostic: Diagnostic,
        (source, span): (&Arc<SourceText>, &Range<usize>),
    ) {
        self.found.push(diagnostic.at(source, span.clone()));
    }
}
