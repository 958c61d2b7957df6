//! Names, grants, arguments and quotas.

use std::time::Duration;

use bailiwick_core::{CallContext, Code, SkillError};
use bailiwick_host::{CallServices, Grant, Member, Parameter, Registry, Roots, Services};
use bailiwick_testkit::members::{MemberCounters, slow_member};
use serde_json::json;

use super::{Fixture, ask, grants, host, refused};

fn with(members: impl IntoIterator<Item = Member>, names: &[&str]) -> CallServices {
    let registry = members
        .into_iter()
        .try_fold(Registry::standard().unwrap(), Registry::with)
        .unwrap();
    Services::new(
        registry,
        "skill".parse().unwrap(),
        grants(names),
        Roots::none(),
    )
    .unwrap()
    .for_call(&CallContext::new("/"))
    .unwrap()
}

#[tokio::test]
async fn a_member_without_a_grant_is_denied_with_the_grant_that_is_missing() {
    let fixture = Fixture::new();
    let host = host(&["fs.glob"], &[&fixture.root()], &fixture.root());
    let error = ask(&host, "fs.read", json!(["a.txt"])).await.unwrap_err();
    assert_eq!(error.code(), Code::IsolatedCapabilityDenied);
    assert_eq!(error.message(), "`fs.read` is not granted to `skill`");
    let hint = error.hint().unwrap();
    assert!(hint.contains("`grant.context = [\"fs.read\"]`"), "{hint}");
    assert!(hint.contains("`--grant context=fs.read`"), "{hint}");
    assert_eq!(error.details()["capability"], "fs.read");
    assert_eq!(error.details()["member"], "fs.read");
    assert_eq!(
        error.details()["granted"],
        json!([{ "capability": "fs.glob", "origin": "policy.toml:3" }])
    );
}

#[tokio::test]
async fn a_name_without_a_root_opens_nothing_and_a_root_without_a_name_neither() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let named = ask(&host(&["fs.read"], &[], &root), "fs.read", json!(["a.txt"])).await;
    let (code, message, reason) = refused(named);
    assert_eq!(
        (code, &*reason),
        (Code::IsolatedCapabilityDenied, "outside")
    );
    assert_eq!(
        message,
        "`fs.read`: `a.txt` is not beneath what `skill` may read"
    );
    let rooted = ask(&host(&[], &[&root], &root), "fs.read", json!(["a.txt"])).await;
    assert_eq!(refused(rooted).0, Code::IsolatedCapabilityDenied);
    let both = ask(
        &host(&["fs.read"], &[&root], &root),
        "fs.read",
        json!(["a.txt"]),
    )
    .await;
    assert_eq!(both.unwrap()["text"], "granted\n");
}

#[tokio::test]
async fn a_namespace_grants_its_members() {
    let fixture = Fixture::new();
    let read = fixture.ask("fs.read", json!(["a.txt"])).await.unwrap();
    assert_eq!(read["text"], "granted\n");
    assert_eq!(
        fixture.ask("fs.glob", json!(["*"])).await.unwrap()["paths"],
        json!(["a.txt"])
    );
}

#[tokio::test]
async fn a_member_that_does_not_exist_says_so_with_the_nearest_name() {
    let fixture = Fixture::new();
    for (member, hint) in [
        ("fs.raed", "did you mean `fs.read`?"),
        (
            "shell.run",
            "`docs/isolated-tools.md` lists the members that come with the runtime",
        ),
        (
            "",
            "`docs/isolated-tools.md` lists the members that come with the runtime",
        ),
        (
            "fs",
            "`docs/isolated-tools.md` lists the members that come with the runtime",
        ),
    ] {
        let error = fixture.ask(member, json!([])).await.unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{member}");
        assert_eq!(
            error.message(),
            format!("`context` has no member `{member}`")
        );
        assert_eq!(error.hint(), Some(hint), "{member}");
    }
}

