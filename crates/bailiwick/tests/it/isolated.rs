//! Isolated tools in a manager: loading, grants, gate, concurrency, cancellation.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bailiwick::core::Updates;
use bailiwick::host::Registry;
use bailiwick::{
    Builder, CallRequest, CancelToken, Code, Decision, Effects, Error, Guarded, InMemorySkill,
    Outcome, Policy, SkillManager, Tier, gate_fn,
};
use bailiwick_testkit::members::{MemberCounters, slow_member};
use serde_json::{Value, json};

use crate::bed::{allowing, in_memory, policy_file};

/// A skill `demo` with one tool module, `go`.
pub(crate) fn tool_skill(execute: &str) -> InMemorySkill {
    let source = format!(
        "export const description = \"For tests.\";\n\
         export const parameters = {{ type: \"object\", additionalProperties: true }};\n\
         export async function execute(args, context, options) {{\n{execute}\n}}\n"
    );
    module_skill(&source)
}

fn module_skill(source: &str) -> InMemorySkill {
    InMemorySkill::new(
        "---\nname: demo\ndescription: For tests.\nversion: 1.0.0\ntools:\n  - go\n---\n",
    )
    .file("scripts/go.js", source)
}

/// A tool module whose answer is one text.
pub(crate) fn text(expression: &str) -> InMemorySkill {
    tool_skill(&format!(
        "const text = await (async () => {expression})();\n\
         return {{ content: [{{ type: \"text\", text: String(text) }}] }};"
    ))
}

pub(crate) fn builder() -> Builder<Guarded> {
    allowing().engine_cache(bailiwick_testkit::private_folder("guests"))
}

async fn built(builder: Builder<Guarded>, skill: InMemorySkill) -> SkillManager {
    let manager = builder.source(in_memory(skill)).build().await.unwrap();
    manager.load("demo").await.unwrap();
    manager
}

async fn call(builder: Builder<Guarded>, skill: InMemorySkill) -> Outcome {
    let manager = built(builder, skill).await;
    let outcome = manager.call("demo.go", json!({})).await;
    manager.shutdown().await;
    outcome
}

async fn refused(skill: InMemorySkill) -> Error {
    let manager = builder().source(in_memory(skill)).build().await.unwrap();
    let error = manager.load("demo").await.unwrap_err();
    assert!(
        manager.tools().is_empty(),
        "a failed load publishes nothing"
    );
    error
}

fn granting(folder: &Path, grants: &str) -> Policy {
    granting_of(folder, "\"fs\", \"clock\", \"random\"", grants)
}

/// A policy that grants the member of [`slow_member`].
fn granting_slow(folder: &Path) -> Policy {
    granting_of(folder, "\"test\"", "grant.context = [\"test.slow\"]")
}

fn granting_of(folder: &Path, session: &str, grants: &str) -> Policy {
    let text = format!(
        "version = 1\n[session]\nread = [\".\"]\ncontext = [{session}]\n\
         [[skill]]\nname = \"demo\"\nsource = \"bundled\"\n{grants}\n"
    );
    policy_file(folder, &text)
}

