//! The gate: who is asked, and what happens when nobody can be.

use crate::run::World;

const READS_DOCS: &str = "cat ";

fn with_docs() -> World {
    let world = World::new();
    let file = world.write("project/docs/a.md", "the document\n");
    world.skill("reader", &format!("{READS_DOCS}{}\n", file.display()));
    world
}

#[test]
fn a_contained_call_runs_in_a_pipe_without_a_question() {
    let world = World::new();
    world.skill("fine", "echo fine\n");
    world.run(&["call", "fine.run"]).succeeded();
}

#[test]
fn a_call_with_a_grant_in_a_pipe_is_unanswered_and_not_denied() {
    let world = with_docs();
    let call = ["call", "reader.run", "--grant", "read=./docs"];
    let ran = world.run(&[&call[..], &["--json"]].concat()).ended(5);
    assert_eq!(ran.code(), "E_SKILL_SCRIPT_GATE_UNAVAILABLE");
    insta::assert_snapshot!(world.run(&call).stderr, @"
    error: E_SKILL_SCRIPT_GATE_UNAVAILABLE: nobody decided about `run_reader_run`: there is no terminal to ask at
    hint: answer with `--yes`, which grants nothing, or run it on a terminal
    ");
}

#[test]
fn yes_answers_the_question_and_grants_nothing() {
    let world = with_docs();
    let answered = world
        .run(&["call", "reader.run", "--grant", "read=./docs", "--yes"])
        .succeeded();
    assert_eq!(answered.stdout, "the document\n");
    let ungranted = world
        .run(&["call", "reader.run", "--yes", "--json"])
        .ended(1);
    assert_eq!(ungranted.code(), "E_SKILL_SCRIPT_FAILED");
}

#[test]
fn a_rule_that_never_asks_lets_the_grant_be_used_and_one_that_always_does_stops_a_contained_call() {
    let world = with_docs();
    let digest = world.digest_of("reader");
    let policy = |ask: &str, grant: &str| {
        format!(
            "version = 1\n[session]\nread = [\"./docs\"]\n[[skill]]\nname = \"reader\"\ndigest = \"{digest}\"\n{grant}tool.run_reader_run.ask = \"{ask}\"\n"
        )
    };
    let grant = "grant.read = [\"./docs\"]\n";
    world.write("project/p.toml", &policy("never", grant));
    let ran = world
        .run(&["--policy", "p.toml", "call", "reader.run"])
        .succeeded();
    assert_eq!(ran.stdout, "the document\n");
    world.write("project/p.toml", &policy("always", ""));
    let ran = world
        .run(&["--policy", "p.toml", "--json", "call", "reader.run"])
        .ended(5);
    assert_eq!(ran.code(), "E_SKILL_SCRIPT_GATE_UNAVAILABLE");
}
