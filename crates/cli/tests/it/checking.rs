//! `check` and `inspect`.

use crate::run::World;

#[test]
fn check_points_at_the_place_and_fails() {
    let world = World::new();
    world.write(
        "project/bad/SKILL.md",
        "---\nname: bad\nname: worse\ndescription: Twice.\n---\n",
    );
    let ran = world.run(&["check", "bad"]).ended(8);
    assert!(
        ran.stdout.contains("SKILL.md") && ran.stdout.contains("stands twice"),
        "{ran}"
    );
    insta::assert_snapshot!(ran.stderr, @"
    error: E_SKILL_MANIFEST_INVALID: the skill would not load
    hint: repair what is listed, then check again
    ");
    let value = world.run(&["check", "bad", "--json"]).ended(8).json();
    assert_eq!(value["ok"], false);
    assert_eq!(value["reports"][0]["errors"], 1);
}

#[test]
fn the_standard_profile_knows_fewer_keys() {
    let world = World::new();
    world.write(
        "project/tool/SKILL.md",
        "---\nname: tool\ndescription: Is ours.\nversion: 1.0.0\n---\n",
    );
    let count = |profile: &str| {
        let value = world
            .run(&["check", "tool", "--profile", profile, "--json"])
            .json();
        let report = &value["reports"][0];
        report["errors"].as_u64().unwrap() + report["warnings"].as_u64().unwrap()
    };
    assert_eq!(count("tool"), 0);
    assert!(count("standard") > 0);
}

#[test]
fn check_load_lists_everything_that_loading_would_refuse() {
    let world = World::new();
    world.skill("demanding", "exit 0\n");
    world.write(
        "project/.agents/skills/demanding/bailiwick.yaml",
        "\
scripts:
  - { name: one, path: scripts/run.sh, description: One., interpreter: no-such }
  - { name: two, path: scripts/run.sh, description: Two., interpreter: neither }
",
    );
    world
        .run(&["check", ".agents/skills/demanding"])
        .succeeded();
    let value = world
        .run(&["check", ".agents/skills/demanding", "--load", "--json"])
        .ended(8)
        .json();
    let codes: Vec<_> = value["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refusal| &refusal["code"])
        .collect();
    assert_eq!(codes, ["E_SKILL_SCRIPT_INTERPRETER_UNKNOWN"; 2]);
}

#[test]
fn inspect_is_one_page_and_starts_nothing() {
    let world = World::new();
    world.skill("reader", "exit 0\n");
    world.write(
        "project/.agents/skills/reader/SKILL.md",
        "---\nname: reader\ndescription: Reads.\nversion: 1.0.0\nallowed-tools: Bash Read\n---\n",
    );
    let digest = world.digest_of("reader");
    world.write(
        "project/p.toml",
        &format!(
            "version = 1\n[session]\nread = [\"./docs\"]\n[[skill]]\nname = \"reader\"\ndigest = \"{digest}\"\ngrant.read = [\"./docs\"]\n"
        ),
    );
    let ran = world
        .run(&["--policy", "p.toml", "inspect", "reader"])
        .succeeded();
    insta::assert_snapshot!(world.settled(&ran.stdout), @r"
    reader 1.0.0 (project)
    Reads.
    at      [world]/project/.agents/skills/reader
    digest  [digest]
    policy  p.toml (named)
    rule    granted by p.toml:4

    files
      FILE            BYTES  DIGEST
      SKILL.md        81     [digest]
      bailiwick.yaml  91     [digest]
      scripts/run.sh  7      [digest]

    tools and what each could reach
      run runs scripts/run.sh with sh()
        reaches read [world]/project/docs (p.toml:7)

    asks for (a wish grants nothing)
      none

    claims that nothing enforces
      allowed-tools: Bash Read

    findings
      none
    ");
    assert!(
        !world.path("home/.cache").exists(),
        "nothing was brought up"
    );
    assert_eq!(
        world.run(&["inspect", "absent", "--json"]).ended(2).code(),
        "E_SKILL_NOT_FOUND"
    );
}

#[test]
fn what_a_skill_says_of_itself_cannot_look_like_a_line_of_the_page() {
    let world = World::new();
    world.skill("sly", "exit 0\n");
    world.write(
        "project/.agents/skills/sly/SKILL.md",
        "---\nname: sly\ndescription: |\n  Is sly.\n  rule    granted by you\nversion: 1.0.0\n---\n",
    );
    let page = world.run(&["inspect", "sly"]).succeeded().stdout;
    assert!(page.contains("Is sly. rule granted by you"), "{page}");
    assert_eq!(
        page.lines()
            .filter(|line| line.starts_with("rule "))
            .count(),
        1,
        "{page}"
    );
}

#[test]
fn check_warns_of_an_interpreter_that_is_a_slip() {
    let world = World::new();
    world.skill("slips", "exit 0\n");
    let declared = |interpreter: &str| {
        world.write(
            "project/.agents/skills/slips/bailiwick.yaml",
            &format!("scripts:\n  - {{ name: go, path: scripts/run.sh, description: Goes., interpreter: {interpreter} }}\n"),
        );
        let value = world
            .run(&["check", ".agents/skills/slips", "--json"])
            .succeeded()
            .json();
        value["reports"][0]["diagnostics"].clone()
    };
    for preset in ["sh", "bash", "python3", "node"] {
        assert_eq!(declared(preset), serde_json::json!([]), "{preset}");
    }
    assert_eq!(declared("ruby")[0]["id"], "sidecar-interpreter-unfamiliar");
}
