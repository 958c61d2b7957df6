//! The cases that every store must pass, mounted once for each kind.

use std::collections::HashSet;
use std::time::Duration;

use bailiwick_core::{ArtifactId, ArtifactStore, Code, Digest, Line, SkillError};
use bailiwick_store::StoreConfig;

use crate::{output, reason, source};

/// Names the cases and opens a store for each; the second part of what is opened lives as long.
macro_rules! cases {
    ($open:expr) => {
        crate::suite::cases!($open;
            bytes_come_back_as_they_went_in,
            what_is_known_survives_untouched_by_its_content,
            the_same_bytes_stay_until_the_last_artifact_goes,
            ranges_stop_at_the_end,
            lines_and_patterns_are_numbered,
            an_expired_artifact_is_refused_by_every_reader,
            an_unknown_id_is_refused_by_every_reader,
            a_skill_cannot_keep_more_than_its_quota,
            tiny_artifacts_cannot_slip_under_the_quota,
            what_has_expired_no_longer_counts,
            the_newest_artifact_is_listed_first,
            a_wish_to_be_kept_for_ever_is_bounded,
            threads_do_not_lose_each_others_artifacts,
            threads_together_cannot_exceed_a_quota,
        );
    };
    ($open:expr; $($case:ident),+ $(,)?) => {
        $(#[test]
        fn $case() {
            crate::suite::$case($open);
        })+
    };
}
pub(crate) use cases;

type Opened<G> = (Box<dyn ArtifactStore>, G);

pub(crate) fn bytes_come_back_as_they_went_in<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default());
    for bytes in [
        &b""[..],
        b"one\ntwo",
        &[0, 255, 10, 13, 10],
        &vec![b'x'; 300_000],
    ] {
        let kept = store.put(output(bytes)).unwrap();
        assert_eq!(store.read(&kept.id, 0, u64::MAX).unwrap(), bytes);
        assert_eq!(kept.size, bytes.len() as u64);
        assert_eq!(kept.lines, bailiwick_core::count_lines(bytes));
        assert_eq!(kept.digest, Digest::of(bytes));
        assert_eq!(store.stat(&kept.id).unwrap(), kept);
    }
    assert_eq!(store.list().unwrap().len(), 4);
}

pub(crate) fn what_is_known_survives_untouched_by_its_content<G>(
    open: impl Fn(StoreConfig) -> Opened<G>,
) {
    let (store, _guard) = open(StoreConfig::default());
    for text in [
        "",
        "'; DROP TABLE artifacts; --",
        "a\0b",
        "../../etc/passwd",
        "ü\u{202e}\n",
    ] {
        let new = output(b"x")
            .media_type(text)
            .name(text)
            .keep(Duration::from_secs(90));
        let kept = store.put(new).unwrap();
        let found = store.stat(&kept.id).unwrap();
        assert_eq!(found, kept);
        assert_eq!(
            (found.media_type.as_str(), found.name.as_deref()),
            (text, Some(text))
        );
        assert_eq!(found.source, source("audit"));
        assert_eq!(
            found
                .expires
                .duration_since(found.created)
                .unwrap()
                .as_secs(),
            90
        );
    }
}

pub(crate) fn the_same_bytes_stay_until_the_last_artifact_goes<G>(
    open: impl Fn(StoreConfig) -> Opened<G>,
) {
    let (store, _guard) = open(StoreConfig::default());
    let first = store.put(output(b"same")).unwrap();
    let second = store.put(output(b"same")).unwrap();
    assert_ne!(first.id, second.id);
    store.remove(&first.id).unwrap();
    assert_eq!(reason(store.read(&first.id, 0, 9)), "unknown");
    assert_eq!(store.read(&second.id, 0, 9).unwrap(), b"same");
    store.remove(&second.id).unwrap();
    assert_eq!(reason(store.remove(&second.id)), "unknown");
    assert!(store.list().unwrap().is_empty());
}

pub(crate) fn ranges_stop_at_the_end<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default());
    let id = store.put(output(b"0123456789")).unwrap().id;
    for (offset, length, expected) in [
        (0, 0, ""),
        (0, 3, "012"),
        (8, 2, "89"),
        (8, 3, "89"),
        (10, 1, ""),
        (u64::MAX, 1, ""),
        (1, u64::MAX, "123456789"),
        (u64::MAX, u64::MAX, ""),
    ] {
        let read = store.read(&id, offset, length).unwrap();
        assert_eq!(
            String::from_utf8(read).unwrap(),
            expected,
            "{offset}, {length}"
        );
    }
}

pub(crate) fn lines_and_patterns_are_numbered<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default());
    let id = store.put(output(b"one\r\ntwo\n\nfour [x]")).unwrap().id;
    let texts = |found: Result<Vec<Line>, SkillError>| -> Vec<(u64, String)> {
        found
            .unwrap()
            .into_iter()
            .map(|line| (line.number, line.text))
            .collect()
    };
    let line = |number, text: &str| (number, text.to_owned());
    assert_eq!(
        texts(store.lines(&id, 1, 2)),
        [line(1, "one"), line(2, "two")]
    );
    assert_eq!(
        texts(store.lines(&id, 3, 9)),
        [line(3, ""), line(4, "four [x]")]
    );
    assert_eq!(texts(store.lines(&id, 0, 1)), [line(1, "one")]);
    assert_eq!(texts(store.lines(&id, 5, 1)), []);
    assert_eq!(
        texts(store.grep(&id, "o", 2)),
        [line(1, "one"), line(2, "two")]
    );
    assert_eq!(
        texts(store.grep(&id, "[x]", 9)),
        [line(4, "four [x]")],
        "no pattern language"
    );
    assert_eq!(texts(store.grep(&id, "O", 9)), []);
    assert_eq!(
        texts(store.grep(&id, "e\r\nt", 9)),
        [],
        "no line holds a line end"
    );
    assert_eq!(texts(store.grep(&id, "", 9)).len(), 4);
}

