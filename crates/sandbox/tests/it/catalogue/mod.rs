//! The attack suite, row by row of the catalogue: `rows.toml` says what is tried and what must come
//! of it.
//!
//! Every attempt is made in the first run of a compiled policy and in one that follows, with the
//! default policy, with two granted folders and with a granted host, and where a layer is missing that no required class
//! depends on. Where the table says so, the same attempt is made without confinement and must come
//! to something else, or it would prove nothing. What the attempts are aimed at must be as before.

mod names;
pub(crate) mod notation;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use bailiwick_policy::{Net, Rights};
use bailiwick_sandbox::{Host, Layer, SandboxError, Stdin, spawn};
use serde::Deserialize;

use self::notation::{Calls, errno, errno_name, parse};
use self::targets::{Side, Targets};
use crate::bed::{Bed, command, host, shown, stdout};

/// The table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    ids: Vec<String>,
    row: Vec<Row>,
}

/// One row of the catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    tries: String,
    #[serde(default)]
    calls: Vec<Vec<String>>,
    #[serde(default)]
    shell: Vec<Vec<String>>,
}

/// One attempt of a row.
struct Attempt<'a> {
    row: &'a Row,
    text: &'a str,
    expected: &'a str,
    control: Control,
    /// The layers without which another outcome is accepted.
    without: Vec<&'a str>,
    /// What comes of it where hosts are granted, if that is something else.
    proxied: Option<&'a str>,
}

/// What the policy of the attempts grants.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Held {
    Nothing,
    Folders,
    Hosts,
}

/// How an attempt is made.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    Calls,
    Shell,
}

/// Whether an attempt is made without confinement too.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Control {
    Never,
    /// Where this process is root.
    Root,
    Always,
}

impl Table {
    fn read() -> Self {
        toml::from_str(include_str!("rows.toml")).expect("the table")
    }

    fn attempts(&self, way: Way) -> Vec<Attempt<'_>> {
        let rows = self.row.iter().flat_map(|row| {
            let attempts = match way {
                Way::Calls => &row.calls,
                Way::Shell => &row.shell,
            };
            attempts.iter().map(move |attempt| (row, attempt))
        });
        rows.map(|(row, attempt)| Attempt::read(row, attempt))
            .collect()
    }
}

impl<'a> Attempt<'a> {
    fn read(row: &'a Row, attempt: &'a [String]) -> Self {
        let [text, expected, words @ ..] = attempt else {
            panic!("{}: no attempt: {attempt:?}", row.id);
        };
        let mut read = Self {
            row,
            text,
            expected,
            control: Control::Never,
            without: Vec::new(),
            proxied: None,
        };
        for word in words {
            if let Some(outcome) = word.strip_prefix("proxied ") {
                read.proxied = Some(outcome);
                continue;
            }
            match (word.as_str(), word.strip_prefix("without ")) {
                ("control", _) => read.control = Control::Always,
                ("root", _) => read.control = Control::Root,
                (_, Some(layer)) => read.without.push(layer),
                (other, None) => panic!("{}: no word: {other}", row.id),
            }
        }
        read
    }

    /// Says whether it is about the granted folders.
    fn needs_grants(&self) -> bool {
        self.text.contains("{ro}") || self.text.contains("{rw}")
    }

    /// What must come of it.
    fn expected_with(&self, held: Held) -> &'a str {
        match held {
            Held::Nothing | Held::Folders => self.expected,
            Held::Hosts => self.proxied.unwrap_or(self.expected),
        }
    }

    /// Says whether its control proves something for this user.
    fn is_controlled(&self) -> bool {
        match self.control {
            Control::Never => false,
            Control::Root => rustix::process::geteuid().is_root(),
            Control::Always => true,
        }
    }
}

/// What came of system calls.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    Succeeded,
    /// The errno, and the call that failed.
    Failed(i32, usize),
    /// The process ended before it could answer.
    Ended(String),
}

