//! `demo`: skills running, attacks failing, and one grant changing the outcome.

mod attacks;
mod calls;
mod claim;
mod control;
mod isolated;
mod stage;

use bailiwick::sandbox::selftest::{self, SelfTest, Verdict, attack_program};
use bailiwick::sandbox_policy::ThreatClass;
use bailiwick::{Code, Error, SkillManager};
use serde_json::{Value, json};

use self::attacks::Attack;
use self::claim::{Claim, Seen};
use self::isolated::Isolated;
use self::stage::Stage;
use crate::cli::Demo;
use crate::commands::doctor::errno_name;
use crate::error::usage;
use crate::program::{DONE, Program, block_on};
use crate::table::{table, wrapped};

pub(crate) fn run(program: &Program, arguments: &Demo) -> Result<u8, Error> {
    let wanted = wanted(&arguments.only)?;
    if attack_program().is_empty() {
        return Err(stage::unsupported());
    }
    let stage = Stage::set(program.weakening)?;
    let shown = block_on(async { Ok(show(program, &stage, &wanted).await) })?;
    let error = shown.verdict();
    program
        .output
        .answer(|| shown.to_text(), || shown.to_json(error.as_ref()))?;
    let Some(error) = error else { return Ok(DONE) };
    if !program.output.is_json() {
        program.output.complaint(&error);
    }
    Ok(error.code().exit_code())
}

/// One thing that the demo claims.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Topic {
    Module,
    Isolated,
    Script,
    Attack(Attack),
    /// An attack of an isolated tool's.
    FromGuest(Isolated),
    Grant,
    Cancel,
    Artifact,
    /// A class of threats that the self-test attacks.
    Class(ThreatClass),
}

impl Topic {
    fn all() -> Vec<Self> {
        let attacks = [
            Attack::Read,
            Attack::Connect,
            Attack::Fork,
            Attack::Allocate,
            Attack::Loop,
        ];
        let from_guest = [Isolated::Read, Isolated::Allocate, Isolated::Loop];
        let mut topics = vec![Self::Module, Self::Isolated, Self::Script];
        topics.extend(attacks.map(Self::Attack));
        topics.extend(from_guest.map(Self::FromGuest));
        topics.extend([Self::Grant, Self::Cancel, Self::Artifact]);
        topics.extend(ThreatClass::ALL.map(Self::Class));
        topics
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Module => "tier-1",
            Self::Isolated => "tier-2",
            Self::Script => "tier-3",
            Self::Attack(Attack::Read) => "read",
            Self::Attack(Attack::Connect) => "connect",
            Self::Attack(Attack::Fork) => "fork",
            Self::Attack(Attack::Allocate) => "allocate",
            Self::Attack(Attack::Loop) => "loop",
            Self::FromGuest(Isolated::Read) => "isolated-read",
            Self::FromGuest(Isolated::Allocate) => "isolated-allocate",
            Self::FromGuest(Isolated::Loop) => "isolated-loop",
            Self::Grant => "grant",
            Self::Cancel => "cancel",
            Self::Artifact => "artifact",
            Self::Class(class) => class.as_str(),
        }
    }

    const fn claim(self) -> &'static str {
        match self {
            Self::Module => "a live Rust tool is called through the one path",
            Self::Isolated => "an isolated tool runs in a fresh guest, call by call",
            Self::Script => "a script runs in a process of its own",
            Self::Attack(Attack::Read) => "a private key outside every grant cannot be read",
            Self::Attack(Attack::Connect) => "a listener on this machine cannot be reached",
            Self::Attack(Attack::Fork) => "forking without end is stopped at the limit",
            Self::Attack(Attack::Allocate) => "allocating without end is stopped at the limit",
            Self::Attack(Attack::Loop) => "looping for ever is ended at the deadline",
            Self::FromGuest(Isolated::Read) => {
                "an isolated tool cannot read what it is not granted"
            }
            Self::FromGuest(Isolated::Allocate) => {
                "an isolated tool is refused memory at the limit"
            }
            Self::FromGuest(Isolated::Loop) => {
                "an isolated tool that loops for ever is ended at the deadline"
            }
            Self::Grant => "one grant makes a refused call pass",
            Self::Cancel => "a cancelled call is dead when it answers",
            Self::Artifact => "a big result is kept whole behind a handle",
            Self::Class(ThreatClass::FsData) => {
                "files outside every grant cannot be read or changed"
            }
            Self::Class(ThreatClass::FsMetadataWrite) => "their metadata cannot be changed",
            Self::Class(ThreatClass::FsMetadataRead) => "their metadata cannot be seen",
            Self::Class(ThreatClass::IpNetwork) => "no address can be reached",
            Self::Class(ThreatClass::UnixIpc) => "no socket of another program can be reached",
            Self::Class(ThreatClass::Processes) => "no other process can be signalled or inspected",
            Self::Class(ThreatClass::Tuning) => "no other process can be slowed or limited",
            Self::Class(ThreatClass::KernelSurface) => {
                "the kernel's seldom used parts are out of reach"
            }
            Self::Class(ThreatClass::Privilege) => "no privilege can be gained",
            Self::Class(ThreatClass::EnvAndDescriptors) => "nothing of the host's is inherited",
            Self::Class(ThreatClass::KillAll) => "nothing outlives a run",
            Self::Class(ThreatClass::Memory) => "memory has a bound",
            Self::Class(ThreatClass::ProcessCount) => "processes have a bound",
            Self::Class(ThreatClass::Cpu) => "processor time has a bound",
            Self::Class(ThreatClass::Disk) => "the disk cannot be filled",
        }
    }
}

