//! The policy's model against the kernel: in random trees under random policies, a program tries
//! every access on every path, and each answer is the one that
//! [`EffectivePolicy::effective_rights`](bailiwick_policy::EffectivePolicy::effective_rights) gives.
//!
//! Named sockets and control of devices are left out: the filter lets no program make the one, and
//! no granted place has the other.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bailiwick_policy::derive;
use bailiwick_policy::{EffectivePolicy, HostPath, Origin, Rights, SandboxPolicy, SyscallProfile};
use bailiwick_sandbox::selftest::attack_program;
use bailiwick_sandbox::{Compiled, Layer, Program, Session, Stdin, spawn};
use proptest::collection::{btree_set, vec};
use proptest::prelude::{Just, ProptestConfig, Strategy, any};
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::bed::{Bed, command, host, open_folder, shown, stdout};
use crate::catalogue::notation::{Structures, parse};
use crate::catalogue::{Outcome, lines};

/// A tree, and what is granted in it.
#[derive(Clone, Debug)]
struct Case {
    /// Folders, relative to the tree's top; those above them are there too.
    folders: BTreeSet<String>,
    /// What the session grants: a place, and rights as bits.
    session: Vec<(Place, u16)>,
    /// What the run asks for; it gets as much of it as the session has.
    request: Vec<(Place, u16)>,
}

/// A place to grant: a folder by its position, or the file in it.
type Place = (usize, bool);

/// Names of which one begins another, so that whole names must be compared.
const NAMES: [&str; 3] = ["a", "ab", "b"];

fn case() -> impl Strategy<Value = Case> {
    let path = vec(0..NAMES.len(), 1..4).prop_map(|path| {
        let names: Vec<_> = path.into_iter().map(|name| NAMES[name]).collect();
        names.join("/")
    });
    let folders = btree_set(path, 2..7).prop_map(|folders| {
        let above = |path: &String| -> Vec<String> {
            let ends = path.match_indices('/').map(|(end, _)| end);
            ends.chain([path.len()])
                .map(|end| path[..end].to_owned())
                .collect()
        };
        folders.iter().flat_map(above).collect::<BTreeSet<_>>()
    });
    folders.prop_flat_map(|folders| {
        let place = (0..=folders.len(), proptest::bool::weighted(0.2));
        let grants = vec((place, any::<u16>()), 1..5);
        // Whole sets are asked for as well as odd ones.
        let wide = vec(((0..=folders.len(), Just(false)), Just(u16::MAX)), 0..2);
        let session = (grants.clone(), wide).prop_map(|(grants, wide)| [grants, wide].concat());
        (Just(folders), session, grants).prop_map(|(folders, session, request)| Case {
            folders,
            session,
            request,
        })
    })
}

/// The rights that an access of the test needs, each by itself.
const TRIED: [Rights; 9] = [
    Rights::READ,
    Rights::LIST,
    Rights::WRITE,
    Rights::CREATE,
    Rights::DELETE,
    Rights::TRUNCATE,
    Rights::REFER,
    Rights::EXEC,
    Rights::MKFIFO,
];

fn rights(bits: u16) -> Rights {
    let chosen = TRIED.into_iter().enumerate();
    let chosen = chosen.filter(|(bit, _)| bits >> bit & 1 == 1);
    match chosen.fold(Rights::NONE, |all, (_, right)| all | right) {
        // A grant of nothing is none.
        Rights::NONE => Rights::READ,
        rights => rights,
    }
}

/// One access, what is tried for it, and whether the model allows it.
struct Access {
    name: &'static str,
    path: String,
    calls: String,
    allowed: bool,
}

/// A tree on the disk.
struct Tree {
    top: tempfile::TempDir,
    folders: Vec<String>,
}

impl Tree {
    fn new(case: &Case) -> Self {
        let top = open_folder();
        let below = case.folders.iter().map(|folder| format!("/{folder}"));
        let folders = [String::new()].into_iter().chain(below).collect();
        Self { top, folders }
    }

    fn at(&self, folder: &str, name: &str) -> String {
        format!("{}{folder}{name}", self.top.path().display())
    }

