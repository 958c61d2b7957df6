//! `fs.read`.

use std::fmt::Write as _;

use bailiwick_core::Code;
use serde_json::json;

use super::{Fixture, ask, host, refused};

#[tokio::test]
async fn a_file_is_read_whole_by_relative_and_absolute_path() {
    let fixture = Fixture::new();
    let path = fixture.root().join("a.txt").display().to_string();
    for asked in ["a.txt", "./a.txt", "x/../a.txt", "../root/a.txt", &path] {
        let read = fixture.ask("fs.read", json!([asked])).await.unwrap();
        let whole = json!({
            "path": asked, "encoding": "utf8", "lines": 1, "bytes": 8, "size": 8,
            "text": "granted\n", "truncated": false,
        });
        assert_eq!(read, whole);
    }
}

#[tokio::test]
async fn lines_are_counted_from_one_and_reading_goes_on_where_it_ended() {
    let fixture = Fixture::new();
    fixture.write("lines", "1\n2\r\n3\n4");
    let read = |offset: u64, limit: u64| {
        fixture.ask(
            "fs.read",
            json!(["lines", { "offset": offset, "limit": limit }]),
        )
    };
    let first = read(1, 2).await.unwrap();
    assert_eq!(first["text"], "1\n2\r\n");
    assert_eq!(
        (&first["truncated"], &first["truncatedBy"]),
        (&json!(true), &json!("limit"))
    );
    assert_eq!(first["nextOffset"], 3);
    let last = read(3, 2).await.unwrap();
    assert_eq!(
        (&last["text"], &last["truncated"]),
        (&json!("3\n4"), &json!(false))
    );
    assert!(last.get("nextOffset").is_none());
    let past = read(9, 2).await.unwrap();
    assert_eq!((&past["text"], &past["lines"]), (&json!(""), &json!(0)));
}

