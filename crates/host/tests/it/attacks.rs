//! What a guest, or somebody who writes beneath its root, tries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_core::Code;
use bailiwick_testkit::Patience;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use serde_json::{Value, json};

use super::{Fixture, ask, host, refused};

#[tokio::test]
async fn a_guest_cannot_name_a_path_elsewhere() {
    let fixture = Fixture::new();
    let secret = fixture
        .path
        .join("outside/secret.txt")
        .display()
        .to_string();
    let around = format!("{}/../outside/secret.txt", fixture.root().display());
    // A sibling whose name only begins like the root's.
    fixture.workspace.write("root-two/b.txt", "secret\n");
    let sibling = fixture.path.join("root-two/b.txt").display().to_string();
    for path in [
        "../outside/secret.txt",
        "x/../../outside/secret.txt",
        "..",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        &secret,
        &around,
        &sibling,
    ] {
        let (code, message, reason) = refused(fixture.ask("fs.read", json!([path])).await);
        assert_eq!(
            (code, &*reason),
            (Code::IsolatedCapabilityDenied, "outside"),
            "{path}"
        );
        assert_eq!(
            message,
            format!("`fs.read`: `{path}` is not beneath what `skill` may read")
        );
        let searched = fixture
            .ask("fs.grep", json!([{ "pattern": ".", "path": path }]))
            .await;
        assert_eq!(refused(searched).0, Code::IsolatedCapabilityDenied);
        let listed = fixture.ask("fs.glob", json!(["**", { "cwd": path }])).await;
        assert_eq!(refused(listed).0, Code::IsolatedCapabilityDenied);
    }
}

#[tokio::test]
async fn a_denied_path_says_the_same_whether_it_exists_or_not() {
    let fixture = Fixture::new();
    fixture.link("../outside/secret.txt", "there");
    fixture.link("../outside/missing.txt", "nowhere");
    let there = refused(fixture.ask("fs.read", json!(["there"])).await);
    let nowhere = refused(fixture.ask("fs.read", json!(["nowhere"])).await);
    assert_eq!((there.0, there.2), (nowhere.0, nowhere.2));
}

#[tokio::test]
async fn a_link_out_of_the_root_is_refused_and_one_that_stays_is_followed() {
    let fixture = Fixture::new();
    fixture.write("sub/b.txt", "inside\n");
    fixture.link("../outside/secret.txt", "out");
    fixture.link(fixture.path.join("outside"), "absolute");
    fixture.link(fixture.root().join("a.txt"), "absolute-inside");
    fixture.link("sub/../sub", "in");
    for path in ["out", "absolute/secret.txt", "absolute-inside"] {
        let (code, message, reason) = refused(fixture.ask("fs.read", json!([path])).await);
        assert_eq!(
            (code, &*reason),
            (Code::IsolatedCapabilityDenied, "link"),
            "{path}"
        );
        assert_eq!(
            message,
            format!("`fs.read`: `{path}` leads out of what `skill` may read")
        );
    }
    let read = fixture.ask("fs.read", json!(["in/b.txt"])).await.unwrap();
    assert_eq!(read["text"], "inside\n");
    let found = fixture
        .ask("fs.grep", json!([{ "pattern": "secret" }]))
        .await
        .unwrap();
    assert_eq!(found["matches"], json!([]));
    let listed = fixture.ask("fs.glob", json!(["**"])).await.unwrap();
    assert_eq!(listed["paths"], json!(["a.txt", "sub/b.txt"]));
    let listed = fixture
        .ask("fs.glob", json!(["*", { "cwd": "absolute" }]))
        .await;
    assert_eq!(refused(listed).2, "link");
}

#[tokio::test]
async fn a_pipe_is_refused_at_once() {
    let fixture = Fixture::new();
    let pipe = fixture.root().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let patience = Patience::measured();
    for encoding in ["utf8", "base64"] {
        let read = fixture.ask("fs.read", json!(["pipe", { "encoding": encoding }]));
        let (code, message, reason) = refused(patience.settle("a refusal", read).await);
        assert_eq!((code, &*reason), (Code::ArgumentsRejected, "not_regular"));
        assert_eq!(message, "`fs.read`: `pipe` is a pipe, not a regular file");
    }
    let search = fixture.ask("fs.grep", json!([{ "pattern": "granted" }]));
    let found = patience.settle("a search beside it", search).await.unwrap();
    assert_eq!(found["filesSearched"], 1);
    let search = fixture.ask("fs.grep", json!([{ "pattern": ".", "path": "pipe" }]));
    assert_eq!(
        refused(patience.settle("a refusal", search).await).2,
        "not_regular"
    );
}

#[tokio::test]
async fn a_directory_and_a_socket_are_no_files() {
    let fixture = Fixture::new();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.root().join("socket")).unwrap();
    for (path, kind) in [(".", "a directory"), ("socket", "a socket")] {
        let (code, message, _) = refused(fixture.ask("fs.read", json!([path])).await);
        assert_eq!(code, Code::ArgumentsRejected);
        assert_eq!(
            message,
            format!("`fs.read`: `{path}` is {kind}, not a regular file")
        );
    }
}

