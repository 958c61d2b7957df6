//! Directories made to hurt a reader.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;

use bailiwick_core::{CancelToken, Code, SkillError, SkillPath};
use bailiwick_package::{DiagnosticId as Id, PackageError};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::{Skill, errors, write};

fn message(skill: &Skill) -> String {
    let (package, found) = skill.open();
    assert!(package.is_none());
    found[0].to_string()
}

#[test]
fn a_linked_skill_file_cannot_leak_another_file() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let skill = Skill::empty().link("SKILL.md", outside.path());
    insta::assert_snapshot!(message(&skill), @"SKILL.md: error: `SKILL.md` is a symbolic link that leads out of its folder [skill-file-link]");
}

#[test]
fn a_dangling_skill_file_is_called_so() {
    let skill = Skill::empty().link("SKILL.md", "gone.md");
    insta::assert_snapshot!(message(&skill), @"SKILL.md: error: `SKILL.md` is a symbolic link that leads nowhere [skill-file-link]");
}

#[test]
fn a_skill_file_that_is_a_folder_is_rejected() {
    let skill = Skill::empty();
    fs::create_dir(skill.path().join("SKILL.md")).unwrap();
    insta::assert_snapshot!(message(&skill), @"SKILL.md: error: `SKILL.md` is a folder and should be a file [skill-file-not-regular]");
}

#[test]
fn a_pipe_in_place_of_a_file_makes_nobody_wait() {
    let skill = Skill::empty();
    mkfifo(&skill.path().join("SKILL.md"), Mode::S_IRWXU).unwrap();
    insta::assert_snapshot!(message(&skill), @"SKILL.md: error: `SKILL.md` is a pipe and should be a file [skill-file-not-regular]");
}

#[test]
fn a_file_swapped_for_a_pipe_after_the_check_makes_nobody_wait() {
    let skill = Skill::good().file("scripts/go.sh", "echo");
    let package = skill.package();
    let script = skill.path().join("scripts/go.sh");
    fs::remove_file(&script).unwrap();
    mkfifo(&script, Mode::S_IRWXU).unwrap();
    let error = package.read(&"scripts/go.sh".parse().unwrap()).unwrap_err();
    assert!(matches!(error, PackageError::Read { .. }), "{error:?}");
}

#[test]
fn a_file_swapped_for_a_link_after_the_check_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("go.sh"), b"evil");
    let skill = Skill::good().file("scripts/go.sh", "echo");
    let path: SkillPath = "scripts/go.sh".parse().unwrap();

    let package = skill.package();
    fs::remove_file(skill.path().join("scripts/go.sh")).unwrap();
    let skill = skill.link("scripts/go.sh", outside.path().join("go.sh"));
    assert!(matches!(
        package.read(&path),
        Err(PackageError::Read { .. })
    ));

    // The same for a folder on the way.
    skill.dir().remove_dir_all("scripts").unwrap();
    let skill = skill.link("scripts", outside.path());
    assert!(matches!(
        package.read(&path),
        Err(PackageError::Read { .. })
    ));
    assert!(matches!(
        package.read_all(&CancelToken::new()),
        Err(PackageError::Read { .. })
    ));
    drop(skill);
}

#[test]
fn a_changed_file_is_never_taken_for_the_one_that_was_checked() {
    let digest_mismatch = |package: &bailiwick_package::Package| {
        let error = package.read_all(&CancelToken::new()).unwrap_err();
        assert_eq!(SkillError::from(error).code(), Code::DigestMismatch);
    };
    let skill = Skill::good().file("a", "1");
    let package = skill.package();
    let skill = skill.file("a", "22");
    digest_mismatch(&package);

    // Same size, other manifest.
    let package = skill.package();
    let skill = skill.front("name: s\ndescription: Does ix.\n");
    digest_mismatch(&package);

    // Same bytes, other mode.
    let package = skill.package();
    fs::set_permissions(skill.path().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    digest_mismatch(&package);
}

#[test]
fn links_under_scripts_are_refused_and_elsewhere_left_out() {
    let skill = Skill::good().link("scripts/go.sh", "../SKILL.md");
    assert_eq!(errors(&skill.open().1), [Id::PackageLink]);
    let skill = Skill::good().link("scripts", "/usr/bin");
    assert_eq!(errors(&skill.open().1), [Id::PackageLink]);

    let skill = Skill::good()
        .link("assets/secret", "/etc/passwd")
        .link("assets/all", "/etc");
    let (package, found) = skill.open();
    assert_eq!(found.len(), 2);
    let files: Vec<_> = package
        .unwrap()
        .files()
        .iter()
        .map(|f| f.path.to_string())
        .collect();
    assert_eq!(files, ["SKILL.md"]);
}

#[test]
fn a_link_to_its_own_folder_does_not_loop() {
    let skill = Skill::good().link("assets/again", "..");
    assert!(skill.open().0.is_some());
}

#[test]
fn hard_links_are_read_like_the_file_they_are() {
    let skill = Skill::good().file("a", "1");
    fs::hard_link(skill.path().join("a"), skill.path().join("b")).unwrap();
    let package = skill.package();
    assert_eq!(package.read(&"b".parse().unwrap()).unwrap(), b"1");
}

#[test]
fn version_control_is_no_part_of_a_package() {
    let skill = Skill::good();
    let before = skill.package().digest(&CancelToken::new()).unwrap();
    let skill = skill.file(".git/config", "x").file("sub/.git", "gitdir: x");
    assert_eq!(skill.package().digest(&CancelToken::new()).unwrap(), before);
    assert_eq!(skill.package().files().len(), 1);
}

#[test]
fn a_path_too_deep_is_rejected() {
    let skill = Skill::good().file(&format!("{}x", "d/".repeat(32)), "");
    assert!(errors(&skill.open().1).contains(&Id::PackagePathRejected));
}

#[test]
fn a_file_too_large_is_rejected_without_reading_it() {
    let skill = Skill::good().sparse("data.bin", 16 * 1024 * 1024 + 1);
    assert_eq!(errors(&skill.open().1), [Id::FileTooLarge]);
    let skill = Skill::good().sparse("data.bin", 16 * 1024 * 1024);
    assert!(skill.open().0.is_some());
}

#[test]
fn names_that_steer_a_terminal_are_shown_without_doing_so() {
    let skill = Skill::good();
    File::create(skill.path().join("a\u{1b}[2J")).unwrap();
    let (package, found) = skill.open();
    assert!(package.is_none());
    assert!(
        found.iter().all(|d| !d.to_string().contains('\u{1b}')),
        "{found:?}"
    );
    let json = serde_json::to_string(&found).unwrap();
    assert!(!json.contains("\\u001b"), "{json}");
}
