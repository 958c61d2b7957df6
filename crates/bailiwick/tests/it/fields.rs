//! No field of the policy file is inert: each test fails when its field is ignored.
//!
//! A limit is tried three times: a control under roomy limits that must not hit it, then with the
//! field in `[limits]`, then with the field in the skill's own limits.

use std::path::Path;
use std::time::Duration;

use bailiwick::sandbox::{Host, HostConfig, Layer};
use bailiwick::sandbox_policy::Ask;
use bailiwick::{Code, Decision, InMemorySkill, Outcome, Policy, SkillManager, gate_fn};
use serde_json::{Value, json};

use crate::bed::{allowing, in_memory, load, loaded, policy_file, script_skill};

/// One limit and the attack that it ends.
struct Limit {
    fields: [&'static str; 2],
    /// The field's key and the small value.
    small: (&'static str, &'static str),
    script: &'static str,
    /// Whether the outcome shows the small value.
    shows: fn(&Outcome) -> bool,
}

/// Small enough that controls are quick, and roomy enough that none of them hits a limit.
const ROOMY: &str = "wall = \"20s\"\nwall_default = \"20s\"\nmemory = \"512MiB\"\n";

const LIMITS: &[Limit] = &[
    Limit {
        fields: ["limits.cpu", "skill[].limits.cpu"],
        small: ("cpu", "1s"),
        script: "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done\n",
        shows: |outcome| hit(outcome, "cpu"),
    },
    Limit {
        fields: ["limits.file_size", "skill[].limits.file_size"],
        small: ("file_size", "64KiB"),
        script: "exec head -c 1000000 /dev/zero > out/f\n",
        shows: |outcome| hit(outcome, "file_size"),
    },
    Limit {
        fields: ["limits.files", "skill[].limits.files"],
        small: ("files", "17"),
        script: "ulimit -n\n",
        shows: |outcome| stdout(outcome) == "17\n",
    },
    Limit {
        fields: ["limits.flood", "skill[].limits.flood"],
        small: ("flood", "1MiB"),
        script: "head -c 20000000 /dev/zero\n",
        shows: |outcome| hit(outcome, "flood") || hit(outcome, "output"),
    },
    Limit {
        fields: ["limits.inodes", "skill[].limits.inodes"],
        small: ("inodes", "32"),
        script: "i=0; while [ $i -lt 100 ]; do i=$((i+1)); : > out/$i || exit 1; done; rm out/*\n",
        shows: |outcome| outcome.result.is_err(),
    },
    Limit {
        fields: ["limits.memory", "skill[].limits.memory"],
        small: ("memory", "16MiB"),
        script: "x=$(head -c 60000000 /dev/zero | tr '\\0' a); echo ${#x}\n",
        shows: |outcome| hit(outcome, "memory"),
    },
    Limit {
        fields: ["limits.output", "skill[].limits.output"],
        small: ("output", "1KiB"),
        script: "head -c 5000 /dev/zero\n",
        shows: |outcome| outcome.report.bytes == 1024 && outcome.report.dropped == 5000 - 1024,
    },
    Limit {
        fields: ["limits.processes", "skill[].limits.processes"],
        small: ("processes", "8"),
        // The survivors keep the tree at its ceiling until a watchdog has looked.
        script: "sh -c 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); sleep 1 & done; wait' || { sleep 1; exit 1; }\n",
        shows: |outcome| hit(outcome, "processes"),
    },
    Limit {
        fields: ["limits.reply", "skill[].limits.reply"],
        small: ("reply", "1KiB"),
        script: "head -c 5000 /dev/zero | tr '\\0' a\n",
        shows: |outcome| stdout(outcome).len() <= 1024 && outcome.report.bytes == 5000,
    },
    Limit {
        fields: ["limits.workspace", "skill[].limits.workspace"],
        small: ("workspace", "1MiB"),
        script: "head -c 3000000 /dev/zero > out/f || exit 1; rm out/f\n",
        shows: |outcome| hit(outcome, "workspace"),
    },
];

fn hit(outcome: &Outcome, axis: &str) -> bool {
    let error = outcome.result.as_ref().err();
    error.is_some_and(|error| error.code() == Code::ScriptLimit && error.details()["axis"] == axis)
}

fn stdout(outcome: &Outcome) -> String {
    let structured = outcome
        .result
        .as_ref()
        .ok()
        .and_then(|response| response.structured.as_ref());
    structured
        .and_then(|structured| structured["stdout"].as_str())
        .unwrap_or_default()
        .to_owned()
}

async fn run(script: &str, policy: Policy) -> Option<Outcome> {
    let manager = loaded(policy, script_skill(script)).await?;
    let outcome = manager.call("demo.run", json!({})).await;
    manager.shutdown().await;
    Some(outcome)
}

async fn try_limit(limit: &Limit) {
    let folder = tempfile::tempdir().unwrap();
    let (key, value) = limit.small;
    let value = if value.bytes().all(|b| b.is_ascii_digit()) {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    };
    let other = |line: &&str| !line.starts_with(&format!("{key} "));
    let roomy: Vec<_> = ROOMY.lines().filter(other).collect();
    let roomy = roomy.join("\n");
    let control = format!("version = 1\n[limits]\n{ROOMY}");
    let Some(control) = run(limit.script, policy_file(folder.path(), &control)).await else {
        return;
    };
    assert!(
        control.result.is_ok() && !(limit.shows)(&control),
        "{}: {control:?}",
        limit.fields[0]
    );
    let ceiling = format!("version = 1\n[limits]\n{roomy}\n{key} = {value}\n");
    let own = format!(
        "version = 1\n[limits]\n{ROOMY}[[skill]]\nname = \"demo\"\nsource = \"bundled\"\nlimits.{key} = {value}\n"
    );
    for (field, text) in limit.fields.into_iter().zip([ceiling, own]) {
        let limited = run(limit.script, policy_file(folder.path(), &text))
            .await
            .unwrap();
        assert!((limit.shows)(&limited), "{field} is ignored: {limited:?}");
    }
}

macro_rules! limit_tests {
    ($($name:ident: $index:literal),+ $(,)?) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            try_limit(&LIMITS[$index]).await;
        })+

        #[test]
        fn every_limit_of_the_table_is_tried() {
            assert_eq!([$($index),+].len(), LIMITS.len());
        }
    };
}

