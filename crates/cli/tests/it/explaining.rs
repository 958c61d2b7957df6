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
    insta::assert_snapshot!(ask(&["--host", "api.example:443"]), @r#"
    connect api.example:443: denied, no rule grants any of it
    hint: add `network = ["api.example:443"]` to [session] and `grant.network = ["api.example:443"]` to the skill
    "#);
}

#[test]
fn the_proof_lists_what_was_compared_and_nothing_else_is_asked_with_it() {
    let world = project();
    let explain = &["--policy", "p.toml", "explain", "reader.run", "--proof"];
    let ran = world.run(explain).succeeded();
    insta::assert_snapshot!(world.settled(&ran.stdout), @r"
    27 comparisons, each within the ceiling
      fs [world]/project/docs: wants read+list, holds read+list
      net: wants none, holds none
      unix: wants none, holds none
      exec /usr/bin/dash: wants it, holds it
      syscalls: wants standard, holds standard
      wall: wants 30s, holds 30s
      cpu: wants 10s, holds 10s
      memory: wants 256MiB, holds 256MiB
      processes: wants 64, holds 64
      files: wants 256, holds 256
      file_size: wants 64MiB, holds 64MiB
      workspace: wants 64MiB, holds 64MiB
      inodes: wants 4096, holds 4096
      output: wants 1MiB, holds 1MiB
      flood: wants 256MiB, holds 256MiB
      reply: wants 25KiB, holds 25KiB
      require fs-data: wants a requirement, holds a requirement
      require fs-metadata-write: wants a requirement, holds a requirement
      require ip-network: wants a requirement, holds a requirement
      require unix-ipc: wants a requirement, holds a requirement
      require processes: wants a requirement, holds a requirement
      require tuning: wants a requirement, holds a requirement
      require kernel-surface: wants a requirement, holds a requirement
      require privilege: wants a requirement, holds a requirement
      require env-and-descriptors: wants a requirement, holds a requirement
      require kill-all: wants a requirement, holds a requirement
      require cpu: wants a requirement, holds a requirement
    ");
    let ran = world.run(&[&["--json"][..], explain].concat()).succeeded();
    let proof = &ran.json()["proof"];
    assert_eq!(proof[0]["axis"], "fs", "{ran}");
    assert_eq!(proof[0]["wanted"], proof[0]["held"], "{ran}");
    world
        .run(&[&explain[..], &["--host", "a.example"]].concat())
        .ended(2);
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