#[tokio::test]
async fn arguments_are_checked_by_member_and_pointer_before_anything_runs() {
    let fixture = Fixture::new();
    for (arguments, pointer) in [
        (json!([]), ""),
        (json!([5]), "/path"),
        (json!([null]), "/path"),
        (json!(["a.txt", { "limit": 0 }]), "/options/limit"),
        (json!(["a.txt", { "offset": 0 }]), "/options/offset"),
        (
            json!(["a.txt", { "encoding": "latin1" }]),
            "/options/encoding",
        ),
        (json!(["a.txt", { "lines": 3 }]), "/options"),
        (json!(["a\0b"]), "/path"),
    ] {
        let error = fixture.ask("fs.read", arguments.clone()).await.unwrap_err();
        assert_eq!(error.code(), Code::ArgumentsRejected, "{arguments}");
        assert!(error.message().starts_with("`fs.read`: "), "{error}");
        assert_eq!(
            error.details()["violations"][0]["pointer"],
            pointer,
            "{arguments}"
        );
    }
    let (code, message, _) = refused(fixture.ask("fs.read", json!(["a.txt", {}, 3])).await);
    assert_eq!(code, Code::ArgumentsRejected);
    assert_eq!(
        message,
        "`fs.read`: 3 arguments were given, and there are 2 parameters"
    );
}

#[tokio::test]
async fn what_is_left_out_may_be_null_and_a_number_may_have_a_point() {
    let fixture = Fixture::new();
    let read = fixture.ask("fs.read", json!(["a.txt", null])).await;
    assert_eq!(read.unwrap()["lines"], 1);
    let read = fixture
        .ask("fs.read", json!(["a.txt", { "limit": 1.0 }]))
        .await;
    assert_eq!(read.unwrap()["lines"], 1);
}

#[tokio::test]
async fn a_quota_holds_for_each_guest_call_and_counts_rejected_calls() {
    let echo = || {
        Member::builder("test.echo", "Returns what it is given.")
            .parameter(Parameter::required(
                "value",
                "number",
                json!({ "type": "number" }),
            ))
            .quota(3)
            .build(|call| async move { Ok(call.arguments().to_value()) })
            .unwrap()
    };
    let other = Member::builder("test.other", "Answers.")
        .build(|_| async { Ok(json!(1)) })
        .unwrap();
    let host = with([echo(), other], &["test"]);
    ask(&host, "test.echo", json!([1])).await.unwrap();
    ask(&host, "test.echo", json!(["not a number"]))
        .await
        .unwrap_err();
    ask(&host, "test.echo", json!([3])).await.unwrap();
    let error = ask(&host, "test.echo", json!([4])).await.unwrap_err();
    assert_eq!(error.code(), Code::ToolFailed);
    assert_eq!(error.details()["quota"], 3);
    for _ in 0..10 {
        ask(&host, "test.other", json!([])).await.unwrap();
    }
    let next = with([echo()], &["test"]);
    ask(&next, "test.echo", json!([1])).await.unwrap();
}

#[tokio::test]
async fn an_ungranted_call_never_reaches_its_handler() {
    let counters = MemberCounters::default();
    let host = with([slow_member(Duration::ZERO, &counters)], &["fs"]);
    refused(ask(&host, "test.slow", json!([])).await);
    assert_eq!(counters.started(), 0);
}

#[tokio::test]
async fn a_member_that_needs_no_root_is_handed_none() {
    let fixture = Fixture::new();
    let count = Member::builder("test.count", "Counts the roots.")
        .build(|call| async move { Ok(json!(call.roots().iter().count())) })
        .unwrap();
    let registry = Registry::empty().with(count).unwrap();
    let roots = Roots::open([(fixture.root(), "rule".to_owned())]).unwrap();
    let host = Services::new(registry, "skill".parse().unwrap(), grants(&["test"]), roots)
        .unwrap()
        .for_call(&CallContext::new("/"))
        .unwrap();
    assert_eq!(ask(&host, "test.count", json!([])).await.unwrap(), json!(0));
}

#[tokio::test]
async fn a_handler_that_panics_is_contained() {
    let sudden = Member::builder("test.sudden", "Panics.")
        .build(|_| {
            assert!(std::hint::black_box(false), "secret");
            async { Ok(json!(null)) }
        })
        .unwrap();
    let later = Member::builder("test.later", "Panics after an await.")
        .build(|_| async {
            tokio::task::yield_now().await;
            panic!("secret")
        })
        .unwrap();
    let host = with([sudden, later], &["test"]);
    for member in ["test.sudden", "test.later"] {
        let error = ask(&host, member, json!([])).await.unwrap_err();
        assert_eq!(error.code(), Code::ToolFailed);
        assert!(!error.host_chain().contains("secret"));
    }
}

