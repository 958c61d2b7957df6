//! The base `minimal`: a root that holds what the interpreter names, and nothing else of `/usr`.

use std::path::PathBuf;

use bailiwick_policy::derive;
use bailiwick_sandbox::{Base, Compiled, Completion, End, Program, Session, spawn};

use crate::bed::{Bed, command, has, shown, stdout};

/// What every program that is linked to the C library needs of it.
const LOADER: &str = "/usr/lib64/ld-linux-x86-64.so.2";
/// Where the libraries of Debian and its kin are.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

/// Runs a program in a root that holds the loader, the libraries and what is named.
fn run(arguments: &[&str], read: &[&str], exec: &[&str]) -> Completion {
    let mut bed = Bed::new();
    bed.base = Base::Minimal;
    let paths = |paths: &[&str]| {
        paths
            .iter()
            .map(|path| path.parse().expect("a path"))
            .collect()
    };
    // An interpreter is known by its real path.
    let program = std::fs::canonicalize(arguments[0]).expect("a program");
    let program = Program::new(
        program.to_str().expect("text").parse().expect("a path"),
        paths(read),
        paths(exec),
    );
    let policy = derive(&bed.policy, &bed.policy).expect("a policy");
    let session = Session::open(policy.session_roots()).expect("no roots");
    let compiled = Compiled::new(
        &bed.host,
        &session,
        &policy,
        &program,
        bed.skill.path(),
        bed.base,
    );
    let compiled = compiled.expect("a compiled policy");
    spawn(&compiled, command(arguments)).expect("a run").wait()
}

fn prints(arguments: &[&str], read: &[&str], exec: &[&str]) -> String {
    let completion = run(arguments, read, exec);
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    stdout(&completion)
}

/// Says whether this machine keeps its libraries where these tests look for them.
fn is_laid_out() -> bool {
    has(LOADER) && has(&format!("{LIBRARIES}/libc.so.6"))
}

#[test]
fn a_shell_runs_with_its_loader_and_the_c_library_alone() {
    if !is_laid_out() {
        return;
    }
    let library = format!("{LIBRARIES}/libc.so.6");
    let exec = [LOADER, library.as_str()];
    let script =
        "x=$((6 * 7)); echo $x > tmp/f; read y < tmp/f; echo $y; pwd; echo e > /dev/stderr";
    assert_eq!(
        prints(&["/bin/sh", "-c", script], &[], &exec),
        "42\n/skill\n"
    );
}

#[test]
fn nothing_of_the_hosts_tree_is_there_but_what_is_named() {
    if !is_laid_out() {
        return;
    }
    let library = format!("{LIBRARIES}/libc.so.6");
    let exec = [LOADER, library.as_str()];
    let folders = [
        "/", "/usr", "/usr/bin", "/usr/lib", LIBRARIES, "/opt", "/home",
    ];
    let entries = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path())
    });
    let names: Vec<String> = entries
        .filter_map(|path| Some(path.to_str()?.to_owned()))
        .filter(|path| !path.contains('\''))
        .collect();
    assert!(names.len() > 100, "the host has more than a root");
    // What stands at a path is told by `stat`, which no layer but the root refuses.
    let tested = names.iter().map(|path| format!("'{path}'"));
    let list = format!(
        "for f in {}; do [ -e \"$f\" ] || [ -h \"$f\" ] && echo \"$f\"; done; true",
        tested.collect::<Vec<_>>().join(" ")
    );
    let seen = prints(&["/bin/sh", "-c", &list], &[], &exec);
    let real = |path: &str| std::fs::canonicalize(path).expect("it is there");
    let mut held: Vec<_> = ["/bin/sh", LOADER, &library].map(real).to_vec();
    held.extend([LOADER, &library].map(PathBuf::from));
    // What every root has of its own, and the links to folders of `/usr`.
    let own = ["/dev", "/etc", "/proc", "/run", "/skill", "/tmp"];
    let links = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
    for place in seen.lines() {
        let is_own = own.contains(&place) || links.contains(&place);
        let is_held = held.iter().any(|held| held.starts_with(place));
        assert!(is_own || is_held, "{place} is there: {seen}");
    }
    assert!(seen.lines().any(|place| place == "/usr"), "{seen}");
}

#[test]
fn a_program_that_is_not_named_is_not_found_and_one_that_is_runs() {
    if !is_laid_out() || !has("/usr/bin/head") {
        return;
    }
    let script = ["/bin/sh", "-c", "echo x | head -c 1"];
    let completion = run(&script, &[], &[LOADER, LIBRARIES]);
    assert_eq!(completion.end, End::Exited(127), "{}", shown(&completion));
    let exec = [LOADER, LIBRARIES, "/usr/bin/head"];
    assert_eq!(prints(&script, &[], &exec), "x");
}

#[test]
fn what_is_only_read_cannot_be_executed() {
    if !is_laid_out() || !has("/usr/bin/head") {
        return;
    }
    let script = [
        "/bin/sh",
        "-c",
        "test -r /usr/bin/head && /usr/bin/head -c 1 /dev/zero",
    ];
    let completion = run(&script, &["/usr/bin/head"], &[LOADER, LIBRARIES]);
    assert_eq!(completion.end, End::Exited(126), "{}", shown(&completion));
}

#[test]
fn python_runs_with_its_library_and_sees_no_other_folder() {
    if !is_laid_out() || !has("/usr/bin/python3") {
        return;
    }
    let real = std::fs::canonicalize("/usr/bin/python3").expect("a python");
    let version = real
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let library = format!("/usr/lib/{version}");
    if !has(&library) {
        return;
    }
    // Its library holds extensions, which are mapped to be executed.
    let exec = [LOADER, LIBRARIES, library.as_str()];
    let program = "import json, hashlib, os, sqlite3, tempfile, threading\n\
                   print(json.dumps([sqlite3.connect(':memory:').execute('select 6*7').fetchone()[0]]))\n\
                   print(os.path.exists('/usr/share'), os.path.exists('/usr/bin/env'), os.path.exists('/usr/bin'))\n\
                   with tempfile.TemporaryFile() as f: f.write(b'x')\n";
    let seen = prints(&["/usr/bin/python3", "-B", "-c", program], &[], &exec);
    let (first, second) = seen.split_once('\n').expect("two lines");
    assert_eq!(first, "[42]");
    // The folder of the interpreter itself is there, with nothing else in it.
    assert_eq!(second, "False False True\n");
}

#[test]
fn a_python_without_its_library_says_so_and_gets_nothing_more() {
    if !is_laid_out() || !has("/usr/bin/python3") {
        return;
    }
    let completion = run(&["/usr/bin/python3", "-c", "0"], &[], &[LOADER, LIBRARIES]);
    assert!(
        matches!(completion.end, End::Exited(code) if code != 0),
        "{}",
        shown(&completion)
    );
}
