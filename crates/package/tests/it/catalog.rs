//! Every id of the table is produced by a package, and by nothing that is in order.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;

use bailiwick_package::{DiagnosticId as Id, Package, Profile, check};
use cap_std::fs::Dir;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::{Skill, ids, write};

/// A script declaration with one more line.
fn script(line: &str) -> String {
    format!(
        "scripts:\n  - name: go\n    path: scripts/go.sh\n    description: Goes.\n    interpreter: sh\n{line}"
    )
}

fn front(lines: &str) -> Skill {
    Skill::empty().front(&format!("name: s\ndescription: d\n{lines}"))
}

fn sidecar(text: &str) -> Skill {
    Skill::good()
        .file("scripts/go.sh", "")
        .file("bailiwick.yaml", text)
}

/// A package whose one script is described in some words.
fn described(words: &str) -> Skill {
    sidecar(&format!(
        "scripts: [{{name: go, path: scripts/go.sh, description: {words}, interpreter: sh}}]\n"
    ))
}

/// Returns a package for each id.
fn cases() -> Vec<(Id, Skill)> {
    let tool = |name: &str| {
        front(&format!("version: 1.0.0\ntools: [{name}]\n")).file(&format!("scripts/{name}.js"), "")
    };
    let pipe = Skill::empty();
    mkfifo(&pipe.path().join("SKILL.md"), Mode::S_IRWXU).unwrap();
    let special = Skill::good();
    mkfifo(&special.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let not_utf8 = Skill::good();
    write(&not_utf8.path().join(OsStr::from_bytes(b"a\xFF")), b"");
    let many = Skill::good();
    for number in 0..4096 {
        File::create(many.path().join(number.to_string())).unwrap();
    }
    let large = (0..5).fold(Skill::good(), |skill, number| {
        skill.sparse(&format!("{number}.bin"), 15 * 1024 * 1024)
    });
    vec![
        (Id::SkillFileMissing, Skill::empty()),
        (
            Id::SkillFileLowercase,
            Skill::empty().file("skill.md", "---\nname: s\ndescription: d\n---\n"),
        ),
        (
            Id::SkillFileLink,
            Skill::empty().file("x.md", "").link("SKILL.md", "x.md"),
        ),
        (Id::SkillFileNotRegular, pipe),
        (
            Id::FileTooLarge,
            Skill::empty().sparse("SKILL.md", 1024 * 1024 + 1),
        ),
        (
            Id::TextNotUtf8,
            Skill::empty().file("SKILL.md", b"---\n\xFF"),
        ),
        (Id::TextControlCharacter, front("license: a\0b\n")),
        (
            Id::TextByteOrderMark,
            Skill::empty().file("SKILL.md", "\u{FEFF}---\nname: s\ndescription: d\n---\n"),
        ),
        (
            Id::FrontMatterMissing,
            Skill::empty().file("SKILL.md", "# S\n"),
        ),
        (
            Id::FrontMatterBlankFirstLine,
            Skill::empty().file("SKILL.md", "\n---\n"),
        ),
        (
            Id::FrontMatterUnclosed,
            Skill::empty().file("SKILL.md", "---\nname: s\n"),
        ),
        (
            Id::FrontMatterTooLarge,
            front(&format!("# {}\n", "x".repeat(65_536))),
        ),
        (
            Id::FrontMatterRepaired,
            Skill::empty().front("name: s\ndescription: a: b\n"),
        ),
        (
            Id::FrontMatterComment,
            Skill::empty().front("name: s\ndescription: a # b\n"),
        ),
        (Id::FrontMatterUnknownKey, front("licence: MIT\n")),
        (Id::YamlSyntax, front("license: 'a\n")),
        (Id::YamlTab, front("metadata:\n\ta: b\n")),
        (Id::YamlDuplicateKey, front("name: s\n")),
        (Id::YamlAnchor, front("license: &a b\n")),
        (Id::YamlAlias, front("license: *a\n")),
        (Id::YamlTag, front("license: !a b\n")),
        (Id::YamlMergeKey, front("<<: {a: b}\n")),
        (Id::YamlSecondDocument, front("--- x\n")),
        (Id::YamlNotMapping, Skill::empty().front("- a\n")),
        (Id::YamlKeyNotText, front("[a]: b\n")),
        (
            Id::YamlTooDeep,
            front(&format!("license: {}{}\n", "[".repeat(20), "]".repeat(20))),
        ),
        (Id::ManifestType, front("license: [MIT]\n")),
        (
            Id::ManifestNameMissing,
            Skill::empty().front("description: d\n"),
        ),
        (
            Id::ManifestNameInvalid,
            Skill::empty().front("name: S\ndescription: d\n"),
        ),
        (
            Id::ManifestNameDirectory,
            Skill::empty().front("name: t\ndescription: d\n"),
        ),
        (
            Id::ManifestDescriptionMissing,
            Skill::empty().front("name: s\n"),
        ),
        (
            Id::ManifestDescriptionTooLong,
            Skill::empty().front(&format!("name: s\ndescription: {}\n", "x".repeat(1025))),
        ),
        (
            Id::ManifestDescriptionInvisible,
            Skill::empty().front("name: s\ndescription: a\u{200B}b\n"),
        ),
        (
            Id::ManifestDescriptionMixedScript,
            Skill::empty().front("name: s\ndescription: p\u{0430}y\n"),
        ),
        (
            Id::ManifestCompatibilityLength,
            front(&format!("compatibility: {}\n", "x".repeat(501))),
        ),
        (Id::ManifestMetadataNested, front("metadata: {a: [b]}\n")),
        (Id::ManifestVersionNotSemver, front("version: 1.0\n")),
        (
            Id::ManifestVersionMissing,
            front("tools: [go]\n").file("scripts/go.js", ""),
        ),
        (Id::ManifestToolsText, front("tools: Read\n")),
        (Id::ManifestToolName, front("tools: ['a b']\n")),
        (
            Id::ManifestDeferredUnlisted,
            front("deferred-tools: [go]\n"),
        ),
        (Id::SidecarUnknownKey, sidecar("script: []\n")),
        (Id::SidecarMissingKey, sidecar("scripts: [{name: go}]\n")),
        (Id::SidecarType, sidecar("scripts: go\n")),
        (Id::SidecarValue, sidecar("channel: loud\n")),
        (
            Id::SidecarDescriptionTooLong,
            described(&"x".repeat(16 * 1024 + 1)),
        ),
        (Id::SidecarDescriptionInvisible, described("x\u{202E}y")),
        (Id::SidecarDescriptionMixedScript, described("p\u{430}y")),
        (Id::InventoryToolFileMissing, front("tools: [go]\n")),
        (
            Id::InventoryToolFileBoth,
            tool("go").file("scripts/go.ts", ""),
        ),
        (
            Id::InventoryFileMissing,
            Skill::good().file("bailiwick.yaml", script("")),
        ),
        (
            Id::InventoryScriptIsTool,
            tool("go").file("bailiwick.yaml", script("").replace("go.sh", "go.js")),
        ),
        (
            Id::InventoryNameInvalid,
            sidecar(&script("").replace("name: go", &format!("name: {}", "x".repeat(60)))),
        ),
        (
            Id::InventoryNameTwice,
            front("tools: [go, Go]\n")
                .file("scripts/go.js", "")
                .file("scripts/Go.js", ""),
        ),
        (Id::InventoryNameReserved, tool("tool_search")),
        (Id::InventoryNameLong, tool(&"x".repeat(41))),
        (
            Id::InventoryNotPublished,
            sidecar("isolated: [{name: sum, description: Sums., source: sum.wasm}]\n")
                .file("sum.wasm", ""),
        ),
        (
            Id::PackageLink,
            Skill::good().link("assets/a", "../SKILL.md"),
        ),
        (Id::PackageSpecialFile, special),
        (Id::PackageNameNotUtf8, not_utf8),
        (Id::PackagePathRejected, Skill::good().file("a\\b", "")),
        (
            Id::PackagePathCollision,
            Skill::good().file("a.md", "").file("A.md", ""),
        ),
        (Id::PackageTooManyFiles, many),
        (Id::PackageTooLarge, large),
    ]
}

#[test]
fn every_id_is_produced_by_a_package() {
    let mut produced = BTreeSet::new();
    for (id, skill) in cases() {
        let (_, found) = skill.open();
        assert!(
            found.iter().any(|d| d.id() == id),
            "{id} is not in {:?}",
            ids(&found)
        );
        produced.insert(id);
    }
    produced.insert(unreadable());
    produced.insert(unfamiliar());
    let all: BTreeSet<_> = Id::ALL.iter().copied().collect();
    assert_eq!(produced, all);
}

#[test]
fn a_package_in_order_has_no_finding() {
    let (package, found) = Skill::good().open();
    assert!(package.is_some() && found.is_empty(), "{found:?}");
}

/// What a host may run, a check alone has to say.
fn unfamiliar() -> Id {
    let skill = sidecar(
        "scripts: [{name: go, path: scripts/go.sh, description: Goes., interpreter: pyhton3}]\n",
    );
    assert_eq!(ids(&skill.open().1), [""; 0]);
    let report = check(&skill.path(), Profile::Tool).unwrap();
    assert!(report.passed());
    insta::assert_snapshot!(report.diagnostics[0].advice().unwrap(), @"did you mean `python3`? otherwise the host has to define `[interpreters.pyhton3]`");
    report.diagnostics[0].id()
}

/// A handle that leads to a file can be listed by nobody, root included.
fn unreadable() -> Id {
    let skill = Skill::good();
    let dir = Dir::from_std_file(File::open(skill.path().join("SKILL.md")).unwrap());
    let (package, found) = Package::open(&dir, "s", Profile::Tool);
    assert!(package.is_none());
    found[0].id()
}