    /// Brings every folder back to what it is at the start.
    fn plant(&self) {
        for folder in &self.folders {
            let path = self.at(folder, "");
            fs::create_dir_all(&path).expect("a folder");
            for made in ["/new-link", "/new-pipe", "/arrived"] {
                let _ = fs::remove_file(path.clone() + made);
            }
            let _ = fs::remove_dir(path.clone() + "/new-folder");
            let _ = fs::create_dir(path.clone() + "/doomed-folder");
            for (name, mode) in [("/file", 0o755), ("/doomed", 0o644), ("/moved", 0o644)] {
                let file = path.clone() + name;
                if !Path::new(&file).exists() {
                    fs::write(&file, "x").expect("a file");
                    let mode = fs::Permissions::from_mode(mode);
                    fs::set_permissions(&file, mode).expect("its mode");
                }
            }
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).expect("its mode");
        }
    }

    fn grant(&self, grants: &[(Place, u16)]) -> SandboxPolicy {
        let policy = SandboxPolicy::deny_all().with_syscalls(SyscallProfile::Wide);
        grants
            .iter()
            .fold(policy, |policy, ((folder, is_file), bits)| {
                let name = if *is_file { "/file" } else { "" };
                let path = host_path(&self.at(&self.folders[*folder], name));
                policy.grant(path, rights(*bits), Origin::Code)
            })
    }

    /// Every access on every path, with what the model says of it.
    fn accesses(&self, policy: &EffectivePolicy) -> Vec<Access> {
        let held = |path: &str| policy.effective_rights(&host_path(path));
        let is_root = |path: &str| {
            let path = host_path(path);
            policy.roots().iter().any(|root| *root.host_path() == path)
        };
        let is_above_root = |path: &str| {
            let path = host_path(path);
            policy
                .roots()
                .iter()
                .any(|root| root.host_path().starts_with(&path))
        };
        let mut all = Vec::new();
        for folder in &self.folders {
            let here = self.at(folder, "");
            let at = |name: &str| self.at(folder, name);
            let file = at("/file");
            let mut add = |name, path: &str, calls: String, allowed| {
                let path = path.to_owned();
                all.push(Access {
                    name,
                    path,
                    calls,
                    allowed,
                });
            };
            for path in [&here, &file, &at("/doomed-folder")] {
                let seen = !held(path).is_empty() || is_above_root(path);
                add(
                    "see",
                    path,
                    format!("statx(AT_FDCWD, '{path}', 0, 0x7ff, #256)"),
                    seen,
                );
            }
            let on = |path: &str, right| held(path).contains(right);
            let with = [
                ("read", Rights::READ, format!("open('{file}', O_RDONLY)")),
                ("write", Rights::WRITE, format!("open('{file}', O_WRONLY)")),
                (
                    "read and write",
                    Rights::READ | Rights::WRITE,
                    format!("open('{file}', O_RDWR)"),
                ),
                (
                    "empty",
                    Rights::READ | Rights::TRUNCATE,
                    format!("open('{}', O_RDONLY|O_TRUNC)", at("/moved")),
                ),
                (
                    "truncate",
                    Rights::TRUNCATE,
                    format!("truncate('{file}', 1)"),
                ),
                (
                    "execute",
                    Rights::EXECUTE,
                    format!("execve('{file}', 0, 0)"),
                ),
            ];
            for (name, right, calls) in with {
                let path = if name == "empty" {
                    at("/moved")
                } else {
                    file.clone()
                };
                let allowed = on(&path, right);
                add(name, &path, calls, allowed);
            }
            let within = [
                (
                    "list",
                    Rights::LIST,
                    format!("open('{here}', O_RDONLY|O_DIRECTORY)"),
                ),
                (
                    "make a folder",
                    Rights::CREATE,
                    format!("mkdir('{}', 0o700)", at("/new-folder")),
                ),
                (
                    "make a link",
                    Rights::CREATE,
                    format!("symlink('x', '{}')", at("/new-link")),
                ),
                (
                    "make a pipe",
                    Rights::MKFIFO,
                    format!("mknod('{}', S_IFIFO|0o600, 0)", at("/new-pipe")),
                ),
                (
                    "delete",
                    Rights::DELETE,
                    format!("unlink('{}')", at("/doomed")),
                ),
                (
                    "delete a folder",
                    Rights::DELETE,
                    format!("rmdir('{}')", at("/doomed-folder")),
                ),
            ];
            for (name, right, calls) in within {
                let allowed = on(&here, right);
                add(name, &here, calls, allowed);
            }
            // From the folder above to this one; a root of its own is a mount of its own.
            if let Some((above, _)) = folder.rsplit_once('/') {
                let source = self.at(above, "");
                let allowed = on(&source, Rights::DELETE | Rights::REFER)
                    && on(&here, Rights::CREATE | Rights::REFER)
                    && !is_root(&here);
                let (from, to) = (self.at(above, "/moved"), at("/arrived"));
                add("move", &here, format!("rename('{from}', '{to}')"), allowed);
            }
        }
        // What is moved away is gone for later attempts, and one folder has it only once.
        all.sort_by_key(|access| access.name == "move");
        let mut sources = BTreeSet::new();
        all.retain(|access| access.name != "move" || sources.insert(source(&access.calls)));
        all
    }
}

/// The first path of a call.
fn source(calls: &str) -> String {
    calls.split('\'').nth(1).unwrap_or_default().to_owned()
}

