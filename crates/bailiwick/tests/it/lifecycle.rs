//! Load, call, unload, shut down.

use std::convert::Infallible;
use std::sync::Arc;

use bailiwick::{CallRequest, CancelToken, Code, HostSource, SkillManager, Tier, tool_fn};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::bed::{Nothing, allowing, source};

/// A manager with a tool that says when it runs and waits to be let go.
async fn waiting() -> (SkillManager, Arc<Semaphore>, Arc<Semaphore>) {
    let (running, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let tool = tool_fn::<Nothing>("wait", "Waits.", {
        let (running, go) = (running.clone(), go.clone());
        move |_| {
            let (running, go) = (running.clone(), go.clone());
            async move {
                running.add_permits(1);
                let _permit = go.acquire().await;
                Ok::<_, Infallible>("done")
            }
        }
    });
    let source = HostSource::new("s").skill("a", "Waits.", [tool]).unwrap();
    let manager = allowing().source(source).build().await.unwrap();
    manager.load("a").await.unwrap();
    (manager, running, go)
}

#[tokio::test]
async fn a_skill_is_loaded_once_and_unloaded_once() {
    let manager = allowing()
        .source(source("s", &[("a", &["x"])]))
        .build()
        .await
        .unwrap();
    assert_eq!(
        manager.unload("a").await.unwrap_err().code(),
        Code::NotLoaded
    );
    let report = manager.load("a").await.unwrap();
    assert_eq!(report.tools[0].as_str(), "x");
    assert_eq!(
        manager.load("a").await.unwrap_err().code(),
        Code::AlreadyLoaded
    );
    assert!(manager.catalog()[0].loaded);
    manager.unload("a").await.unwrap();
    assert_eq!(
        manager.unload("a").await.unwrap_err().code(),
        Code::NotLoaded
    );
    assert!(manager.tools().is_empty() && !manager.catalog()[0].loaded);
}

#[tokio::test]
async fn a_call_in_flight_survives_the_unload_of_its_skill() {
    let (manager, running, go) = waiting().await;
    let call = tokio::spawn({
        let manager = manager.clone();
        async move { manager.call("wait", json!({})).await }
    });
    running.acquire().await.unwrap().forget();
    manager.unload("a").await.unwrap();
    assert!(manager.tools().is_empty());
    assert_eq!(
        manager
            .call("wait", json!({}))
            .await
            .result
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    go.add_permits(1);
    assert_eq!(call.await.unwrap().result.unwrap().text(), "done");
}

#[tokio::test]
async fn a_cancelled_call_ends_and_leaves_the_manager_usable() {
    let (manager, running, go) = waiting().await;
    let cancel = CancelToken::new();
    let request = CallRequest::new("wait", json!({})).cancel(cancel.clone());
    let call = tokio::spawn({
        let manager = manager.clone();
        async move { manager.call_with(request).await }
    });
    running.acquire().await.unwrap().forget();
    cancel.cancel();
    let outcome = call.await.unwrap();
    assert_eq!(outcome.result.unwrap_err().code(), Code::Cancelled);
    assert!(!outcome.report.still_running);
    go.add_permits(1);
    assert_eq!(
        manager.call("wait", json!({})).await.result.unwrap().text(),
        "done"
    );
}

#[tokio::test]
async fn shutting_down_cancels_calls_in_flight_and_refuses_what_comes_after() {
    let (manager, running, _go) = waiting().await;
    let call = tokio::spawn({
        let manager = manager.clone();
        async move { manager.call("wait", json!({})).await }
    });
    running.acquire().await.unwrap().forget();
    manager.shutdown().await;
    assert_eq!(
        call.await.unwrap().result.unwrap_err().code(),
        Code::Cancelled
    );
    assert_eq!(manager.load("a").await.unwrap_err().code(), Code::NotLoaded);
    assert_eq!(
        manager
            .call("wait", json!({}))
            .await
            .result
            .unwrap_err()
            .code(),
        Code::NotFound
    );
    manager.shutdown().await;
}

#[tokio::test]
async fn the_same_skill_loaded_twice_at_once_is_loaded_once() {
    let manager = allowing()
        .source(source("s", &[("a", &["x"])]))
        .build()
        .await
        .unwrap();
    let (first, second) = tokio::join!(manager.load("a"), manager.load("a"));
    assert!(first.is_ok());
    assert_eq!(second.unwrap_err().code(), Code::AlreadyLoaded);
}

#[tokio::test]
async fn an_ungated_manager_says_so_in_every_report() {
    let source = source("s", &[("a", &["x"])]);
    let manager = SkillManager::builder()
        .dangerous()
        .ungated()
        .source(source)
        .build()
        .await
        .unwrap();
    manager.load("a").await.unwrap();
    assert_eq!(manager.dangers().len(), 1);
    let outcome = manager.call("x", json!({})).await;
    assert!(outcome.report.warnings[0].contains("ungated"));
    assert_eq!(outcome.report.tier, Tier::Module);
    assert!(!outcome.result.unwrap().trusted());
}