limit_tests! {
    a_cpu_limit_ends_a_loop: 0,
    a_file_size_limit_ends_a_big_file: 1,
    a_files_limit_is_the_programs_own: 2,
    a_flood_limit_ends_a_flood: 3,
    an_inodes_limit_ends_many_files: 4,
    a_memory_limit_ends_a_memory_bomb: 5,
    an_output_limit_cuts_what_is_kept: 6,
    a_processes_limit_ends_a_fork_bomb: 7,
    a_reply_limit_cuts_what_is_shown: 8,
    a_workspace_limit_ends_a_full_disk: 9,
}

// field: limits.wall, limits.wall_default, skill[].limits.wall
#[tokio::test(flavor = "multi_thread")]
async fn the_wall_limits_bound_what_a_call_may_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let entry = "[[skill]]\nname = \"demo\"\nsource = \"bundled\"\nlimits.wall = \"2s\"\n";
    for (text, maximum, default) in [
        (String::new(), 30.0, 10.0),
        (
            "[limits]\nwall = \"20s\"\nwall_default = \"5s\"\n".to_owned(),
            20.0,
            5.0,
        ),
        (entry.to_owned(), 2.0, 2.0),
    ] {
        let policy = policy_file(folder.path(), &format!("version = 1\n{text}"));
        let Some(manager) = loaded(policy, script_skill("sleep 100\n")).await else {
            return;
        };
        let schema = manager.tools().json_schema();
        let timeout = schema
            .pointer("/0/inputSchema/properties/timeout_seconds")
            .unwrap();
        let number = |name: &str| timeout[name].as_f64();
        assert_eq!(
            (number("maximum"), number("default")),
            (Some(maximum), Some(default)),
            "{text}"
        );
        manager.shutdown().await;
    }
}

// field: gate.deadline
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_deadline_ends_the_wait_for_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_file(folder.path(), "version = 1\n[gate]\ndeadline = \"50ms\"\n");
    let silent = gate_fn(|_| std::future::pending::<Decision>());
    let source = in_memory(script_skill("true\n"));
    let manager = SkillManager::builder()
        .gate(silent)
        .policy(policy)
        .source(source)
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let error = manager
        .call("demo.run", json!({}))
        .await
        .result
        .unwrap_err();
    assert_eq!(error.code(), Code::ScriptGateUnavailable);
    manager.shutdown().await;
}