fn wanted(names: &[String]) -> Result<Vec<Topic>, Error> {
    let all = Topic::all();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        all.iter()
            .copied()
            .find(|topic| topic.name() == name)
            .ok_or_else(|| {
                let known: Vec<_> = all.iter().map(|topic| topic.name()).collect();
                usage(
                    format!("the demo has no claim `{name}`"),
                    format!("the claims are {}", known.join(", ")),
                )
            })
    };
    names.iter().map(find).collect()
}

/// Everything that the demo has to show.
struct Shown {
    claims: Vec<Claim>,
    /// The layers of a run, or of the host where none was made.
    layers: Value,
}

/// Shows each topic in turn; one that fails does not keep the others from being shown.
async fn show(program: &Program, stage: &Stage, wanted: &[Topic]) -> Shown {
    let mut shown = Shown {
        claims: Vec::new(),
        layers: json!(stage.host().layers()),
    };
    let (manager, scripts) = match stage.manager(false).await {
        Ok(manager) => {
            let scripts = load_scripts(&manager).await;
            (Ok(manager), scripts)
        }
        Err(error) => (Err(error), Ok(())),
    };
    let mut tested = None;
    for topic in wanted {
        program.output.progress(&format!("demo: {}", topic.name()));
        let seen = match (*topic, &manager, &scripts) {
            (Topic::Class(class), _, _) => tested
                .get_or_insert_with(|| selftest::run(stage.host()))
                .as_ref()
                .map(|tested| denied(tested, class))
                .map_err(|error| Error::new(error.code(), error.to_string())),
            (Topic::Grant, _, _) => calls::grant(stage).await,
            (Topic::Module, Ok(manager), _) => calls::module(manager).await,
            (Topic::Isolated, Ok(manager), _) => isolated::tool(manager).await,
            (Topic::FromGuest(attack), Ok(manager), _) => attack.seen(stage, manager).await,
            (Topic::Script, Ok(manager), Ok(())) => {
                calls::script(manager).await.map(|(seen, layers)| {
                    shown.layers = layers;
                    seen
                })
            }
            (Topic::Attack(attack), Ok(manager), Ok(())) => attack.seen(stage, manager).await,
            (Topic::Cancel, Ok(manager), Ok(())) => calls::cancel(manager).await,
            (Topic::Artifact, Ok(manager), Ok(())) => calls::artifact(stage, manager).await,
            (_, Err(error), _) | (_, _, Err(error)) => {
                Err(Error::new(error.code(), error.message()))
            }
        };
        shown
            .claims
            .push(Claim::judge(topic.name(), topic.claim(), seen));
    }
    if let Ok(manager) = manager {
        manager.shutdown().await;
    }
    shown
}

