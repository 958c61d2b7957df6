//! `explain`: what would run, and by which rule.

use crate::run::World;

fn project() -> World {
    let world = World::new();
    world.write("project/docs/a.md", "x\n");
    let params = "      - { name: word, type: string, description: A word., required: true }\n";
    world.skill_with("reader", "exit 0\n", params);
    let digest = world.digest_of("reader");
    world.write(
        "project/p.toml",
        &format!(
            "version = 1\n[session]\nread = [\"./docs\"]\n[[skill]]\nname = \"reader\"\ndigest = \"{digest}\"\ngrant.read = [\"./docs\"]\n"
        ),
    );
    world
}

#[test]
fn explain_shows_argv_and_the_line_of_every_grant() {
    let world = project();
    let ran = world
        .run(&[
            "--policy",
            "p.toml",
            "explain",
            "reader.run",
            "{\"word\": \"x\"}",
        ])
        .succeeded();
    for expected in [
        "p.toml:7",
        "run.sh\", \"x\"]",
        "inside the session's ceiling",
        "wall",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {ran}");
    }
    let granted = world
        .run(&["explain", "reader.run", "--grant", "read=./docs"])
        .succeeded();
    assert!(granted.stdout.contains("cli:read=./docs"), "{granted}");
}

#[test]
fn one_question_gets_one_answer_with_the_rule_or_what_to_add() {
    let world = project();
    let ask = |arguments: &[&str]| {
        let ran = world
            .run(&[&["--policy", "p.toml", "explain", "reader.run"], arguments].concat())
            .succeeded();
        world.settled(&ran.stdout)
    };
    insta::assert_snapshot!(ask(&["--path", "docs/a.md"]), @"read [world]/project/docs/a.md: allowed, held read+list by p.toml:7");
    insta::assert_snapshot!(ask(&["--path", "docs/a.md", "--access", "write"]), @r#"
    write [world]/project/docs/a.md: denied, no rule grants any of it
    hint: add `write = ["[world]/project/docs/a.md"]` to [session] and `grant.write = ["[world]/project/docs/a.md"]` to the skill
    "#);
    insta::assert_snapshot!(ask(&["--host", "127.0.0.1:80"]), @r#"
    connect 127.0.0.1:80: denied, no rule grants any of it
    hint: add `network = ["loopback"]` to [session] and `grant.network = ["loopback"]` to the skill
    "#);
}

#[test]
fn only_tools_are_explained_under_each_of_their_names() {
    let world = project();
    for address in ["reader.run", "run_reader_run"] {
        let ran = world.run(&["explain", address]).succeeded();
        assert!(ran.stdout.contains("wall"), "{address}: {ran}");
    }
    world.write("project/.agents/skills/reader/scripts/x.sh", "exit 0\n");
    insta::assert_snapshot!(world.run(&["explain", "reader:scripts/x.sh"]).ended(2).stderr, @r"
    error: E_INVALID_SKILLS_CONFIG: a script that its skill does not declare is not explained
    hint: declare it in `bailiwick.yaml`, or ask about a tool as `SKILL.TOOL`: what the skill holds is the same
    ");
}

#[test]
fn explain_prepares_no_run() {
    let world = project();
    world.run(&["explain", "reader.run"]).succeeded();
    // A run leaves its launcher and the skill's files in the cache; nothing was needed here.
    let cache = std::fs::read_dir(world.path("home/.cache/bailiwick")).unwrap();
    let left: Vec<_> = cache.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [""; 0]);
}
