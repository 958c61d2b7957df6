//! What a guest gets of its host, and what it does not.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stop the test, as the tests do"
)]

mod attacks;
mod granting;
mod listing;
mod reading;
mod searching;
mod stopping;

use std::path::{Path, PathBuf};

use bailiwick_core::{CallContext, CancelToken, Code, HostCall, HostCalls, SkillError};
use bailiwick_host::{CallServices, Grant, Registry, Roots, Services};
use bailiwick_testkit::TempWorkspace;
use serde_json::Value;

/// A folder with a granted directory `root` and, beside it, what is not granted.
struct Fixture {
    workspace: TempWorkspace,
    path: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let workspace = TempWorkspace::new();
        workspace.write("outside/secret.txt", "secret\n");
        workspace.write("root/a.txt", "granted\n");
        let path = workspace.path().canonicalize().unwrap();
        Self { workspace, path }
    }

    fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        self.workspace.write(&format!("root/{path}"), bytes);
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.root().join(path)).unwrap();
    }

    /// Everything of `fs`, beneath `root`, from `root`.
    fn host(&self) -> CallServices {
        host(&["fs"], &[&self.root()], &self.root())
    }

    async fn ask(&self, member: &str, arguments: Value) -> Result<Value, SkillError> {
        ask(&self.host(), member, arguments).await
    }
}

fn grants(names: &[&str]) -> Vec<Grant> {
    let grant = |name: &&str| Grant::new(name.parse().unwrap(), "policy.toml:3");
    names.iter().map(grant).collect()
}

fn host(names: &[&str], roots: &[&Path], cwd: &Path) -> CallServices {
    let roots = roots
        .iter()
        .map(|path| (path.to_path_buf(), "policy.toml:4".to_owned()));
    let roots = Roots::open(roots).unwrap();
    let registry = Registry::standard().unwrap();
    Services::new(registry, "skill".parse().unwrap(), grants(names), roots)
        .unwrap()
        .for_call(&CallContext::new(cwd))
        .unwrap()
}

/// Calls a member with a list of arguments.
async fn ask(host: &CallServices, member: &str, arguments: Value) -> Result<Value, SkillError> {
    let Value::Array(arguments) = arguments else {
        panic!("arguments are a list");
    };
    let call = HostCall::new(member, arguments, CancelToken::new());
    host.begin(call).await
}

/// The code and the words of a failure, with the reason in its details.
fn refused(answer: Result<Value, SkillError>) -> (Code, String, String) {
    let error = answer.expect_err("the call fails");
    let reason = error.details().get("reason").and_then(Value::as_str);
    (
        error.code(),
        error.message().to_owned(),
        reason.unwrap_or_default().to_owned(),
    )
}

#[test]
fn every_file_of_this_folder_is_a_module_of_it() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};\n")),
            "{name} is not listed"
        );
    }
}