/// Loads the skills whose tools are scripts.
async fn load_scripts(manager: &SkillManager) -> Result<(), Error> {
    for skill in ["demo-tools", "demo-attacks"] {
        manager.load(skill).await?;
    }
    Ok(())
}

/// What the self-test saw of a class.
fn denied(tested: &SelfTest, class: ThreatClass) -> Seen {
    let of_class = tested
        .attempts()
        .iter()
        .filter(|attempt| attempt.class == class);
    let (mut denied, mut open, mut doubtful) = (Vec::new(), Vec::new(), 0);
    for attempt in of_class {
        match attempt.verdict {
            Verdict::Denied => denied.push(match attempt.errno {
                Some(errno) => format!("{} {}", attempt.name, errno_name(errno)),
                None => attempt.name.to_owned(),
            }),
            Verdict::Open => open.push(attempt.name),
            Verdict::Inconclusive => doubtful += 1,
        }
    }
    let few: Vec<_> = denied.iter().take(EXAMPLES).map(String::as_str).collect();
    let mut seen = Seen::nothing().and(
        !denied.is_empty(),
        format!("{} attempts denied: {}", denied.len(), few.join(", ")),
    );
    if !open.is_empty() {
        seen = seen.and(false, format!("got through: {}", open.join(", ")));
    }
    if doubtful > 0 {
        seen = seen.and(true, format!("{doubtful} prove nothing here"));
    }
    seen
}

impl Shown {
    fn verdict(&self) -> Option<Error> {
        let red: Vec<_> = self
            .claims
            .iter()
            .filter(|claim| !claim.held)
            .map(|claim| claim.name)
            .collect();
        if red.is_empty() {
            return None;
        }
        let unavailable = self.claims.iter().filter_map(|claim| claim.error.as_ref());
        let mut unavailable =
            unavailable.filter(|error| error.code() == Code::ScriptSandboxUnavailable);
        let code = unavailable.next().map_or(Code::ScriptFailed, Error::code);
        let message = format!(
            "{} of {} claims did not hold: {}",
            red.len(),
            self.claims.len(),
            red.join(", ")
        );
        Some(
            Error::new(code, message).with_hint(
                "run `bailiwick doctor` to see what this machine lacks and how to get it",
            ),
        )
    }

    fn to_text(&self) -> String {
        let layers = table(
            ["layer", "state", "why"],
            self.layers.as_array().into_iter().flatten().map(layer),
        );
        let claims = self.claims.iter().map(|claim| {
            let mark = if claim.held { "ok" } else { "RED" };
            [
                mark.to_owned(),
                claim.text.to_owned(),
                claim.evidence.clone(),
                claim.reproduce.clone(),
            ]
        });
        format!(
            "{layers}\n\n{}",
            wrapped(["", "claim", "evidence", "command to reproduce"], claims)
        )
    }

    fn to_json(&self, error: Option<&Error>) -> Value {
        json!({
            "ok": error.is_none(),
            "error": error.map(Error::wire),
            "claims": self.claims,
            "layers": self.layers,
        })
    }
}

fn layer(row: &Value) -> [String; 3] {
    let text = |key: &str| {
        row.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let state = if text("state") == "in-force" {
        "in force".to_owned()
    } else {
        text("state")
    };
    [text("layer"), state, text("why")]
}

/// How many attempts are named as evidence.
const EXAMPLES: usize = 3;
