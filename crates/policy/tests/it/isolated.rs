//! What a policy file and a person say about isolated tools: `context` and `[limits.isolate]`.

use bailiwick_core::{SkillError, ToolName};
use bailiwick_policy::{
    CliGrants, IsolateAxis, IsolateLimits, PolicyFile, PolicyFileError, SandboxPolicy, derive,
};

use crate::{folder, parse};

fn refused(text: &str) -> PolicyFileError {
    parse(text).unwrap_err()
}

fn wrong(text: &str) -> String {
    refused(text).to_string()
}

fn cli(flags: &[&str]) -> CliGrants {
    CliGrants::parse(flags.iter().copied(), &folder()).unwrap()
}

/// Shows what a tool holds of `context`, each with its rule.
fn context(file: &PolicyFile, tool: Option<&str>, cli: &CliGrants) -> String {
    let tool: Option<ToolName> = tool.map(|tool| tool.parse().unwrap());
    let grants = file.grants_for(file.skills().first(), tool.as_ref(), cli);
    let each = grants.context().iter();
    each.map(|(name, origin)| format!("{name} ({origin})"))
        .collect::<Vec<_>>()
        .join(", ")
}

const GRANTED: &str = r#"version = 1
[session]
context = [
  "notes",
  "fs",
  "clock",
]
[[skill]]
name = "x"
source = "user"
grant.context = ["notes.read", "fs"]
tool.narrow.grant.context = ["fs.read"]
tool.blind.grant.context = []
"#;

#[test]
fn every_grant_of_context_names_its_line() {
    let file = parse(GRANTED).unwrap();
    let none = CliGrants::none();
    let session: Vec<_> = file.session().context().values().collect();
    assert_eq!(
        session.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["bailiwick.toml:6", "bailiwick.toml:5", "bailiwick.toml:4"]
    );
    let shown = [None, Some("other"), Some("narrow"), Some("blind")]
        .map(|tool| context(&file, tool, &none));
    let skill = "fs (bailiwick.toml:11), notes.read (bailiwick.toml:11)";
    assert_eq!(shown, [skill, skill, "fs.read (bailiwick.toml:12)", ""]);
}

#[test]
fn a_grant_of_context_beyond_its_ceiling_is_refused_with_the_witness() {
    let error = refused(
        r#"version = 1
[session]
context = ["fs.read", "notes"]
[[skill]]
name = "x"
source = "user"
grant.context = ["fs", "notes.write", "web.fetch"]
tool.t.grant.context = ["notes"]
"#,
    );
    insta::assert_snapshot!(error, @r#"
    bailiwick.toml:7:18: context fs: asks for it, the ceiling holds fs.read
     7 | grant.context = ["fs", "notes.write", "web.fetch"]
       |                  ^^^^
    hint: add it to [session], or grant less

    bailiwick.toml:7:39: context web.fetch: asks for it, the ceiling holds nothing
     7 | grant.context = ["fs", "notes.write", "web.fetch"]
       |                                       ^^^^^^^^^^^
    hint: add it to [session], or grant less

    bailiwick.toml:8:25: context notes: asks for it, the ceiling holds notes.write
     8 | tool.t.grant.context = ["notes"]
       |                         ^^^^^^^
    hint: a tool holds at most what its skill holds: add it to the skill's `grant`
    "#);
    let witness = error.problems()[0].widening().unwrap();
    assert_eq!(witness.axis().as_str(), "context");
    assert_eq!(witness.at(), Some("fs"));
    assert_eq!((witness.wanted(), witness.held()), ("it", "fs.read"));
    assert_eq!(witness.origin().unwrap().to_string(), "bailiwick.toml:7");
    assert_eq!(error.code().as_str(), "E_SKILL_SCRIPT_POLICY_WIDENED");
}

#[test]
fn what_names_no_capability_is_refused_at_its_place() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
context = ["Notes", "fs.*", "a.b.c", "", "fs", "fs.read", "fs", 1]
[[skill]]
name = "x"
source = "user"
grant.context = "fs"
grant.contxt = []
tool.t.grant.contexts = []
"#), @r#"
    bailiwick.toml:3:12: `Notes` is not the name of a capability: write `namespace.member` or `namespace`
     3 | context = ["Notes", "fs.*", "a.b.c", "", "fs", "fs.read", "fs", 1]
       |            ^^^^^^^
    hint: for example `fs.read`, or `fs` for all of its members

    bailiwick.toml:3:21: `fs.*` is not the name of a capability: write `namespace.member` or `namespace`
     3 | context = ["Notes", "fs.*", "a.b.c", "", "fs", "fs.read", "fs", 1]
       |                     ^^^^^^
    hint: write `fs`: a namespace grants all of its members

    bailiwick.toml:3:29: `a.b.c` is not the name of a capability: write `namespace.member` or `namespace`
     3 | context = ["Notes", "fs.*", "a.b.c", "", "fs", "fs.read", "fs", 1]
       |                             ^^^^^^^
    hint: for example `fs.read`, or `fs` for all of its members

    bailiwick.toml:3:38: `` is not the name of a capability: write `namespace.member` or `namespace`
     3 | context = ["Notes", "fs.*", "a.b.c", "", "fs", "fs.read", "fs", 1]
       |                                      ^^
    hint: for example `fs.read`, or `fs` for all of its members

    bailiwick.toml:3:48: `fs.read` has no effect: `fs` (bailiwick.toml:3) covers it
     3 | context = ["Notes", "fs.*", "a.b.c", "", "fs", "fs.read", "fs", 1]
       |                                                ^^^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:3:59: this stands in the list already and has no effect
     3 | ", "", "fs", "fs.read", "fs", 1]
       |                         ^^^^

    bailiwick.toml:3:65: expected a text in quotes and found a value of type integer
     3 |  "fs", "fs.read", "fs", 1]
       |                         ^

    bailiwick.toml:7:17: expected a list of texts such as `["…"]` and found a value of type string
     7 | grant.context = "fs"
       |                 ^^^^

    bailiwick.toml:8:7: unknown key `contxt` in `skill[].grant`
     8 | grant.contxt = []
       |       ^^^^^^
    hint: did you mean `context`?

    bailiwick.toml:9:14: unknown key `contexts` in `skill[].tool.<tool>.grant`
     9 | tool.t.grant.contexts = []
       |              ^^^^^^^^
    hint: did you mean `context`?
    "#);
}

