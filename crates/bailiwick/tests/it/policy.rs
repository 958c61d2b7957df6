//! Grants, pins and ceilings as a manager applies them.

use bailiwick::sandbox_policy::{
    CliGrants, HostPath, Limits, Origin, Rights, SandboxPolicy, SyscallProfile,
};
use bailiwick::{CallRequest, Code, Policy};
use serde_json::json;

use crate::bed::{allowing, in_memory, load, loaded, policy_file, script_skill, script_skill_with};

fn cli(flags: &[&str], folder: &std::path::Path) -> Policy {
    let folder: HostPath = folder.to_str().unwrap().parse().unwrap();
    Policy::built_in().with_cli_grants(CliGrants::parse(flags.iter().copied(), &folder).unwrap())
}

const FILE_PARAM: &str = "    params:\n      - name: path\n        type: file\n        description: A file.\n        required: true\n";

#[tokio::test(flavor = "multi_thread")]
async fn one_grant_changes_the_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::io::Write::write_all(
        &mut std::fs::File::create(folder.join("a.txt")).unwrap(),
        b"granted\n",
    )
    .unwrap();
    let call = |policy: Policy| {
        let folder = folder.clone();
        async move {
            let skill = script_skill_with("cat \"$1\"\n", FILE_PARAM);
            let manager = allowing()
                .policy(policy)
                .source(in_memory(skill))
                .build()
                .await
                .unwrap();
            load(&manager).await?;
            let request = CallRequest::new("demo.run", json!({ "path": "a.txt" })).cwd(&folder);
            let outcome = manager.call_with(request).await;
            manager.shutdown().await;
            Some(outcome.result)
        }
    };
    let Some(refused) = call(Policy::built_in()).await else {
        return;
    };
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::ScriptPolicyWidened);
    let hint = refused.hint().unwrap();
    assert!(
        hint.contains("--grant param_") && hint.contains("a.txt"),
        "{hint}"
    );
    for grant in ["param_read=.", "read=.", "param_write=a.txt"] {
        let allowed = call(cli(&[grant], &folder)).await.unwrap().unwrap();
        assert!(allowed.text().contains("granted"), "{grant}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_path_must_be_what_the_parameter_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    let skill = script_skill_with("cat \"$1\"\n", FILE_PARAM);
    let policy = cli(&["param_read=."], &folder);
    let Some(manager) = loaded(policy, skill).await else {
        return;
    };
    for (path, code) in [
        ("sub", Code::ArgumentsRejected),
        ("missing", Code::ArgumentsRejected),
        ("link", Code::ArgumentsRejected),
        ("../outside", Code::ScriptPolicyWidened),
        ("/etc/passwd", Code::ScriptPolicyWidened),
        ("-rf", Code::ArgumentsRejected),
    ] {
        let request = CallRequest::new("demo.run", json!({ "path": path })).cwd(&folder);
        assert_eq!(
            manager.call_with(request).await.result.unwrap_err().code(),
            code,
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_folder_that_is_replaced_is_found_again_and_a_link_in_its_place_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let inner = folder.join("docs");
    let fill = |text: &str| {
        std::fs::create_dir(&inner).unwrap();
        let mut file = std::fs::File::create(inner.join("f")).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    };
    let clear = || {
        std::fs::remove_file(inner.join("f")).unwrap();
        std::fs::remove_dir(&inner).unwrap();
    };
    fill("first");
    let text = format!(
        "version = 1\n[session]\nread = [\"{0}\"]\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\ngrant.read = [\"{0}/docs\"]\n",
        folder.display()
    );
    let outside = tempfile::tempdir().unwrap();
    let policy = policy_file(outside.path(), &text);
    let Some(manager) = loaded(
        policy,
        script_skill(&format!("cat {}/f\n", inner.display())),
    )
    .await
    else {
        return;
    };
    let said = || async {
        let outcome = manager.call("demo.run", json!({})).await;
        outcome.result.map(|response| response.text().into_owned())
    };
    assert!(said().await.unwrap().contains("first"));
    clear();
    fill("second");
    assert!(said().await.unwrap().contains("second"));
    clear();
    std::os::unix::fs::symlink("/etc", &inner).unwrap();
    let refused = said().await.unwrap_err();
    assert_ne!(
        refused.code(),
        Code::ScriptFailed,
        "nothing runs: {refused}"
    );
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_a_call_names_for_writing_is_made_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let skill = script_skill_with("echo written > \"$1\"\n", FILE_PARAM);
    let policy = cli(&["param_write=."], &folder);
    let Some(manager) = loaded(policy, skill).await else {
        return;
    };
    let request = CallRequest::new("demo.run", json!({ "path": "new.txt" })).cwd(&folder);
    manager.call_with(request).await.result.unwrap();
    let text =
        std::io::read_to_string(std::fs::File::open(folder.join("new.txt")).unwrap()).unwrap();
    assert_eq!(text, "written\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_digest_that_differs_refuses_the_skill() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = "0".repeat(64);
    let text = format!(
        "version = 1\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\ndigest = \"sha256:{zeros}\"\n"
    );
    let policy = policy_file(folder.path(), &text);
    let manager = allowing()
        .policy(policy)
        .source(in_memory(script_skill("true\n")))
        .build()
        .await
        .unwrap();
    assert_eq!(
        manager.load("demo").await.unwrap_err().code(),
        Code::DigestMismatch
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_beyond_the_session_are_refused_where_a_permissive_ceiling_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let root: HostPath = folder.to_str().unwrap().parse().unwrap();
    let file = policy_file(
        &folder
            .parent()
            .unwrap()
            .canonicalize()
            .unwrap()
            .join(folder.file_name().unwrap()),
        "version = 1\n",
    );
    let wide = file.with_cli_grants(CliGrants::parse(["read=."], &root).unwrap());
    let refused = allowing()
        .policy(wide)
        .source(in_memory(script_skill("true\n")))
        .build()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ScriptPolicyWidened);

    let wide = policy_file(&folder, "version = 1\n");
    let wide = wide.with_cli_grants(CliGrants::parse(["read=."], &root).unwrap());
    let reads = script_skill(&format!("ls {}\n", folder.display()));
    let ceiling = SandboxPolicy::deny_all()
        .with_syscalls(SyscallProfile::Wide)
        .with_limits(Limits::unlimited())
        .grant(root, Rights::READ_WRITE, Origin::Code);
    let manager = allowing()
        .dangerous()
        .permissive_script_policy(ceiling)
        .policy(wide)
        .source(in_memory(reads))
        .build()
        .await
        .unwrap();
    assert!(manager.dangers()[0].contains("permissive_script_policy"));
    if load(&manager).await.is_none() {
        return;
    }
    let outcome = manager.call("demo.run", json!({})).await;
    assert!(outcome.result.unwrap().text().contains("bailiwick.toml"));
    assert!(outcome.report.warnings[0].contains("permissive_script_policy"));
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_a_tool_that_the_skill_lacks_is_an_error_that_names_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\ntool.run_demo_gone.ask = \"always\"\n";
    let policy = policy_file(folder.path(), text);
    let manager = allowing()
        .policy(policy)
        .source(in_memory(script_skill("true\n")))
        .build()
        .await
        .unwrap();
    match manager.load("demo").await.unwrap_err() {
        error if error.code() == Code::ScriptSandboxUnavailable => {
            bailiwick_testkit::require_sandbox(Err(error));
        }
        error => {
            assert_eq!(error.code(), Code::InvalidSkillsConfig);
            assert!(
                error.hint().unwrap().contains("bailiwick.toml:5"),
                "{error:?}"
            );
        }
    }
}
