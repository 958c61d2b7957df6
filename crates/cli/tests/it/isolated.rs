//! Tier 2: tools that run in a guest, called, listed, inspected and explained.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::asking::at_a_terminal;
use crate::calling::assert_fits_the_schema;
use crate::run::{World, interrupted};

/// Returns the source of a tool module with a schema of no properties.
fn module(body: &str) -> String {
    format!(
        "export const description = \"Does it.\";
export const parameters = {{ type: \"object\", properties: {{ path: {{ type: \"string\" }} }} }};
const said = (text) => ({{ content: [{{ type: \"text\", text: `${{text}}` }}] }});
export async function execute(args, context, options) {{
{body}
}}
"
    )
}

fn with_tool(body: &str) -> World {
    let world = World::new();
    world.tool_skill("guest", "work", &module(body));
    world
}

const READS: &str = "  return said((await context.fs.read(args.path)).text);";

#[test]
fn a_tool_of_the_examples_answers_and_prints_nothing_else() {
    let world = World::new();
    let skills = crate::run::manifest_folder().join("../../examples/skills");
    let skills = skills.to_str().unwrap();
    let call = |arguments| {
        let call = [
            "call",
            "echo-tool.echo_message",
            arguments,
            "--yes",
            "--skills",
            skills,
        ];
        world.run(&call)
    };
    let ran = call("{\"message\":\"hi\"}").succeeded();
    let cwd = world.path("project");
    assert_eq!(ran.stdout, format!("echo ({}): hi\n", cwd.display()));
    assert_eq!(ran.stderr, "");
    insta::assert_snapshot!(call("{\"message\":5}").ended(2).stderr, @r#"
    error: E_SKILL_ARGUMENTS_REJECTED: the arguments do not match: 5 is not of type "string" (/message)
    hint: correct the named values and call again; the tool's schema says what fits
    "#);
}

#[test]
fn the_one_object_of_an_isolated_call_fits_the_schema() {
    let world = with_tool(
        "  console.warn(\"careful\"); return { ...said(1), details: { kept: \"from models\" } };",
    );
    let value = world
        .run(&["call", "guest.work", "--json"])
        .succeeded()
        .json();
    assert_fits_the_schema(&value);
    assert_eq!(value["tier"], "isolated");
    assert_eq!(value["content"][0]["text"], "1");
    let report = &value["report"];
    assert_eq!(report["details"]["kept"], "from models");
    assert_eq!(report["logs"][0]["level"], "warn");
    assert_eq!(report["logs"][0]["text"], "careful");
    assert_eq!(report["usage"]["host_calls"], 0);
    assert!(report["stack"].is_null(), "{value:#}");
}

#[test]
fn a_throw_is_told_with_its_stack_and_its_logs_come_first() {
    let world = with_tool(
        "  console.log(\"one\\nerror: E_SKILL_DENIED: two\");\n  throw new Error(\"no such thing\");",
    );
    insta::assert_snapshot!(world.run(&["call", "guest.work"]).ended(1).stderr, @"
     info | one
          | error: E_SKILL_DENIED: two
    error: E_SKILL_TOOL_FAILED: `work` threw Error: no such thing
    hint: correct the arguments if it says so; its author can use the stack in the report
    stack | at execute (scripts/work.js:6:13)
    ");
    let value = world.run(&["call", "guest.work", "--json"]).ended(1).json();
    assert_fits_the_schema(&value);
    let stack = value["report"]["stack"].as_str().unwrap();
    assert!(stack.contains("scripts/work.js:6"), "{value:#}");
}

#[test]
fn a_file_is_read_with_the_flags_that_the_refusal_names_and_not_without() {
    let world = with_tool(READS);
    world.write("project/notes.txt", "the notes\n");
    let call = ["call", "guest.work", "{\"path\":\"notes.txt\"}"];
    let refused = world.run(&call).ended(3);
    assert_eq!(refused.stdout, "");
    insta::assert_snapshot!(refused.stderr, @"
    error: E_SKILL_ISOLATED_CAPABILITY_DENIED: `work` ended on a refusal: `fs.read` is not granted to `guest`
    hint: grant it and a folder for this run with `--grant context=fs.read --grant read=.`, or in a policy file
    stack | at execute (scripts/work.js:5:38)
    ");
    let value = world
        .run(&[&call[..], &["--json"]].concat())
        .ended(3)
        .json();
    assert_fits_the_schema(&value);

    let member = [&call[..], &["--yes", "--grant", "context=fs.read"]].concat();
    assert_eq!(world.run(&member).ended(3).stdout, "");
    let granted = [&member[..], &["--grant", "read=."]].concat();
    assert_eq!(world.run(&granted).succeeded().stdout, "the notes\n");
    // What is granted is a folder, and not what lies above it.
    world.write("secret.txt", "secret\n");
    let outside = ["call", "guest.work", "{\"path\":\"../secret.txt\"}"];
    let outside = [&outside[..], &granted[3..]].concat();
    assert_eq!(world.run(&outside).ended(3).stdout, "");
}

#[test]
fn a_tool_that_reaches_files_is_asked_about_and_one_that_does_not_is_not() {
    let world = with_tool(READS);
    world.write("project/notes.txt", "the notes\n");
    let call = [
        "call",
        "guest.work",
        "{\"path\":\"notes.txt\"}",
        "--json",
        "--grant",
        "context=fs.read",
        "--grant",
        "read=.",
    ];
    assert_eq!(world.run(&call).ended(5).code(), "E_SKILL_GATE_UNAVAILABLE");
    let yes = at_a_terminal(&world, &call, b"y\r");
    assert_eq!(yes.ran.json()["content"][0]["text"], "the notes\n");
    for shown in [
        "work of guest 1.0.0",
        "reaches    context fs.read",
        "cli:read=.",
    ] {
        assert!(yes.screen.contains(shown), "{shown}: {}", yes.screen);
    }
    let no = at_a_terminal(&world, &call, b"n\r");
    assert_eq!(no.ran.ended(3).code(), "E_SKILL_GATE_DENIED");
    // Without a grant there is nothing to say yes to; nor with a clock alone.
    world.tool_skill("idle", "rest", &module("  return said(typeof Date.now());"));
    let clock = ["call", "idle.rest", "--grant", "context=clock"];
    assert_eq!(world.run(&clock).succeeded().stdout, "number\n");
}

#[test]
fn progress_is_shown_on_a_terminal_and_not_in_a_pipe() {
    let world = with_tool(
        "  options.onUpdate({ content: [{ type: \"text\", text: \"half\\nway\" }] });\n  return said(\"done\");",
    );
    let call = ["call", "guest.work"];
    let piped = world.run(&call).succeeded();
    assert_eq!((&*piped.stdout, &*piped.stderr), ("done\n", ""));
    let terminal = at_a_terminal(&world, &call, b"");
    assert_eq!(terminal.ran.succeeded().stdout, "done\n");
    assert!(
        terminal.screen.contains("  ... | half way"),
        "{}",
        terminal.screen
    );
}

#[test]
fn a_loop_ends_at_its_deadline_and_memory_at_its_limit() {
    let world = with_tool("  if (args.path === undefined) { while (true) {} } return said(1);");
    let ran = world
        .run(&["call", "guest.work", "--timeout", "300ms", "--json"])
        .ended(6);
    let value = ran.json();
    assert_fits_the_schema(&value);
    assert_eq!(ran.code(), "E_SKILL_ISOLATED_TIMEOUT");
    assert_eq!(value["report"]["limit_hit"], "wall");
    assert_eq!(value["report"]["confirmed"], true);
    // With an end, the same source ends.
    world
        .run(&[
            "call",
            "guest.work",
            "{\"path\":\"x\"}",
            "--timeout",
            "300ms",
        ])
        .succeeded();

    let hungry = "  const kept = []; while (kept.length < Number(args.path)) { kept.push(new Uint8Array(1 << 20).fill(1)); } return said(kept.length);";
    world.tool_skill("hungry", "eat", &module(hungry));
    let eat = |mebibytes: &str| world.run(&["call", "hungry.eat", mebibytes, "--json"]);
    let fits = eat("{\"path\":\"32\"}").succeeded().json();
    assert_eq!(fits["content"][0]["text"], "32");
    let ran = eat("{\"path\":\"4096\"}").ended(6);
    assert_fits_the_schema(&ran.json());
    assert_eq!(ran.code(), "E_SKILL_ISOLATED_MEMORY_EXCEEDED");
    assert_eq!(ran.json()["report"]["limit_hit"], "memory");
}

#[test]
fn an_interrupt_cancels_a_loop() {
    let world = with_tool("  options.onUpdate(1); while (true) {}");
    // The engine is started once, so that the call is running soon.
    world.run(&["explain", "guest.work"]).succeeded();
    let mut child = world.start(&["call", "guest.work", "--timeout", "30s", "--json"]);
    wait_until_it_computes(&mut child);
    let value = interrupted(child).ended(7).json();
    assert_fits_the_schema(&value);
    assert_eq!(value["error"]["code"], "E_SKILL_CANCELLED");
}

/// Waits until a program has used more processor time than its start takes: it is in its loop.
fn wait_until_it_computes(child: &mut Child) {
    let patience = Instant::now() + Duration::from_mins(1);
    let stat = format!("/proc/{}/stat", child.id());
    while Instant::now() < patience {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        let text = std::fs::read_to_string(&stat).unwrap();
        // The name in brackets is the second field; user time is the fourteenth, in hundredths.
        let mut fields = text.rsplit(')').next().unwrap().split_whitespace();
        let used: u64 = fields.nth(11).unwrap().parse().unwrap();
        if used > 20 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not compute");
}

#[test]
fn an_interrupt_ends_loading() {
    let world = with_tool("  return said(1);");
    world.run(&["explain", "guest.work"]).succeeded();
    let endless = format!("while (true) {{}}\n{}", module("  return said(1);"));
    world.tool_skill("endless", "load", &endless);
    let mut child = world.start(&["call", "endless.load", "--json"]);
    wait_until_it_computes(&mut child);
    // Left alone it ends with another code, for what the top level did.
    interrupted(child).ended(7);
}

#[test]
fn what_a_guest_names_begins_no_line_of_its_own() {
    let world = with_tool(
        "  await context.fs.read(\"/x\\nerror: forged\").catch(() => 0);
  return { ...said(1), details: { \"k\\nhint: forged\": 1n } };",
    );
    let call = [
        "call",
        "guest.work",
        "--yes",
        "--grant",
        "context=fs.read",
        "--grant",
        "read=.",
    ];
    let ran = world.run(&call).succeeded();
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert!(lines[0].starts_with("note: ") && lines[1].starts_with("warning: "));
}

/// A skill with a tool of each form, a script, and a wasm module that nothing runs.
fn every_form() -> World {
    let world = with_tool("  return said(\"module\");");
    let folder = "project/.agents/skills/guest";
    world.write(
        &format!("{folder}/bailiwick.yaml"),
        "\
isolated:
  - name: add
    description: Adds two numbers.
    source: scripts/add.js
    params:
      - { name: a, type: integer, description: One., required: true }
      - { name: b, type: integer, description: The other., required: true }
  - { name: later, description: Is wasm., source: scripts/later.wasm }
scripts:
  - { name: work, path: scripts/run.sh, description: Runs., interpreter: sh }
",
    );
    world.write(
        &format!("{folder}/scripts/add.js"),
        "async ({ a, b }) => a + b\n",
    );
    world.write(&format!("{folder}/scripts/later.wasm"), "");
    world.write(&format!("{folder}/scripts/run.sh"), "echo script\n");
    world
}

#[test]
fn tools_of_every_form_are_addressed_by_their_names() {
    let world = every_form();
    for (address, said) in [
        ("guest.work", "module\n"),
        ("work", "module\n"),
        ("guest@project.work", "module\n"),
        // The script has the same short name and a published one of its own.
        ("run_guest_work", "script\n"),
        ("guest.run_guest_work", "script\n"),
    ] {
        assert_eq!(
            world.run(&["call", address]).succeeded().stdout,
            said,
            "{address}"
        );
    }
    let sum = world
        .run(&["call", "guest.add", "{\"a\":2,\"b\":3}"])
        .succeeded();
    assert_eq!(sum.stdout, "5\n");
    let said = |address: &str| world.run(&["call", address]).ended(2).stderr;
    insta::assert_snapshot!(said("guest:scripts/work.js"), @"
    error: E_SKILL_NOT_FOUND: `scripts/work.js` is declared: it is the tool `guest.work`
    hint: call `guest.work` with one JSON object
    ");
    insta::assert_snapshot!(said("guest:scripts/add.js"), @"
    error: E_SKILL_NOT_FOUND: `scripts/add.js` is declared: it is the tool `guest.add`
    hint: call `guest.add` with one JSON object
    ");
    insta::assert_snapshot!(said("guest.later"), @"
    error: E_SKILL_NOT_FOUND: `guest` has no tool `later`
    hint: its tools: guest.work, guest.add, guest.work
    ");
}

#[test]
fn list_and_inspect_show_the_tier_and_the_reach_of_every_tool() {
    let world = every_form();
    let listed = world.run(&["list"]).succeeded();
    insta::assert_snapshot!(listed.stdout, @"
    SKILL  VERSION  SOURCE   TIER              TOOLS
    guest  1.0.0    project  isolated, script  work, add, work
    ");
    let value = world.run(&["list", "--json"]).succeeded().json();
    assert_eq!(value["skills"][0]["tools"][1]["tier"], "isolated");
    assert_eq!(value["skills"][0]["tools"][1]["name"], "add");

    let digest = world.digest_of("guest");
    world.write(
        "project/p.toml",
        &format!(
            "version = 1\n[session]\nread = [\"./docs\"]\ncontext = [\"fs.read\", \"clock\"]\n[limits.isolate]\nmemory = \"32MiB\"\n[[skill]]\nname = \"guest\"\ndigest = \"{digest}\"\ngrant.read = [\"./docs\"]\ngrant.context = [\"clock\"]\ntool.add.grant.context = []\n"
        ),
    );
    let inspect = |file: &str, more: &[&str]| {
        let arguments = [&["--policy", file, "inspect", "guest"], more].concat();
        world.run(&arguments).succeeded()
    };
    let page = world.settled(&inspect("p.toml", &[]).stdout);
    let tools = page
        .split("\n\n")
        .find(|part| part.starts_with("tools"))
        .unwrap();
    insta::assert_snapshot!(tools, @"
    tools and what each could reach
      work runs scripts/work.js as a module
        reaches nothing outside its guest
        holds context clock (p.toml:11)
        holds read [world]/project/docs (p.toml:10)
        limits fuel off, memory 32MiB, stack 512KiB, host_calls 1000, host_calls_concurrent 32, host_call_bytes 1MiB, result 10MiB, log_events 1000, log_bytes 8KiB, table 10000, json_depth 64, json_nodes 100000
      add runs scripts/add.js as an arrow function(a, b)
        reaches nothing outside its guest
        holds read [world]/project/docs (p.toml:10)
        limits fuel off, memory 32MiB, stack 512KiB, host_calls 1000, host_calls_concurrent 32, host_call_bytes 1MiB, result 10MiB, log_events 1000, log_bytes 8KiB, table 10000, json_depth 64, json_nodes 100000
      work runs scripts/run.sh with sh()
        reaches read [world]/project/docs (p.toml:10)
    ");
    let findings = page
        .split("\n\n")
        .find(|part| part.starts_with("findings"))
        .unwrap();
    assert!(findings.contains("later"), "{findings}");

    let value = inspect("p.toml", &["--json"]).json();
    let tool = &value["tools"][1];
    assert_eq!(tool["tool"], "add");
    assert_eq!(tool["isolated"]["form"], "arrow");
    assert_eq!(tool["isolated"]["path"], "scripts/add.js");
    assert_eq!(tool["isolated"]["params"][0]["name"], "a");
    assert_eq!(tool["limits"]["memory"], "32MiB");
    assert!(
        !world.path("home/.cache").exists(),
        "nothing was brought up"
    );
}

#[test]
fn explain_tells_what_a_guest_holds_and_answers_one_question() {
    let world = every_form();
    world.write("project/docs/a.md", "x\n");
    let explain = |more: &[&str]| {
        let ran = world
            .run(&[&["explain", "guest.work"], more].concat())
            .succeeded();
        world.settled(&ran.stdout)
    };
    insta::assert_snapshot!(explain(&[]), @"
    policy file  built in: nothing is granted, limits are small
    tool         work (isolated of guest 1.0.0)
    source       scripts/work.js
    grants       none: it reaches nothing outside its guest
    limits       fuel off, memory 64MiB, stack 512KiB, host_calls 1000, host_calls_concurrent 32, host_call_bytes 1MiB, result 10MiB, log_events 1000, log_bytes 8KiB, table 10000, json_depth 64, json_nodes 100000
    proof        every grant lies inside the session's ceiling
    ");
    let grants = ["--grant", "context=fs.read", "--grant", "read=./docs"];
    let granted = explain(&grants);
    assert!(
        granted.contains("grant        context fs.read (cli:context=fs.read)"),
        "{granted}"
    );
    let ask = |question: &[&str]| explain(&[question, &grants].concat());
    insta::assert_snapshot!(ask(&["--path", "docs/a.md"]), @"read [world]/project/docs/a.md by an isolated tool: allowed, held read+list by cli:context=fs.read, cli:read=./docs");
    insta::assert_snapshot!(ask(&["--path", "docs/a.md", "--access", "write"]), @"
    write [world]/project/docs/a.md by an isolated tool: denied, no rule grants any of it
    hint: no grant can allow it: isolated tools do not write files in this version
    ");
    insta::assert_snapshot!(ask(&["--path", "secret"]), @r#"
    read [world]/project/secret by an isolated tool: denied, held nothing by cli:context=fs.read
    hint: add `grant.read = ["[world]/project/secret"]` to the skill
    "#);
    insta::assert_snapshot!(explain(&["--path", "docs/a.md"]), @r#"
    read [world]/project/docs/a.md by an isolated tool: denied, no rule grants any of it
    hint: add `grant.context = ["fs.read"]` and `grant.read = ["[world]/project/docs/a.md"]` to the skill
    "#);
    insta::assert_snapshot!(ask(&["--host", "a.example"]), @"
    connect to a.example:443 from an isolated tool: denied, no rule grants any of it
    hint: no grant can allow it: isolated tools reach no network in this version
    ");
}

#[test]
fn check_load_lists_every_tool_that_loading_would_refuse() {
    let world = with_tool("  return said(");
    let folder = "project/.agents/skills/guest";
    world.write(
        &format!("{folder}/bailiwick.yaml"),
        "isolated:\n  - { name: add, description: Adds., source: scripts/add.js }\n",
    );
    world.write(&format!("{folder}/scripts/add.js"), "async ( => 1\n");
    let check = [".agents/skills/guest", "--json"];
    world.run(&[&["check"], &check[..]].concat()).succeeded();
    let value = world
        .run(&[&["check", "--load"], &check[..]].concat())
        .ended(8)
        .json();
    let refusals = value["refusals"].as_array().unwrap();
    let codes: Vec<_> = refusals.iter().map(|refusal| &refusal["code"]).collect();
    assert_eq!(codes, ["E_SKILL_ISOLATED_GUEST_INVALID"; 2], "{value:#}");
}
