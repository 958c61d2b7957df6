//! `call`: results, failures, and what is left of a run.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{Ran, World, interrupted, processes_with};

#[track_caller]
pub(crate) fn assert_fits_the_schema(value: &Value) {
    let schema: Value =
        serde_json::from_str(include_str!("../../schema/call.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
}

#[test]
fn a_call_prints_what_the_script_wrote_and_nothing_else() {
    let world = World::new();
    world.skill("greeter", "echo to-stdout\necho to-stderr >&2\n");
    let ran = world.run(&["call", "greeter.run"]).succeeded();
    assert_eq!(ran.stdout, "to-stdout\n");
    assert!(ran.stderr.starts_with("to-stderr\n"), "{ran}");
    assert!(ran.stderr.contains("run_greeter_run: exit 0"), "{ran}");
}

#[test]
fn the_one_object_of_a_success_fits_the_schema() {
    let world = World::new();
    world.skill("greeter", "echo hello\n");
    let value = world
        .run(&["call", "greeter.run", "--json"])
        .succeeded()
        .json();
    assert_fits_the_schema(&value);
    assert_eq!(value["ok"], true);
    assert_eq!(value["tier"], "script");
    assert_eq!(value["structured"]["stdout"], "hello\n");
    assert_eq!(value["report"]["exit"], 0);
    assert!(
        value["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("hello"),
        "{value:#}"
    );
}

#[test]
fn an_exit_of_3_fails_with_both_streams_and_the_output_is_read_in_another_process() {
    let world = World::new();
    world.skill("failing", "echo on-stdout\necho on-stderr >&2\nexit 3\n");
    let ran = world.run(&["call", "failing.run", "--json"]).ended(1);
    let value = ran.json();
    assert_fits_the_schema(&value);
    assert_eq!(value["error"]["code"], "E_SKILL_SCRIPT_FAILED");
    assert_eq!(value["error"]["details"]["exit"], 3);
    assert_eq!(value["report"]["exit"], 3);
    let output = value["error"]["details"]["output"].as_str().unwrap();
    assert!(
        output.contains("[stdout]\non-stdout") && output.contains("[stderr]\non-stderr"),
        "{output}"
    );
    let id = value["artifact"].as_str().unwrap();
    let read = world.run(&["artifacts", "read", id]).succeeded();
    assert!(
        read.stdout.contains("on-stdout\n") && read.stdout.contains("on-stderr\n"),
        "{read}"
    );
}

#[test]
fn a_script_past_its_deadline_keeps_what_it_wrote_and_leaves_no_process() {
    let world = World::new();
    let mark = world.mark();
    world.skill(
        "sleepy",
        &format!("echo partial\nsh -c 'sleep 600; :' {mark}\n"),
    );
    let ran = world
        .run(&["call", "sleepy.run", "--timeout", "1s", "--json"])
        .ended(6);
    let value = ran.json();
    assert_fits_the_schema(&value);
    assert_eq!(value["error"]["code"], "E_SKILL_SCRIPT_TIMEOUT");
    assert_eq!(value["report"]["confirmed"], true);
    let id = value["artifact"].as_str().unwrap();
    assert_eq!(
        world.run(&["artifacts", "read", id]).succeeded().stdout,
        "partial\n"
    );
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[test]
fn a_daemon_in_a_session_of_its_own_that_holds_stdout_is_dead_when_the_call_answers() {
    let world = World::new();
    let mark = world.mark();
    let script = format!(
        "setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' {mark} </dev/null &\necho started\n"
    );
    world.skill("daemonic", &script);
    // Were the call to wait for the daemon, its deadline would end it.
    let value = world
        .run(&["call", "daemonic.run", "--json"])
        .succeeded()
        .json();
    assert_fits_the_schema(&value);
    assert_eq!(value["structured"]["stdout"], "started\n");
    assert_eq!(value["report"]["confirmed"], true);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[test]
fn an_interrupt_cancels_the_call_and_ends_every_process_of_it() {
    let world = World::new();
    let mark = world.mark();
    world.skill("sleepy", &format!("sh -c 'sleep 600; :' {mark}\n"));
    let child = world.start(&["call", "sleepy.run", "--json"]);
    let patience = Instant::now() + Duration::from_mins(1);
    while processes_with(&mark).is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    let value = interrupted(child).ended(7).json();
    assert_fits_the_schema(&value);
    assert_eq!(value["error"]["code"], "E_SKILL_CANCELLED");
    assert_eq!(value["report"]["confirmed"], true);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[test]
fn the_exit_code_tells_what_happened() {
    let world = World::new();
    world.skill("fine", "exit 0\n");
    world.skill("failing", "exit 1\n");
    world.skill("broken", "exit 0\n");
    world.write(
        "project/.agents/skills/broken/SKILL.md",
        "---\nname: broken\n---\n",
    );
    let cases: &[(&[&str], i32, &str)] = &[
        (&["call", "failing.run"], 1, "E_SKILL_SCRIPT_FAILED"),
        (
            &["call", "fine.run", "not json"],
            2,
            "E_SKILL_ARGUMENTS_REJECTED",
        ),
        (
            &["call", "fine.run", "{\"extra\": 1}"],
            2,
            "E_SKILL_ARGUMENTS_REJECTED",
        ),
        (&["call", "fine.other"], 2, "E_SKILL_NOT_FOUND"),
        (&["call", "absent.run"], 2, "E_SKILL_NOT_FOUND"),
        (&["call", "fine"], 2, "E_SKILL_NOT_FOUND"),
        (
            &["call", "fine.run", "--", "x"],
            2,
            "E_INVALID_SKILLS_CONFIG",
        ),
        (
            &["call", "fine:scripts/other.sh"],
            3,
            "E_SKILL_SCRIPT_POLICY_WIDENED",
        ),
        (&["call", "broken.run"], 8, "E_SKILL_MANIFEST_INVALID"),
    ];
    for (arguments, exit, code) in cases {
        let arguments = [arguments, &["--json"][..]].concat();
        // Options of the program come before the script's own arguments.
        let arguments: Vec<_> = match arguments.iter().position(|argument| *argument == "--") {
            Some(_) => [&["--json"][..], &arguments[..arguments.len() - 1]].concat(),
            None => arguments,
        };
        let ran = world.run(&arguments).ended(*exit);
        assert_fits_the_schema(&ran.json());
        assert_eq!(ran.code(), *code, "{arguments:?}");
    }
    world.run(&["call", "fine.run"]).succeeded();
    world.run(&["call"]).ended(2);
    world.run(&["no-such-command"]).ended(2);
}

#[test]
fn arguments_come_from_standard_input_and_a_scripts_input_from_a_file() {
    let world = World::new();
    let params = "      - { name: word, type: string, description: A word., required: true }\n";
    world.skill_with("echoing", "echo \"$1\"\ncat\n", params);
    let input = world.write("project/input.txt", "from the file\n");
    let stdin = input.to_str().unwrap();
    let ran = world.run_with_input(
        &["call", "echoing.run", "-", "--stdin", stdin],
        "{\"word\": \"hello\"}",
    );
    assert_eq!(ran.succeeded().stdout, "hello\nfrom the file\n");
    let ran = world.run_with_input(
        &["call", "echoing.run", "{\"word\": \"x\"}", "--stdin", "-"],
        "piped",
    );
    assert_eq!(ran.succeeded().stdout, "x\npiped\n");
    world
        .run(&["call", "echoing.run", "-", "--stdin", "-"])
        .ended(2);
}

#[test]
fn undeclared_scripts_run_with_the_grant_and_get_their_arguments_verbatim() {
    let world = World::new();
    world.skill("tools", "exit 0\n");
    world.write(
        "project/.agents/skills/tools/scripts/extra.sh",
        "printf '%s|' \"$@\"\n",
    );
    let call = [
        "call",
        "tools:scripts/extra.sh",
        "--yes",
        "--grant",
        "undeclared_scripts",
        "--",
        "--help",
        "a b",
    ];
    assert_eq!(world.run(&call).succeeded().stdout, "--help|a b|\n");
    let ran = world
        .run(&["--json", "call", "tools:scripts/extra.sh", "--", "--help"])
        .ended(3);
    assert_eq!(ran.code(), "E_SKILL_SCRIPT_POLICY_WIDENED");
    // A declared script has a tool of its own.
    let declared = [
        "--json",
        "call",
        "tools:scripts/run.sh",
        "--grant",
        "undeclared_scripts",
    ];
    assert_eq!(world.run(&declared).ended(2).code(), "E_SKILL_NOT_FOUND");
}

#[test]
fn a_project_copy_wins_and_the_shadowed_one_is_called_by_its_scope() {
    let world = World::new();
    world.skill("twice", "echo project\n");
    for file in ["SKILL.md", "bailiwick.yaml"] {
        let text =
            std::fs::read_to_string(world.path(&format!("project/.agents/skills/twice/{file}")))
                .unwrap();
        world.write(&format!("home/.agents/skills/twice/{file}"), &text);
    }
    world.write("home/.agents/skills/twice/scripts/run.sh", "echo user\n");
    assert_eq!(
        world.run(&["call", "twice.run"]).succeeded().stdout,
        "project\n"
    );
    assert_eq!(
        world.run(&["call", "twice@user.run"]).succeeded().stdout,
        "user\n"
    );
    // A broken copy is an error and never a reason to take the other one.
    world.write("project/.agents/skills/twice/SKILL.md", "no front matter\n");
    world.run(&["call", "twice.run"]).ended(8);
    assert_eq!(
        world.run(&["call", "twice@user.run"]).succeeded().stdout,
        "user\n"
    );
}

#[test]
fn arguments_that_are_no_text_are_rejected_and_not_repaired() {
    let world = World::new();
    world.skill("echoing", "echo \"$1\"\n");
    let path = world.path("input");
    std::fs::write(&path, b"{\"word\": \"\xff\"}").unwrap();
    let file = std::fs::File::open(path).unwrap();
    let mut command = world.command(&["call", "echoing.run", "-"]);
    let ran = Ran::of(&command.stdin(file).output().unwrap()).ended(2);
    insta::assert_snapshot!(ran.stderr, @r"
    error: E_SKILL_ARGUMENTS_REJECTED: the arguments are not UTF-8: byte 10 is part of no character
    hint: convert them to UTF-8; JSON has no other encoding
    ");
}

#[test]
fn an_address_that_means_nothing_is_answered_with_one_that_does() {
    let world = World::new();
    world.skill("echoing", "echo fine\n");
    let said = |arguments: &[&str]| world.run(arguments).ended(2).stderr;
    insta::assert_snapshot!(said(&["call", "echoing.rum"]), @r"
    error: E_SKILL_NOT_FOUND: `echoing` has no tool `rum`
    hint: did you mean `echoing.run`?
    ");
    insta::assert_snapshot!(said(&["call", "echoing.other"]), @r"
    error: E_SKILL_NOT_FOUND: `echoing` has no tool `other`
    hint: its tools: echoing.run
    ");
    insta::assert_snapshot!(said(&["call", "echoing"]), @r"
    error: E_SKILL_NOT_FOUND: `echoing` is a skill and no tool
    hint: its tools: echoing.run
    ");
    insta::assert_snapshot!(said(&["call", "nothing"]), @r"
    error: E_SKILL_NOT_FOUND: `nothing` names no tool
    hint: write `SKILL.TOOL`; `bailiwick list` shows the skills and their tools
    ");
    insta::assert_snapshot!(said(&["call", "echoing:scripts/run.sh"]), @r"
    error: E_SKILL_NOT_FOUND: `scripts/run.sh` is declared: it is the tool `echoing.run`
    hint: call `echoing.run` with one JSON object
    ");
}

#[test]
fn a_tool_answers_to_its_published_name_as_well() {
    let world = World::new();
    world.skill("echoing", "echo fine\n");
    for address in [
        "run_echoing_run",
        "echoing.run_echoing_run",
        "echoing@project.run",
    ] {
        let ran = world.run(&["call", address]).succeeded();
        assert_eq!(ran.stdout, "fine\n", "{address}");
    }
}

#[test]
fn a_script_that_is_not_declared_is_refused_with_the_flag_that_grants_it() {
    let world = World::new();
    world.skill("echoing", "echo fine\n");
    world.write(
        "project/.agents/skills/echoing/scripts/other.sh",
        "echo other\n",
    );
    let call = ["call", "echoing:scripts/other.sh"];
    insta::assert_snapshot!(world.run(&call).ended(3).stderr, @r"
    error: E_SKILL_SCRIPT_POLICY_WIDENED: `echoing` may not run scripts that it does not declare
    hint: grant it for this run with `--grant undeclared_scripts`, or in the policy file with `grant.undeclared_scripts = true`
    ");
    let granted = ["--yes", "--grant", "undeclared_scripts"];
    let ran = world.run(&[&call[..], &granted].concat()).succeeded();
    assert_eq!(ran.stdout, "other\n");
}

#[test]
fn what_a_failed_script_wrote_goes_where_it_wrote_it() {
    let world = World::new();
    world.skill("both", "echo out; echo err >&2; exit 3\n");
    let ran = world.run(&["call", "both.run"]).ended(1);
    assert_eq!(ran.stdout, "out\n");
    assert!(ran.stderr.starts_with("err\n"), "{ran}");
    world.skill("silent", "exit 3\n");
    assert_eq!(world.run(&["call", "silent.run"]).ended(1).stdout, "");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let world = World::new();
    world.skill("echoing", "echo fine\n");
    for arguments in [
        &["--policy", "nope", "list"][..],
        &["trust", "nope"],
        &["call", "echoing.run", "--stdin", "nope"],
    ] {
        let ran = world.run(arguments).ended(2);
        assert!(ran.stderr.contains("nope`: it does not exist"), "{ran}");
    }
}