pub(crate) fn an_expired_artifact_is_refused_by_every_reader<G>(
    open: impl Fn(StoreConfig) -> Opened<G>,
) {
    let (store, _guard) = open(StoreConfig::default());
    let control = store.put(output(b"text")).unwrap().id;
    let gone = store.put(output(b"text").keep(Duration::ZERO)).unwrap().id;
    assert_eq!(refusals(&*store, &gone), ["expired"; 5]);
    assert_eq!(
        store.read(&control, 0, 9).unwrap(),
        b"text",
        "the same bytes live on"
    );
    let listed: Vec<_> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|found| found.id)
        .collect();
    assert_eq!(listed, [control]);
    store.put(output(b"another write forgets it")).unwrap();
    assert_eq!(refusals(&*store, &gone), ["unknown"; 5]);
}

pub(crate) fn an_unknown_id_is_refused_by_every_reader<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default());
    let unknown = "a0123456789".parse().unwrap();
    assert_eq!(refusals(&*store, &unknown), ["unknown"; 5]);
    let error = store.stat(&unknown).unwrap_err();
    assert_eq!(error.code(), Code::ArtifactUnavailable);
    assert_eq!(
        error.model_text(),
        "E_SKILL_ARTIFACT_UNAVAILABLE: no artifact is named `a0123456789`"
    );
}

fn refusals(store: &dyn ArtifactStore, id: &ArtifactId) -> [String; 5] {
    [
        reason(store.stat(id)),
        reason(store.read(id, 0, 1)),
        reason(store.lines(id, 1, 1)),
        reason(store.grep(id, "t", 1)),
        reason(store.remove(id)),
    ]
}

pub(crate) fn a_skill_cannot_keep_more_than_its_quota<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default().quota_per_skill(20_000));
    let first = store.put(output(&[b'a'; 10_000])).unwrap();
    assert_eq!(reason(store.put(output(&[b'b'; 10_001]))), "quota");
    store.put(output(&[b'c'; 10_000])).unwrap();
    let error = store.put(output(b"d")).unwrap_err();
    assert_eq!(error.code(), Code::ArtifactUnavailable);
    assert_eq!(
        error.message(),
        "skill `audit` keeps 20000 bytes of artifacts and may keep 20000; 4096 more do not fit"
    );
    assert_eq!(store.list().unwrap().len(), 2, "a refusal keeps nothing");

    let bytes = vec![b'a'; 20_000];
    let other = bailiwick_core::NewArtifact::new(&bytes, "script-output", source("other"));
    store.put(other).unwrap();
    store.remove(&first.id).unwrap();
    store.put(output(b"d")).unwrap();
}

pub(crate) fn tiny_artifacts_cannot_slip_under_the_quota<G>(
    open: impl Fn(StoreConfig) -> Opened<G>,
) {
    let (store, _guard) = open(StoreConfig::default().quota_per_skill(3 * 4096));
    for _ in 0..3 {
        store.put(output(b"")).unwrap();
    }
    assert_eq!(reason(store.put(output(b""))), "quota");
}

pub(crate) fn what_has_expired_no_longer_counts<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default().quota_per_skill(4096));
    for _ in 0..3 {
        store.put(output(b"x").keep(Duration::ZERO)).unwrap();
    }
    store.put(output(b"x")).unwrap();
    assert_eq!(reason(store.put(output(b"x"))), "quota");
}

pub(crate) fn the_newest_artifact_is_listed_first<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default());
    let mut ids: Vec<_> = (0_u8..20)
        .map(|number| store.put(output(&[number])).unwrap().id)
        .collect();
    ids.reverse();
    let listed: Vec<_> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|found| found.id)
        .collect();
    assert_eq!(listed, ids);
}

pub(crate) fn a_wish_to_be_kept_for_ever_is_bounded<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default());
    let kept = store.put(output(b"x").keep(Duration::MAX)).unwrap();
    assert_eq!(store.stat(&kept.id).unwrap(), kept);
}

pub(crate) fn threads_do_not_lose_each_others_artifacts<G>(
    open: impl Fn(StoreConfig) -> Opened<G>,
) {
    let (store, _guard) = open(StoreConfig::default());
    let ids: HashSet<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let store = &*store;
                scope.spawn(move || {
                    (0..10)
                        .map(|number| {
                            // Half of the bytes are everybody's, so that removing races with adopting.
                            let bytes = format!("{}", number % 2 * (thread * 10 + number));
                            let kept = store.put(output(bytes.as_bytes())).unwrap();
                            assert_eq!(store.read(&kept.id, 0, 99).unwrap(), bytes.as_bytes());
                            if number % 3 == 0 {
                                store.remove(&kept.id).unwrap();
                            }
                            kept.id
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(ids.len(), 40);
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 4 * 6);
    for artifact in listed {
        let bytes = store.read(&artifact.id, 0, 99).unwrap();
        assert_eq!(Digest::of(&bytes), artifact.digest);
    }
}

pub(crate) fn threads_together_cannot_exceed_a_quota<G>(open: impl Fn(StoreConfig) -> Opened<G>) {
    let (store, _guard) = open(StoreConfig::default().quota_per_skill(5 * 4096));
    let kept: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0_u8..4)
            .map(|thread| {
                let store = &*store;
                scope.spawn(move || {
                    (0_u8..4)
                        .filter(|number| store.put(output(&[thread, *number])).is_ok())
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(kept, 5);
    assert_eq!(store.list().unwrap().len(), 5);
}