#[tokio::test]
async fn a_large_text_comes_in_parts_that_join_to_the_whole() {
    let fixture = Fixture::new();
    let whole = (0..60_000).fold(String::new(), |mut text, number| {
        writeln!(text, "{number} \"quoted\" line").unwrap();
        text
    });
    fixture.write("large", &whole);
    let (mut joined, mut offset, mut parts) = (String::new(), 1, 0);
    loop {
        let part = fixture
            .ask("fs.read", json!(["large", { "offset": offset }]))
            .await
            .unwrap();
        assert!(part.to_string().len() < 1024 * 1024);
        joined.push_str(part["text"].as_str().unwrap());
        parts += 1;
        match part["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert!(parts > 1);
    assert!(joined == whole, "the parts do not join");
}

#[tokio::test]
async fn a_line_longer_than_a_result_is_cut_between_characters() {
    let fixture = Fixture::new();
    fixture.write("long", format!("a{}\nnext\n", "é".repeat(700_000)));
    let read = fixture.ask("fs.read", json!(["long"])).await.unwrap();
    assert_eq!(
        (&read["lines"], &read["truncatedBy"]),
        (&json!(1), &json!("bytes"))
    );
    assert_eq!(read["nextOffset"], 2);
    assert!(read["text"].as_str().unwrap().starts_with("aé"));
    assert!(read.to_string().len() < 1024 * 1024);
    let next = fixture
        .ask("fs.read", json!(["long", { "offset": 2 }]))
        .await
        .unwrap();
    assert_eq!(next["text"], "next\n");
}

#[tokio::test]
async fn a_file_that_is_no_text_is_read_as_bytes() {
    let fixture = Fixture::new();
    fixture.write("bytes", b"text\n\xff\xfe\0end");
    let error = fixture.ask("fs.read", json!(["bytes"])).await.unwrap_err();
    assert_eq!(error.code(), Code::ArgumentsRejected);
    assert_eq!(
        error.message(),
        "`fs.read`: `bytes` is no UTF-8 text (line 2)"
    );
    assert!(error.hint().unwrap().contains("encoding: \"base64\""));
    let options = json!({ "encoding": "base64", "offset": 5, "limit": 3 });
    let read = fixture
        .ask("fs.read", json!(["bytes", options]))
        .await
        .unwrap();
    assert_eq!((&read["data"], &read["bytes"]), (&json!("//4A"), &json!(3)));
    assert_eq!(
        (&read["truncatedBy"], &read["nextOffset"]),
        (&json!("limit"), &json!(8))
    );
    let options = json!({ "encoding": "base64", "offset": 8 });
    let rest = fixture
        .ask("fs.read", json!(["bytes", options]))
        .await
        .unwrap();
    assert_eq!(
        (&rest["data"], &rest["truncated"]),
        (&json!("ZW5k"), &json!(false))
    );
}

#[tokio::test]
async fn what_is_not_there_is_said_by_the_path_that_was_given() {
    let fixture = Fixture::new();
    let (code, message, reason) = refused(fixture.ask("fs.read", json!(["gone.txt"])).await);
    assert_eq!((code, &*reason), (Code::ToolFailed, "not_found"));
    assert_eq!(message, "`fs.read`: `gone.txt` does not exist");
    let through = refused(fixture.ask("fs.read", json!(["a.txt/b"])).await);
    assert_eq!(through.2, "not_found");
}

#[tokio::test]
async fn what_the_host_may_not_read_is_said() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = Fixture::new();
    let path = fixture.root().join("a.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let answer = fixture.ask("fs.read", json!(["a.txt"])).await;
    if std::fs::File::open(&path).is_ok() {
        // The superuser reads it all the same.
        assert_eq!(answer.unwrap()["text"], "granted\n");
        return;
    }
    let (code, message, reason) = refused(answer);
    assert_eq!((code, &*reason), (Code::ToolFailed, "permission_denied"));
    assert_eq!(message, "`fs.read`: `a.txt` may not be read by the host");
}

#[tokio::test]
async fn a_root_may_be_one_file() {
    let fixture = Fixture::new();
    fixture.write("b.txt", "beside\n");
    let host = host(&["fs"], &[&fixture.root().join("a.txt")], &fixture.root());
    let read = ask(&host, "fs.read", json!(["a.txt"])).await.unwrap();
    assert_eq!(read["text"], "granted\n");
    let found = ask(
        &host,
        "fs.grep",
        json!([{ "pattern": "grant", "path": "a.txt" }]),
    )
    .await;
    assert_eq!(found.unwrap()["matches"][0]["path"], "a.txt");
    for path in ["b.txt", ".", "a.txt/..", "a.txt/x"] {
        let (code, ..) = refused(ask(&host, "fs.read", json!([path])).await);
        assert_eq!(code, Code::IsolatedCapabilityDenied, "{path}");
    }
    let (code, ..) = refused(ask(&host, "fs.glob", json!(["*"])).await);
    assert_eq!(code, Code::IsolatedCapabilityDenied);
}

#[tokio::test]
async fn a_file_of_one_root_that_is_replaced_is_read_anew_and_a_link_in_its_place_is_not() {
    let fixture = Fixture::new();
    let path = fixture.root().join("a.txt");
    let host = host(&["fs"], &[&path], &fixture.root());
    fixture.write("new", "replaced\n");
    std::fs::rename(fixture.root().join("new"), &path).unwrap();
    let read = ask(&host, "fs.read", json!(["a.txt"])).await.unwrap();
    assert_eq!(read["text"], "replaced\n");
    std::fs::remove_file(&path).unwrap();
    fixture.link("../outside/secret.txt", "a.txt");
    let (_, message, reason) = refused(ask(&host, "fs.read", json!(["a.txt"])).await);
    assert_eq!(
        (&*message, &*reason),
        (
            "`fs.read`: `a.txt` is a link, not a regular file",
            "not_regular",
        )
    );
}
