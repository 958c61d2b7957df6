//! The scripts block: `interpreters: { sh: ['/bin/sh'] }`, a default of 1 s, a maximum of 3 s and
//! 1,000 bytes of output.

use std::time::Duration;

use bailiwick::core::TIMEOUT_PARAM;
use bailiwick::{
    Code, Decision, InMemorySkill, InMemorySource, Outcome, Policy, SkillManager, gate_fn,
};
use serde_json::{Value, json};

const POLICY: &str = r#"
version = 1
[limits]
wall = "3s"
wall_default = "1s"
output = "1000B"
[interpreters.sh]
argv = ["/bin/sh"]
read = []
exec = []
"#;

const SKILL: &str = "---\nname: seed\ndescription: The scripts of the seed.\n---\n";

const SCRIPTS: &str = "\
scripts:
  - name: print
    path: scripts/print.sh
    description: Prints some bytes.
    interpreter: sh
    params:
      - name: bytes
        type: integer
        description: How many.
        required: true
  - name: sleep
    path: scripts/sleep.sh
    description: Says that it started and sleeps for long.
    interpreter: sh
";

async fn manager() -> Option<(SkillManager, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("bailiwick.toml");
    std::io::Write::write_all(
        &mut std::fs::File::create(&policy).unwrap(),
        POLICY.as_bytes(),
    )
    .unwrap();
    let skill = InMemorySkill::new(SKILL)
        .file("bailiwick.yaml", SCRIPTS)
        .file(
            "scripts/print.sh",
            "head -c \"$1\" /dev/zero | tr '\\0' x\n",
        )
        .file("scripts/sleep.sh", "echo started\nsleep 1000\n");
    let manager = SkillManager::builder()
        .gate(gate_fn(|_| async { Decision::allow() }))
        .policy(Policy::from_file(policy).unwrap())
        .source(InMemorySource::new("seed").with(skill).unwrap())
        .build()
        .await
        .unwrap();
    match manager.load("seed").await {
        Err(error) if error.code() == Code::ScriptSandboxUnavailable => {
            bailiwick_testkit::require_sandbox(Err(error));
            None
        }
        loaded => {
            loaded.unwrap();
            Some((manager, folder))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_is_cut_at_a_thousand_bytes_and_not_before() {
    let Some((manager, _folder)) = manager().await else {
        return;
    };
    for (bytes, kept, dropped) in [(999, 999, 0), (1_000, 1_000, 0), (1_001, 1_000, 1)] {
        let Outcome { result, report, .. } = manager
            .call("run_seed_print", json!({ "bytes": bytes }))
            .await;
        let response = result.unwrap();
        assert_eq!(
            (report.bytes, report.dropped, report.truncated),
            (kept, dropped, dropped > 0),
            "{bytes}"
        );
        assert_eq!(
            response
                .text()
                .contains("[output truncated: 1 bytes dropped]"),
            dropped > 0
        );
    }
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_timeout_ends_after_the_default() {
    let Some((manager, _folder)) = manager().await else {
        return;
    };
    let outcome = manager.call("run_seed_sleep", json!({})).await;
    let error = outcome.result.unwrap_err();
    assert_eq!(error.code(), Code::ScriptTimeout);
    assert!(
        error.details()["output"]
            .as_str()
            .unwrap()
            .contains("started"),
        "partial output is kept"
    );
    assert!(outcome.report.confirmed && outcome.report.duration >= Duration::from_secs(1));
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_outside_one_to_three_seconds_is_rejected() {
    let Some((manager, _folder)) = manager().await else {
        return;
    };
    for (seconds, fits) in [
        (json!(0.9), false),
        (json!(1), true),
        (json!(3), true),
        (json!(3.1), false),
    ] {
        let mut arguments = json!({ "bytes": 1 });
        arguments[TIMEOUT_PARAM] = seconds;
        let error = manager.call("run_seed_print", arguments).await.result.err();
        assert_eq!(
            error.map(|error| error.code()),
            (!fits).then_some(Code::ArgumentsRejected)
        );
    }
    let schema = manager.tools().json_schema();
    let timeout = schema.as_array().unwrap()[0]
        .pointer("/inputSchema/properties/timeout_seconds")
        .unwrap();
    assert_eq!(
        timeout.pointer("/maximum").and_then(Value::as_f64),
        Some(3.0)
    );
    assert_eq!(
        timeout.pointer("/default").and_then(Value::as_f64),
        Some(1.0)
    );
    manager.shutdown().await;
}
