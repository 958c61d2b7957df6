//! Sources: priority, shadowing, failure.

use std::time::Duration;

use bailiwick::core::{
    BoxFuture, CancelToken, DiscoveredSkill, Discovery, FileEntry, FileStat, SkillDescriptor,
    SkillPath, SkillSource,
};
use bailiwick::{Code, Error};

use crate::bed::{allowing, source};

/// A source that fails, hangs or panics, whatever it is asked.
struct Broken(Fault);

#[derive(Clone, Copy)]
enum Fault {
    Fails,
    Hangs,
    Panics,
}

impl Broken {
    fn answer<T: Send + 'static>(&self) -> BoxFuture<'static, Result<T, Error>> {
        let fault = self.0;
        Box::pin(async move {
            match fault {
                Fault::Fails => {}
                Fault::Hangs => std::future::pending::<()>().await,
                Fault::Panics => panic!("secret of the source"),
            }
            Err(Error::new(Code::WorkspaceFailed, "the disk is gone"))
        })
    }
}

impl SkillSource for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    fn discover(&self, _: CancelToken) -> BoxFuture<'_, Result<Discovery, Error>> {
        self.answer()
    }

    fn descriptor<'a>(
        &'a self,
        _: &'a DiscoveredSkill,
        _: CancelToken,
    ) -> BoxFuture<'a, Result<SkillDescriptor, Error>> {
        self.answer()
    }

    fn read<'a>(
        &'a self,
        _: &'a DiscoveredSkill,
        _: Option<&'a SkillPath>,
        _: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<u8>, Error>> {
        self.answer()
    }

    fn stat<'a>(
        &'a self,
        _: &'a DiscoveredSkill,
        _: Option<&'a SkillPath>,
        _: CancelToken,
    ) -> BoxFuture<'a, Result<FileStat, Error>> {
        self.answer()
    }

    fn list<'a>(
        &'a self,
        _: &'a DiscoveredSkill,
        _: CancelToken,
    ) -> BoxFuture<'a, Result<Vec<FileEntry>, Error>> {
        self.answer()
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_hangs_or_panics_is_reported_and_the_others_still_work() {
    for fault in [Fault::Fails, Fault::Hangs, Fault::Panics] {
        let manager = allowing()
            .source(Broken(fault))
            .source(source("s", &[("a", &["x"])]))
            .source_deadline(Duration::from_secs(5))
            .build()
            .await
            .unwrap();
        let mut failures = Vec::new();
        manager.source_failures(|failure| {
            failures.push((failure.source.clone(), failure.error.code()));
        });
        assert_eq!(failures, [("broken".to_owned(), Code::SourceFailed)]);
        manager.load("a").await.unwrap();
        let missing = manager.load("b").await.unwrap_err();
        assert_eq!(missing.code(), Code::NotFound);
        assert!(
            missing.hint().unwrap().contains("broken"),
            "the failed source may be why"
        );
    }
}

#[tokio::test]
async fn the_first_source_wins_and_the_shadowed_copy_stays_visible() {
    let manager = allowing()
        .source(source("first", &[("a", &["x"])]))
        .source(source("second", &[("a", &["y"]), ("b", &["z"])]))
        .build()
        .await
        .unwrap();
    let shadowed: Vec<_> = manager
        .catalog()
        .into_iter()
        .map(|entry| (entry.source, entry.skill.name, entry.shadowed_by))
        .collect();
    assert_eq!(shadowed[1].0, "second");
    assert_eq!(shadowed[1].2.as_deref(), Some("first:a"));
    assert_eq!(manager.load("a").await.unwrap().tools[0].as_str(), "x");
}

#[tokio::test]
async fn two_sources_of_one_label_are_a_configuration_error() {
    let built = allowing()
        .source(source("s", &[]))
        .source(source("s", &[]))
        .build()
        .await;
    assert_eq!(built.unwrap_err().code(), Code::InvalidSkillsConfig);
    let relative = allowing().cwd("relative").build().await;
    assert_eq!(relative.unwrap_err().code(), Code::InvalidSkillsConfig);
}
