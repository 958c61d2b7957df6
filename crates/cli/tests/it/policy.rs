//! Which policy counts: trust, and grants of the command line.

use crate::run::World;

/// A project whose policy grants its reader the documents.
fn project() -> World {
    let world = World::new();
    let file = world.write("project/docs/a.md", "the document\n");
    world.skill("reader", &format!("cat {}\n", file.display()));
    let digest = world.digest_of("reader");
    world.write(
        "project/bailiwick.toml",
        &format!(
            "version = 1\n[session]\nread = [\"./docs\"]\n[[skill]]\nname = \"reader\"\ndigest = \"{digest}\"\ngrant.read = [\"./docs\"]\n"
        ),
    );
    world
}

#[test]
fn a_projects_policy_is_a_request_until_it_is_trusted() {
    let world = project();
    let call = ["call", "reader.run", "--yes", "--json"];
    assert_eq!(world.run(&call).ended(1).code(), "E_SKILL_SCRIPT_FAILED");
    let note = "is a request and is not used: nobody trusted it";
    for (arguments, exit) in [
        (&["list"][..], 0),
        (&["inspect", "reader"], 0),
        (&["explain", "reader.run"], 0),
        (&["explain", "reader.other"], 2),
        (&call, 1),
        (&["call", "reader.other"], 2),
    ] {
        let ran = world.run(arguments).ended(exit);
        assert!(ran.stderr.contains(note), "{arguments:?}: {ran}");
    }
    let shown = world.run(&["trust"]).succeeded();
    assert!(
        shown.stdout.contains("grant.read = [\"./docs\"]"),
        "{shown}"
    );
    assert_eq!(
        world.run(&call).succeeded().json()["structured"]["stdout"],
        "the document\n"
    );
    assert_eq!(world.run(&["list"]).succeeded().stderr, "");
}

#[test]
fn a_trusted_policy_that_changes_is_untrusted_again() {
    let world = project();
    world.run(&["trust", "bailiwick.toml"]).succeeded();
    let text = std::fs::read_to_string(world.path("project/bailiwick.toml")).unwrap();
    world.write(
        "project/bailiwick.toml",
        &format!("{text}\n# one more line\n"),
    );
    assert_eq!(
        world
            .run(&["call", "reader.run", "--yes", "--json"])
            .ended(1)
            .code(),
        "E_SKILL_SCRIPT_FAILED"
    );
    let listed = world.run(&["list"]).succeeded();
    assert!(
        listed.stderr.contains("it changed since it was trusted"),
        "{listed}"
    );
}

#[test]
fn revoked_trust_is_gone_even_when_the_file_is() {
    let world = project();
    world.run(&["trust"]).succeeded();
    world.run(&["trust", "--revoke"]).succeeded();
    assert_eq!(
        world
            .run(&["call", "reader.run", "--yes", "--json"])
            .ended(1)
            .code(),
        "E_SKILL_SCRIPT_FAILED"
    );
    world.run(&["trust", "--revoke"]).ended(2);
    world.run(&["trust"]).succeeded();
    std::fs::remove_file(world.path("project/bailiwick.toml")).unwrap();
    world
        .run(&["trust", "--revoke", "bailiwick.toml"])
        .succeeded();
}

#[test]
fn a_policy_file_that_is_wrong_or_writable_by_a_skill_cannot_be_trusted() {
    let world = project();
    world.write("project/bailiwick.toml", "version = 1\n[limit]\n");
    assert_eq!(
        world.run(&["trust", "--json"]).ended(2).code(),
        "E_INVALID_SKILLS_CONFIG"
    );
    world.write(
        "project/bailiwick.toml",
        "version = 1\n[session]\nwrite = [\".\"]\n",
    );
    assert_eq!(
        world.run(&["trust", "--json"]).ended(2).code(),
        "E_INVALID_SKILLS_CONFIG"
    );
}

#[test]
fn the_users_own_policy_counts_without_trust_and_before_the_projects() {
    let world = project();
    world.run(&["trust"]).succeeded();
    world.write("home/.config/bailiwick/bailiwick.toml", "version = 1\n");
    assert_eq!(
        world
            .run(&["call", "reader.run", "--yes", "--json"])
            .ended(1)
            .code(),
        "E_SKILL_SCRIPT_FAILED"
    );
    let listed = world.run(&["list", "--json"]).succeeded().json();
    assert_eq!(listed["policy"]["basis"], "user");
    assert_eq!(
        listed["policy"]["request"]["unused"],
        "another policy file counts"
    );
}

#[test]
fn a_grant_of_the_command_line_lies_inside_the_session_or_is_refused() {
    let world = project();
    world.write("project/secrets/key", "x\n");
    world.write(
        "project/session.toml",
        "version = 1\n[session]\nread = [\"./docs\"]\n",
    );
    let call = |grant: &str| {
        world.run(&[
            "--policy",
            "session.toml",
            "--json",
            "call",
            "reader.run",
            "--yes",
            "--grant",
            grant,
        ])
    };
    assert_eq!(
        call("read=./docs").succeeded().json()["structured"]["stdout"],
        "the document\n"
    );
    assert_eq!(
        call("read=./secrets").ended(3).code(),
        "E_SKILL_SCRIPT_POLICY_WIDENED"
    );
    assert_eq!(
        call("raed=./docs").ended(2).code(),
        "E_INVALID_SKILLS_CONFIG"
    );
    // Without a policy file a person's grant extends the ceiling.
    let ran = world
        .run(&["call", "reader.run", "--yes", "--grant", "read=./docs"])
        .succeeded();
    assert_eq!(ran.stdout, "the document\n");
}

#[test]
fn a_granted_variable_reaches_the_script_and_no_other_does() {
    let world = World::new();
    world.skill("curious", "echo \"${TOKEN-unset} ${OTHER-unset}\"\n");
    let run = |arguments: &[&str]| {
        let output = world
            .command(arguments)
            .env("TOKEN", "t")
            .env("OTHER", "o")
            .output()
            .unwrap();
        crate::run::Ran::of(&output).succeeded().stdout
    };
    assert_eq!(run(&["call", "curious.run"]), "unset unset\n");
    assert_eq!(
        run(&["call", "curious.run", "--yes", "--grant", "env=TOKEN"]),
        "t unset\n"
    );
}

#[test]
fn every_problem_of_a_policy_file_is_shown_with_its_place() {
    let world = World::new();
    world.write(
        "project/p.toml",
        "version = 1\n[limit]\n[session]\nraed = []\n",
    );
    let ran = world.run(&["list", "--policy", "p.toml"]).ended(2);
    insta::assert_snapshot!(ran.stderr, @r"
    p.toml:2:2: unknown key `limit` at the top of the file
     2 | [limit]
       |  ^^^^^
    hint: did you mean `limits`?

    p.toml:4:1: unknown key `raed` in `session`
     4 | raed = []
       | ^^^^
    hint: did you mean `read`?
    error: E_INVALID_SKILLS_CONFIG: p.toml:2:2: unknown key `limit` at the top of the file (and 1 more)
    hint: did you mean `limits`?
    ");
}
