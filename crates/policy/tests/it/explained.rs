//! What people read about a policy.

use bailiwick_policy::{
    Base, CliGrants, EffectivePolicy, HostPath, Origin, Rights, Surroundings, Verdict, Whose,
    derive,
};

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
    let hosts = text.replace("loopback", "api.example:443");
    let hosts = policy(&hosts, &[]);
    let answers = [
        with.explain_host("127.0.0.1", 8080),
        without.explain_host("localhost", 8080),
        bare.explain_host("::1", 8080),
        with.explain_host("api.example", 443),
        hosts.explain_host("api.example", 443),
        hosts.explain_host("api.example", 80),
        hosts.explain_host("127.0.0.1", 80),
        hosts.explain_host("a_b", 80),
        hosts.explain_host("2001:db8::1", 443),
    ];
    insta::assert_snapshot!(answers.map(|answer| answer.to_string()).join("\n"), @r#"
    connect 127.0.0.1:8080: allowed, held loopback by bailiwick.toml:20
    connect localhost:8080: denied, no rule grants any of it
    hint: add `grant.network = ["loopback"]` to the skill
    connect ::1:8080: denied, no rule grants any of it
    hint: add `network = ["loopback"]` to [session] and `grant.network = ["loopback"]` to the skill
    connect api.example:443: denied, held loopback by bailiwick.toml:20
    hint: add `network = ["api.example:443"]` to [session] and `grant.network = ["api.example:443"]` to the skill
    connect api.example:443: allowed, held api.example:443 by bailiwick.toml:20
    connect api.example:80: denied, held api.example:443 by bailiwick.toml:20
    hint: add `network = ["api.example:80"]` to [session] and `grant.network = ["api.example:80"]` to the skill
    connect 127.0.0.1:80: allowed, held api.example:443 by bailiwick.toml:20
    connect a_b:80: denied, held api.example:443 by bailiwick.toml:20
    hint: no grant can allow it: `a_b:80` is neither `loopback` nor `host:port`
    connect 2001:db8::1:443: denied, held api.example:443 by bailiwick.toml:20
    hint: add `network = ["[2001:db8::1]:443"]` to [session] and `grant.network = ["[2001:db8::1]:443"]` to the skill
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

fn around(base: Base) -> Surroundings {
    let program = path("/opt/python/bin/python3");
    Surroundings::new(base).with_place(
        program,
        Rights::READ_ONLY | Rights::EXEC,
        Origin::builtin("python3"),
    )
}

#[test]
fn what_every_run_has_is_allowed_by_the_base_and_not_by_a_grant() {
    let policy = policy(TEXT, &[]);
    let ask = |base, whose, at: &str, rights| {
        let answer = around(base).explain_path(&policy, &path(at), rights, whose);
        answer.to_string()
    };
    let (usr, minimal) = (Base::Usr, Base::Minimal);
    let (host, run) = (Whose::Host, Whose::Run);
    let answers = [
        ask(usr, host, "/usr/bin/python3.11", Rights::EXECUTE),
        ask(usr, host, "/usr/share/dict", Rights::READ_ONLY),
        ask(usr, host, "/usr/bin/python3.11", Rights::WRITE),
        ask(minimal, host, "/usr/bin/python3.11", Rights::READ),
        ask(minimal, host, "/opt/python/bin/python3", Rights::EXECUTE),
        ask(minimal, host, "/opt/python/bin", Rights::READ),
        ask(usr, host, "/dev/null", Rights::WRITE),
        ask(usr, run, "/skill/scripts/run.sh", Rights::READ),
        ask(usr, run, "/skill/scripts/run.sh", Rights::WRITE),
        ask(usr, run, "/tmp/new", Rights::WRITE),
        ask(usr, host, "/tmp", Rights::WRITE),
        ask(usr, host, "/home/ada/project/docs/a", Rights::READ),
    ];
    insta::assert_snapshot!(answers.join("\n"), @r#"
    read+exec /usr/bin/python3.11: allowed, held read+list+exec by the base `usr`
    read+list /usr/share/dict: allowed, held read+list+exec by the base `usr`
    write /usr/bin/python3.11: denied, no rule grants any of it
    hint: add `write = ["/usr/bin/python3.11"]` to [session] and `grant.write = ["/usr/bin/python3.11"]` to the skill
    read /usr/bin/python3.11: denied, no rule grants any of it
    hint: add `read = ["/usr/bin/python3.11"]` to [session] and `grant.read = ["/usr/bin/python3.11"]` to the skill
    read+exec /opt/python/bin/python3: allowed, held read+list+exec by builtin:python3
    read /opt/python/bin: denied, no rule grants any of it
    hint: add `read = ["/opt/python/bin"]` to [session] and `grant.read = ["/opt/python/bin"]` to the skill
    write /dev/null: allowed, held read+write by the base `usr`
    read /skill/scripts/run.sh: allowed, held read+list by the run's own space
    write /skill/scripts/run.sh: denied, no rule grants any of it
    hint: no grant can allow it: `/skill` belongs to the run itself and is made as it is
    write /tmp/new: allowed, held read+list+write+create+delete+truncate+refer+mksock by the run's own space
    write /tmp: allowed, held read+list+write+create+delete+truncate+refer+mksock by the run's own space
    read /home/ada/project/docs/a: allowed, held read+list by bailiwick.toml:18
    "#);
}

#[test]
fn what_this_machine_has_in_tmp_is_not_what_a_run_has_there() {
    let policy = policy(TEXT, &[]);
    let secret = path("/tmp/secret");
    let asked = |whose| around(Base::Usr).explain_path(&policy, &secret, Rights::READ, whose);
    assert!(asked(Whose::Run).allowed());
    assert_eq!(asked(Whose::Host).verdict(), Verdict::Denied);
    assert!(asked(Whose::Host).add().is_some());
}

#[test]
fn a_granted_folder_stands_over_the_base() {
    let text = "version = 1\n[session]\nread = [\"/usr/share\", \"/tmp/data\"]\n[[skill]]\nname = \"x\"\nsource = \"user\"\ngrant.read = [\"/usr/share\", \"/tmp/data\"]\n";
    let policy = policy(text, &[]);
    let allowed = |at: &str, rights| {
        around(Base::Usr)
            .explain_path(&policy, &path(at), rights, Whose::Run)
            .allowed()
    };
    assert!(allowed("/usr/share/a", Rights::READ));
    assert!(!allowed("/usr/share/a", Rights::EXEC));
    assert!(allowed("/usr/lib/a", Rights::EXEC));
    assert!(!allowed("/tmp/data/a", Rights::WRITE));
    assert!(allowed("/tmp/other", Rights::WRITE));
}

const NAMED: &str = r#"
version = 1
[session]
read = ["./data"]
write = ["./out"]
[[skill]]
name = "x"
source = "user"
grant.param_read = ["./data"]
grant.param_write = ["./out"]
"#;

#[test]
fn a_path_that_a_call_may_name_is_neither_denied_nor_allowed_to_every_run() {
    let file = parse(NAMED).unwrap();
    let around = around(Base::Usr).with_named(file.skills()[0].grants());
    let policy = policy(NAMED, &[]);
    let asked = |at: &str, rights| around.explain_path(&policy, &path(at), rights, Whose::Host);

    let answer = asked("/home/ada/project/data/essay.md", Rights::READ);
    assert_eq!(answer.verdict(), Verdict::AllowedWhenNamed);
    assert!(!answer.allowed());
    insta::assert_snapshot!(answer, @"read /home/ada/project/data/essay.md: allowed when a call names it (bailiwick.toml:9)");
    insta::assert_json_snapshot!(answer.to_json(), @r#"
    {
      "question": "read /home/ada/project/data/essay.md",
      "allowed": false,
      "verdict": "allowed_when_named",
      "held": "nothing",
      "rules": [
        "bailiwick.toml:9"
      ]
    }
    "#);

    let write = |at| asked(at, Rights::WRITE).verdict();
    assert_eq!(write("/home/ada/project/data/essay.md"), Verdict::Denied);
    assert_eq!(write("/home/ada/project/out/a"), Verdict::AllowedWhenNamed);
    assert_eq!(write("/home/ada/project/elsewhere"), Verdict::Denied);

    let grants = file.skills()[0].grants();
    let named = path("/home/ada/project/data/essay.md");
    let request = file.request(grants, file.limits());
    let request = grants.open(request, &named, bailiwick_policy::Access::Read);
    let opened = derive(&file.session_policy(), &request.unwrap()).unwrap();
    let answer = around.explain_path(&opened, &named, Rights::READ, Whose::Host);
    assert!(answer.allowed(), "{answer}");
}

#[test]
fn the_base_and_what_a_call_may_name_are_listed() {
    let file = parse(NAMED).unwrap();
    let around = |base| around(base).with_named(file.skills()[0].grants());
    insta::assert_snapshot!(around(Base::Usr), @"
    base         /usr, /bin, /sbin, /lib, /lib32, /lib64, /libx32: read+list+exec (the base `usr`)
                 /etc/ld.so.cache, /etc/alternatives, /etc/ssl/certs, /etc/localtime, /etc/mime.types: read+list (the base `usr`)
                 /dev/null, /dev/zero, /dev/full, /dev/random, /dev/urandom: read+write (the base `usr`)
                 /skill, /etc, /proc: read+list (the run's own space)
                 /run/rw, /tmp, /dev/shm: read+list+write+create+delete+truncate+refer+mksock (the run's own space)
                 /opt/python/bin/python3: read+list+exec (builtin:python3)
    when named   /home/ada/project/data: read+list (bailiwick.toml:9)
                 /home/ada/project/out: read+list+write+create+delete+truncate+refer (bailiwick.toml:10)
    ");
    insta::assert_snapshot!(around(Base::Minimal), @"
    base         /etc/ld.so.cache, /etc/alternatives, /etc/ssl/certs, /etc/localtime, /etc/mime.types: read+list (the base `minimal`)
                 /dev/null, /dev/zero, /dev/full, /dev/random, /dev/urandom: read+write (the base `minimal`)
                 /skill, /etc, /proc: read+list (the run's own space)
                 /run/rw, /tmp, /dev/shm: read+list+write+create+delete+truncate+refer+mksock (the run's own space)
                 /opt/python/bin/python3: read+list+exec (builtin:python3)
    when named   /home/ada/project/data: read+list (bailiwick.toml:9)
                 /home/ada/project/out: read+list+write+create+delete+truncate+refer (bailiwick.toml:10)
    ");
    let json = around(Base::Usr).to_json();
    assert_eq!(json["base"], "usr");
    assert_eq!(json["places"][0]["path"], "/usr");
    assert_eq!(json["places"][0]["rule"], "the base `usr`");
    assert_eq!(json["when_named"][0]["rule"], "bailiwick.toml:9");
}