fn folder_with_file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let mut file = std::fs::File::create(real.join("a.txt")).unwrap();
    std::io::Write::write_all(&mut file, b"first line\nsecond line\n").unwrap();
    (folder, real)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_tool_is_published_under_its_own_name_and_description() {
    let manager = built(builder(), text("`${args.message} in ${context.cwd}`")).await;
    let tools = manager.tools();
    let tool = tools.iter().next().unwrap();
    assert_eq!((tool.name(), tool.tier()), ("go", Tier::Isolated));
    assert_eq!(tool.description(), "For tests.");
    let request = CallRequest::new("go", json!({ "message": "hi" })).cwd("/");
    let outcome = manager.call_with(request).await;
    let response = outcome.result.unwrap();
    assert_eq!(response.text(), "hi in /");
    assert!(!response.trusted());
    assert_eq!(response.provenance.version.as_deref(), Some("1.0.0"));
    assert!(response.provenance.digest.is_some());
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_arrow_function_takes_its_parameters_from_the_package() {
    let skill = InMemorySkill::new("---\nname: demo\ndescription: For tests.\n---\n")
        .file(
            "bailiwick.yaml",
            "isolated:\n  - name: add\n    description: Adds.\n    source: lib/add.ts\n    params:\n      - { name: a, type: number, description: One., required: true }\n",
        )
        .file("lib/add.ts", "async (args: { a: number }) => args.a + 1\n");
    let manager = built(builder(), skill).await;
    let outcome = manager.call("add", json!({ "a": 2 })).await;
    assert_eq!(outcome.result.unwrap().structured, Some(json!(3)));
    let error = manager.call("add", json!({ "a": 2, "b": 1 })).await;
    assert_eq!(error.result.unwrap_err().code(), Code::ArgumentsRejected);
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_imports_is_refused_with_its_place() {
    let error = refused(module_skill(
        "// import is fine in a comment\nexport const description = \"import\";\n  import fs from \"fs\";\n",
    ))
    .await;
    assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    let details = error.details();
    assert_eq!(details["path"], "scripts/go.js");
    assert_eq!(
        (&details["line"], &details["column"]),
        (&json!(3), &json!(3))
    );
    assert!(error.hint().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_breaks_the_contract_is_refused() {
    let complete = "export const parameters = {};\nexport async function execute() {}\n";
    for (source, says) in [
        (
            format!("export const description = 5;\n{complete}"),
            "`description` is a number",
        ),
        (
            format!("throw new Error(\"at the top\");\n{complete}export const description = \"x\""),
            "at the top",
        ),
        (
            format!("for (;;) {{}}\n{complete}export const description = \"x\""),
            "did not end",
        ),
    ] {
        let error = refused(module_skill(&source)).await;
        assert_eq!(error.code(), Code::IsolatedGuestInvalid, "{source}");
        assert!(error.message().contains(says), "{error}");
        assert_eq!(error.details()["tool"], "go");
    }
    let error = refused(module_skill(
        "export const description = \"x\";\nexport const parameters = { type: \"string\" };\nexport async function execute() {}\n",
    ))
    .await;
    assert_eq!(error.code(), Code::ManifestInvalid, "{error}");
    assert_eq!(error.details()["path"], "scripts/go.js");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_needs_both_the_member_and_the_root() {
    let (folder, _) = folder_with_file();
    let read = || text("(await context.fs.read(\"a.txt\")).text");
    let (member, root) = ("grant.context = [\"fs.read\"]\n", "grant.read = [\".\"]\n");
    for (grants, is_allowed) in [
        (String::new(), false),
        (member.to_owned(), false),
        (root.to_owned(), false),
        (format!("{member}{root}"), true),
    ] {
        let policy = granting(folder.path(), &grants);
        let outcome = call(builder().policy(policy).cwd(folder.path()), read()).await;
        match outcome.result {
            Ok(response) => assert!(is_allowed && response.text().starts_with("first line")),
            Err(error) => {
                assert!(!is_allowed, "{grants}: {error}");
                assert_eq!(error.code(), Code::IsolatedCapabilityDenied, "{grants}");
                assert!(error.hint().unwrap().contains("--grant"), "{error:?}");
                assert_eq!(outcome.report.denials.len(), 1);
            }
        }
    }
}

// field: skill[].grant.context, skill[].tool.<tool>.grant.context
#[tokio::test(flavor = "multi_thread")]
async fn the_clock_is_there_where_the_skill_and_the_tool_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    for (grants, is_granted) in [
        ("", false),
        ("grant.context = [\"clock\"]", true),
        (
            "grant.context = [\"clock\"]\ntool.go.grant.context = []",
            false,
        ),
    ] {
        let policy = granting(folder.path(), grants);
        let outcome = call(builder().policy(policy), text("Date.now() > 0")).await;
        assert_eq!(outcome.result.is_ok(), is_granted, "{grants}: {outcome:?}");
    }
}

// field: session.context
#[tokio::test(flavor = "multi_thread")]
async fn a_capability_beyond_the_session_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bailiwick.toml");
    let text = "version = 1\n[session]\ncontext = [\"fs.read\"]\n[[skill]]\nname = \"demo\"\nsource = \"bundled\"\ngrant.context = [\"fs\"]\n";
    let error =
        Policy::from_bytes(text.as_bytes(), path.canonicalize().unwrap_or(path)).unwrap_err();
    assert_eq!(error.code(), Code::ScriptPolicyWidened, "{error:?}");
    assert!(error.message().contains("context"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_of_a_capability_that_there_is_not_is_no_grant() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[session]\ncontext = [\"fs.raed\"]\n";
    let policy = policy_file(folder.path(), text);
    let error = builder().policy(policy).build().await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
    let said = format!("{} {}", error.message(), error.hint().unwrap_or_default());
    assert!(
        said.contains("fs.raed") && said.contains("fs.read"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_sees_what_the_tool_holds_and_a_denial_runs_nothing() {
    let (folder, real) = folder_with_file();
    let policy = granting(
        folder.path(),
        "grant.context = [\"fs.read\"]\ngrant.read = [\".\"]",
    );
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let manager = SkillManager::builder()
        .gate(gate_fn(move |request| {
            seen.lock().unwrap().push(request.effects.clone());
            async { Decision::deny("not today") }
        }))
        .engine_cache(bailiwick_testkit::private_folder("guests"))
        .policy(policy)
        .source(in_memory(text("1")))
        .build()
        .await
        .unwrap();
    manager.load("demo").await.unwrap();
    let outcome = manager.call("go", json!({})).await;
    assert_eq!(outcome.result.unwrap_err().code(), Code::GateDenied);
    let asked = asked.lock().unwrap();
    let [Effects::Isolated { grants, .. }] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert!(
        grants
            .iter()
            .any(|line| line.starts_with("context fs.read"))
    );
    let root = format!("read {}", real.display());
    assert!(
        grants.iter().any(|line| line.starts_with(&root)),
        "{grants:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_slow_host_calls_take_about_the_time_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let counters = MemberCounters::default();
    let slow = || {
        let member = slow_member(Duration::from_millis(150), &counters);
        let registry = Registry::standard().unwrap().with(member).unwrap();
        let policy = granting_slow(folder.path());
        builder().policy(policy).context_members(registry)
    };
    let time = |times: usize| {
        let calls =
            format!("Promise.all(Array.from({{ length: {times} }}, () => context.test.slow()))");
        let builder = slow();
        async move {
            let manager = built(builder, text(&calls)).await;
            let began = Instant::now();
            let outcome = manager.call("go", json!({})).await;
            let took = began.elapsed();
            outcome.result.unwrap();
            manager.shutdown().await;
            took
        }
    };
    let (one, ten) = (time(1).await, time(10).await);
    assert!(ten < one * 4, "one took {one:?}, ten took {ten:?}");
    assert_eq!(counters.finished(), 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_drops_the_host_calls_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let counters = MemberCounters::default();
    let member = slow_member(Duration::from_hours(1), &counters);
    let registry = Registry::standard().unwrap().with(member).unwrap();
    let policy = granting_slow(folder.path());
    let calls = "Promise.all(Array.from({ length: 10 }, () => context.test.slow()))";
    let manager = built(
        builder().policy(policy).context_members(registry),
        text(calls),
    )
    .await;
    let cancel = CancelToken::new();
    let request = CallRequest::new("go", json!({})).cancel(cancel.clone());
    let calling = tokio::spawn({
        let manager = manager.clone();
        async move { manager.call_with(request).await }
    });
    while counters.started() < 10 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    let outcome = calling.await.unwrap();
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
    assert!(outcome.report.confirmed && outcome.report.confirmed_dead.is_some());
    assert_eq!((counters.finished(), counters.dropped()), (0, 10));
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_results_reach_the_caller_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let manager = built(
        builder(),
        text("{ for (let i = 0; i < 3; i += 1) options.onUpdate({ content: [{ type: \"text\", text: `${i}` }] }); }"),
    )
    .await;
    let kept = seen.clone();
    let updates = Updates::to(move |partial: Value| kept.lock().unwrap().push(partial));
    let request = CallRequest::new("go", json!({})).updates(updates);
    manager.call_with(request).await.result.unwrap();
    let seen: Vec<_> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|partial| partial["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(seen, ["0", "1", "2"]);
    manager.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unloaded_tool_answers_no_more() {
    let manager = built(builder(), text("1")).await;
    manager.unload("demo").await.unwrap();
    let error = manager.call("demo.go", json!({})).await.result.unwrap_err();
    assert_eq!(error.code(), Code::NotLoaded);
    assert!(manager.tools().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn details_go_to_the_report_and_not_to_the_model() {
    let source =
        "return { content: [{ type: \"text\", text: \"shown\" }], details: { secret: 1 } };";
    let outcome = call(builder(), tool_skill(source)).await;
    let response = outcome.result.unwrap();
    assert_eq!(response.text(), "shown");
    assert_eq!(response.structured, None);
    assert_eq!(outcome.report.details, Some(json!({ "secret": 1 })));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_of_an_isolated_tool_names_each_grant_with_its_rule() {
    let (folder, real) = folder_with_file();
    let policy = granting(
        folder.path(),
        "grant.context = [\"fs.read\"]\ngrant.read = [\".\"]",
    );
    let source = in_memory(text("1"));
    let manager = builder()
        .policy(policy)
        .source(source)
        .build()
        .await
        .unwrap();
    let explained = manager.explain("demo.go", Some(json!({}))).await.unwrap();
    let shown = explained.to_string();
    assert!(
        shown.contains("tool         go (isolated of demo 1.0.0)"),
        "{shown}"
    );
    assert!(shown.contains("grant        context fs.read ("), "{shown}");
    assert!(
        shown.contains(&format!("grant        read {} (", real.display())),
        "{shown}"
    );
    assert!(
        shown.contains("limits       fuel off, memory 64MiB"),
        "{shown}"
    );
    let path = |name: &str| real.join(name).to_str().unwrap().parse().unwrap();
    let rights = bailiwick::sandbox_policy::Rights::READ;
    assert!(explained.path(&path("a.txt"), rights).unwrap().allowed());
    let outside = "/etc/passwd".parse().unwrap();
    assert!(!explained.path(&outside, rights).unwrap().allowed());
    assert!(!explained.host("example.org", 443).unwrap().allowed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_holds_what_is_the_hosts_own_is_refused() {
    let (folder, real) = folder_with_file();
    let own = real.join("own");
    std::fs::create_dir(&own).unwrap();
    let grants = "grant.context = [\"fs.read\"]\ngrant.read = [\".\"]";
    let policy = granting(folder.path(), grants);
    let source = in_memory(text("1"));
    let builder = builder().policy(policy).apart_from(own).source(source);
    let error = builder
        .build()
        .await
        .unwrap()
        .load("demo")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::InvalidSkillsConfig, "{error}");
    assert!(error.message().contains("the host's own"));
}
