//! Scripts through a manager: how a run ends, what is kept, what the gate sees.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick::{CallRequest, CancelToken, Code, Decision, Outcome, Policy, SkillManager, gate_fn};
use serde_json::{Value, json};

use crate::bed::{allowing, in_memory, load, loaded, policy_file, script_skill, script_skill_with};

/// Runs a shell text as the script of a skill that holds nothing.
async fn run(script: &str) -> Option<Outcome> {
    run_under(script, Policy::built_in()).await
}

async fn run_under(script: &str, policy: Policy) -> Option<Outcome> {
    let manager = loaded(policy, script_skill(script)).await?;
    let outcome = manager.call("run_demo_run", json!({})).await;
    manager.shutdown().await;
    Some(outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn launchers_that_wait_serve_the_calls_after_the_first_and_end_with_the_manager() {
    let manager = allowing()
        .source(in_memory(script_skill(
            "ls -A out; echo once > out/f; id -u\n",
        )))
        .warm_scripts(2)
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    for _ in 0..5 {
        let outcome = manager.call("demo.run", json!({})).await;
        assert!(outcome.report.confirmed);
        let response = outcome.result.unwrap();
        let said = response.structured.as_ref().unwrap()["stdout"].clone();
        assert_eq!(said.as_str().unwrap().lines().count(), 1, "{said}");
    }
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_honest_script_answers_with_both_streams_and_an_artifact() {
    let manager = allowing()
        .source(in_memory(script_skill(
            "echo out; echo err >&2; echo file > out/f.txt\n",
        )))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let outcome = manager.call("demo.run", json!({})).await;
    let response = outcome.result.unwrap();
    let structured = response.structured.as_ref().unwrap();
    assert_eq!(
        (structured["stdout"].as_str(), structured["stderr"].as_str()),
        (Some("out\n"), Some("err\n"))
    );
    let kept = manager
        .artifacts()
        .read(response.artifact.as_ref().unwrap(), 0, 100)
        .unwrap();
    assert_eq!(kept.len(), 8, "both streams are kept");
    let file = manager.artifacts().stat(&outcome.report.files[0]).unwrap();
    assert_eq!(
        (file.name.as_deref(), file.media_type.as_str(), file.size),
        (Some("f.txt"), "text/plain", 5)
    );
    assert!(
        response
            .text()
            .starts_with("run_demo_run: exit 0, 8 bytes, complete, artifact ")
    );
    assert!(outcome.report.confirmed && !outcome.report.sandbox.is_null());
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_exits_three_fails_with_its_exit_streams_and_artifact() {
    let Some(outcome) = run("echo partial; echo why >&2; exit 3\n").await else {
        return;
    };
    let error = outcome.result.unwrap_err();
    assert_eq!(error.code(), Code::ScriptFailed);
    assert_eq!(error.details()["exit"], 3);
    let output = error.details()["output"].as_str().unwrap();
    assert!(output.contains("partial") && output.contains("why"));
    assert_eq!(
        error.details()["artifact"].as_str(),
        outcome
            .report
            .artifact
            .as_ref()
            .map(bailiwick::ArtifactId::as_str)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_non_zero_exit_is_an_answer_where_the_policy_says_so_and_a_signal_never_is() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_file(folder.path(), "version = 1\nfail_on_nonzero_exit = false\n");
    let Some(outcome) = run_under("exit 3\n", policy.clone()).await else {
        return;
    };
    assert!(outcome.result.unwrap().text().contains("exit 3"));
    let outcome = run_under("kill -9 $$\n", policy).await.unwrap();
    assert_eq!(outcome.result.unwrap_err().code(), Code::ScriptFailed);
    assert_eq!(
        (outcome.report.exit, outcome.report.signal),
        (None, Some(9))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_the_policy_grants_are_reached_through_a_proxy_that_the_run_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[session]\nnetwork = [\"*.example:443\"]\n\
                [[skill]]\nname = \"demo\"\nsource = \"bundled\"\n\
                grant.network = [\"api.example:443\"]\n";
    let policy = policy_file(folder.path(), text);
    let Some(outcome) = run_under("echo \"$HTTP_PROXY\"\n", policy).await else {
        return;
    };
    let response = outcome.result.unwrap();
    let structured = response.structured.as_ref().unwrap();
    assert_eq!(structured["stdout"], "http://127.0.0.1:3128\n");
    assert_eq!(outcome.report.network["decisions"], json!([]));
    assert_eq!(outcome.report.denials, [Value::Null; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skills_own_setting_overrides_the_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\nfail_on_nonzero_exit = false\n";
    let Some(outcome) = run_under("exit 4\n", policy_file(folder.path(), text)).await else {
        return;
    };
    assert!(outcome.result.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_sees_the_final_argv_and_what_the_skill_holds() {
    let seen = Arc::new(Mutex::new(Value::Null));
    let gate = gate_fn({
        let seen = seen.clone();
        move |request| {
            *seen.lock().unwrap() = serde_json::to_value(&request).unwrap();
            async { Decision::deny("only looking") }
        }
    });
    let params = "    params:\n      - name: level\n        type: integer\n        description: How far.\n        flag: level\n";
    let skill = script_skill_with("true\n", params);
    let manager = SkillManager::builder()
        .gate(gate)
        .source(in_memory(skill))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let outcome = manager
        .call("demo.run", json!({ "level": -2, "timeout_seconds": 5 }))
        .await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::ScriptDenied);
    let seen = seen.lock().unwrap().clone();
    let argv: Vec<_> = seen["effects"]["argv"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(argv[1..], ["/skill/scripts/run.sh", "--level", "-2"]);
    assert_eq!(
        seen["arguments"],
        json!({ "level": -2 }),
        "the runtime's own parameter is stripped"
    );
    assert_eq!(seen["effects"]["grants"], json!([]));
    assert!(
        seen["provenance"]["digest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_script_is_dead_when_the_call_answers() {
    let manager = allowing()
        .source(in_memory(script_skill("echo started; sleep 1000\n")))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let cancel = CancelToken::new();
    let call = tokio::spawn({
        let (manager, request) = (
            manager.clone(),
            CallRequest::new("demo.run", json!({})).cancel(cancel.clone()),
        );
        async move { manager.call_with(request).await }
    });
    // However early the cancel comes, before the process exists or after, it must end the call.
    tokio::task::yield_now().await;
    cancel.cancel();
    let outcome = call.await.unwrap();
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
    assert!(outcome.report.confirmed);
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_while_the_gate_decides_starts_no_script() {
    let cancel = CancelToken::new();
    let gate = gate_fn({
        let cancel = cancel.clone();
        move |_| {
            cancel.cancel();
            async { Decision::allow() }
        }
    });
    let manager = SkillManager::builder()
        .gate(gate)
        .source(in_memory(script_skill("echo started\n")))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let request = CallRequest::new("demo.run", json!({})).cancel(cancel);
    let outcome = manager.call_with(request).await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
    assert_eq!((outcome.report.bytes, outcome.report.exit), (0, None));
    manager.shutdown().await;
}

/// The files of a revision are shared by all its runs, one after the other and side by side.
#[tokio::test(flavor = "multi_thread")]
async fn no_run_changes_what_another_sees_of_the_skill() {
    let look = "stat -c '%n %F %a %h %s %i %X %Y %Z' /skill /skill/* /skill/scripts/*; cat /skill/scripts/* /skill/*.*\n";
    let attack = "for base in /skill . /proc/self/cwd /proc/self/root/skill; do\n\
                  for file in $base/SKILL.md $base/scripts/look.sh; do\n\
                  echo x > $file; chmod 777 $file; touch $file; mv $file $file.old; ln $file $file.link; ln -sf x $file; rm -f $file\n\
                  done; mkdir $base/new; touch $base/new.md; rm -f $base/out; mv $base/scripts $base/gone; chmod 700 $base; done 2>/dev/null\n\
                  for place in out tmp; do echo x > $place/SKILL.md && chmod 600 $place/SKILL.md && mv $place/SKILL.md $place/moved && echo wrote; done\n";
    let sidecar = ["look", "attack"].map(|name| {
        format!("  - name: {name}\n    path: scripts/{name}.sh\n    description: Runs.\n    interpreter: sh\n")
    });
    let skill = bailiwick::InMemorySkill::new(
        "---\nname: demo\ndescription: For tests.\nversion: 1.0.0\n---\n",
    )
    .file("bailiwick.yaml", format!("scripts:\n{}", sidecar.concat()))
    .file("scripts/look.sh", look)
    .file("scripts/attack.sh", attack);
    let Some(manager) = loaded(Policy::built_in(), skill).await else {
        return;
    };
    let stdout = async |tool: &str| {
        let response = manager.call(tool, json!({})).await.result.unwrap();
        response.structured.unwrap()["stdout"].clone()
    };
    let before = stdout("demo.look").await;
    assert!(before.as_str().unwrap().contains("For tests."));
    for _ in 0..3 {
        let (attacked, beside) = tokio::join!(stdout("demo.attack"), stdout("demo.look"));
        assert_eq!(attacked, "wrote\nwrote\n", "scratch can be written");
        assert_eq!(beside, before);
        assert_eq!(stdout("demo.look").await, before);
    }
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_callers_deadline_only_shortens() {
    let manager = allowing()
        .source(in_memory(script_skill("echo started; sleep 1000\n")))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let request = CallRequest::new("demo.run", json!({})).deadline(Duration::from_millis(300));
    let outcome = manager.call_with(request).await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::ScriptTimeout);
    assert!(
        outcome.report.duration < Duration::from_secs(10),
        "the default deadline is 10 s"
    );
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stdin_is_what_the_caller_gives_and_otherwise_empty() {
    let manager = allowing()
        .source(in_memory(script_skill("cat; echo end\n")))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let empty = manager.call("demo.run", json!({})).await.result.unwrap();
    assert_eq!(empty.structured.unwrap()["stdout"], "end\n");
    let request = CallRequest::new("demo.run", json!({})).stdin(*b"given ");
    let given = manager.call_with(request).await.result.unwrap();
    assert_eq!(given.structured.unwrap()["stdout"], "given end\n");
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_variable_arrives_and_an_offered_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[session]\nenv = [\"WANTED\"]\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\ngrant.env = [\"WANTED\"]\n";
    let manager = allowing()
        .policy(policy_file(folder.path(), text))
        .env("WANTED", "yes")
        .env("OTHER", "no")
        .source(in_memory(script_skill("echo \"$WANTED$OTHER\"\n")))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let response = manager.call("demo.run", json!({})).await.result.unwrap();
    assert_eq!(response.structured.unwrap()["stdout"], "yes\n");
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unloaded_skills_files_go_with_its_last_call() {
    let folder = tempfile::tempdir().unwrap();
    let manager = allowing()
        .workspace(folder.path())
        .source(in_memory(script_skill("true\n")))
        .build()
        .await
        .unwrap();
    if load(&manager).await.is_none() {
        return;
    }
    let copies = || {
        let hosts = std::fs::read_dir(folder.path().join("skills"))
            .unwrap()
            .flatten();
        let hosts = hosts.filter(|entry| entry.file_type().unwrap().is_dir());
        hosts
            .flat_map(|host| std::fs::read_dir(host.path()).unwrap())
            .count()
    };
    assert_eq!(copies(), 1);
    manager.call("demo.run", json!({})).await.result.unwrap();
    manager.unload("demo").await.unwrap();
    assert_eq!(copies(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_scripts_need_their_grant_and_pass_arguments_verbatim() {
    let skill = || {
        bailiwick::InMemorySkill::new("---\nname: demo\ndescription: For tests.\n---\n")
            .file("scripts/echo.sh", "#!/bin/sh\nprintf '%s|' \"$@\"; cat\n")
            .file("scripts/tool", b"\x7fELF\x02\x01".to_vec())
    };
    let manager = allowing().source(in_memory(skill())).build().await.unwrap();
    manager.load("demo").await.unwrap();
    let request = || CallRequest::new("demo", json!({}));
    let args = ["--help".to_owned(), "a b".to_owned(), "$(id)".to_owned()];
    let refused = manager
        .call_script("demo", "scripts/echo.sh", &args, request())
        .await
        .result
        .unwrap_err();
    assert_eq!(refused.code(), Code::ScriptPolicyWidened);

    let here: bailiwick::sandbox_policy::HostPath = "/".parse().unwrap();
    let cli = bailiwick::sandbox_policy::CliGrants::parse(["undeclared_scripts"], &here).unwrap();
    let policy = Policy::built_in().with_cli_grants(cli);
    let Some(manager) = loaded(policy, skill()).await else {
        return;
    };
    let mut with_input = request();
    with_input.arguments = json!({ "stdin": "input" });
    let outcome = manager
        .call_script("demo", "scripts/echo.sh", &args, with_input)
        .await;
    assert_eq!(
        outcome.result.unwrap().structured.unwrap()["stdout"],
        "--help|a b|$(id)|input"
    );
    for (script, code) in [
        ("scripts/tool", Code::ScriptInterpreterUnknown),
        ("scripts/none.sh", Code::NotFound),
        ("SKILL.md", Code::NotFound),
        ("scripts/../SKILL.md", Code::SourcePathRejected),
    ] {
        let outcome = manager.call_script("demo", script, &[], request()).await;
        assert_eq!(outcome.result.unwrap_err().code(), code, "{script}");
    }
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_script_leaves_behind_costs_and_says_no_more_than_it_is() {
    let script = "cd out; i=0; while [ $i -lt 40 ]; do i=$((i+1)); truncate -s 60M sparse$i; done\n\
                  mkfifo pipe; ln -s /etc/passwd 'l\nnote: forged'; mkdir -p a/b; echo kept > a/b/kept.txt\n";
    let Some(outcome) = run(script).await else {
        return;
    };
    let report = outcome.report;
    assert_eq!(
        report.files.len(),
        2,
        "one sparse file fits the budget, and the small one: {report:?}"
    );
    assert!(
        report
            .warnings
            .iter()
            .all(|warning| !warning.contains('\n')),
        "{:?}",
        report.warnings
    );
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.contains("not a regular file"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_tool_file_never_runs_as_a_script() {
    let here: bailiwick::sandbox_policy::HostPath = "/".parse().unwrap();
    let cli = bailiwick::sandbox_policy::CliGrants::parse(["undeclared_scripts"], &here).unwrap();
    let skill = bailiwick::InMemorySkill::new(
        "---\nname: demo\ndescription: For tests.\ntools:\n  - peek\n---\n",
    )
    .file(
        "scripts/peek.js",
        "export const description = \"Peeks.\";\nexport const parameters = {};\nexport async function execute() {}\n",
    );
    let policy = Policy::built_in().with_cli_grants(cli);
    let Some(manager) = loaded(policy, skill).await else {
        return;
    };
    let request = CallRequest::new("demo", Value::Null);
    let outcome = manager
        .call_script("demo", "scripts/peek.js", &[], request)
        .await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::NotFound);
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_checked_at_load_is_refused_at_load() {
    let load = |sidecar: &str, policy: Policy| {
        let skill =
            bailiwick::InMemorySkill::new("---\nname: demo\ndescription: For tests.\n---\n")
                .file("bailiwick.yaml", sidecar.to_owned())
                .file("scripts/run.sh", "true\n");
        async move {
            let source = bailiwick::InMemorySource::new("memory").with(skill)?;
            let manager = allowing().policy(policy).source(source).build().await?;
            manager.load("demo").await.map(drop)
        }
    };
    let script = |interpreter: &str, path: &str| {
        format!(
            "scripts:\n  - name: run\n    path: {path}\n    description: Runs.\n    interpreter: {interpreter}\n"
        )
    };
    let unknown = load(&script("perl", "scripts/run.sh"), Policy::built_in())
        .await
        .unwrap_err();
    if unknown.code() == Code::ScriptSandboxUnavailable {
        bailiwick_testkit::require_sandbox(Err(unknown));
        return;
    }
    assert_eq!(unknown.code(), Code::ScriptInterpreterUnknown);
    assert_eq!(
        load(&script("sh", "scripts/gone.sh"), Policy::built_in())
            .await
            .unwrap_err()
            .code(),
        Code::ManifestInvalid
    );
    let folder = tempfile::tempdir().unwrap();
    let broken = "version = 1\n[sandbox]\nbase = \"minimal\"\n";
    let cannot_start = load(
        &script("sh", "scripts/run.sh"),
        policy_file(folder.path(), broken),
    )
    .await
    .unwrap_err();
    assert_eq!(
        cannot_start.code(),
        Code::InvalidSkillsConfig,
        "{cannot_start:?}"
    );
    load(&script("sh", "scripts/run.sh"), Policy::built_in())
        .await
        .unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the test replaces a program")]
#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_that_was_replaced_runs_nothing_and_is_named() {
    let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shell = programs.path().canonicalize().unwrap().join("shell");
    std::fs::copy("/bin/sh", &shell).unwrap();
    let text = format!(
        "version = 1\n[interpreters.sh]\nargv = [\"{}\"]\nread = []\nexec = []\n",
        shell.display()
    );
    let skill = script_skill("echo ran\n");
    let Some(manager) = loaded(policy_file(folder.path(), &text), skill).await else {
        return;
    };
    let ran = manager.call("run_demo_run", json!({})).await.result;
    assert_eq!(ran.unwrap().structured.unwrap()["stdout"], "ran\n");
    // The same bytes at the same path, and another file.
    let other = programs.path().join("other");
    std::fs::copy("/bin/sh", &other).unwrap();
    std::fs::rename(&other, &shell).unwrap();
    let outcome = manager.call("run_demo_run", json!({})).await;
    let refused = outcome.result.unwrap_err();
    assert_eq!(refused.code(), Code::ScriptInterpreterUnknown);
    assert!(refused.message().contains("shell"), "{refused}");
    manager.shutdown().await;
}
