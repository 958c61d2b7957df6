//! What people read when their policy file is wrong.

use bailiwick_core::SkillError;

use crate::parse;

/// Shows everything that is wrong with a file.
fn wrong(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    insta::assert_snapshot!(wrong("version = 1\n\n[limits]\nwal = \"30s\"\nmemroy = \"1MiB\"\nthreads = 3\n"), @r#"
    bailiwick.toml:4:1: unknown key `wal` in `limits`
     4 | wal = "30s"
       | ^^^
    hint: did you mean `wall`?

    bailiwick.toml:5:1: unknown key `memroy` in `limits`
     5 | memroy = "1MiB"
       | ^^^^^^
    hint: did you mean `memory`?

    bailiwick.toml:6:1: unknown key `threads` in `limits`
     6 | threads = 3
       | ^^^^^^^
    hint: the keys here are wall, wall_default, cpu, memory, processes, files, file_size, workspace, inodes, output, flood, reply, isolate
    "#);
}

#[test]
fn a_key_in_the_wrong_table_names_the_right_one() {
    insta::assert_snapshot!(wrong("version = 1\nsyscalls = \"wide\"\n[[skill]]\nname = \"x\"\nsource = \"user\"\nread = []\n"), @r#"
    bailiwick.toml:2:1: unknown key `syscalls` at the top of the file
     2 | syscalls = "wide"
       | ^^^^^^^^
    hint: did you mean `sandbox.syscalls`?

    bailiwick.toml:6:1: unknown key `read` in [[skill]]
     6 | read = []
       | ^^^^
    hint: did you mean `grant.read`?
    "#);
}

#[test]
fn a_value_of_the_wrong_type_or_unit_is_shown_where_it_stands() {
    insta::assert_snapshot!(wrong(r#"version = 1
fail_on_nonzero_exit = "yes"
[limits]
wall = 30
memory = "256MB"
processes = "64"
files = -1
cpu = "0s"
output = "none"
[gate]
deadline = "never"
[session]
read = "./docs"
env = [1]
[sandbox]
base = "user"
require = ["memmory"]
"#), @r#"
    bailiwick.toml:2:24: expected `true` or `false` and found a value of type string
     2 | fail_on_nonzero_exit = "yes"
       |                        ^^^^^

    bailiwick.toml:4:8: expected a text in quotes and found a value of type integer
     4 | wall = 30
       |        ^^

    bailiwick.toml:5:10: `256MB` has the unknown unit `MB`: the units are `B`, `KiB`, `MiB`, `GiB`, `TiB`
     5 | memory = "256MB"
       |          ^^^^^^^

    bailiwick.toml:6:13: expected a whole number without a unit and found a value of type string
     6 | processes = "64"
       |             ^^^^

    bailiwick.toml:7:9: expected a whole number without a unit and found a value of type integer
     7 | files = -1
       |         ^^

    bailiwick.toml:8:7: `cpu` of nothing would end every run at once
     8 | cpu = "0s"
       |       ^^^^

    bailiwick.toml:9:10: `none` is not a size such as `256MiB`
     9 | output = "none"
       |          ^^^^^^

    bailiwick.toml:11:12: `never` is not a duration such as `30s` or `250ms`
     11 | deadline = "never"
        |            ^^^^^^^

    bailiwick.toml:13:8: expected a list of texts such as `["…"]` and found a value of type string
     13 | read = "./docs"
        |        ^^^^^^^^

    bailiwick.toml:14:8: expected a text in quotes and found a value of type integer
     14 | env = [1]
        |        ^

    bailiwick.toml:16:8: `user` is none of `usr`, `minimal`
     16 | base = "user"
        |        ^^^^^^
    hint: did you mean `usr`?

    bailiwick.toml:17:12: `memmory` is none of `fs-data`, `fs-metadata-write`, `fs-metadata-read`, `ip-network`, `unix-ipc`, `processes`, `tuning`, `kernel-surface`, `privilege`, `env-and-descriptors`, `kill-all`, `memory`, `process-count`, `cpu`, `disk`
     17 | require = ["memmory"]
        |            ^^^^^^^^^
    hint: did you mean `memory`?
    "#);
}

#[test]
fn tables_and_values_are_not_mixed_up() {
    insta::assert_snapshot!(wrong("version = 1\nlimits = 3\nskill = { name = \"x\" }\n[session.read]\n[skills]\n"), @r#"
    bailiwick.toml:2:1: `limits` is a table and no value
     2 | limits = 3
       | ^^^^^^

    bailiwick.toml:3:1: `skill` is a list of tables
     3 | skill = { name = "x" }
       | ^^^^^
    hint: start each one with `[[skill]]`

    bailiwick.toml:4:1: expected a list of texts such as `["…"]` and found a value of type table
     4 | [session.read]
       | ^^^^^^^^^^^^^^

    bailiwick.toml:5:2: unknown key `skills` at the top of the file
     5 | [skills]
       |  ^^^^^^
    hint: did you mean `skill`?
    "#);
}

#[test]
fn a_default_above_its_maximum_is_refused() {
    insta::assert_snapshot!(wrong("version = 1\n[limits]\nwall = \"5s\"\nwall_default = \"6s\"\n"), @r#"
    bailiwick.toml:4:16: the default of 6s is above the maximum of 5s
     4 | wall_default = "6s"
       |                ^^^^
    hint: raise `wall`, or lower `wall_default`
    "#);
    assert_eq!(
        parse("version = 1\nlimits.wall = \"5s\"")
            .unwrap()
            .wall_default()
            .as_secs(),
        5
    );
}

#[test]
fn the_version_is_required_and_known() {
    insta::assert_snapshot!(wrong("[limits]\nwall = \"5s\"\n"), @"
    bailiwick.toml:1:1: the file has no `version`
     1 | [limits]
       | ^
    hint: begin it with `version = 1`
    ");
    insta::assert_snapshot!(wrong("version = 2\n"), @"
    bailiwick.toml:1:11: version 2 is not known
     1 | version = 2
       |           ^
    hint: this build reads `version = 1`
    ");
    insta::assert_snapshot!(wrong("version = \"1\"\n"), @r#"
    bailiwick.toml:1:11: expected a whole number without a unit and found a value of type string
     1 | version = "1"
       |           ^^^
    "#);
}

#[test]
fn text_that_is_not_toml_is_shown_where_it_breaks() {
    insta::assert_snapshot!(wrong("version = 1\n[session\nread = [\"./docs\"]\n"), @"
    bailiwick.toml:2:9: this is not TOML: unclosed table, expected `]`
     2 | [session
       |         ^
    ");
    insta::assert_snapshot!(wrong("version = 1\nversion = 1\n"), @"
    bailiwick.toml:2:1: this is not TOML: duplicate key
     2 | version = 1
       | ^^^^^^^
    ");
}

#[test]
fn paths_have_no_patterns_and_no_hidden_meaning() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
read = ["./docs/*.md", "~/notes", "a/../b", "", "/proc", "/"]
"#), @r#"
    bailiwick.toml:3:9: `./docs/*.md` holds `*`: patterns are refused for files, even where that is a real name
     3 | read = ["./docs/*.md", "~/notes", "a/../b", "", "/proc", "/"]
       |         ^^^^^^^^^^^^^
    hint: name the folder above, `./docs`, which covers everything beneath it, or rename what is called so

    bailiwick.toml:3:24: the path `~/notes` starts with `~`, which only a shell expands
     3 | read = ["./docs/*.md", "~/notes", "a/../b", "", "/proc", "/"]
       |                        ^^^^^^^^^
    hint: write the absolute path

    bailiwick.toml:3:35: the path `a/../b` holds a `.` or `..` component, which only the file system can resolve
     3 | read = ["./docs/*.md", "~/notes", "a/../b", "", "/proc", "/"]
       |                                   ^^^^^^^^
    hint: `..` may only lead a path

    bailiwick.toml:3:45: the path `` is empty
     3 | read = ["./docs/*.md", "~/notes", "a/../b", "", "/proc", "/"]
       |                                             ^^
    hint: write `.` for the folder itself

    bailiwick.toml:3:49: `/proc` cannot be granted: `/proc` is an interface of the kernel
     3 | ~/notes", "a/../b", "", "/proc", "/"]
       |                         ^^^^^^^
    hint: name the folders that are needed

    bailiwick.toml:3:49: `/proc` has no effect: `/` (bailiwick.toml:3) covers it
     3 | ~/notes", "a/../b", "", "/proc", "/"]
       |                         ^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:3:58: `/` cannot be granted: `/proc` is an interface of the kernel
     3 |  "a/../b", "", "/proc", "/"]
       |                         ^^^
    hint: name the folders that are needed
    "#);
}

#[test]
fn a_rule_that_another_one_covers_is_refused() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
read = ["./docs", "./docs/api", "./out", "./docs"]
write = ["./out"]
env = ["TZ", "TZ"]
network = ["loopback", "loopback"]
[sandbox]
require = ["fs-data"]
"#), @r#"
    bailiwick.toml:3:19: `/home/ada/project/docs/api` has no effect: `/home/ada/project/docs` (bailiwick.toml:3) covers it
     3 | read = ["./docs", "./docs/api", "./out", "./docs"]
       |                   ^^^^^^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:3:33: `/home/ada/project/out` has no effect: `/home/ada/project/out` (bailiwick.toml:4) covers it
     3 | read = ["./docs", "./docs/api", "./out", "./docs"]
       |                                 ^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:3:42: `/home/ada/project/docs` has no effect: `/home/ada/project/docs` (bailiwick.toml:3) covers it
     3 | read = ["./docs", "./docs/api", "./out", "./docs"]
       |                                          ^^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:5:14: this stands in the list already and has no effect
     5 | env = ["TZ", "TZ"]
       |              ^^^^

    bailiwick.toml:6:24: this stands in the list already and has no effect
     6 | network = ["loopback", "loopback"]
       |                        ^^^^^^^^^^

    bailiwick.toml:8:12: `fs-data` is required always, so this has no effect
     8 | require = ["fs-data"]
       |            ^^^^^^^^^
    hint: remove it
    "#);
}

#[test]
fn names_that_inject_code_are_refused_with_the_reason() {
    insta::assert_snapshot!(wrong("version = 1\n[session]\nenv = [\"LD_PRELOAD\", \"http_proxy\", \"A-B\"]\n"), @r#"
    bailiwick.toml:3:8: `LD_PRELOAD` cannot be granted: the dynamic loader would load code from it
     3 | env = ["LD_PRELOAD", "http_proxy", "A-B"]
       |        ^^^^^^^^^^^^

    bailiwick.toml:3:22: `http_proxy` cannot be granted: traffic would go where it says; network grants set it
     3 | env = ["LD_PRELOAD", "http_proxy", "A-B"]
       |                      ^^^^^^^^^^^^

    bailiwick.toml:3:36: `A-B` is not a name: letters, digits and `_`, not starting with a digit, at most 128
     3 | env = ["LD_PRELOAD", "http_proxy", "A-B"]
       |                                    ^^^^^
    "#);
}

#[test]
fn a_host_that_nobody_could_reach_or_that_another_covers_is_refused() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
network = ["*.example:443", "loopback", "a.example:443", "224.0.0.1:80"]
"#), @r#"
    bailiwick.toml:3:29: `loopback` has no effect: `*.example:443` (bailiwick.toml:3) covers it
     3 | network = ["*.example:443", "loopback", "a.example:443", "224.0.0.1:80"]
       |                             ^^^^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:3:41: `a.example:443` has no effect: `*.example:443` (bailiwick.toml:3) covers it
     3 | network = ["*.example:443", "loopback", "a.example:443", "224.0.0.1:80"]
       |                                         ^^^^^^^^^^^^^^^
    hint: remove it, or the one that covers it

    bailiwick.toml:3:58: `224.0.0.1:80` cannot be granted: it is the address of a group
     3 | back", "a.example:443", "224.0.0.1:80"]
       |                         ^^^^^^^^^^^^^^
    hint: name the address of one host
    "#);
}

#[test]
fn what_this_build_cannot_enforce_is_refused_by_name() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
network = ["api.example:443", "internet"]
fetch = ["api.example"]
[sandbox]
audit = false
[[skill]]
name = "x"
source = "user"
allowed_tools = "narrow"
[credential.github]
env = "GITHUB_TOKEN"
"#), @r#"
    bailiwick.toml:3:31: `internet` is neither `loopback` nor `host:port`
     3 | network = ["api.example:443", "internet"]
       |                               ^^^^^^^^^^
    hint: write `loopback`, or a host with its port, such as `api.example:443`

    bailiwick.toml:4:1: `session.fetch` has no effect in this build: it needs `web.fetch`
     4 | fetch = ["api.example"]
       | ^^^^^
    hint: remove it: a rule that is not enforced is refused

    bailiwick.toml:6:1: `sandbox.audit` has no effect in this build: it needs a reader of the kernel's audit records
     6 | audit = false
       | ^^^^^
    hint: remove it: a rule that is not enforced is refused

    bailiwick.toml:10:1: `skill[].allowed_tools` has no effect in this build: it needs calls from one tool to another
     10 | allowed_tools = "narrow"
        | ^^^^^^^^^^^^^
    hint: remove it: a rule that is not enforced is refused

    bailiwick.toml:11:2: `credential` has no effect in this build: it needs `web.fetch`
     11 | [credential.github]
        |  ^^^^^^^^^^
    hint: remove it: a rule that is not enforced is refused
    "#);
}

#[test]
fn an_entry_says_which_copy_it_means() {
    insta::assert_snapshot!(wrong(r#"version = 1
[[skill]]
name = "a"
[[skill]]
name = "B"
source = "user"
[[skill]]
source = "usr"
[[skill]]
name = "c"
source = "project"
[[skill]]
name = "d"
digest = "sha256:00"
[[skill]]
name = "e"
source = "user"
[[skill]]
name = "e"
source = "user"
[[skill]]
name = "e"
source = "user"
digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"#), @r#"
    bailiwick.toml:2:1: a `[[skill]]` says which copy it means: `source` or `digest`
     2 | [[skill]]
       | ^^^^^^^^^
    hint: add `source = "user"`, `source = "bundled"`, a path, or `digest`

    bailiwick.toml:5:8: `B` is not a skill name: only lowercase letters, digits and hyphens are allowed
     5 | name = "B"
       |        ^^^

    bailiwick.toml:7:1: a `[[skill]]` needs `name`
     7 | [[skill]]
       | ^^^^^^^^^

    bailiwick.toml:8:10: `usr` is none of `user`, `bundled`, a path
     8 | source = "usr"
       |          ^^^^^
    hint: did you mean `user`?

    bailiwick.toml:11:10: a copy that comes with a project is granted by its digest alone
     11 | source = "project"
        |          ^^^^^^^^^
    hint: remove `source` and add `digest = "sha256:…"`

    bailiwick.toml:14:10: a digest is `sha256:` and 64 lowercase hexadecimal digits
     14 | digest = "sha256:00"
        |          ^^^^^^^^^^^

    bailiwick.toml:18:1: `e` is granted by bailiwick.toml:15 already
     18 | [[skill]]
        | ^^^^^^^^^

    bailiwick.toml:21:1: one entry of `e` is pinned and bailiwick.toml:15 is not, so the pin refuses nothing
     21 | [[skill]]
        | ^^^^^^^^^
    hint: pin both, or remove one

    bailiwick.toml:21:1: one entry of `e` is pinned and bailiwick.toml:18 is not, so the pin refuses nothing
     21 | [[skill]]
        | ^^^^^^^^^
    hint: pin both, or remove one
    "#);
}

const WIDENED: &str = r#"version = 1
[limits]
memory = "64MiB"
[session]
read = ["./docs"]
write = ["./out"]
[[skill]]
name = "x"
source = "user"
grant.read = ["./docs", "/etc"]
grant.param_write = ["./docs/new"]
grant.env = ["TOKEN"]
grant.network = ["loopback"]
limits.memory = "65MiB"
tool.t.grant.read = ["./out"]
tool.t.grant.param_write = ["./out"]
"#;

#[test]
fn a_grant_beyond_the_ceiling_is_shown_with_what_is_held() {
    insta::assert_snapshot!(wrong(WIDENED), @r#"
    bailiwick.toml:10:25: fs /etc: asks for read+list, the ceiling holds nothing
     10 | grant.read = ["./docs", "/etc"]
        |                         ^^^^^^
    hint: add it to [session], or grant less

    bailiwick.toml:11:22: fs /home/ada/project/docs/new: asks for read+list+write+create+delete+truncate+refer, the ceiling holds read+list
     11 | grant.param_write = ["./docs/new"]
        |                      ^^^^^^^^^^^^
    hint: add it to [session], or grant less

    bailiwick.toml:12:14: env TOKEN: asks for it, the ceiling holds nothing
     12 | grant.env = ["TOKEN"]
        |              ^^^^^^^
    hint: add it to [session], or grant less

    bailiwick.toml:13:17: net: asks for loopback, the ceiling holds none
     13 | grant.network = ["loopback"]
        |                 ^^^^^^^^^^^^
    hint: add it to [session], or grant less

    bailiwick.toml:14:17: memory: asks for 65MiB, the ceiling holds 64MiB
     14 | limits.memory = "65MiB"
        |                 ^^^^^^^
    hint: raise it in [limits], or ask for less

    bailiwick.toml:15:22: fs /home/ada/project/out: asks for read+list, the ceiling holds nothing
     15 | tool.t.grant.read = ["./out"]
        |                      ^^^^^^^
    hint: a tool holds at most what its skill holds: add it to the skill's `grant`

    bailiwick.toml:16:29: fs /home/ada/project/out: asks for read+list+write+create+delete+truncate+refer, the ceiling holds nothing
     16 | tool.t.grant.param_write = ["./out"]
        |                             ^^^^^^^
    hint: a tool holds at most what its skill holds: add it to the skill's `grant`
    "#);
}

#[test]
fn a_file_that_only_widens_has_the_code_of_a_widened_policy() {
    let wire = SkillError::from(parse(WIDENED).unwrap_err());
    assert_eq!(wire.code().as_str(), "E_SKILL_SCRIPT_POLICY_WIDENED");
    insta::assert_snapshot!(wire.model_text(), @"E_SKILL_SCRIPT_POLICY_WIDENED: bailiwick.toml:10:25: fs /etc: asks for read+list, the ceiling holds nothing (and 6 more)");
    insta::assert_json_snapshot!(wire.details(), @r#"
    {
      "file": "bailiwick.toml",
      "line": 10,
      "column": 25,
      "witness": {
        "axis": "fs",
        "at": "/etc",
        "wanted": "read+list",
        "held": "nothing",
        "origin": "bailiwick.toml:10"
      }
    }
    "#);

    let wire = SkillError::from(parse(&format!("{WIDENED}typo = 1")).unwrap_err());
    assert_eq!(wire.code().as_str(), "E_INVALID_SKILLS_CONFIG");
}

#[test]
fn interpreters_say_everything_and_cannot_be_rewritten_by_a_skill() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
write = ["/srv"]
[workspace]
dir = "/srv/work"
[interpreters.a]
argv = ["python3"]
[interpreters.B]
argv = []
read = []
exec = []
[interpreters.c]
argv = ["/srv/bin/c"]
read = ["/sys"]
exec = ["/srv/bin/d"]
[interpreters.d]
"#), @r#"
    bailiwick.toml:5:7: the folder of the workspaces lies inside `/srv`, which bailiwick.toml:3 makes writable
     5 | dir = "/srv/work"
       |       ^^^^^^^^^^^
    hint: move it, or grant less

    bailiwick.toml:6:15: `interpreters.a` needs `read`
     6 | [interpreters.a]
       |               ^
    hint: an empty list means nothing, and is allowed

    bailiwick.toml:6:15: `interpreters.a` needs `exec`
     6 | [interpreters.a]
       |               ^
    hint: an empty list means nothing, and is allowed

    bailiwick.toml:7:9: `python3` is a name, and a program is a path
     7 | argv = ["python3"]
       |         ^^^^^^^^^
    hint: write its absolute path: nothing is searched

    bailiwick.toml:8:15: `B` is no name for an interpreter
     8 | [interpreters.B]
       |               ^
    hint: use lower-case letters, digits, `.`, `-` and `_`

    bailiwick.toml:9:8: `argv` is empty: its first item is the program
     9 | argv = []
       |        ^^

    bailiwick.toml:13:9: `/srv/bin/c` lies inside `/srv`, which bailiwick.toml:3 makes writable
     13 | argv = ["/srv/bin/c"]
        |         ^^^^^^^^^^^^
    hint: a program must lie outside every writable grant

    bailiwick.toml:14:9: `/sys` cannot be granted: `/sys` is an interface of the kernel
     14 | read = ["/sys"]
        |         ^^^^^^
    hint: name the folders that are needed

    bailiwick.toml:15:9: `/srv/bin/d` lies inside `/srv`, which bailiwick.toml:3 makes writable
     15 | exec = ["/srv/bin/d"]
        |         ^^^^^^^^^^^^
    hint: a program must lie outside every writable grant

    bailiwick.toml:16:15: `interpreters.d` needs `argv`
     16 | [interpreters.d]
        |               ^
    hint: name the program by its absolute path

    bailiwick.toml:16:15: `interpreters.d` needs `read`
     16 | [interpreters.d]
        |               ^
    hint: an empty list means nothing, and is allowed

    bailiwick.toml:16:15: `interpreters.d` needs `exec`
     16 | [interpreters.d]
        |               ^
    hint: an empty list means nothing, and is allowed
    "#);
}

#[test]
fn a_tool_rule_that_says_nothing_is_refused() {
    insta::assert_snapshot!(wrong("version = 1\n[[skill]]\nname = \"x\"\nsource = \"user\"\n[skill.tool.t]\n[skill.tool.\"a b\"]\nask = \"sometimes\"\n"), @r#"
    bailiwick.toml:5:13: the rule for `t` says nothing
     5 | [skill.tool.t]
       |             ^

    bailiwick.toml:6:13: `a b` is not a tool name: only letters, digits, underscores and hyphens are allowed
     6 | [skill.tool."a b"]
       |             ^^^^^
    "#);
}

#[test]
fn a_folder_whose_name_looks_like_a_pattern_is_refused_with_the_way_round_it() {
    insta::assert_snapshot!(wrong(r#"version = 1
[session]
read = ["./docs/g[1]/a", "/[b]", "{c}"]
"#), @r#"
bailiwick.toml:3:9: `./docs/g[1]/a` holds `[`: patterns are refused for files, even where that is a real name
 3 | read = ["./docs/g[1]/a", "/[b]", "{c}"]
   |         ^^^^^^^^^^^^^^^
hint: name the folder above, `./docs`, which covers everything beneath it, or rename what is called so

bailiwick.toml:3:26: `/[b]` holds `[`: patterns are refused for files, even where that is a real name
 3 | read = ["./docs/g[1]/a", "/[b]", "{c}"]
   |                          ^^^^^^
hint: name a folder, or rename the one that is called so

bailiwick.toml:3:34: `{c}` holds `{`: patterns are refused for files, even where that is a real name
 3 | read = ["./docs/g[1]/a", "/[b]", "{c}"]
   |                                  ^^^^^
hint: name the folder above, `.`, which covers everything beneath it, or rename what is called so
"#);
}

#[test]
fn a_reply_that_has_no_room_for_its_note_is_refused() {
    insta::assert_snapshot!(wrong(r#"version = 1
[limits]
reply = "1023B"
[[skill]]
name = "x"
source = "user"
limits.reply = "1B"
"#), @r#"
bailiwick.toml:3:9: `reply` below 1KiB has no room for the note that says what was left out
 3 | reply = "1023B"
   |         ^^^^^^^
hint: write at least `1KiB`

bailiwick.toml:7:16: `reply` below 1KiB has no room for the note that says what was left out
 7 | limits.reply = "1B"
   |                ^^^^
hint: write at least `1KiB`
"#);
    assert!(parse("version = 1\nlimits.reply = \"1KiB\"\n").is_ok());
}
