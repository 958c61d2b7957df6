//! What the demo works with: a temporary folder that holds everything, and goes with it.

use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick::sandbox::selftest::attack_program;
use bailiwick::sandbox::{Host, HostConfig};
use bailiwick::sandbox_policy::Origin;
use bailiwick::scripts::Interpreter;
use bailiwick::{
    Code, Decision, DirectorySource, Error, FileStore, HostSource, Policy, SkillManager,
    StoreConfig, gate_fn, tool_fn,
};

use crate::error::cannot;
use crate::weakening::Weakening;

/// The demo's folder, its key, its listener and its skills.
pub(super) struct Stage {
    folder: tempfile::TempDir,
    listener: TcpListener,
    host: Host,
    weakening: Weakening,
}

impl Stage {
    /// Writes everything and finds out what the machine can do.
    pub(super) fn set(weakening: Weakening) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("bailiwick-demo-").tempdir();
        let failed = |error| {
            cannot(
                "write the demo to",
                Path::new("the temporary folder"),
                "set `TMPDIR` to a folder of yours",
                error,
            )
        };
        let folder = folder.map_err(failed)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let config = HostConfig::shared_or(folder.path().join("sandbox"));
        let host = weakening.apply(Host::probe(config)?);
        let stage = Self {
            folder,
            listener,
            host,
            weakening,
        };
        stage.write().map_err(failed)?;
        Ok(stage)
    }

    /// Returns the private key, which this process can read and no grant covers.
    pub(super) fn key(&self) -> PathBuf {
        self.path("keys/id_demo")
    }

    /// Returns the port that somebody listens on.
    pub(super) fn port(&self) -> Result<u16, Error> {
        let address = self.listener.local_addr();
        address
            .map(|address| address.port())
            .map_err(|error| cannot("listen", Path::new("127.0.0.1"), "try again", error))
    }

    /// Returns the attack program, for controls.
    pub(super) fn attack(&self) -> PathBuf {
        self.path("attack")
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Opens the store of results, as another process would.
    pub(super) fn artifacts(&self) -> Result<FileStore, Error> {
        Ok(FileStore::open(
            self.path("artifacts"),
            StoreConfig::default(),
        )?)
    }

    /// Builds a manager under a policy of small limits, which grants the key's folder or nothing;
    /// the one that grants has more memory for isolated tools.
    pub(super) async fn manager(&self, grants_the_key: bool) -> Result<SkillManager, Error> {
        let policy = if grants_the_key {
            "granting.toml"
        } else {
            "bailiwick.toml"
        };
        let attack = self.attack().to_string_lossy().into_owned();
        let interpreter = Interpreter::resolve(
            "attack",
            vec![attack],
            Vec::new(),
            Vec::new(),
            Origin::builtin("demo"),
        )?;
        // The demo is the person: it shows what holds once somebody said yes.
        let mut builder = SkillManager::builder()
            .gate(gate_fn(|_| async { Decision::allow() }))
            .policy(Policy::from_file(self.path(policy))?)
            .source(DirectorySource::open(self.path("skills"))?)
            .source(HostSource::new("demo").skill(
                "demo-host",
                "Runs in the host's process.",
                [shout()],
            )?)
            .artifacts(self.artifacts()?)
            .workspace(self.path("work"))
            .engine_cache(self.path("engine"))
            .interpreter(interpreter)
            .sandbox_host(self.host.clone());
        for class in self.weakening.accepted() {
            builder = builder.dangerous().accept_open_class(*class);
        }
        builder.build().await
    }

    fn write(&self) -> io::Result<()> {
        for folder in [
            "keys",
            "skills",
            "work",
            "skills/demo-attacks",
            "skills/demo-isolated",
            "skills/demo-tools",
        ] {
            DirBuilder::new().mode(0o700).create(self.path(folder))?;
        }
        for skill in ["demo-attacks", "demo-isolated", "demo-tools"] {
            DirBuilder::new()
                .mode(0o700)
                .create(self.path(&format!("skills/{skill}/scripts")))?;
        }
        // The uid of a run executes it too.
        self.put("attack", 0o555, attack_program())?;
        self.put("keys/id_demo", 0o600, KEY)?;
        for (path, text) in FILES {
            self.put(&format!("skills/{path}"), 0o600, text.as_bytes())?;
        }
        for verb in ["read", "connect", "fork", "allocate", "loop"] {
            self.put(
                &format!("skills/demo-attacks/scripts/{verb}.attack"),
                0o600,
                verb.as_bytes(),
            )?;
        }
        let isolated = |memory| format!("{LIMITS}\n[limits.isolate]\nmemory = \"{memory}\"\n");
        self.put("bailiwick.toml", 0o600, isolated(SMALL_MEMORY).as_bytes())?;
        self.put(
            "granting.toml",
            0o600,
            self.granting(&isolated(GENEROUS_MEMORY)).as_bytes(),
        )
    }

    fn granting(&self, limits: &str) -> String {
        let text = |name: &str| toml_string(&self.path(name));
        let (keys, skills) = (text("keys"), text("skills"));
        let skill = |name, context| {
            format!(
                "\n[[skill]]\nname = \"{name}\"\nsource = {skills}\ngrant.read = [{keys}]\ngrant.context = [{context}]\n"
            )
        };
        let (script, isolated) = (skill("demo-attacks", ""), skill("demo-isolated", FS_READ));
        format!("{limits}\n[session]\nread = [{keys}]\ncontext = [{FS_READ}]\n{script}{isolated}")
    }

    fn put(&self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::options()
            .create_new(true)
            .write(true)
            .mode(mode)
            .open(self.path(path))?;
        file.write_all(bytes)
    }

    fn path(&self, name: &str) -> PathBuf {
        // What is granted is judged by canonical paths; a temporary folder may lie behind a link.
        let folder = self.folder.path();
        folder
            .canonicalize()
            .unwrap_or_else(|_| folder.to_owned())
            .join(name)
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Shout {
    /// What is said.
    text: String,
}

/// The tool of tier 1.
fn shout() -> Arc<dyn bailiwick::LiveTool> {
    tool_fn::<Shout>("demo_shout", "Says it louder.", |shout: Shout| async move {
        Ok::<_, std::convert::Infallible>(format!("{}!", shout.text.to_uppercase()))
    })
}

fn toml_string(path: &Path) -> String {
    // A basic string of TOML is escaped like one of JSON.
    serde_json::Value::from(path.to_string_lossy().into_owned()).to_string()
}

/// Reports that the demo cannot run on this machine at all.
pub(super) fn unsupported() -> Error {
    Error::new(
        Code::ScriptSandboxUnavailable,
        "the attack program is not built for this machine",
    )
    .with_hint("run the demo on Linux on x86-64")
}

/// The memory of an isolated tool: as little as the attack exceeds by half.
pub(super) const SMALL_MEMORY: &str = "32MiB";

/// The memory of an isolated tool where the attack is let through.
pub(super) const GENEROUS_MEMORY: &str = "128MiB";

const FS_READ: &str = "\"fs.read\"";

/// Limits that are soon reached: the attacks exceed each by half or more.
const LIMITS: &str = "\
version = 1

[limits]
memory = \"64MiB\"
processes = 24
wall = \"12s\"
wall_default = \"10s\"
";

const KEY: &[u8] =
    b"-----BEGIN DEMO PRIVATE KEY-----\nnobody's business\n-----END DEMO PRIVATE KEY-----\n";

const FILES: &[(&str, &str)] = &[
    (
        "demo-attacks/SKILL.md",
        "---\nname: demo-attacks\ndescription: Tries what a hostile skill would try.\nversion: 1.0.0\n---\n",
    ),
    (
        "demo-attacks/bailiwick.yaml",
        "\
scripts:
  - name: read
    path: scripts/read.attack
    description: Reads a file.
    interpreter: attack
    params:
      - { name: path, type: string, description: The file., required: true }
  - name: connect
    path: scripts/connect.attack
    description: Connects to an address.
    interpreter: attack
    params:
      - { name: address, type: string, description: The address., required: true }
      - { name: port, type: integer, description: The port., required: true }
  - name: fork
    path: scripts/fork.attack
    description: Starts processes.
    interpreter: attack
    params:
      - { name: count, type: integer, description: How many., required: true }
  - name: allocate
    path: scripts/allocate.attack
    description: Takes memory.
    interpreter: attack
    params:
      - { name: mebibytes, type: integer, description: How much., required: true }
  - name: loop
    path: scripts/loop.attack
    description: Uses the processor for ever.
    interpreter: attack
",
    ),
    (
        "demo-isolated/SKILL.md",
        "---\nname: demo-isolated\ndescription: Tries from JavaScript what a hostile skill would try.\nversion: 1.0.0\ntools: [demo_words, demo_read, demo_allocate, demo_loop]\n---\n",
    ),
    (
        "demo-isolated/scripts/demo_words.js",
        "\
export const description = \"Counts the words of a text.\";
export const parameters = {
  type: \"object\",
  properties: { text: { type: \"string\" } },
  required: [\"text\"],
};
let calls = 0;
export async function execute({ text }) {
  calls += 1;
  const words = text.split(/\\s+/).filter((word) => word !== \"\");
  return { content: [{ type: \"text\", text: `${words.length} words, call ${calls} of this guest` }] };
}
",
    ),
    (
        "demo-isolated/scripts/demo_read.js",
        "\
export const description = \"Reads the first line of a file.\";
export const parameters = {
  type: \"object\",
  properties: { path: { type: \"string\" } },
  required: [\"path\"],
};
export async function execute({ path }, context) {
  const { text } = await context.fs.read(path, { limit: 1 });
  return { content: [{ type: \"text\", text: text.trim() }] };
}
",
    ),
    (
        "demo-isolated/scripts/demo_allocate.js",
        "\
export const description = \"Takes memory and keeps it.\";
export const parameters = {
  type: \"object\",
  properties: { mebibytes: { type: \"integer\" } },
  required: [\"mebibytes\"],
};
export async function execute({ mebibytes }) {
  const kept = [];
  while (kept.length < mebibytes) {
    kept.push(new Uint8Array(1024 * 1024).fill(1));
  }
  return { content: [{ type: \"text\", text: `kept ${kept.length} MiB` }] };
}
",
    ),
    (
        "demo-isolated/scripts/demo_loop.js",
        "\
export const description = \"Turns round, for ever where nobody says how often.\";
export const parameters = {
  type: \"object\",
  properties: { turns: { type: \"integer\" } },
};
export async function execute({ turns = Infinity }) {
  let turned = 0;
  while (turned < turns) {
    turned += 1;
  }
  return { content: [{ type: \"text\", text: `${turned} turns` }] };
}
",
    ),
    (
        "demo-tools/SKILL.md",
        "---\nname: demo-tools\ndescription: Counts and lists lines.\nversion: 1.0.0\n---\n",
    ),
    (
        "demo-tools/bailiwick.yaml",
        "\
scripts:
  - name: count
    path: scripts/count.sh
    description: Counts the lines of its standard input.
    interpreter: sh
  - name: lines
    path: scripts/lines.sh
    description: Writes numbered lines.
    interpreter: sh
    params:
      - { name: count, type: integer, description: How many., required: true }
",
    ),
    (
        "demo-tools/scripts/count.sh",
        "count=0\nwhile read -r _; do count=$((count + 1)); done\necho \"$count lines\"\n",
    ),
    (
        "demo-tools/scripts/lines.sh",
        "at=1\nwhile [ \"$at\" -le \"$1\" ]; do\n  echo \"line $at of a result that is too long for a reply\"\n  at=$((at + 1))\ndone\n",
    ),
];
