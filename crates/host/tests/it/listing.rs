//! `fs.glob`.

use bailiwick_core::Code;
use serde_json::{Value, json};

use super::{Fixture, refused};

async fn paths(fixture: &Fixture, arguments: Value) -> String {
    let listed = fixture.ask("fs.glob", arguments).await.unwrap();
    let paths = listed["paths"].as_array().unwrap();
    let paths: Vec<&str> = paths.iter().map(|path| path.as_str().unwrap()).collect();
    paths.join(" ")
}

fn tree() -> Fixture {
    let fixture = Fixture::new();
    for path in [
        "src/lib.rs",
        "src/deep/er.rs",
        "src/notes.md",
        "target/debug/out.rs",
        ".hidden/x.rs",
        ".git/config.rs",
        "src/.git/y.rs",
        "z.rs",
    ] {
        fixture.write(path, "");
    }
    fixture
}

#[tokio::test]
async fn globs_match_whole_paths_and_come_sorted() {
    let fixture = tree();
    let all = "src/deep/er.rs src/lib.rs target/debug/out.rs z.rs";
    assert_eq!(paths(&fixture, json!(["**/*.rs"])).await, all);
    assert_eq!(paths(&fixture, json!(["*.rs"])).await, "z.rs");
    assert_eq!(
        paths(&fixture, json!(["./src/*.{rs,md}"])).await,
        "src/lib.rs src/notes.md"
    );
    assert_eq!(
        paths(&fixture, json!(["src/**"])).await,
        "src/deep/er.rs src/lib.rs src/notes.md"
    );
    assert_eq!(
        paths(&fixture, json!(["*.rs", { "cwd": "src" }])).await,
        "lib.rs"
    );
    assert_eq!(
        paths(&fixture, json!(["**/out.rs", { "cwd": "src/../target" }])).await,
        "debug/out.rs"
    );
}

#[tokio::test]
async fn hidden_files_are_listed_when_asked_for_and_git_never() {
    let fixture = tree();
    let hidden = paths(
        &fixture,
        json!(["**/{x,y,config}.rs", { "hidden": true, "ignored": true }]),
    );
    assert_eq!(hidden.await, ".hidden/x.rs");
}

#[tokio::test]
async fn ignore_files_hold_from_the_root_down_and_the_nearest_decides() {
    let fixture = tree();
    fixture.write(".gitignore", "target/\n*.md\n/z.rs\n# a comment\n");
    fixture.write("src/deep/.gitignore", "*.rs\n");
    let kept = paths(&fixture, json!(["**"]));
    assert_eq!(kept.await, "a.txt src/lib.rs");
    fixture.write("src/deep/.ignore", "!er.rs\n");
    fixture.write("src/.ignore", "!notes.md\n");
    let kept = paths(&fixture, json!(["**"]));
    assert_eq!(kept.await, "a.txt src/deep/er.rs src/lib.rs src/notes.md");
    let all = paths(&fixture, json!(["**/*.{rs,md}", { "ignored": true }]));
    assert_eq!(
        all.await,
        "src/deep/er.rs src/lib.rs src/notes.md target/debug/out.rs z.rs"
    );
}

#[tokio::test]
async fn rules_above_where_a_walk_begins_hold_too() {
    let fixture = tree();
    fixture.write(".gitignore", "*.md\nsrc/deep/*\n");
    assert_eq!(
        paths(&fixture, json!(["**", { "cwd": "src" }])).await,
        "lib.rs"
    );
    assert_eq!(
        paths(&fixture, json!(["**", { "cwd": "src/deep" }])).await,
        ""
    );
}

#[tokio::test]
async fn a_limit_is_said_and_only_when_there_is_more() {
    let fixture = tree();
    let cut = fixture
        .ask("fs.glob", json!(["src/**", { "limit": 2 }]))
        .await
        .unwrap();
    assert_eq!(cut["paths"], json!(["src/deep/er.rs", "src/lib.rs"]));
    assert_eq!(
        (&cut["truncated"], &cut["truncatedBy"]),
        (&json!(true), &json!("limit"))
    );
    let whole = fixture
        .ask("fs.glob", json!(["src/**", { "limit": 3 }]))
        .await
        .unwrap();
    assert_eq!(whole["truncated"], false);
}

#[tokio::test]
async fn a_bad_glob_and_one_that_leaves_are_rejected() {
    let fixture = tree();
    for pattern in ["a[", "{a", "/etc/*", "../*", "src/../../*"] {
        let error = fixture.ask("fs.glob", json!([pattern])).await.unwrap_err();
        assert_eq!(error.code(), Code::ArgumentsRejected, "{pattern}");
        assert_eq!(error.details()["violations"][0]["pointer"], "/pattern");
    }
    let (_, message, reason) = refused(
        fixture
            .ask("fs.glob", json!(["*", { "cwd": "z.rs" }]))
            .await,
    );
    assert_eq!(
        (&*message, &*reason),
        ("`fs.glob`: `z.rs` is no directory", "not_directory")
    );
}