// field: fail_on_nonzero_exit, skill[].fail_on_nonzero_exit
#[tokio::test(flavor = "multi_thread")]
async fn a_non_zero_exit_fails_unless_the_host_or_the_skills_entry_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |value: &str| {
        format!(
            "[[skill]]\nname = \"demo\"\nsource = \"bundled\"\nfail_on_nonzero_exit = {value}\n"
        )
    };
    for (text, fails) in [
        (String::new(), true),
        ("fail_on_nonzero_exit = false\n".to_owned(), false),
        (entry("false"), false),
        (
            format!("fail_on_nonzero_exit = false\n{}", entry("true")),
            true,
        ),
    ] {
        let policy = policy_file(folder.path(), &format!("version = 1\n{text}"));
        let Some(outcome) = run("exit 3\n", policy).await else {
            return;
        };
        assert_eq!(outcome.result.is_err(), fails, "{text}");
    }
}

// field: workspace.dir
#[tokio::test(flavor = "multi_thread")]
async fn the_workspace_folder_holds_the_copies() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = format!(
        "version = 1\n[workspace]\ndir = \"{}\"\n",
        kept.path().canonicalize().unwrap().display()
    );
    let source = in_memory(script_skill("true\n"));
    let policy = policy_file(folder.path(), &text);
    let manager = allowing()
        .policy(policy)
        .source(source)
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    assert!(kept.path().join("skills").is_dir());
    manager.shutdown().await;
}

// field: interpreters.<key>.argv, interpreters.<key>.read, interpreters.<key>.exec, sandbox.base
#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_has_the_flags_and_the_places_that_its_entry_gives_it() {
    let folder = tempfile::tempdir().unwrap();
    let load_with = |text: &str, script: &str| {
        let policy = policy_file(folder.path(), &format!("version = 1\n{text}"));
        let source = in_memory(script_skill(script));
        async move {
            let manager = allowing()
                .policy(policy)
                .source(source)
                .build()
                .await
                .unwrap();
            let loaded = manager.load("demo").await;
            let result = match loaded {
                Err(error) => Err(error),
                Ok(_) => manager.call("demo.run", json!({})).await.result,
            };
            manager.shutdown().await;
            result
        }
    };
    let entry = |argv: &str, read: &str, exec: &str| {
        format!("[interpreters.sh]\nargv = [{argv}]\nread = [{read}]\nexec = [{exec}]\n")
    };
    let script = "false; echo went on\n";
    let went_on = load_with(&entry("\"/bin/sh\"", "", ""), script).await;
    if went_on
        .as_ref()
        .is_err_and(|error| error.code() == Code::ScriptSandboxUnavailable)
    {
        bailiwick_testkit::require_sandbox(went_on.map(drop));
        return;
    }
    assert!(went_on.unwrap().text().contains("went on"));
    let stopped = load_with(&entry("\"/bin/sh\", \"-e\"", "", ""), script)
        .await
        .unwrap_err();
    assert_eq!(stopped.code(), Code::ScriptFailed);

    // A minimal base holds nothing but what the entry names: the loader, the C library, programs.
    let minimal = |exec: &str| {
        format!(
            "[sandbox]\nbase = \"minimal\"\n{}",
            entry("\"/bin/sh\"", "", exec)
        )
    };
    let nothing = load_with(&minimal(""), "true\n").await.unwrap_err();
    assert_eq!(nothing.code(), Code::InvalidSkillsConfig);
    let libraries = "\"/usr/lib\", \"/usr/lib64\"";
    load_with(&minimal(libraries), "true\n").await.unwrap();
    let without = load_with(&minimal(libraries), "date > /dev/null\n")
        .await
        .unwrap_err();
    assert_eq!(without.code(), Code::ScriptFailed);
    load_with(
        &minimal(&format!("{libraries}, \"/usr/bin\"")),
        "date > /dev/null\n",
    )
    .await
    .unwrap();

    let secret = tempfile::tempdir().unwrap();
    let place = secret.path().canonicalize().unwrap();
    std::io::Write::write_all(
        &mut std::fs::File::create(place.join("f")).unwrap(),
        b"readable",
    )
    .unwrap();
    open_to_all(&place);
    let reads = format!("cat {}/f\n", place.display());
    assert!(
        load_with(&entry("\"/bin/sh\"", "", ""), &reads)
            .await
            .is_err()
    );
    let granted = load_with(
        &entry("\"/bin/sh\"", &format!("\"{}\"", place.display()), ""),
        &reads,
    )
    .await
    .unwrap();
    assert!(granted.text().contains("readable"));
}

/// What an interpreter reads belongs to the system and is readable by every uid.
fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(folder, 0o755);
    set(&folder.join("f"), 0o644);
}