#[tokio::test]
async fn a_device_beneath_a_root_is_refused() {
    let host = host(&["fs"], &[Path::new("/dev")], Path::new("/dev"));
    let patience = Patience::measured();
    for path in ["zero", "null", "/dev/tty", "random"] {
        let read = ask(&host, "fs.read", json!([path]));
        let (code, message, reason) = refused(patience.settle("a refusal", read).await);
        assert_eq!(
            (code, &*reason),
            (Code::ArgumentsRejected, "not_regular"),
            "{path}"
        );
        assert_eq!(
            message,
            format!("`fs.read`: `{path}` is a device, not a regular file")
        );
    }
}

#[tokio::test]
async fn a_guest_cannot_read_the_host_through_its_process_information() {
    let host = host(&["fs"], &[Path::new("/")], Path::new("/"));
    for path in ["/proc/self/environ", "/proc/self/status", "/proc/meminfo"] {
        let (code, ..) = refused(ask(&host, "fs.read", json!([path])).await);
        assert_eq!(code, Code::IsolatedCapabilityDenied, "{path}");
    }
    let listed = ask(&host, "fs.glob", json!(["*", { "cwd": "/proc" }])).await;
    assert_eq!(refused(listed).2, "process_information");
    let listed = ask(&host, "fs.glob", json!(["proc/*"])).await.unwrap();
    assert_eq!(
        (&listed["paths"], &listed["skipped"]),
        (&json!([]), &json!(1))
    );
    let root = ask(&host, "fs.read", json!(["/proc/self/root/etc/passwd"])).await;
    assert!(root.is_err());
}

#[tokio::test]
async fn a_root_that_is_swapped_for_a_link_stays_what_was_granted() {
    let fixture = Fixture::new();
    fixture.workspace.write("outside/a.txt", "secret\n");
    let root = fixture.root();
    let host = fixture.host();
    std::fs::rename(&root, fixture.path.join("moved")).unwrap();
    symlink(fixture.path.join("outside"), &root).unwrap();
    let read = ask(&host, "fs.read", json!(["a.txt"])).await.unwrap();
    assert_eq!(read["text"], "granted\n");
    let found = ask(&host, "fs.grep", json!([{ "pattern": "secret" }]))
        .await
        .unwrap();
    assert_eq!(found["matches"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_swapped_for_a_link_during_the_work_leads_nowhere() {
    let fixture = Fixture::new();
    fixture.write("inner/secret.txt", "harmless\n");
    fixture.link("../outside", "link");
    let (root, stop) = (fixture.root(), AtomicBool::new(false));
    let host = fixture.host();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (one, other) = (root.join("inner"), root.join("link"));
                rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let mut reached = 0;
                for _ in 0..400 {
                    let read = ask(&host, "fs.read", json!(["inner/secret.txt"])).await;
                    if let Ok(read) = read {
                        assert_eq!(read["text"], "harmless\n");
                        reached += 1;
                    }
                    let found = ask(&host, "fs.grep", json!([{ "pattern": "." }]))
                        .await
                        .unwrap();
                    assert!(!found.to_string().contains("\"secret\""), "{found}");
                }
                stop.store(true, Ordering::Relaxed);
                assert!(reached > 0, "the race was never won by the host");
            });
        });
    });
}