impl Outcome {
    /// Reads the answers of the attack program.
    pub(crate) fn all(output: &[u8]) -> BTreeMap<usize, Self> {
        let text = String::from_utf8_lossy(output);
        let lines = text.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let key = words.next()?.strip_prefix('k')?.parse().ok()?;
            let outcome = match words.collect::<Vec<_>>().as_slice() {
                ["ok", _] => Self::Succeeded,
                ["errno", errno, at] => Self::Failed(errno.parse().ok()?, at.parse().ok()?),
                rest => Self::Ended(rest.join(" ")),
            };
            Some((key, outcome))
        });
        lines.collect()
    }

    /// Says whether it is one of those that are right.
    pub(crate) fn is_among(&self, expected: &str, attacked: usize) -> bool {
        expected.split('|').any(|right| match (self, right) {
            (Self::Succeeded, right) => right == "ok",
            (Self::Ended(how), right) => how == right,
            (Self::Failed(number, at), right) => match right.split_once('@') {
                Some((name, place)) => errno(name) == Some(*number) && place.parse() == Ok(*at),
                None => errno(right) == Some(*number) && *at >= attacked,
            },
        })
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Succeeded => f.write_str("ok"),
            Self::Failed(number, at) => write!(f, "{}@{at}", errno_name(*number)),
            Self::Ended(how) => f.write_str(how),
        }
    }
}

/// Makes all attempts on one host, twice, and returns what came out wrong.
fn attack(host: &Host, held: Held, missing: &str) -> Result<Vec<String>, SandboxError> {
    let table = Table::read();
    let targets = Targets::new();
    let bed = bed(host, &targets, held);
    let program = targets.fill("{program}", Side::Confined);
    let (calls, shell) = (bed.compile_for(&program)?, bed.compile()?);
    let before = (
        snapshot(&targets.place(Side::Confined)),
        snapshot(&targets.grants(Side::Confined).join("ro")),
    );
    let mut wrong = Vec::new();
    let concerns = |attempt: &Attempt<'_>| {
        (held == Held::Folders || !attempt.needs_grants()) && !attempt.without.contains(&missing)
    };
    for run in ["first", "second"] {
        let mut attempts = table.attempts(Way::Calls);
        attempts.retain(concerns);
        let parsed = all_calls(&attempts, &targets, Side::Confined);
        let made =
            command(&[&program, "calls"]).with_stdin(Stdin::Bytes(lines(&parsed).into_bytes()));
        let completion = spawn(&calls, made)?.wait();
        let outcomes = Outcome::all(stdout(&completion).as_bytes());
        for (number, (attempt, calls)) in attempts.iter().zip(&parsed).enumerate() {
            let Some(outcome) = outcomes.get(&number) else {
                wrong.push(format!("{}: no answer: {}", attempt.row.id, attempt.text));
                continue;
            };
            if !outcome.is_among(attempt.expected_with(held), calls.attacked) {
                wrong.push(report(run, attempt, &outcome.to_string()));
            }
        }
        if outcomes.len() != attempts.len() {
            wrong.push(format!("the {run} run broke off: {}", shown(&completion)));
        }
        if run == "second" && !missing.is_empty() {
            continue;
        }
        let mut attempts = table.attempts(Way::Shell);
        attempts.retain(concerns);
        let script = script(&attempts, &targets, Side::Confined);
        let completion = spawn(&shell, command(&["/bin/sh", "-c", &script]))?.wait();
        let printed = sections(&stdout(&completion));
        for (number, attempt) in attempts.iter().enumerate() {
            match printed.get(&number) {
                Some(printed) if printed == attempt.expected => {}
                Some(printed) => wrong.push(report(run, attempt, &format!("{printed:?}"))),
                None => wrong.push(report(run, attempt, &shown(&completion))),
            }
        }
    }
    wrong.extend(
        targets
            .heard()
            .into_iter()
            .map(|what| format!("the host was reached: {what}")),
    );
    let after = (
        snapshot(&targets.place(Side::Confined)),
        snapshot(&targets.grants(Side::Confined).join("ro")),
    );
    if before != after {
        wrong.push(format!(
            "the targets have changed: {before:#?} to {after:#?}"
        ));
    }
    Ok(wrong)
}

