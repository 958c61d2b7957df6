//! What a tool says about itself.

use bailiwick_core::{Code, Tool as _};
use bailiwick_module::{Boundary, rewrap};
use bailiwick_testkit::hostile;
use serde_json::json;

use crate::{called, provenance, wrapped};

#[test]
fn a_tool_cannot_change_what_it_said_when_it_was_wrapped() {
    let tool = wrapped(hostile::changes_itself());
    for _ in 0..3 {
        assert_eq!(tool.spec().name.as_str(), hostile::NAME);
        assert_eq!(tool.spec().description, "Reports.");
        assert!(tool.spec().schema.check(json!({ "b": 1 })).is_err());
    }
}

#[tokio::test]
async fn what_a_tool_claims_is_not_even_read() {
    let outcome = called(hostile::panics_describing("claims")).await;
    let response = outcome.result.unwrap();
    assert_eq!(response.text(), "fine");
    assert_eq!(response.provenance, provenance());
    assert!(!response.trusted());
}

#[tokio::test]
async fn a_tool_that_claims_another_skill_answers_for_its_own_and_untrusted() {
    let tool = hostile::returns("fine");
    assert!(
        tool.claims().trusted && tool.claims().skill.is_some(),
        "the control claims both"
    );
    let response = called(tool).await.result.unwrap();
    assert_eq!(response.provenance.skill.as_str(), "audit");
    assert_eq!(response.provenance.version.as_deref(), Some("1.2.0"));
    assert!(!response.trusted());
}

#[test]
fn a_tool_that_panics_when_asked_is_refused_and_named_by_its_skill() {
    for part in ["name", "description", "parameters"] {
        let error = rewrap(
            hostile::panics_describing(part),
            provenance(),
            Boundary::default(),
        )
        .unwrap_err();
        assert_eq!(error.code(), Code::ManifestInvalid);
        assert_eq!(
            error.message(),
            format!("a live tool of skill `audit` panicked when asked for its {part}")
        );
    }
}

#[test]
fn four_bad_names_are_refused_and_the_message_holds_the_name() {
    for name in ["1st", "a b", "naïve", &"x".repeat(65)] {
        let tool = hostile::tool_named(name, json!({}), |_, _| async { Ok("fine".into()) });
        let error = rewrap(tool, provenance(), Boundary::default()).unwrap_err();
        assert_eq!(error.code(), Code::ManifestInvalid, "{name}");
        assert!(error.message().contains(name), "{}", error.message());
    }
}

#[test]
fn a_schema_that_breaks_a_bound_is_refused_with_tool_and_skill() {
    let tool = hostile::tool_named("t", json!({ "type": "string" }), |_, _| async {
        Ok("fine".into())
    });
    let error = rewrap(tool, provenance(), Boundary::default()).unwrap_err();
    assert_eq!(error.code(), Code::ManifestInvalid);
    assert_eq!(error.details()["skill"], "audit");
    assert_eq!(error.details()["tool"], "t");
}

#[test]
fn an_inline_reply_without_room_for_the_mark_is_a_configuration_error() {
    let boundary = Boundary::default().max_inline(1023);
    let error = rewrap(hostile::returns("fine"), provenance(), boundary).unwrap_err();
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
    let boundary = Boundary::default().max_inline(1024);
    assert!(rewrap(hostile::returns("fine"), provenance(), boundary).is_ok());
}