fn host_path(path: &str) -> HostPath {
    path.parse().expect("a path")
}

/// Compares both answers in the first run and in one that follows.
fn compare(case: &Case) -> Result<usize, String> {
    let tree = Tree::new(case);
    tree.plant();
    let session = tree.grant(&case.session);
    let request = tree.grant(&case.request).meet(&session);
    let policy = derive(&session, &request).map_err(|error| format!("the meet: {error}"))?;
    let bed = Bed::new();
    let program = open_folder();
    let attack = program.path().join("attack");
    fs::write(&attack, attack_program()).expect("a file");
    fs::set_permissions(&attack, fs::Permissions::from_mode(0o755)).expect("its mode");
    let attack = attack.display().to_string();
    let compiled = Compiled::new(
        &bed.host,
        &Session::open(policy.session_roots()).map_err(|error| error.to_string())?,
        &policy,
        &Program::new(host_path(&attack), Vec::new(), Vec::new()),
        bed.skill.path(),
        bed.base,
    )
    .map_err(|error| error.to_string())?;
    let accesses = tree.accesses(&policy);
    let parsed: Vec<_> = accesses
        .iter()
        .map(|access| parse(&access.calls, &Structures::new()).expect("calls"))
        .collect();
    for run in ["first", "second"] {
        tree.plant();
        let input = Stdin::Bytes(lines(&parsed).into_bytes());
        let completion = spawn(&compiled, command(&[&attack, "calls"]).with_stdin(input))
            .map_err(|error| error.to_string())?
            .wait();
        let outcomes = Outcome::all(stdout(&completion).as_bytes());
        let mut wrong = Vec::new();
        for (number, access) in accesses.iter().enumerate() {
            let Some(outcome) = outcomes.get(&number) else {
                return Err(format!("the {run} run broke off: {}", shown(&completion)));
            };
            // What has no format has been executed.
            let right = if access.allowed {
                "ok|ENOEXEC"
            } else {
                "EACCES|EROFS|EXDEV|ENOENT|EPERM"
            };
            if !outcome.is_among(right, 0) {
                let Access {
                    name,
                    path,
                    allowed,
                    ..
                } = access;
                let model = if *allowed { "allows" } else { "denies" };
                wrong.push(format!(
                    "{name} {path}: the model {model} it, the kernel: {outcome}"
                ));
            }
        }
        if !wrong.is_empty() {
            let roots: Vec<_> = policy
                .roots()
                .iter()
                .map(|root| format!("{} {}", root.host_path().as_str(), root.rights()))
                .collect();
            return Err(format!("{run} run of {roots:#?}:\n{}", wrong.join("\n")));
        }
    }
    Ok(accesses.iter().filter(|access| access.allowed).count())
}

/// Below it the kernel knows neither the right to truncate nor that to move.
fn kernel_knows_every_right() -> bool {
    let layers = host().layers();
    layers.is_in_force(Layer::Landlock)
        && layers
            .landlock()
            .is_some_and(|landlock| landlock.abi() >= 3)
}

fn run(mut runner: TestRunner) {
    if !kernel_knows_every_right() {
        return;
    }
    let allowed = std::cell::Cell::new(0);
    let result = runner.run(&case(), |case| match compare(&case) {
        Ok(more) => {
            allowed.set(allowed.get() + more);
            Ok(())
        }
        Err(why) => Err(TestCaseError::fail(why)),
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(allowed.get() > 0, "nothing was allowed at all");
}

fn few(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

#[test]
fn the_kernel_answers_as_the_model_in_known_trees() {
    for seed in 1..=3_u8 {
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        run(TestRunner::new_with_rng(few(8), random));
    }
}

#[test]
fn the_kernel_answers_as_the_model_in_random_trees() {
    run(TestRunner::new(few(12)));
}

#[test]
fn the_kernel_answers_as_the_model_for_each_right_alone() {
    if !kernel_knows_every_right() {
        return;
    }
    let all = u16::MAX;
    for bit in 0..TRIED.len() {
        let one = 1 << bit;
        let case = |session: Vec<(Place, u16)>, request| Case {
            folders: ["a", "a/b", "ab"].map(str::to_owned).into(),
            session,
            request,
        };
        // Granted by both; held back by the session; on a file; and beneath a wider folder.
        for case in [
            case(vec![((1, false), all)], vec![((1, false), one)]),
            case(vec![((1, false), one)], vec![((1, false), all)]),
            case(vec![((1, true), one)], vec![((1, true), all)]),
            case(
                vec![((0, false), all)],
                vec![((1, false), one), ((2, false), 1)],
            ),
            case(
                vec![((0, false), all)],
                vec![((1, false), 1), ((2, false), one)],
            ),
        ] {
            compare(&case).unwrap_or_else(|why| panic!("{}: {why}", rights(one)));
        }
    }
}
