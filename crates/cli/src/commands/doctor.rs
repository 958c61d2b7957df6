//! `doctor`: what this machine really enforces, found out by attacking it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bailiwick::sandbox::class::coverage;
use bailiwick::sandbox::selftest::{self, Attempt, SelfTest, Verdict};
use bailiwick::sandbox::{Host, HostConfig, Layer, LayerState};
use bailiwick::sandbox_policy::ThreatClass;
use bailiwick::scripts::Interpreters;
use bailiwick::{Code, Error};
use nix::errno::Errno;
use serde_json::{Value, json};

use crate::apparmor;
use crate::folder;
use crate::policy::Chosen;
use crate::program::{DONE, Program, block_on};
use crate::session;
use crate::table::table;

pub(crate) fn run(program: &Program) -> Result<u8, Error> {
    let chosen = Chosen::new(&program.config, &program.global, &[])?;
    program
        .output
        .progress("attacking this machine, first without and then with confinement");
    let host = probe(program, &chosen)?;
    let tested = match selftest::run(&host) {
        Ok(tested) => tested,
        Err(error) => return untested(program, &host, error.into()),
    };
    let interpreters = block_on(session::interpreters(&chosen))?;
    let error = verdict(&tested, &chosen);
    program.output.answer(
        || to_text(&tested, &interpreters),
        || to_json(&tested, &interpreters, error.as_ref()),
    )?;
    let Some(error) = error else { return Ok(DONE) };
    if !program.output.is_json() {
        program.output.complaint(&error);
    }
    Ok(error.code().exit_code())
}

/// Reports that not even the self-test could be run, and what to add where that is known.
fn untested(program: &Program, host: &Host, error: Error) -> Result<u8, Error> {
    let found = host.abilities().has_powerless_user_namespaces();
    let itself = std::env::current_exe().ok().filter(|_| found);
    let Some(steps) = itself.as_deref().and_then(apparmor::steps) else {
        return Err(error);
    };
    let profile = itself.as_deref().and_then(apparmor::profile);
    program.output.answer(
        || steps.trim_end().to_owned(),
        || {
            json!({
                "ok": false,
                "error": error.wire(),
                "apparmor": { "file": apparmor::FILE, "profile": profile },
            })
        },
    )?;
    if !program.output.is_json() {
        program.output.complaint(&error);
    }
    Ok(error.code().exit_code())
}

/// Finds out what this machine can do, less what a test leaves out.
pub(crate) fn probe(program: &Program, chosen: &Chosen) -> Result<Host, Error> {
    let file = chosen.policy.file();
    let state = match file.workspace_dir() {
        Some(folder) => PathBuf::from(folder.as_str()),
        None => program.config.cache_folder()?,
    };
    folder::private(&state)?;
    let mut config = HostConfig::shared_or(state.join("sandbox"));
    if let Some(parent) = file.cgroup() {
        config = config.with_cgroup_parent(parent.as_path());
    }
    Ok(program.weakening.apply(Host::probe(config)?))
}

/// Refuses where a class that must be closed is not shown to be.
fn verdict(tested: &SelfTest, chosen: &Chosen) -> Option<Error> {
    let policy = chosen.policy.file().session_policy();
    let hard: BTreeSet<_> = ThreatClass::ALL
        .into_iter()
        .filter(|class| class.is_hard_by_default())
        .chain(policy.required().iter().copied())
        .collect();
    let open = tested.not_denied(hard);
    if open.is_empty() {
        return None;
    }
    let names: Vec<_> = open.iter().map(|class| class.as_str()).collect();
    let remedies: BTreeSet<_> = open
        .iter()
        .flat_map(|class| coverage(tested.claimed()).remedies(*class))
        .collect();
    let hint = remedies
        .into_iter()
        .next()
        .unwrap_or("read the attempts above: what was tried got through");
    let error = Error::new(
        Code::ScriptSandboxUnavailable,
        format!("nothing here denies {}", names.join(", ")),
    );
    Some(error.with_hint(hint).with_detail("classes", json!(names)))
}

fn to_text(tested: &SelfTest, interpreters: &Interpreters) -> String {
    let mut blocks = vec![
        matrix(tested),
        format!(
            "{LEGEND}\n\n{}",
            table(
                ["class", "verdict", "attempts"],
                ThreatClass::ALL.map(|class| evidence(tested, class))
            )
        ),
    ];
    let missing: Vec<_> = missing(tested)
        .map(|(layer, why)| [layer.to_string(), why, layer.remedy().to_owned()])
        .collect();
    if !missing.is_empty() {
        blocks.push(table(["missing layer", "why", "how to get it"], missing));
    }
    let programs = interpreters
        .iter()
        .map(|known| [known.key().to_owned(), known.program().to_string()]);
    let absent = interpreters
        .absent()
        .map(|(key, reason)| [key.to_owned(), format!("not offered: {reason}")]);
    blocks.push(table(["interpreter", "program"], programs.chain(absent)));
    blocks.join("\n\n")
}

fn to_json(tested: &SelfTest, interpreters: &Interpreters, error: Option<&Error>) -> Value {
    let classes: Vec<_> = ThreatClass::ALL
        .into_iter()
        .map(|class| json!({ "class": class, "hard": class.is_hard_by_default(), "verdict": tested.class(class) }))
        .collect();
    let known: Vec<_> = interpreters
        .iter()
        .map(|known| json!({ "key": known.key(), "program": known.program().as_str() }))
        .collect();
    let absent: Vec<_> = interpreters
        .absent()
        .map(|(key, reason)| json!({ "key": key, "reason": reason }))
        .collect();
    json!({
        "ok": error.is_none(),
        "error": error.map(Error::wire),
        "classes": classes,
        "attempts": tested.attempts(),
        "layers": tested.claimed(),
        "interpreters": known,
        "absent": absent,
    })
}

