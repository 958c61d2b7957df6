//! Digests and contents.

use bailiwick_core::{CancelToken, Code, Digest, ModeClass, SkillError, SkillPath};
use bailiwick_package::{Package, PackageError, Profile};
use proptest::prelude::*;

use crate::support::Skill;

fn path(text: &str) -> SkillPath {
    text.parse().unwrap()
}

#[test]
fn the_contents_and_their_digest_are_of_the_same_bytes() {
    let skill = Skill::good()
        .file("scripts/go.sh", "echo")
        .file("references/a.md", "A");
    let package = skill.package();
    let contents = package.read_all(&CancelToken::new()).unwrap();
    let listed: Vec<_> = contents
        .files
        .iter()
        .map(|(path, _, _)| path.as_str())
        .collect();
    assert_eq!(listed, ["SKILL.md", "references/a.md", "scripts/go.sh"]);
    let recomputed =
        Digest::of_package(contents.files.iter().map(|(path, mode, bytes)| {
            (path.as_str(), *mode, bytes.len() as u64, Digest::of(bytes))
        }));
    assert_eq!(contents.digest, recomputed);
    assert_eq!(package.digest(&CancelToken::new()).unwrap(), recomputed);
}

#[test]
fn the_same_files_have_one_digest_on_disk_and_in_memory() {
    let skill = Skill::good().file("scripts/go.sh", "echo");
    let contents = skill.package().read_all(&CancelToken::new()).unwrap();
    let (package, found) = Package::from_files(contents.files, Profile::Tool);
    let digest = package
        .unwrap_or_else(|| panic!("{found:?}"))
        .digest(&CancelToken::new());
    assert_eq!(digest.unwrap(), contents.digest);
}

#[test]
fn the_body_is_what_stands_below_the_front_matter() {
    let skill = Skill::empty().file(
        "SKILL.md",
        "\u{FEFF}---\r\nname: s\r\ndescription: d\r\n---\r\nBody.\r\n",
    );
    let package = skill.package();
    assert_eq!(package.body().unwrap(), b"Body.\r\n");
    assert_eq!(package.stat(None).unwrap().size, 7);
}

#[test]
fn only_files_of_the_package_are_read() {
    let package = Skill::good().package();
    let error = package.read(&path("references/none.md")).unwrap_err();
    assert_eq!(SkillError::from(error).code(), Code::NotFound);
}

#[test]
fn a_cancelled_reader_stops_between_files() {
    let package = Skill::good().package();
    let cancel = CancelToken::new();
    cancel.cancel();
    assert!(matches!(
        package.read_all(&cancel),
        Err(PackageError::Cancelled)
    ));
    assert!(matches!(
        package.digest(&cancel),
        Err(PackageError::Cancelled)
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_digest_changes_with_every_byte_and_mode(bytes in proptest::collection::vec(any::<u8>(), 1..40), at in any::<prop::sample::Index>()) {
        let digest = |bytes: Vec<u8>, mode| {
            let skill = b"---\nname: s\ndescription: d\n---\n".to_vec();
            let files = [(path("SKILL.md"), ModeClass::Regular, skill), (path("data"), mode, bytes)];
            Package::from_files(files, Profile::Tool).0.unwrap().digest(&CancelToken::new()).unwrap()
        };
        let mut other = bytes.clone();
        other[at.index(bytes.len())] ^= 1;
        let first = digest(bytes.clone(), ModeClass::Regular);
        prop_assert_ne!(first, digest(other, ModeClass::Regular));
        prop_assert_ne!(first, digest(bytes, ModeClass::Executable));
    }
}