// field: sandbox.syscalls
#[tokio::test(flavor = "multi_thread")]
async fn the_profile_of_system_calls_decides_which_exist() {
    let folder = tempfile::tempdir().unwrap();
    let nice = "test \"$(nice -n 1 nice)\" != \"$(nice)\"\n";
    let pinned = "taskset 1 true\n";
    for (profile, script, works) in [
        ("strict", nice, false),
        ("standard", nice, true),
        ("standard", pinned, false),
        ("wide", pinned, true),
    ] {
        let text = format!("version = 1\n[sandbox]\nsyscalls = \"{profile}\"\n");
        let policy = policy_file(folder.path(), &text);
        let Some(outcome) = run(script, policy).await else {
            return;
        };
        assert_eq!(outcome.result.is_ok(), works, "{profile}: {outcome:?}");
    }
}

// field: sandbox.require
#[tokio::test(flavor = "multi_thread")]
async fn a_soft_class_that_is_required_refuses_where_nothing_closes_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let host = match Host::probe(HostConfig::shared_or(state.path().join("state"))) {
        Ok(host) => [Layer::CgroupMemory, Layer::Watchdog]
            .into_iter()
            .fold(host, Host::without),
        Err(error) => {
            bailiwick_testkit::require_sandbox(Err(error));
            return;
        }
    };
    for (text, loads) in [("", true), ("[sandbox]\nrequire = [\"memory\"]\n", false)] {
        let policy = policy_file(folder.path(), &format!("version = 1\n{text}"));
        let source = in_memory(script_skill("true\n"));
        let manager = allowing()
            .policy(policy)
            .sandbox_host(host.clone())
            .source(source)
            .build()
            .await
            .unwrap();
        let loaded = manager.load("demo").await;
        assert_eq!(loaded.is_ok(), loads, "{text}: {loaded:?}");
        if let Err(error) = loaded {
            assert_eq!(error.code(), Code::ScriptSandboxUnavailable);
        }
        manager.shutdown().await;
    }
}

// field: sandbox.cgroup
#[tokio::test(flavor = "multi_thread")]
async fn a_control_group_that_is_named_is_used_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[sandbox]\ncgroup = \"/sys/fs/cgroup/no/such/group\"\n";
    let policy = policy_file(folder.path(), text);
    let source = in_memory(script_skill("true\n"));
    let manager = allowing()
        .policy(policy)
        .source(source)
        .build()
        .await
        .unwrap();
    let error = manager.load("demo").await.unwrap_err();
    assert!(
        error.host_chain().contains("/sys/fs/cgroup/no/such/group"),
        "{error:?}"
    );
}

// field: skill[].tool.<tool>.ask
#[tokio::test(flavor = "multi_thread")]
async fn when_a_person_is_asked_is_what_the_tools_rule_says() {
    let folder = tempfile::tempdir().unwrap();
    for (rule, ask) in [
        ("", Ask::OncePerDigest),
        ("tool.run_demo_run.ask = \"always\"\n", Ask::Always),
        ("tool.run_demo_run.ask = \"never\"\n", Ask::Never),
    ] {
        let text = format!(
            "version = 1\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\ngrant.undeclared_scripts = true\n{rule}"
        );
        let policy = policy_file(folder.path(), &text);
        let Some(manager) = loaded(policy, script_skill("true\n")).await else {
            return;
        };
        assert_eq!(manager.ask("demo.run").unwrap(), ask);
        manager.shutdown().await;
    }
}

// field: skill[].grant.undeclared_scripts
#[tokio::test(flavor = "multi_thread")]
async fn undeclared_scripts_run_only_where_the_entry_grants_them() {
    let folder = tempfile::tempdir().unwrap();
    for (grant, code) in [("false", Some(Code::ScriptPolicyWidened)), ("true", None)] {
        let text = format!(
            "version = 1\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\nlimits.wall = \"9s\"\ngrant.undeclared_scripts = {grant}\n"
        );
        let policy = policy_file(folder.path(), &text);
        let skill: InMemorySkill = script_skill("true\n").file("scripts/other.sh", "echo ran\n");
        let Some(manager) = loaded(policy, skill).await else {
            return;
        };
        let request =
            bailiwick::CallRequest::new("demo", Value::Null).deadline(Duration::from_secs(9));
        let outcome = manager
            .call_script("demo", "scripts/other.sh", &[], request)
            .await;
        assert_eq!(
            outcome.result.err().map(|error| error.code()),
            code,
            "{grant}"
        );
        manager.shutdown().await;
    }
}
