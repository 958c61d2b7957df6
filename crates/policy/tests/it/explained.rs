//! What people read about a policy.

use bailiwick_policy::{CliGrants, EffectivePolicy, HostPath, Rights, derive};

use crate::{folder, parse};

const TEXT: &str = r#"
version = 1

[session]
read = ["./docs", "/srv/data"]
write = ["./out"]
env = ["GITHUB_TOKEN"]
network = ["loopback"]

[interpreters.tool]
argv = ["/usr/bin/tool", "-q"]
read = []
exec = []

[[skill]]
name = "release-notes"
source = "user"
grant.read = ["./docs"]
grant.write = ["./out/notes"]
grant.env = ["GITHUB_TOKEN"]
"#;

fn policy(text: &str, cli: &[&str]) -> EffectivePolicy {
    let file = parse(text).unwrap();
    let cli = CliGrants::parse(cli.iter().copied(), &folder()).unwrap();
    let session = file.ceiling(&cli).unwrap();
    let skill = file.skills().first();
    let grants = file.grants_for(skill, None, &cli);
    let mut request = file.request(&grants, &file.limits_for(skill));
    for interpreter in file.interpreters().values() {
        request = request.allow_exec(interpreter.program().clone(), interpreter.origin().clone());
    }
    derive(&session, &request).unwrap()
}

fn path(text: &str) -> HostPath {
    text.parse().unwrap()
}