#[test]
fn a_flag_grants_one_capability_for_a_run() {
    let flags = cli(&["context=fs.read", "context=notes", "context=notes"]);
    let file = PolicyFile::built_in();
    file.ceiling(&flags).unwrap();
    file.check_context(&flags).unwrap();
    assert_eq!(
        context(&file, None, &flags),
        "fs.read (cli:context=fs.read), notes (cli:context=notes)"
    );
}

#[test]
fn with_a_file_a_flag_lies_inside_its_session() {
    let file = parse(GRANTED).unwrap();
    let inside = cli(&["context=clock", "context=fs.grep"]);
    file.ceiling(&inside).unwrap();
    assert_eq!(
        context(&file, Some("narrow"), &inside),
        "clock (cli:context=clock), fs.grep (cli:context=fs.grep), fs.read (bailiwick.toml:12)"
    );

    let file = parse("version = 1\nsession.context = [\"fs.read\"]\n").unwrap();
    for flag in ["context=fs", "context=notes"] {
        let flags = cli(&[flag]);
        let widened = file.ceiling(&flags).unwrap_err();
        assert_eq!(widened, file.check_context(&flags).unwrap_err());
        let origin = widened.witnesses()[0].origin().unwrap().to_string();
        assert_eq!(origin, format!("cli:{flag}"));
    }
    let error = SkillError::from(file.ceiling(&cli(&["context=fs"])).unwrap_err());
    assert_eq!(error.code().as_str(), "E_SKILL_SCRIPT_POLICY_WIDENED");
    assert_eq!(error.details()["axis"], "context");
    let aloud = format!("{error}\n  hint: {}", error.hint().unwrap_or_default());
    insta::assert_snapshot!(aloud, @"
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: context fs: asks for it, the ceiling holds fs.read
      hint: widen `context` in [session] of bailiwick.toml, or ask for less
    ");
}

#[test]
fn a_flag_of_context_is_refused_together_with_the_others() {
    let file = parse("version = 1").unwrap();
    let widened = file
        .ceiling(&cli(&["read=/srv", "context=fs"]))
        .unwrap_err();
    let axes = widened.witnesses().iter().map(|w| w.axis().as_str());
    assert_eq!(axes.collect::<Vec<_>>(), ["fs", "context"]);
}

#[test]
fn a_script_is_granted_nothing_of_context() {
    let file = parse(GRANTED).unwrap();
    let grants = file.grants_for(file.skills().first(), None, &CliGrants::none());
    let request = file.request(&grants, file.limits());
    let permissive = SandboxPolicy::deny_all()
        .with_limits(file.session_policy().limits().clone())
        .with_syscalls(file.syscalls());
    assert!(derive(&permissive, &request).is_ok());
}

#[test]
fn without_a_file_the_limits_are_the_defaults() {
    let file = PolicyFile::built_in();
    assert_eq!(file.isolate_limits(), IsolateLimits::default());
    assert_eq!(file.isolate_limits_for(None), IsolateLimits::default());
    let file = parse("version = 1\n[limits.isolate]\n").unwrap();
    assert_eq!(file.isolate_limits(), IsolateLimits::default());
}

#[test]
fn a_skill_lowers_what_the_file_raised() {
    let text = r#"version = 1
[limits.isolate]
memory = "512MiB"
fuel = 1000
[[skill]]
name = "x"
source = "user"
limits.isolate.memory = "128MiB"
limits.isolate.host_calls = 8
"#;
    let file = parse(text).unwrap();
    assert_eq!(file.isolate_limits().memory(), 512 << 20);
    assert_eq!(file.isolate_limits_for(None).memory(), 512 << 20);
    let held = file.isolate_limits_for(file.skills().first());
    insta::assert_snapshot!(held, @"fuel 1000, memory 128MiB, stack 512KiB, host_calls 8, host_calls_concurrent 8, host_call_bytes 1MiB, result 10MiB, log_events 1000, log_bytes 8KiB, table 10000, json_depth 64, json_nodes 100000");
}

/// How an axis is written with an amount.
fn written(axis: IsolateAxis, amount: u64) -> String {
    let shown = axis.show(amount);
    let quoted = shown.contains(|c: char| c.is_ascii_alphabetic());
    if quoted { format!("{shown:?}") } else { shown }
}

#[test]
fn no_skill_goes_above_the_file() {
    for axis in IsolateAxis::ALL {
        let file = |ceiling: u64, own: u64| {
            let (ceiling, own) = (written(axis, ceiling), written(axis, own));
            parse(&format!(
                "version = 1\nlimits.isolate.{axis} = {ceiling}\n[[skill]]\nname = \"x\"\nsource = \"user\"\nlimits.isolate.{axis} = {own}\n"
            ))
        };
        let least = axis.least();
        let same = file(least, least).unwrap();
        let held = same.isolate_limits_for(same.skills().first());
        assert_eq!(held.amount(axis), least, "{axis}");
        let error = file(least, least + 1).unwrap_err();
        assert_eq!(error.code().as_str(), "E_SKILL_SCRIPT_POLICY_WIDENED");
        let witness = error.problems()[0].widening().unwrap();
        assert_eq!(witness.axis().as_str(), format!("isolate.{axis}"));
        assert_eq!(witness.wanted(), axis.show(least + 1));
        assert_eq!(witness.held(), axis.show(least));
        assert_eq!(witness.origin().unwrap().to_string(), "bailiwick.toml:6");
    }
}

#[test]
fn a_limit_out_of_its_bounds_is_refused_wherever_it_stands() {
    for axis in IsolateAxis::ALL {
        let below = axis.least().checked_sub(1);
        for amount in [below, Some(axis.most() + 1)].into_iter().flatten() {
            let key = format!("limits.isolate.{axis} = {}\n", written(axis, amount));
            let in_skill =
                format!("version = 1\n[[skill]]\nname = \"x\"\nsource = \"user\"\n{key}");
            for text in [format!("version = 1\n{key}"), in_skill] {
                let error = refused(&text);
                let message = error.problems()[0].message();
                assert!(message.starts_with(&format!("`{axis}` of ")), "{message}");
                assert_eq!(error.code().as_str(), "E_INVALID_SKILLS_CONFIG");
            }
        }
    }
}

#[test]
fn wrong_limits_are_refused_at_their_place() {
    insta::assert_snapshot!(wrong(r#"version = 1
[limits.isolate]
fuel = "of"
memory = 64
stack = "1MiB"
host_calls = -1
host_call_bytes = "1MB"
log_events = 1.5
memroy = "1MiB"
cpu = "1s"
[[skill]]
name = "x"
source = "user"
limits.isolate.fuel = true
limits.isolate.memory = "128MiB"
limits.isolate.jsondepth = 1
[[skill]]
name = "y"
source = "user"
limits.isolate = 5
"#), @r#"
    bailiwick.toml:3:8: `of` is neither `off` nor a number
     3 | fuel = "of"
       |        ^^^^
    hint: write `"off"`, or a whole number without quotes

    bailiwick.toml:4:10: expected a text in quotes and found a value of type integer
     4 | memory = 64
       |          ^^

    bailiwick.toml:5:9: `stack` of 1MiB is above 512KiB: only up to there is too deep a recursion sure to end in a `RangeError`
     5 | stack = "1MiB"
       |         ^^^^^^
    hint: write `64KiB` to `512KiB`

    bailiwick.toml:6:14: expected a whole number without a unit and found a value of type integer
     6 | host_calls = -1
       |              ^^

    bailiwick.toml:7:19: `1MB` has the unknown unit `MB`: the units are `B`, `KiB`, `MiB`, `GiB`, `TiB`
     7 | host_call_bytes = "1MB"
       |                   ^^^^^

    bailiwick.toml:8:14: expected a whole number without a unit and found a value of type float
     8 | log_events = 1.5
       |              ^^^

    bailiwick.toml:9:1: unknown key `memroy` in `limits.isolate`
     9 | memroy = "1MiB"
       | ^^^^^^
    hint: did you mean `memory`?

    bailiwick.toml:10:1: unknown key `cpu` in `limits.isolate`
     10 | cpu = "1s"
        | ^^^
    hint: did you mean `limits.cpu`?

    bailiwick.toml:14:23: expected `"off"` or a whole number and found a value of type boolean
     14 | limits.isolate.fuel = true
        |                       ^^^^

    bailiwick.toml:15:25: isolate.memory: asks for 128MiB, the ceiling holds 64MiB
     15 | limits.isolate.memory = "128MiB"
        |                         ^^^^^^^^
    hint: raise it in [limits.isolate], or ask for less

    bailiwick.toml:16:16: unknown key `jsondepth` in `skill[].limits.isolate`
     16 | limits.isolate.jsondepth = 1
        |                ^^^^^^^^^
    hint: did you mean `json_depth`?

    bailiwick.toml:20:8: `isolate` is a table and no value
     20 | limits.isolate = 5
        |        ^^^^^^^
    "#);
}

#[test]
fn fuel_above_every_number_is_no_way_to_turn_it_off() {
    let error = refused("version = 1\nlimits.isolate.fuel = 18446744073709551615\n");
    assert!(!error.problems().is_empty());
    let text = "version = 1\nlimits.isolate.fuel = 10\n[[skill]]\nname = \"x\"\nsource = \"user\"\nlimits.isolate.fuel = \"off\"\n";
    insta::assert_snapshot!(wrong(text), @r#"
    bailiwick.toml:6:23: isolate.fuel: asks for off, the ceiling holds 10
     6 | limits.isolate.fuel = "off"
       |                       ^^^^^
    hint: raise it in [limits.isolate], or ask for less
    "#);
}

#[test]
fn more_concurrent_calls_than_calls_can_never_be_reached() {
    let file = |lines: &str| parse(&format!("version = 1\n[limits.isolate]\n{lines}"));
    insta::assert_snapshot!(file("host_calls = 5\nhost_calls_concurrent = 6\n").unwrap_err(), @"
    bailiwick.toml:4:25: `host_calls_concurrent` of 6 can never be reached: `host_calls` allows 5
     4 | host_calls_concurrent = 6
       |                         ^
    hint: raise `host_calls`, or remove this
    ");
    let limits = file("host_calls = 5\n").unwrap().isolate_limits();
    assert_eq!(
        (limits.host_calls(), limits.host_calls_concurrent()),
        (5, 5)
    );
    let limits = file("host_calls = 0\n").unwrap().isolate_limits();
    assert_eq!(
        (limits.host_calls(), limits.host_calls_concurrent()),
        (0, 1)
    );

    let text = "version = 1\n[[skill]]\nname = \"x\"\nsource = \"user\"\nlimits.isolate.host_calls = 3\nlimits.isolate.host_calls_concurrent = 4\n";
    insta::assert_snapshot!(wrong(text), @"
    bailiwick.toml:6:40: `host_calls_concurrent` of 4 can never be reached: `host_calls` allows 3
     6 | limits.isolate.host_calls_concurrent = 4
       |                                        ^
    hint: raise `host_calls`, or remove this
    ");
}

#[test]
fn the_page_about_the_file_lists_every_limit_with_its_default() {
    let page = include_str!("../../../../docs/policy.md");
    let (_, section) = page.split_once("\n## `[limits.isolate]`\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    for axis in IsolateAxis::ALL {
        let shown = written(axis, IsolateLimits::default().amount(axis));
        let default = shown.trim_matches('"');
        let bounds = [axis.least(), axis.most()].map(|bound| format!("`{}`", axis.show(bound)));
        let row = section
            .lines()
            .find(|line| line.starts_with(&format!("| `{axis}` |")))
            .unwrap_or_else(|| panic!("{axis}"));
        assert!(row.contains(&format!("| `{default}`")), "{row}");
        assert!(
            bounds.iter().all(|bound| row.contains(bound)),
            "{row}: {bounds:?}"
        );
    }
}