/// The default policy, with two granted folders, with a host, or with nothing.
fn bed(host: &Host, targets: &Targets, held: Held) -> Bed {
    let bed = Bed::on(host.clone());
    bed.file("file", "of the skill");
    bed.file("program", "#!/bin/true\n");
    let program = bed.skill.path().join("program");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("its mode");
    match held {
        Held::Nothing => bed,
        Held::Folders => {
            let grants = targets.grants(Side::Confined);
            bed.granted(&grants.join("ro"), Rights::READ_ONLY)
                .granted(&grants.join("rw"), Rights::READ_WRITE)
        }
        Held::Hosts => {
            let host = "api.example:443".parse().expect("a host");
            bed.networked(Net::to_hosts([host]))
        }
    }
}

fn all_calls(attempts: &[Attempt<'_>], targets: &Targets, side: Side) -> Vec<Calls> {
    let structures = targets.structures(side);
    let parsed = attempts.iter().map(|attempt| {
        parse(&targets.fill(attempt.text, side), &structures)
            .unwrap_or_else(|why| panic!("{}: {why}", attempt.row.id))
    });
    parsed.collect()
}

/// One line for each attempt, as the attack program reads them.
pub(crate) fn lines(attempts: &[Calls]) -> String {
    let numbered = attempts.iter().enumerate();
    numbered.fold(String::new(), |mut text, (number, calls)| {
        let _ = writeln!(text, "k{number} {}", calls.tokens);
        text
    })
}

/// All attempts in one script, each in a shell of its own and after its number.
fn script(attempts: &[Attempt<'_>], targets: &Targets, side: Side) -> String {
    let numbered = attempts.iter().enumerate();
    numbered.fold(String::new(), |mut text, (number, attempt)| {
        let script = targets.fill(attempt.text, side);
        let _ = writeln!(text, "echo '{MARK}{number}'\n( {script} ) 2>/dev/null");
        text
    })
}

/// What each attempt of a script printed, without newlines at its end.
fn sections(printed: &str) -> BTreeMap<usize, String> {
    let sections = printed.split(MARK).filter_map(|section| {
        let (number, printed) = section.split_once('\n')?;
        Some((
            number.parse().ok()?,
            printed.trim_end_matches('\n').to_owned(),
        ))
    });
    sections.collect()
}

const MARK: &str = "=== ";

fn report(run: &str, attempt: &Attempt<'_>, seen: &str) -> String {
    format!(
        "{} ({}), {run} run: {}: {seen} instead of {:?}",
        attempt.row.id, attempt.row.tries, attempt.text, attempt.expected
    )
}

/// Everything about a file that someone without rights could have changed.
#[derive(Debug, Eq, PartialEq)]
struct Seen {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    changed: (i64, i64),
    content: Option<Vec<u8>>,
}

fn snapshot(folder: &Path) -> BTreeMap<String, Seen> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("its metadata");
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let is_file = metadata.is_file();
            let state = Seen {
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                links: metadata.nlink(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
                content: is_file.then(|| fs::read(&path).expect("its content")),
            };
            seen.insert(path.display().to_string(), state);
        }
    }
    seen
}

#[test]
fn every_row_of_the_catalogue_is_in_the_table_with_an_attempt() {
    let table = Table::read();
    let ids: Vec<_> = table.row.iter().map(|row| &row.id).collect();
    let unique: BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "a row stands twice");
    assert_eq!(unique, table.ids.iter().collect());
    for row in &table.row {
        assert!(row.calls.len() + row.shell.len() > 0, "{}", row.id);
    }
    for attempt in [Way::Calls, Way::Shell]
        .map(|way| table.attempts(way))
        .iter()
        .flatten()
    {
        for name in &attempt.without {
            name.parse::<Layer>().expect("a layer");
        }
    }
}