/// One row a layer, one column a class. Each cell is what the attempts of this run got, whatever the
/// host claims of the layer.
fn matrix(tested: &SelfTest) -> String {
    let header: [&str; 17] = std::array::from_fn(|column| match column {
        0 => "layer",
        1 => "state",
        column => column_name(ThreatClass::ALL[column - 2]),
    });
    let rows = tested.claimed().iter().map(|(layer, state)| {
        std::array::from_fn(|column| match column {
            0 => layer.to_string(),
            1 => state_word(tested, layer, state).to_owned(),
            column => cell(tested, layer, ThreatClass::ALL[column - 2]),
        })
    });
    table(header, rows)
}

/// What the attempts of a class came to that a layer is expected to deny.
fn cell(tested: &SelfTest, layer: Layer, class: ThreatClass) -> String {
    let mut attempts = tested
        .attempts()
        .iter()
        .filter(|attempt| attempt.class == class && attempt.layers.contains(&layer));
    let Some(first) = attempts.clone().next() else {
        return ".".to_owned();
    };
    let worst = attempts
        .find(|attempt| attempt.verdict == Verdict::Open)
        .unwrap_or(first);
    match worst.verdict {
        Verdict::Open => "OPEN".to_owned(),
        Verdict::Inconclusive => "?".to_owned(),
        Verdict::Denied => worst.errno.map_or_else(|| "denied".to_owned(), errno_name),
    }
}

/// Class, verdict, and every attempt with what the kernel answered.
fn evidence(tested: &SelfTest, class: ThreatClass) -> [String; 3] {
    let attempts = tested
        .attempts()
        .iter()
        .filter(|attempt| attempt.class == class);
    let attempts: Vec<_> = attempts.map(result).collect();
    let hard = if class.is_hard_by_default() {
        ""
    } else {
        " (soft)"
    };
    [
        format!("{class}{hard}"),
        verdict_word(tested.class(class)).to_owned(),
        attempts.join(", "),
    ]
}

fn result(attempt: &Attempt) -> String {
    let answer = match (attempt.verdict, attempt.errno, &attempt.seen) {
        (Verdict::Open, _, _) => "OPEN".to_owned(),
        (Verdict::Denied | Verdict::Inconclusive, Some(errno), _) => errno_name(errno),
        (Verdict::Denied | Verdict::Inconclusive, None, Some(seen)) => seen.clone(),
        (Verdict::Denied, None, None) => "denied".to_owned(),
        (Verdict::Inconclusive, None, None) => "not tried".to_owned(),
    };
    let doubt = if attempt.verdict == Verdict::Inconclusive {
        "?"
    } else {
        ""
    };
    format!("{} {answer}{doubt}", attempt.name)
}

fn missing(tested: &SelfTest) -> impl Iterator<Item = (Layer, String)> {
    tested
        .claimed()
        .iter()
        .filter_map(|(layer, state)| match state {
            LayerState::Missing {
                errno: Some(errno),
                why,
            } => Some((layer, format!("{why}: {}", errno_name(*errno)))),
            LayerState::Missing { errno: None, why } => Some((layer, why.clone())),
            LayerState::InForce | LayerState::Unused { .. } => None,
        })
}

/// What the attempts of this run say of a layer.
///
/// A layer that cannot be had, or that a run does without, is known from the attempt to set it up.
/// That one is in force is claimed by nobody: it shows in what it was to deny.
fn state_word(tested: &SelfTest, layer: Layer, state: &LayerState) -> &'static str {
    match state {
        LayerState::Missing { .. } => return "MISSING",
        LayerState::Unused { .. } => return "unused",
        LayerState::InForce => {}
    }
    let attempts = tested.attempts().iter();
    let verdicts: BTreeSet<_> = attempts
        .filter(|attempt| attempt.layers.contains(&layer))
        .map(|attempt| attempt.verdict)
        .collect();
    if verdicts.contains(&Verdict::Open) {
        "OPEN"
    } else if verdicts.contains(&Verdict::Denied) {
        "in-force"
    } else {
        "untried"
    }
}

pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Denied => "denied",
        Verdict::Open => "OPEN",
        Verdict::Inconclusive => "not shown",
    }
}

/// Returns an errno's name, such as `EACCES`.
pub(crate) fn errno_name(errno: i32) -> String {
    format!("{:?}", Errno::from_raw(errno))
}

/// The column of a class, short enough for the matrix to fit.
fn column_name(class: ThreatClass) -> &'static str {
    match class {
        ThreatClass::FsData => "data",
        ThreatClass::FsMetadataWrite => "meta-w",
        ThreatClass::FsMetadataRead => "meta-r",
        ThreatClass::IpNetwork => "ip",
        ThreatClass::UnixIpc => "unix",
        ThreatClass::Processes => "procs",
        ThreatClass::Tuning => "tuning",
        ThreatClass::KernelSurface => "kernel",
        ThreatClass::Privilege => "priv",
        ThreatClass::EnvAndDescriptors => "env",
        ThreatClass::KillAll => "kill",
        ThreatClass::Memory => "memory",
        ThreatClass::ProcessCount => "forks",
        ThreatClass::Cpu => "cpu",
        ThreatClass::Disk => "disk",
    }
}

const LEGEND: &str = "\
Each cell is what an attempt of this run got from the kernel, of which the layer may be one of several
causes: beside a layer that is MISSING it is another's work. `.` no attempt of the class is the layer's
to deny; `?` the attempt proves nothing; `OPEN` it got through. The state of a layer is that of its
attempts, and `untried` where it has none.";