#[test]
fn a_grant_of_nothing_is_an_error_with_the_nearest_name() {
    let registry = Registry::standard().unwrap();
    for name in ["fs", "fs.read", "fs.glob", "fs.grep", "clock", "random"] {
        let grant = Grant::new(name.parse().unwrap(), "rule");
        assert!(registry.check_grant(&grant).is_ok(), "{name}");
    }
    for (name, hint) in [
        ("fs.raed", "did you mean `fs.read`?"),
        ("clok", "did you mean `clock`?"),
        ("f", "did you mean `fs`?"),
        (
            "browser",
            "`docs/isolated-tools.md` lists the members that come with the runtime",
        ),
        (
            "clock.now",
            "`docs/isolated-tools.md` lists the members that come with the runtime",
        ),
    ] {
        let made = Services::new(
            registry.clone(),
            "skill".parse().unwrap(),
            grants(&[name]),
            Roots::none(),
        );
        let error = made.unwrap_err();
        assert_eq!(error.code(), Code::InvalidSkillsConfig, "{name}");
        assert_eq!(error.hint(), Some(hint), "{name}");
        assert_eq!(error.details()["origin"], "policy.toml:3");
    }
}

#[test]
fn a_member_that_clashes_or_makes_no_sense_cannot_be_registered() {
    let named = |name: &str| Member::builder(name, "Answers.").build(|_| async { Ok(json!(null)) });
    let config = |result: Result<Member, SkillError>| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Code::InvalidSkillsConfig);
        error.details()["reason"].as_str().unwrap().to_owned()
    };
    let twice = Registry::standard()
        .unwrap()
        .with(named("fs.read").unwrap());
    assert_eq!(twice.unwrap_err().code(), Code::InvalidSkillsConfig);
    assert!(config(named("fs")).contains("namespace.member"));
    assert!(config(named("a.b.c")).contains("not the name of a capability"));
    assert!(config(named("clock.now")).contains("every guest has"));
    assert!(config(named("chat.send")).contains("every guest has"));
    assert!(config(named("test.then")).contains("the language"));
    let text = || json!({ "type": "string" });
    let order = Member::builder("test.order", "Answers.")
        .parameter(Parameter::optional("a", "string", text()))
        .parameter(Parameter::required("b", "string", text()))
        .build(|_| async { Ok(json!(null)) });
    assert!(config(order).contains("after an optional one"));
    let twice = Member::builder("test.twice", "Answers.")
        .parameter(Parameter::required("a", "string", text()))
        .parameter(Parameter::required("a", "string", text()))
        .build(|_| async { Ok(json!(null)) });
    assert!(config(twice).contains("stands twice"));
    let none = Member::builder("test.none", "Answers.")
        .quota(0)
        .build(|_| async { Ok(json!(null)) });
    assert!(config(none).contains("grants nothing"));
    let broken = Member::builder("test.broken", "Answers.")
        .parameter(Parameter::required(
            "a",
            "string",
            json!({ "type": "strin" }),
        ))
        .build(|_| async { Ok(json!(null)) });
    assert!(config(broken).contains("schema"));
}

#[test]
fn the_members_are_documented_for_people() {
    for member in Registry::standard().unwrap().iter() {
        assert!(!member.summary().is_empty() && member.returns().starts_with('{'));
        assert!(member.signature().starts_with(member.name().as_str()));
    }
}

#[test]
fn a_call_from_a_relative_directory_cannot_be_served() {
    let registry = Registry::standard().unwrap();
    let services = Services::new(
        registry,
        "skill".parse().unwrap(),
        Vec::new(),
        Roots::none(),
    )
    .unwrap();
    let error = services
        .for_call(&CallContext::new("relative"))
        .unwrap_err();
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
}

#[test]
fn a_root_must_exist_and_be_resolved() {
    let fixture = Fixture::new();
    fixture.link("a.txt", "link");
    fixture.write("sub/deep/b.txt", "");
    fixture.link("sub", "way");
    for (path, reason) in [
        (fixture.root().join("missing"), "it does not exist"),
        (
            fixture.root().join("link"),
            "it is neither a directory nor a regular file",
        ),
        (
            fixture.root().join("way/deep"),
            "there is a link on the way to it",
        ),
        (
            fixture.root().join("../outside"),
            "it is not an absolute, resolved path",
        ),
        ("relative".into(), "it is not an absolute, resolved path"),
        (
            "/dev/null".into(),
            "it is neither a directory nor a regular file",
        ),
    ] {
        let error = Roots::open([(path, "policy.toml:9".to_owned())]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidSkillsConfig);
        assert_eq!(error.details()["reason"], reason);
        assert_eq!(error.details()["origin"], "policy.toml:9");
    }
}