#[test]
fn no_attempt_of_the_catalogue_gets_more_than_it_may() {
    let wrong = attack(host(), Held::Nothing, "").expect("runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_attempt_of_the_catalogue_gets_more_beside_granted_folders() {
    let wrong = attack(host(), Held::Folders, "").expect("runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_attempt_of_the_catalogue_gets_more_where_hosts_are_granted() {
    let wrong = attack(host(), Held::Hosts, "").expect("runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What one layer no longer closes another must, or the run is refused.
#[cfg(not(feature = "weaken"))]
#[test]
fn no_attempt_of_the_catalogue_gets_more_where_a_layer_is_missing() {
    let mut ran = 0;
    let mut all = Vec::new();
    for layer in Layer::ALL {
        if !host().layers().is_in_force(layer) {
            continue;
        }
        for held in [Held::Nothing, Held::Folders] {
            match attack(&host().clone().without(layer), held, layer.as_str()) {
                Ok(wrong) => {
                    ran += 1;
                    all.extend(
                        wrong
                            .into_iter()
                            .map(|line| format!("without {layer}: {line}")),
                    );
                }
                Err(SandboxError::Unavailable { .. }) => {}
                Err(error) => all.push(format!("without {layer}: {error}")),
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(ran >= 4, "{ran}");
}

#[test]
fn what_the_catalogue_denies_is_not_denied_without_confinement() {
    let (table, targets) = (Table::read(), Targets::new());
    let mut wrong = Vec::new();
    let mut attempts = table.attempts(Way::Calls);
    attempts.retain(Attempt::is_controlled);
    let parsed = all_calls(&attempts, &targets, Side::Control);
    let mut control = Command::new(targets.fill("{program}", Side::Control))
        .arg("calls")
        .current_dir(targets.place(Side::Control))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a control");
    let mut stdin = control.stdin.take().expect("its input");
    stdin
        .write_all(lines(&parsed).as_bytes())
        .expect("it reads");
    drop(stdin);
    let output = control.wait_with_output().expect("it ends");
    let outcomes = Outcome::all(&output.stdout);
    for (number, (attempt, calls)) in attempts.iter().zip(&parsed).enumerate() {
        let outcome = outcomes.get(&number);
        if outcome.is_none_or(|outcome| outcome.is_among(attempt.expected, calls.attacked)) {
            let seen = outcome.map(Outcome::to_string).unwrap_or_default();
            wrong.push(format!("{}: {}: {seen}", attempt.row.id, attempt.text));
        }
    }
    let mut attempts = table.attempts(Way::Shell);
    attempts.retain(Attempt::is_controlled);
    let output = Command::new("/bin/sh")
        .args(["-c", &script(&attempts, &targets, Side::Control)])
        .current_dir(targets.place(Side::Control))
        .stdin(Stdio::null())
        .output()
        .expect("a control");
    let printed = sections(&String::from_utf8_lossy(&output.stdout));
    for (number, attempt) in attempts.iter().enumerate() {
        if printed
            .get(&number)
            .is_none_or(|printed| printed == attempt.expected)
        {
            wrong.push(format!("{}: {}", attempt.row.id, attempt.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        !targets.heard().is_empty(),
        "the host hears what reaches it"
    );
}

/// The table itself can fail: where a layer is missing in truth, it says what has become open.
#[cfg(feature = "weaken")]
#[test]
fn the_table_shows_what_a_weakened_host_lets_through() {
    for (layer, row) in [(Layer::PreparedRoot, "F17"), (Layer::Rlimits, "F45")] {
        let wrong = attack(&host().clone().without(layer), Held::Nothing, "").expect("runs");
        assert!(
            wrong.iter().any(|line| line.starts_with(row)),
            "{layer}: {wrong:#?}"
        );
    }
}
