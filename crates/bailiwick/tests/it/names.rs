//! Which names are published (contracts 1.1, 1.4, 3.3).

use bailiwick::Code;
use serde_json::json;

use crate::bed::{allowing, source};

#[tokio::test]
async fn the_first_of_two_skills_with_one_tool_name_wins_and_the_name_is_free_after_unload() {
    let manager = allowing()
        .source(source(
            "s",
            &[("a", &["report"]), ("b", &["other", "Report"])],
        ))
        .build()
        .await
        .unwrap();
    manager.load("a").await.unwrap();
    assert_eq!(
        manager.load("b").await.unwrap_err().code(),
        Code::ToolCollision
    );
    assert_eq!(manager.tools().len(), 1, "a failed load publishes nothing");
    manager.unload("a").await.unwrap();
    manager.load("b").await.unwrap();
    assert_eq!(
        manager
            .call("Report", json!({}))
            .await
            .result
            .unwrap()
            .text(),
        "Report"
    );
}

#[tokio::test]
async fn reserved_and_doubled_names_are_refused() {
    let manager = allowing()
        .source(source(
            "s",
            &[
                ("a", &["artifact_grep"]),
                ("b", &["load_skill"]),
                ("c", &["x", "x"]),
                ("d", &["1x"]),
            ],
        ))
        .build()
        .await
        .unwrap();
    assert_eq!(
        manager.load("a").await.unwrap_err().code(),
        Code::ToolCollision
    );
    assert_eq!(
        manager.load("b").await.unwrap_err().code(),
        Code::ToolCollision
    );
    assert_eq!(
        manager.load("c").await.unwrap_err().code(),
        Code::ToolDuplicate
    );
    assert_eq!(
        manager.load("d").await.unwrap_err().code(),
        Code::ManifestInvalid
    );
}

#[tokio::test]
async fn a_host_tool_is_never_replaced_and_never_replaces() {
    let manager = allowing()
        .host_tool("deploy".parse().unwrap())
        .source(source("s", &[("a", &["deploy"]), ("b", &["report"])]))
        .build()
        .await
        .unwrap();
    assert_eq!(
        manager.load("a").await.unwrap_err().code(),
        Code::ToolCollision
    );
    manager.load("b").await.unwrap();
    assert_eq!(
        manager
            .claim_host_tool(&"report".parse().unwrap())
            .unwrap_err()
            .code(),
        Code::ToolCollision
    );
}

#[tokio::test]
async fn a_tool_is_called_by_its_flat_name_or_through_its_skill() {
    let manager = allowing()
        .source(source("s", &[("a", &["report"]), ("b", &[])]))
        .build()
        .await
        .unwrap();
    let code = |outcome: bailiwick::Outcome| outcome.result.unwrap_err().code();
    assert_eq!(
        code(manager.call("a.report", json!({})).await),
        Code::NotLoaded
    );
    assert_eq!(
        code(manager.call("report", json!({})).await),
        Code::NotFound
    );
    manager.load("a").await.unwrap();
    assert_eq!(
        manager
            .call("a.report", json!({}))
            .await
            .result
            .unwrap()
            .text(),
        "report"
    );
    assert_eq!(
        manager
            .call("report", json!({}))
            .await
            .result
            .unwrap()
            .text(),
        "report"
    );
    assert_eq!(
        code(manager.call("a.other", json!({})).await),
        Code::NotFound
    );
    assert_eq!(
        code(manager.call("nobody.report", json!({})).await),
        Code::NotFound
    );
}
