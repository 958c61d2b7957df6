//! Which skills are found, and which copy wins.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bailiwick_core::{CancelToken, Code, Scope, SkillError};
use bailiwick_package::{DirectorySource, Survey};
use tempfile::TempDir;

use crate::support::{write, write_skill};

/// A repository in which somebody works, and a home.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for path in ["repo/.git", "repo/sub/deep", "home", "elsewhere"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn skill(&self, path: &str, description: &str) -> &Self {
        write_skill(&self.path(path), description);
        self
    }

    fn survey(&self) -> Survey {
        self.survey_from("repo/sub/deep")
    }

    fn survey_from(&self, cwd: &str) -> Survey {
        let source = DirectorySource::project(self.path(cwd), Some(&self.path("home"))).unwrap();
        source.survey(&CancelToken::new()).unwrap()
    }

    /// Shows every copy as `name scope place`, with what became of it.
    fn shown(&self, survey: &Survey) -> Vec<String> {
        let place = |location: &str| {
            location
                .strip_prefix(self.path("").to_str().unwrap())
                .unwrap_or(location)
                .to_owned()
        };
        survey
            .copies
            .iter()
            .map(|copy| {
                let state = match (&copy.shadowed_by, &copy.skill) {
                    (Some(winner), _) => format!(" < {}", place(winner)),
                    (None, None) => " broken".to_owned(),
                    (None, Some(_)) => String::new(),
                };
                format!(
                    "{} {} {}{state}",
                    copy.name,
                    copy.scope,
                    place(&copy.location)
                )
            })
            .collect()
    }
}

fn code(survey: &Survey, name: &str) -> Code {
    SkillError::from(survey.lookup(name).unwrap_err()).code()
}

#[test]
fn the_nearest_project_folder_wins_over_user() {
    let world = World::new();
    world
        .skill("repo/sub/.agents/skills/a", "near")
        .skill("repo/.agents/skills/a", "far")
        .skill("repo/.agents/skills/b", "project")
        .skill("home/.agents/skills/a", "user")
        .skill("home/.agents/skills/c", "user");
    let survey = world.survey();
    assert_eq!(
        world.shown(&survey),
        [
            "a project repo/sub/.agents/skills/a",
            "a project repo/.agents/skills/a < repo/sub/.agents/skills/a",
            "b project repo/.agents/skills/b",
            "a user home/.agents/skills/a < repo/sub/.agents/skills/a",
            "c user home/.agents/skills/c",
        ]
    );
    assert_eq!(survey.lookup("a").unwrap().description, "near");
    assert_eq!(survey.lookup("a@user").unwrap().description, "user");
    assert_eq!(survey.lookup("a@project").unwrap().description, "near");
    assert_eq!(code(&survey, "a@bundled"), Code::NotFound);
    assert_eq!(survey.skips().len(), 2, "every shadowing is reported");
}

#[test]
fn bundled_folders_come_last() {
    let world = World::new();
    world
        .skill("home/.agents/skills/a", "user")
        .skill("elsewhere/a", "bundled")
        .skill("elsewhere/b", "bundled");
    let source = DirectorySource::project(world.path("repo"), Some(&world.path("home")))
        .unwrap()
        .with_root(world.path("elsewhere"), Scope::Bundled)
        .unwrap();
    let survey = source.survey(&CancelToken::new()).unwrap();
    assert_eq!(survey.lookup("a").unwrap().scope, Scope::User);
    assert_eq!(survey.lookup("b").unwrap().scope, Scope::Bundled);
}

#[test]
fn a_broken_nearer_copy_is_an_error_and_not_a_fallback() {
    let world = World::new();
    world.skill("home/.agents/skills/a", "user");
    write(
        &world.path("repo/.agents/skills/a/SKILL.md"),
        b"---\nname: b\ndescription: d\n---\n",
    );
    let survey = world.survey();
    let error = SkillError::from(survey.lookup("a").unwrap_err());
    assert_eq!(error.code(), Code::ManifestInvalid);
    assert_eq!(error.details()["file"], "SKILL.md");
    assert_eq!(error.details()["line"], 2);
    assert!(survey.lookup("a@user").is_ok());
}

#[test]
fn a_folder_without_a_skill_takes_its_name() {
    let world = World::new();
    world.skill("home/.agents/skills/a", "user");
    fs::create_dir_all(world.path("repo/.agents/skills/a/scripts")).unwrap();
    assert_eq!(code(&world.survey(), "a"), Code::ManifestInvalid);
}

#[test]
fn the_search_goes_no_higher_than_the_repository() {
    let world = World::new();
    world
        .skill(".agents/skills/outside", "x")
        .skill("elsewhere/.agents/skills/b", "x");
    assert_eq!(world.shown(&world.survey()), [""; 0]);
    // Without a repository only the folder itself is searched.
    fs::create_dir_all(world.path("elsewhere/in")).unwrap();
    assert_eq!(world.shown(&world.survey_from("elsewhere/in")), [""; 0]);
    assert_eq!(world.shown(&world.survey_from("elsewhere")).len(), 1);
}

#[test]
fn the_users_own_folder_is_not_a_project() {
    let world = World::new();
    world.skill("home/.agents/skills/a", "user");
    assert_eq!(
        world.shown(&world.survey_from("home")),
        ["a user home/.agents/skills/a"]
    );
}

#[test]
fn hidden_folders_and_dependencies_are_passed_over_and_reported() {
    let world = World::new();
    for folder in [".git", ".hidden", "node_modules"] {
        world.skill(&format!("repo/.agents/skills/{folder}/a"), "x");
    }
    let survey = world.survey();
    assert_eq!(world.shown(&survey), [""; 0]);
    assert_eq!(survey.skips().len(), 3);
}

