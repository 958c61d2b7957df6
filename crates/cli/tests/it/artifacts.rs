//! `artifacts`: results that outlive their process.

use crate::run::World;

#[test]
fn a_kept_result_is_listed_read_searched_and_forgotten() {
    let world = World::new();
    world.skill(
        "counting",
        "for at in 1 2 3 4 5; do echo \"line $at\"; done\n",
    );
    assert_eq!(
        world.run(&["artifacts", "ls"]).succeeded().stdout,
        "no artifact is retained\n"
    );
    let value = world
        .run(&["call", "counting.run", "--json"])
        .succeeded()
        .json();
    let id = value["artifact"].as_str().unwrap();
    let listed = world.run(&["artifacts", "ls"]).succeeded();
    assert!(
        listed.stdout.contains(id) && listed.stdout.contains("counting.run_counting_run"),
        "{listed}"
    );
    let read = |arguments: &[&str]| {
        world
            .run(&[&["artifacts"], arguments].concat())
            .succeeded()
            .stdout
    };
    assert_eq!(
        read(&["read", id]),
        "line 1\nline 2\nline 3\nline 4\nline 5\n"
    );
    assert_eq!(
        read(&["read", id, "--lines", "2:3"]),
        "2:line 2\n3:line 3\n"
    );
    assert_eq!(read(&["grep", id, "ne 4"]), "4:line 4\n");
    let few = world.run(&["artifacts", "grep", id, "line", "--limit", "2"]);
    assert_eq!(few.stdout, "1:line 1\n2:line 2\n");
    assert!(few.stderr.contains("more lines match"), "{few}");
    let all = world.run(&["artifacts", "grep", id, "line", "--limit", "5"]);
    assert_eq!(all.stderr, "");
    let past = world.run(&["artifacts", "read", id, "--lines", "6"]);
    assert_eq!(
        (past.stdout.as_str(), past.stderr.as_str()),
        ("", "note: the last line is 5\n")
    );
    let object = world
        .run(&["artifacts", "read", id, "--json"])
        .succeeded()
        .json();
    assert_eq!(object["artifact"]["lines"], 5);
    assert_eq!(object["encoding"], "utf-8");
    assert_eq!(read(&["rm", id]), format!("removed {id}\n"));
    assert_eq!(
        world
            .run(&["artifacts", "read", id, "--json"])
            .ended(8)
            .code(),
        "E_SKILL_ARTIFACT_UNAVAILABLE"
    );
    assert_eq!(
        world
            .run(&["artifacts", "read", "../x", "--json"])
            .ended(8)
            .code(),
        "E_SKILL_ARTIFACT_UNAVAILABLE"
    );
}

#[test]
fn bytes_that_are_no_text_survive_json() {
    let world = World::new();
    world.skill("binary", "printf 'a\\377\\000b'\n");
    let value = world
        .run(&["call", "binary.run", "--json"])
        .succeeded()
        .json();
    let id = value["artifact"].as_str().unwrap();
    let object = world
        .run(&["artifacts", "read", id, "--json"])
        .succeeded()
        .json();
    assert_eq!(object["encoding"], "base64");
    assert_eq!(object["text"], "Yf8AYg==");
}

#[test]
fn what_is_kept_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::new();
    world.skill("fine", "echo secret\n");
    world.run(&["call", "fine.run"]).succeeded();
    for folder in [
        "home/.local/share/bailiwick",
        "home/.local/share/bailiwick/artifacts",
        "home/.cache/bailiwick",
    ] {
        let mode = world.path(folder).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

#[test]
fn without_a_home_the_error_says_what_to_set() {
    let world = World::new();
    let output = world
        .command(&["artifacts", "ls"])
        .env_remove("HOME")
        .output()
        .unwrap();
    let ran = crate::run::Ran::of(&output).ended(2);
    insta::assert_snapshot!(ran.stderr, @"
    error: E_INVALID_SKILLS_CONFIG: there is no home folder: `HOME` is not set, or is relative
    hint: set `HOME`, or `XDG_DATA_HOME`, to an absolute path
    ");
}
