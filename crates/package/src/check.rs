//! Checking packages for their authors.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bailiwick_core::{CancelToken, Scope, SkillName};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;

use crate::diagnostic::{Diagnostic, Severity};
use crate::discover::{self, Root};
use crate::error::PackageError;
use crate::front_matter::Profile;
use crate::id::DiagnosticId;
use crate::package::Package;
use crate::reader::nearest;
use crate::render::render;
use crate::sidecar::{SIDECAR_FILE, Sidecar};

/// Checks the package in a folder, or the one whose `SKILL.md` is named.
///
/// A link is checked under its own name; `.` and `..` under the name of the folder they lead to.
///
/// # Errors
///
/// `E_INVALID_SKILLS_CONFIG` when there is no such folder. What is wrong with the package is in
/// the report.
pub fn check(path: &Path, profile: Profile) -> Result<CheckReport, PackageError> {
    let folder = match path.file_name() {
        Some(name) if name.eq_ignore_ascii_case("SKILL.md") && !path.is_dir() => {
            path.parent().unwrap_or(path)
        }
        Some(_) | None => path,
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let failed = |source| PackageError::Root {
        path: path.to_owned(),
        source,
    };
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
    let named = match folder.file_name() {
        Some(_) => folder.to_owned(),
        None => folder.canonicalize().map_err(failed)?,
    };
    let name = named.file_name().unwrap_or_default().to_string_lossy();
    let (package, mut diagnostics) = Package::open(&dir, &name, profile);
    let sidecar = package.as_ref().map(Package::sidecar);
    diagnostics.extend(sidecar.into_iter().flat_map(unfamiliar_interpreters));
    Ok(CheckReport::new(folder, profile, package, diagnostics))
}

/// Checks every package in a folder: the folder itself when it is one, else those below it, in
/// byte order. A folder without any is reported as a package without `SKILL.md`.
///
/// # Errors
///
/// As for [`check`].
pub fn check_all(path: &Path, profile: Profile) -> Result<Vec<CheckReport>, PackageError> {
    if holds_skill_file(path) || !path.is_dir() {
        return Ok(vec![check(path, profile)?]);
    }
    let canonical = path.canonicalize().map_err(|source| PackageError::Root {
        path: path.to_owned(),
        source,
    })?;
    let shown = |location: &str| {
        let below = Path::new(location).strip_prefix(&canonical);
        below.map_or_else(|_| PathBuf::from(location), |below| path.join(below))
    };
    let root = Root {
        path: canonical.clone(),
        scope: Scope::Path,
    };
    let survey = discover::survey(&[root], profile, &CancelToken::new())?;
    let mut reports = Vec::new();
    for copy in survey.copies {
        let location = shown(&copy.location);
        reports.push(match copy.skill {
            Some(_) => check(&location, profile)?,
            // A refused link is not followed, so that its own findings are the report.
            None => CheckReport::new(&location, profile, None, copy.diagnostics),
        });
    }
    // A folder whose name is no skill's is passed over by a search and not by a check.
    for skip in &survey.skipped {
        if holds_skill_file(Path::new(&skip.location)) {
            reports.push(check(&shown(&skip.location), profile)?);
        }
    }
    if reports.is_empty() {
        reports.push(check(path, profile)?);
    }
    reports.sort_by(|a, b| a.location.cmp(&b.location));
    Ok(reports)
}

/// Warns of interpreters that a host has to bring itself, of which most are slips.
fn unfamiliar_interpreters(sidecar: &Sidecar) -> Vec<Diagnostic> {
    let placed = sidecar.scripts.iter().zip(&sidecar.script_spans);
    let unfamiliar = placed.filter(|(script, _)| !PRESETS.contains(&script.interpreter.as_str()));
    let warnings = unfamiliar.map(|(script, span)| {
        let key = &script.interpreter;
        let message = format!(
            "`{}` wants `{key}`, which is no preset of ours",
            script.name
        );
        let warning = Diagnostic::warning(DiagnosticId::SidecarInterpreterUnfamiliar, message);
        let otherwise = format!("the host has to define `[interpreters.{key}]`");
        let warning = match nearest(key, PRESETS) {
            Some(near) => warning.help(format!("did you mean `{near}`? otherwise {otherwise}")),
            None => warning.help(format!(
                "the presets are {}; {otherwise}",
                PRESETS.join(", ")
            )),
        };
        match &sidecar.source {
            Some(source) => warning.at(source, span.clone()),
            None => warning.in_file(SIDECAR_FILE),
        }
    });
    warnings.collect()
}

fn holds_skill_file(folder: &Path) -> bool {
    ["SKILL.md", "skill.md"]
        .iter()
        .any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// What a check found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// The folder, as the caller named it.
    pub location: String,
    /// The skill's name, when the package is in order.
    pub name: Option<SkillName>,
    /// The rules it was held to.
    pub profile: Profile,
    /// How many diagnostics keep it from loading.
    pub errors: usize,
    /// How many diagnostics a reader should know.
    pub warnings: usize,
    /// How many diagnostics tell what was taken care of.
    pub notes: usize,
    /// Every diagnostic, in the order of the checks.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckReport {
    fn new(
        folder: &Path,
        profile: Profile,
        package: Option<Package>,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        let count = |severity| {
            diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity() == severity)
                .count()
        };
        Self {
            location: folder.to_string_lossy().into_owned(),
            name: package.map(|package| package.manifest().name.clone()),
            profile,
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            diagnostics,
        }
    }

    /// Returns whether the package would load.
    pub fn passed(&self) -> bool {
        self.errors == 0
    }

    /// Renders the diagnostics with excerpts, then one line of counts.
    pub fn render(&self, color: bool) -> String {
        let mut text = String::new();
        for diagnostic in &self.diagnostics {
            text.push_str(&render(diagnostic, &self.location, color));
            text.push('\n');
        }
        let verdict = if self.passed() { "ok" } else { "refused" };
        let _ = writeln!(
            text,
            "{}: {verdict}, profile {}: {}, {}, {}",
            bailiwick_core::one_line(&self.location, bailiwick_core::MODEL_TEXT_CHARS),
            self.profile.as_str(),
            plural(self.errors, "error"),
            plural(self.warnings, "warning"),
            plural(self.notes, "note"),
        );
        text
    }
}

/// The interpreters that a host has without configuring one, where they are installed.
const PRESETS: &[&str] = &["sh", "bash", "python3", "node"];

fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}