#[test]
fn the_search_stops_at_a_skill_and_is_in_byte_order() {
    let world = World::new();
    world
        .skill("repo/.agents/skills/b", "x")
        .skill("repo/.agents/skills/b/nested", "x")
        .skill("repo/.agents/skills/group/c", "x")
        .skill("repo/.agents/skills/a", "x");
    let survey = world.survey();
    let names: Vec<_> = survey
        .copies
        .iter()
        .map(|copy| copy.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_search_is_bounded_in_depth_and_in_folders() {
    let world = World::new();
    world
        .skill("repo/.agents/skills/1/2/3/4/5/six", "x")
        .skill("repo/.agents/skills/1/2/3/4/5/6/seven", "x");
    let survey = world.survey();
    assert!(survey.lookup("six").is_ok());
    assert_eq!(code(&survey, "seven"), Code::NotFound);
    assert!(
        survey
            .skips()
            .iter()
            .any(|skip| skip.reason.contains("6 folders deep"))
    );

    for number in 0..2000 {
        fs::create_dir(world.path(&format!("repo/.agents/skills/d{number}"))).unwrap();
    }
    world.skill("repo/.agents/skills/z", "x");
    world.skill("home/.agents/skills/z", "user");
    let survey = world.survey();
    assert!(
        survey
            .skips()
            .iter()
            .any(|skip| skip.reason.contains("after 2000 folders"))
    );
    assert_eq!(
        code(&survey, "z"),
        Code::ManifestInvalid,
        "what was not searched is not replaced"
    );
}

#[test]
fn a_link_is_followed_only_to_a_folder_at_least_as_trusted() {
    let world = World::new();
    world
        .skill("home/.agents/skills/a", "user")
        .skill("elsewhere/b", "x")
        .skill("repo/.agents/skills/real", "x");
    let skills = world.path("repo/.agents/skills");
    symlink(world.path("home/.agents/skills/a"), skills.join("a")).unwrap();
    symlink(world.path("elsewhere/b"), skills.join("b")).unwrap();
    symlink(world.path("nowhere"), skills.join("c")).unwrap();
    symlink(&skills, skills.join("loop")).unwrap();
    symlink(skills.join("real"), skills.join("alias")).unwrap();
    symlink(skills.join("real"), world.path("home/.agents/skills/lent")).unwrap();
    let survey = world.survey();
    assert_eq!(
        world.shown(&survey),
        [
            "a project home/.agents/skills/a",
            "alias project repo/.agents/skills/real broken",
            "b project repo/.agents/skills/b broken",
            "c project repo/.agents/skills/c broken",
            "loop project repo/.agents/skills/loop broken",
            "real project repo/.agents/skills/real",
            "a user home/.agents/skills/a < home/.agents/skills/a",
            "lent user home/.agents/skills/lent broken",
        ]
    );
    assert_eq!(
        code(&survey, "alias"),
        Code::ManifestInvalid,
        "a link bears its own name"
    );
}

#[test]
fn a_projects_folder_that_leads_out_of_the_repository_is_passed_over_alone() {
    let world = World::new();
    world
        .skill("elsewhere/a", "x")
        .skill("repo/sub/.agents/skills/near", "project")
        .skill("home/.agents/skills/own", "user");
    fs::create_dir(world.path("repo/.agents")).unwrap();
    symlink(world.path("elsewhere"), world.path("repo/.agents/skills")).unwrap();
    let survey = world.survey();
    assert_eq!(
        world.shown(&survey),
        [
            "near project repo/sub/.agents/skills/near",
            "own user home/.agents/skills/own",
        ]
    );
    let skips = survey.skips();
    assert_eq!(
        skips[0].location,
        world.path("repo/.agents/skills").to_str().unwrap()
    );
    insta::assert_snapshot!(skips[0].reason, @"the skills folder leads out of the repository");
    insta::assert_snapshot!(skips[0].fix, @"put the skills into the repository, or name their folder yourself");
    assert_eq!(skips.len(), 1);
}

#[test]
fn a_skills_folder_that_is_none_is_passed_over_and_one_that_is_missing_is_not_mentioned() {
    let world = World::new();
    world.skill("repo/sub/deep/.agents/skills/a", "project");
    write(&world.path("repo/sub/.agents/skills"), b"a file");
    fs::create_dir(world.path("home/.agents")).unwrap();
    symlink("nowhere", world.path("home/.agents/skills")).unwrap();
    let survey = world.survey();
    assert!(survey.lookup("a").is_ok());
    let reasons: Vec<_> = survey.skips().into_iter().map(|skip| skip.reason).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons
            .iter()
            .all(|reason| reason.starts_with("the skills folder cannot be searched: ")),
        "{reasons:?}"
    );
}

#[test]
fn a_folder_that_a_person_names_may_be_the_skill_itself() {
    let world = World::new();
    world.skill("elsewhere/a", "x");
    for path in ["elsewhere", "elsewhere/a"] {
        let source = DirectorySource::open(world.path(path)).unwrap();
        let survey = source.survey(&CancelToken::new()).unwrap();
        assert_eq!(survey.lookup("a").unwrap().scope, Scope::Path);
    }
    let error = DirectorySource::open(Path::new("no/such/folder")).unwrap_err();
    assert_eq!(SkillError::from(error).code(), Code::InvalidSkillsConfig);
}

#[test]
fn a_near_name_is_proposed() {
    let world = World::new();
    world.skill("repo/.agents/skills/release-notes", "x");
    let error = SkillError::from(world.survey().lookup("release-note").unwrap_err());
    insta::assert_snapshot!(error.hint().unwrap(), @"did you mean `release-notes`? `bailiwick list` shows every skill found");
}
