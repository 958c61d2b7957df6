//! `fs.grep`.

use bailiwick_core::Code;
use serde_json::{Value, json};

use super::{Fixture, refused};

async fn grep(fixture: &Fixture, query: Value) -> Value {
    fixture.ask("fs.grep", json!([query])).await.unwrap()
}

#[tokio::test]
async fn matches_have_place_and_text_and_their_paths_can_be_read() {
    let fixture = Fixture::new();
    fixture.write("src/one.rs", "fn one() {}\n\n    fn zwei() {}\n");
    fixture.write("src/two.txt", "no fn here\n");
    let found = grep(&fixture, json!({ "pattern": r"fn \w+\(", "path": "src" })).await;
    let expected = json!({
        "matches": [
            { "path": "src/one.rs", "line": 1, "column": 1, "text": "fn one() {}" },
            { "path": "src/one.rs", "line": 3, "column": 5, "text": "    fn zwei() {}" },
        ],
        "filesSearched": 2, "binaryFiles": 0, "skipped": 0, "truncated": false,
    });
    assert_eq!(found, expected);
    fixture.ask("fs.read", json!(["src/one.rs"])).await.unwrap();
    let named = grep(&fixture, json!({ "pattern": "fn", "glob": "*.txt" })).await;
    assert_eq!(named["matches"][0]["path"], "src/two.txt");
    assert_eq!(
        (&named["filesSearched"], &named["matches"][0]["column"]),
        (&json!(2), &json!(4))
    );
}

#[tokio::test]
async fn case_literals_and_lines_around() {
    let fixture = Fixture::new();
    fixture.write("t", "a\nb.c\nBxC\nd\ne\nb.c\n");
    let lines = |found: &Value| {
        let matches = found["matches"].as_array().unwrap();
        matches
            .iter()
            .map(|m| m["line"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&grep(&fixture, json!({ "pattern": "b.c", "path": "t" })).await),
        [2, 6]
    );
    let folded = json!({ "pattern": "b.c", "path": "t", "ignoreCase": true });
    assert_eq!(lines(&grep(&fixture, folded).await), [2, 3, 6]);
    let literal = json!({ "pattern": "B.C", "path": "t", "ignoreCase": true, "literal": true });
    assert_eq!(lines(&grep(&fixture, literal).await), [2, 6]);
    let around = json!({ "pattern": "b\\.c", "path": "t", "before": 1, "after": 2 });
    let found = grep(&fixture, around).await;
    let around = |n: usize| {
        (
            &found["matches"][n]["before"],
            &found["matches"][n]["after"],
        )
    };
    assert_eq!(around(0), (&json!(["a"]), &json!(["BxC", "d"])));
    assert_eq!(around(1), (&json!(["e"]), &json!([])));
}

#[tokio::test]
async fn binary_and_hidden_and_ignored_files_are_left_out() {
    let fixture = Fixture::new();
    fixture.write("bin", b"needle\n\0\n");
    fixture.write(".env", "needle");
    fixture.write("out/x", "needle");
    fixture.write(".ignore", "out\n");
    fixture.write("seen", "needle");
    let found = grep(&fixture, json!({ "pattern": "needle" })).await;
    assert_eq!(found["matches"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&found["binaryFiles"], &found["matches"][0]["path"]),
        (&json!(1), &json!("seen"))
    );
    let all = grep(
        &fixture,
        json!({ "pattern": "needle", "hidden": true, "ignored": true }),
    )
    .await;
    assert_eq!(all["matches"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn long_lines_are_cut_around_the_match() {
    let fixture = Fixture::new();
    fixture.write(
        "long",
        format!("{}needle{}\n", "é".repeat(5000), "x".repeat(5000)),
    );
    let found = grep(&fixture, json!({ "pattern": "needle", "path": "long" })).await;
    let found = &found["matches"][0];
    assert_eq!(
        (&found["column"], &found["cut"]),
        (&json!(5001), &json!(true))
    );
    let text = found["text"].as_str().unwrap();
    assert!(
        text.contains("needle") && text.chars().count() == 500,
        "{text}"
    );
}

#[tokio::test]
async fn limits_of_matches_and_bytes_are_said() {
    let fixture = Fixture::new();
    fixture.write("many", "needle\n".repeat(300));
    let found = grep(&fixture, json!({ "pattern": "needle" })).await;
    assert_eq!(found["matches"].as_array().unwrap().len(), 200);
    assert_eq!(found["truncatedBy"], "limit");
    fixture.write("wide", format!("{}\n", "\u{1}n".repeat(200)).repeat(4000));
    let query = json!({ "pattern": "n", "path": "wide", "limit": 5000, "after": 20 });
    let found = grep(&fixture, query).await;
    assert_eq!(found["truncatedBy"], "bytes");
    assert!(found.to_string().len() < 1024 * 1024);
}

#[tokio::test]
async fn a_bad_expression_is_rejected_with_the_place_of_the_mistake() {
    let fixture = Fixture::new();
    let rejected = async |pattern: &str| {
        let answer = fixture
            .ask("fs.grep", json!([{ "pattern": pattern }]))
            .await;
        let (code, message, _) = refused(answer);
        assert_eq!(code, Code::ArgumentsRejected);
        message
    };
    assert_eq!(
        rejected("ab(c").await,
        "`fs.grep`: it is no regular expression: unclosed group, at character 3 (/query/pattern)"
    );
    assert!(
        rejected(r"(a)\1")
            .await
            .contains("backreferences are not supported, at character 4")
    );
    assert!(
        rejected(r"(?:\w{500}){500}")
            .await
            .contains("cannot be searched for")
    );
    assert!(rejected(r"a\nb").await.contains("cannot be searched for"));
}
