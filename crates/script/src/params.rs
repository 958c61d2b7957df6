//! `file` and `dir` parameters: host paths that a call names (contracts 5.2).

use std::path::{Component, Path};

use bailiwick_core::{Code, Param, SkillError, Violation};
use bailiwick_policy::{Access, Grants, HostPath, PolicyWidened, SandboxPolicy};

/// Opens the paths that one call names, on top of what holds for every run.
#[derive(Debug)]
pub(crate) struct NamedPaths<'a> {
    cwd: &'a Path,
    grants: &'a Grants,
    policy: SandboxPolicy,
    named: Vec<NamedPath>,
}

/// A path that a call names.
#[derive(Clone, Debug)]
pub(crate) struct NamedPath {
    pub(crate) param: Param,
    pub(crate) path: HostPath,
    pub(crate) access: Access,
}

impl<'a> NamedPaths<'a> {
    pub(crate) fn new(cwd: &'a Path, grants: &'a Grants, standing: SandboxPolicy) -> Self {
        Self {
            cwd,
            grants,
            policy: standing,
            named: Vec::new(),
        }
    }

    /// Resolves a path against the call's directory and opens it in the policy, for writing where
    /// the grants allow that and else for reading.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED` for text that is no path, `E_SKILL_SCRIPT_POLICY_WIDENED` for
    /// one that lies outside the skill's grants, with what the skill holds.
    pub(crate) fn open(&mut self, param: &Param, text: &str) -> Result<String, SkillError> {
        let path = absolute(self.cwd, text).map_err(|reason| {
            Violation::reject(&[Violation::new(&format!("/{}", param.name), &reason)])
        })?;
        let opened = self
            .grants
            .open(self.policy.clone(), &path, Access::Write)
            .map(|policy| (policy, Access::Write))
            .or_else(|_| {
                self.grants
                    .open(self.policy.clone(), &path, Access::Read)
                    .map(|p| (p, Access::Read))
            });
        match opened {
            Ok((policy, access)) => {
                self.policy = policy;
                self.named.push(NamedPath {
                    param: param.clone(),
                    path: path.clone(),
                    access,
                });
                Ok(path.to_string())
            }
            Err(widened) => Err(refused(param, text, widened)),
        }
    }

    /// Returns the policy with every named path opened, and the paths.
    pub(crate) fn finish(self) -> (SandboxPolicy, Vec<NamedPath>) {
        (self.policy, self.named)
    }
}

/// Says that a named path lies outside the skill's grants, and what would let it in.
fn refused(param: &Param, text: &str, widened: PolicyWidened) -> SkillError {
    let error = SkillError::new(
        Code::ScriptPolicyWidened,
        format!(
            "`{}` is {text:?}, which lies outside what the skill was granted",
            param.name
        ),
    );
    let error = match widened.witnesses().first() {
        Some(witness) => error
            .with_hint(witness.hint())
            .with_detail("axis", "fs")
            .with_detail("path", witness.at())
            .with_detail("held", witness.held()),
        None => error,
    };
    error.with_source(widened)
}

/// Makes a path absolute by its text alone; links are refused later, when the sandbox opens it.
fn absolute(cwd: &Path, text: &str) -> Result<HostPath, String> {
    let mut path = std::path::PathBuf::new();
    for component in cwd.join(text).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::Prefix(_) | Component::RootDir => {
                path.push(component);
            }
        }
    }
    let path = path.to_str().ok_or_else(|| "it is not UTF-8".to_owned())?;
    path.parse()
        .map_err(|error: bailiwick_policy::PathError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_calls_directory_and_dots_are_resolved_by_text() {
        let cwd = Path::new("/home/ada/project");
        for (given, wanted) in [
            ("docs/a.md", "/home/ada/project/docs/a.md"),
            ("./docs//a.md", "/home/ada/project/docs/a.md"),
            ("../notes", "/home/ada/notes"),
            ("/etc/passwd", "/etc/passwd"),
            ("../../../../../etc", "/etc"),
        ] {
            assert_eq!(absolute(cwd, given).unwrap().as_str(), wanted, "{given}");
        }
        assert!(absolute(cwd, "a\nb").is_err());
    }
}
