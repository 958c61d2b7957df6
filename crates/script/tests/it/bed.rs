//! A skill with one script, and what runs it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use bailiwick_core::{
    Artifact, ArtifactId, ArtifactStore, CallContext, Code, Gatekeeper, Line, ModeClass,
    NewArtifact, Outcome, Provenance, ScriptDeclaration, SkillError, SkillFile, SkillName, call,
};
use bailiwick_policy::{Grants, Net, Origin, SandboxPolicy, SyscallProfile};
use bailiwick_sandbox::{Host, HostConfig};
use bailiwick_script::{
    DirWorkspace, Script, ScriptGrants, ScriptRunner, ScriptSettings, ScriptTier, ScriptTool,
};
use bailiwick_testkit::require_sandbox;
use serde_json::json;
use tempfile::TempDir;

/// A machine on which Python scripts run.
pub(crate) struct Bed {
    runner: Arc<ScriptRunner>,
    tier: Arc<ScriptTier>,
    _state: TempDir,
}

impl Bed {
    /// A bed whose session grants what its scripts are granted; nothing where there is no Python.
    pub(crate) fn new(hosts: &[&str]) -> Option<Self> {
        static HOSTS: AtomicU32 = AtomicU32::new(0);
        let python = Path::new("/usr/bin/python3").exists();
        if !require_sandbox(python.then_some(()).ok_or("Python")) {
            return None;
        }
        let state = tempfile::tempdir().expect("a folder");
        // Every host of every process that tests has uids of its own.
        let number = std::process::id() % 2048 * 16 + HOSTS.fetch_add(1, Ordering::Relaxed) % 16;
        let uids = 0x6000_0000 + number * 256;
        let config = HostConfig::new(state.path().join("state")).with_uids(uids..uids + 256);
        let host = Host::probe(config).expect("a host");
        let settings = ScriptSettings::new(policy(hosts));
        let tier = Arc::new(ScriptTier::new(settings).expect("a tier"));
        let workspace = DirWorkspace::open(state.path().join("skills")).expect("a workspace");
        let runner = ScriptRunner::new(tier.clone(), host, Arc::new(workspace), Arc::new(Forgets));
        Some(Self {
            runner: Arc::new(runner),
            tier,
            _state: state,
        })
    }

    /// Makes a Python text the script of a skill that is granted some hosts.
    pub(crate) fn script(&self, text: &str, hosts: &[&str]) -> ScriptTool {
        let skill: SkillName = "demo".parse().expect("a name");
        let path: bailiwick_core::SkillPath = "scripts/run.py".parse().expect("a path");
        let bytes = text.as_bytes().to_vec();
        let files = [SkillFile::new(path.clone(), ModeClass::Regular, bytes)];
        let revision = self.runner.materialize(&skill, None, &files);
        let declaration = ScriptDeclaration::new("run", path, "Runs.", "python3", Vec::new());
        let grants = ScriptGrants::new(Grants::default(), policy(hosts));
        let script = Script::declared(
            self.tier.clone(),
            Provenance::new(skill, None, None),
            declaration.expect("a declaration"),
            grants,
        );
        ScriptTool::new(
            Arc::new(script.expect("a script")),
            self.runner.clone(),
            revision.expect("a revision"),
        )
    }

    /// Runs a Python text that is granted some hosts.
    pub(crate) async fn run(&self, text: &str, hosts: &[&str]) -> Outcome {
        called(&self.script(text, hosts)).await
    }
}

/// Calls a script that has no parameters.
pub(crate) async fn called(tool: &ScriptTool) -> Outcome {
    called_in(tool, &CallContext::new("/")).await
}

/// The same in a context.
pub(crate) async fn called_in(tool: &ScriptTool, context: &CallContext) -> Outcome {
    call(tool, &Gatekeeper::dangerously_ungated(), json!({}), context).await
}

/// What a successful run printed.
pub(crate) fn stdout(outcome: &Outcome) -> String {
    let response = outcome.result.as_ref().expect("a response");
    let structured = response.structured.as_ref().expect("both streams");
    structured["stdout"].as_str().expect("text").to_owned()
}

/// A host on this machine that says over HTTP which word it is, and where it listens.
pub(crate) fn host_that_says(word: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let address = listener.local_addr().expect("its address");
    // It answers until this process ends.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || say(stream, word));
        }
    });
    address.to_string()
}

fn say(mut stream: std::net::TcpStream, word: &str) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let length = word.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{word}"
    )
}

fn policy(hosts: &[&str]) -> SandboxPolicy {
    let hosts = hosts.iter().map(|host| host.parse().expect("a host"));
    SandboxPolicy::deny_all()
        .with_syscalls(SyscallProfile::Standard)
        .with_net(Net::to_hosts(hosts), Origin::Code)
}

/// A store that describes what it is given and keeps nothing.
#[derive(Debug)]
struct Forgets;

impl Forgets {
    fn nothing<T>() -> Result<T, SkillError> {
        Err(SkillError::new(Code::NotFound, "nothing is kept"))
    }
}

impl ArtifactStore for Forgets {
    fn put(&self, artifact: NewArtifact<'_>) -> Result<Artifact, SkillError> {
        let digest = bailiwick_core::Digest::of(artifact.bytes);
        let id: ArtifactId = format!("a_{}", &digest.to_hex()[..26])
            .parse()
            .map_err(|_| SkillError::new(Code::NotFound, "no id"))?;
        let keep = Duration::from_mins(1);
        Ok(Artifact::describe(id, &artifact, SystemTime::now(), keep))
    }

    fn stat(&self, _: &ArtifactId) -> Result<Artifact, SkillError> {
        Self::nothing()
    }

    fn read(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<u8>, SkillError> {
        Self::nothing()
    }

    fn lines(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<Line>, SkillError> {
        Self::nothing()
    }

    fn grep(&self, _: &ArtifactId, _: &str, _: usize) -> Result<Vec<Line>, SkillError> {
        Self::nothing()
    }

    fn list(&self) -> Result<Vec<Artifact>, SkillError> {
        Ok(Vec::new())
    }

    fn remove(&self, _: &ArtifactId) -> Result<(), SkillError> {
        Ok(())
    }
}