#[test]
fn the_whole_policy_names_the_line_of_every_grant() {
    insta::assert_snapshot!(policy(TEXT, &[]).explain(), @"
    files        /home/ada/project/docs: read+list (bailiwick.toml:18)
                   inside /home/ada/project/docs (bailiwick.toml:5)
                 /home/ada/project/out/notes: read+list+write+create+delete+truncate+refer (bailiwick.toml:19)
                   inside /home/ada/project/out (bailiwick.toml:6)
    network      none
    unix         none
    programs     /usr/bin/tool (bailiwick.toml:10)
    environment  GITHUB_TOKEN (bailiwick.toml:20)
    syscalls     standard
    limits       wall 30s, cpu 10s, memory 256MiB, processes 64, files 256, file_size 64MiB, workspace 64MiB, inodes 4096, output 1MiB, flood 256MiB, reply 25KiB
    required     fs-data, fs-metadata-write, ip-network, unix-ipc, processes, tuning, kernel-surface, privilege, env-and-descriptors, kill-all, cpu
    ");
}

#[test]
fn a_policy_that_grants_nothing_says_so() {
    insta::assert_snapshot!(policy("version = 1", &[]).explain(), @"
    files        none beyond the run's own
    network      none
    unix         none
    programs     none
    environment  none
    syscalls     standard
    limits       wall 30s, cpu 10s, memory 256MiB, processes 64, files 256, file_size 64MiB, workspace 64MiB, inodes 4096, output 1MiB, flood 256MiB, reply 25KiB
    required     fs-data, fs-metadata-write, ip-network, unix-ipc, processes, tuning, kernel-surface, privilege, env-and-descriptors, kill-all, cpu
    ");
}

#[test]
fn the_whole_policy_is_json_too() {
    insta::assert_json_snapshot!(policy(TEXT, &[]).explain().to_json(), @r#"
    {
      "files": [
        {
          "path": "/home/ada/project/docs",
          "rights": [
            "read",
            "list"
          ],
          "rules": [
            "bailiwick.toml:18"
          ],
          "within": "/home/ada/project/docs",
          "ceiling": [
            "bailiwick.toml:5"
          ]
        },
        {
          "path": "/home/ada/project/out/notes",
          "rights": [
            "read",
            "list",
            "write",
            "create",
            "delete",
            "truncate",
            "refer"
          ],
          "rules": [
            "bailiwick.toml:19"
          ],
          "within": "/home/ada/project/out",
          "ceiling": [
            "bailiwick.toml:6"
          ]
        }
      ],
      "network": {
        "reach": "none",
        "rule": null
      },
      "unix": "none",
      "programs": [
        {
          "name": "/usr/bin/tool",
          "rule": "bailiwick.toml:10"
        }
      ],
      "environment": [
        {
          "name": "GITHUB_TOKEN",
          "rule": "bailiwick.toml:20"
        }
      ],
      "syscalls": "standard",
      "limits": {
        "wall": "30s",
        "cpu": "10s",
        "memory": "256MiB",
        "processes": 64,
        "files": 256,
        "file_size": "64MiB",
        "workspace": "64MiB",
        "inodes": 4096,
        "output": "1MiB",
        "flood": "256MiB",
        "reply": "25KiB"
      },
      "required": [
        "fs-data",
        "fs-metadata-write",
        "ip-network",
        "unix-ipc",
        "processes",
        "tuning",
        "kernel-surface",
        "privilege",
        "env-and-descriptors",
        "kill-all",
        "cpu"
      ]
    }
    "#);
}

#[test]
fn a_question_about_a_path_is_answered_by_the_rule_or_by_what_to_add() {
    let policy = policy(TEXT, &[]);
    let answers = [
        ("/home/ada/project/docs/a.md", Rights::READ),
        ("/home/ada/project/docs/a.md", Rights::READ_WRITE),
        ("/home/ada/project/out/a.md", Rights::WRITE),
        ("/srv/data/x", Rights::READ),
        ("/etc/passwd", Rights::READ),
        ("/home/ada/project/out/notes/a", Rights::EXEC),
        ("/proc/1/environ", Rights::READ),
        ("/usr/bin/tool", Rights::EXECUTE),
        ("/usr/bin/other", Rights::EXECUTE),
    ]
    .map(|(at, rights)| policy.explain_path(&path(at), rights).to_string());
    insta::assert_snapshot!(answers.join("\n"), @r#"
    read /home/ada/project/docs/a.md: allowed, held read+list by bailiwick.toml:18
    read+list+write+create+delete+truncate+refer /home/ada/project/docs/a.md: denied, held read+list by bailiwick.toml:18
    hint: add `write = ["/home/ada/project/docs/a.md"]` to [session] and `grant.write = ["/home/ada/project/docs/a.md"]` to the skill
    write /home/ada/project/out/a.md: denied, no rule grants any of it
    hint: add `grant.write = ["/home/ada/project/out/a.md"]` to the skill
    read /srv/data/x: denied, no rule grants any of it
    hint: add `grant.read = ["/srv/data/x"]` to the skill
    read /etc/passwd: denied, no rule grants any of it
    hint: add `read = ["/etc/passwd"]` to [session] and `grant.read = ["/etc/passwd"]` to the skill
    exec /home/ada/project/out/notes/a: denied, no rule grants any of it
    hint: no grant can allow it: no grant of files gives exec
    read /proc/1/environ: denied, no rule grants any of it
    hint: no grant can allow it: `/proc` is an interface of the kernel
    read+exec /usr/bin/tool: allowed, held read+exec by bailiwick.toml:10
    read+exec /usr/bin/other: denied, no rule grants any of it
    hint: no grant can allow it: no grant of files gives exec
    "#);
}

#[test]
fn a_question_about_a_host_is_answered_by_the_rule_or_by_what_to_add() {
    let text = TEXT.replace("grant.env", "grant.network = [\"loopback\"]\ngrant.env");
    let (with, without) = (policy(&text, &[]), policy(TEXT, &[]));
    let bare = policy("version = 1", &[]);
    let answers = [
        with.explain_host("127.0.0.1", 8080),
        without.explain_host("localhost", 8080),
        bare.explain_host("::1", 8080),
        with.explain_host("api.example", 443),
    ];
    insta::assert_snapshot!(answers.map(|answer| answer.to_string()).join("\n"), @r#"
    connect 127.0.0.1:8080: allowed, held loopback by bailiwick.toml:20
    connect localhost:8080: denied, no rule grants any of it
    hint: add `grant.network = ["loopback"]` to the skill
    connect ::1:8080: denied, no rule grants any of it
    hint: add `network = ["loopback"]` to [session] and `grant.network = ["loopback"]` to the skill
    connect api.example:443: denied, held loopback by bailiwick.toml:20
    hint: no grant can allow it: a script reaches other hosts only through a proxy, which this build lacks
    "#);
}

#[test]
fn what_the_answer_says_to_add_makes_the_answer_yes() {
    let docs = path("/srv/data/x");
    assert!(
        !policy(TEXT, &[])
            .explain_path(&docs, Rights::READ)
            .allowed()
    );
    let add = "grant.read = [\"./docs\"]";
    let granted = TEXT.replace(add, "grant.read = [\"./docs\", \"/srv/data/x\"]");
    assert!(
        policy(&granted, &[])
            .explain_path(&docs, Rights::READ)
            .allowed()
    );
}

#[test]
fn a_grant_of_the_command_line_is_shown_as_such() {
    let policy = policy(TEXT, &["read=/srv/data"]);
    let answer = policy.explain_path(&path("/srv/data/x"), Rights::READ);
    insta::assert_snapshot!(answer, @"read /srv/data/x: allowed, held read+list by cli:read=/srv/data");
}