#[tokio::test]
async fn a_huge_file_costs_no_more_than_a_result() {
    let fixture = Fixture::new();
    let huge = std::fs::File::create(fixture.root().join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let patience = Patience::measured();
    let read = patience
        .settle("a read", fixture.ask("fs.read", json!(["huge"])))
        .await
        .unwrap();
    assert_eq!(
        (&read["truncatedBy"], &read["size"]),
        (&json!("bytes"), &json!(1_u64 << 40))
    );
    assert!(read.to_string().len() < 1024 * 1024);
    let options = json!({ "encoding": "base64", "offset": 1_u64 << 39 });
    let read = fixture.ask("fs.read", json!(["huge", options]));
    let read = patience.settle("a read of bytes", read).await.unwrap();
    assert_eq!(read["truncatedBy"], "bytes");
    assert!(read.to_string().len() < 1024 * 1024);
    let search = fixture.ask("fs.grep", json!([{ "pattern": "x" }]));
    let found = patience.settle("a search", search).await.unwrap();
    assert_eq!(found["binaryFiles"], 1);
}

#[tokio::test]
async fn links_in_a_circle_are_no_endless_walk() {
    let fixture = Fixture::new();
    fixture.link("..", "up");
    fixture.link(".", "here");
    fixture.link("self", "self");
    let listed = fixture.ask("fs.glob", json!(["**"])).await.unwrap();
    assert_eq!(listed["paths"], json!(["a.txt"]));
    let read = fixture
        .ask("fs.read", json!(["here/here/here/a.txt"]))
        .await
        .unwrap();
    assert_eq!(read["text"], "granted\n");
    let (code, _, reason) = refused(fixture.ask("fs.read", json!(["self"])).await);
    assert_eq!((code, &*reason), (Code::ToolFailed, "unresolvable"));
}

#[tokio::test]
async fn odd_names_are_listed_as_they_are_or_counted() {
    let fixture = Fixture::new();
    fixture.write("new\nline", "granted\n");
    fixture.write("back\\slash", "");
    let not_text = fixture.root().join(OsStr::from_bytes(b"not\xfftext"));
    std::fs::File::create(not_text).unwrap();
    let listed = fixture.ask("fs.glob", json!(["**"])).await.unwrap();
    assert_eq!(
        listed["paths"],
        json!(["a.txt", "back\\slash", "new\nline"])
    );
    assert_eq!(listed["skipped"], 1);
    let read = fixture.ask("fs.read", json!(["new\nline"])).await.unwrap();
    assert_eq!(read["text"], "granted\n");
}

#[tokio::test]
async fn a_pattern_that_ruins_other_engines_ends() {
    let fixture = Fixture::new();
    fixture.write("a.txt", format!("{}b\n", "a".repeat(100_000)));
    let patience = Patience::measured();
    for pattern in ["^(a+)+$", "(a|aa)+$", "(.*)(.*)(.*)(.*)x", "(a?){40}a{40}c"] {
        let search = fixture.ask("fs.grep", json!([{ "pattern": pattern }]));
        let found = patience.settle(pattern, search).await.unwrap();
        assert_eq!(found["matches"], json!([]), "{pattern}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_files_are_listed_within_bounds() {
    let fixture = Fixture::new();
    for folder in 0..100 {
        let folder = fixture.root().join(format!("folder-{folder:02}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::File::create(folder.join("file-000")).unwrap();
        // A further name costs less than a further file.
        for file in 1..1000 {
            let name = folder.join(format!("file-{file:03}"));
            std::fs::hard_link(folder.join("file-000"), name).unwrap();
        }
    }
    let patience = Patience::measured();
    let list = fixture.ask("fs.glob", json!(["**/file-*", { "limit": 20_000 }]));
    let listed = patience.settle("a list", list).await.unwrap();
    let paths: Vec<&str> = strings(&listed["paths"]);
    assert_eq!(
        (paths.len(), &listed["truncatedBy"]),
        (20_000, &json!("limit"))
    );
    assert!(paths.is_sorted() && listed.to_string().len() < 1024 * 1024);
    let list = fixture.ask("fs.glob", json!(["**/file-999"]));
    let listed = patience.settle("a list of few", list).await.unwrap();
    assert_eq!(
        (strings(&listed["paths"]).len(), &listed["truncated"]),
        (100, &json!(false))
    );
}

#[tokio::test]
async fn long_names_fill_a_result_before_its_limit() {
    let fixture = Fixture::new();
    let name = "n".repeat(200);
    let folder = [name.as_str(); 10].join("/");
    for file in 0..600 {
        fixture.write(&format!("{folder}/{file}"), "");
    }
    let listed = fixture.ask("fs.glob", json!(["**"])).await.unwrap();
    assert_eq!(listed["truncatedBy"], "bytes");
    assert!(listed.to_string().len() < 1024 * 1024);
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item.as_str().unwrap())
        .collect()
}

#[test]
fn whatever_the_path_nothing_outside_is_opened() {
    let fixture = Fixture::new();
    fixture.write("sub/file", "inside");
    fixture.link("../outside", "out");
    fixture.link("sub", "in");
    fixture.link("..", "sub/up");
    fixture.link("/", "top");
    for path in ["file", "outside/file", "sub/file"] {
        fixture.workspace.write(path, "outside");
    }
    let host = fixture.host();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let paths = (
        prop::collection::vec(prop::sample::select(PARTS), 1..8),
        any::<bool>(),
    );
    let reached = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(2000));
    let held = runner.run(&paths, |(parts, is_absolute)| {
        let mut path = parts.join("/");
        if is_absolute {
            path = format!("{}/{path}", fixture.root().display());
        }
        if let Ok(read) = runtime.block_on(ask(&host, "fs.read", json!([path]))) {
            reached.set(reached.get() + 1);
            prop_assert!(
                read["text"] == "inside" || read["text"] == "granted\n",
                "{path}: {read}"
            );
        }
        Ok(())
    });
    held.unwrap();
    assert!(reached.get() > 0, "no path reached a file at all");
}

const PARTS: &[&str] = &[
    ".",
    "..",
    "",
    "sub",
    "file",
    "a.txt",
    "out",
    "in",
    "up",
    "top",
    "root",
    "outside",
    "secret.txt",
];
