//! The verdict table of the open standard's edge cases, row by row, for both profiles.

use bailiwick_package::{DiagnosticId as Id, Manifest, Profile};

use crate::support::{errors, ids};

/// What a profile says of a file.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    /// It loads, with exactly these findings.
    Accept(&'static [Id]),
    /// It does not load, for this reason first.
    Reject(Id),
}

use Verdict::{Accept, Reject};

fn judge(case: &str, bytes: &[u8], directory: &str, standard: Verdict, tool: Verdict) {
    for (profile, verdict) in [(Profile::Standard, standard), (Profile::Tool, tool)] {
        let (manifest, found) = Manifest::parse(bytes, Some(directory), profile);
        match verdict {
            Accept(wanted) => {
                let wanted: Vec<_> = wanted.iter().map(|id| id.as_str()).collect();
                assert!(manifest.is_some(), "{case}, {profile:?}: {found:?}");
                assert_eq!(ids(&found), wanted, "{case}, {profile:?}");
            }
            Reject(id) => {
                assert!(manifest.is_none(), "{case}, {profile:?}: accepted");
                assert_eq!(
                    errors(&found).first(),
                    Some(&id),
                    "{case}, {profile:?}: {found:?}"
                );
            }
        }
    }
}

/// Judges a file made of these front matter lines beside a valid name and description.
fn with(case: &str, lines: &str, standard: Verdict, tool: Verdict) {
    let text = format!("---\nname: s\ndescription: d\n{lines}\n---\nBody.\n");
    judge(case, text.as_bytes(), "s", standard, tool);
}

fn both(case: &str, text: impl AsRef<[u8]>, verdict: Verdict) {
    judge(case, text.as_ref(), "s", verdict, verdict);
}

fn description(text: &[u8], profile: Profile) -> String {
    let (manifest, found) = Manifest::parse(text, Some("s"), profile);
    manifest.unwrap_or_else(|| panic!("{found:?}")).description
}

const ACCEPT: Verdict = Accept(&[]);

#[test]
fn a_byte_order_mark_is_stripped_and_noted() {
    both(
        "BOM",
        "\u{FEFF}---\nname: s\ndescription: d\n---\n",
        Accept(&[Id::TextByteOrderMark]),
    );
}

#[test]
fn every_line_end_is_accepted() {
    both(
        "CRLF",
        "---\r\nname: s\r\ndescription: d\r\n---\r\nBody\r\n",
        ACCEPT,
    );
    both("CR", "---\rname: s\rdescription: d\r---\rBody\r", ACCEPT);
}

#[test]
fn a_blank_first_line_is_rejected() {
    both(
        "blank",
        "\n---\nname: s\ndescription: d\n---\n",
        Reject(Id::FrontMatterBlankFirstLine),
    );
}

#[test]
fn four_dashes_are_no_fence() {
    both(
        "four",
        "----\nname: s\ndescription: d\n----\n",
        Reject(Id::FrontMatterMissing),
    );
}

#[test]
fn dashes_inside_a_description_are_text() {
    let text = b"---\nname: s\ndescription: a --- b\n---\n";
    both("inside", text, ACCEPT);
    assert_eq!(description(text, Profile::Standard), "a --- b");
}

#[test]
fn only_a_line_of_three_dashes_closes() {
    both(
        "indented",
        "---\nname: s\ndescription: d\n  ---\nx\n",
        Reject(Id::FrontMatterUnclosed),
    );
    both(
        "with text",
        "---\nname: s\ndescription: d\n--- x\ny\n",
        Reject(Id::FrontMatterUnclosed),
    );
    both(
        "dots",
        "---\nname: s\ndescription: d\n...\n",
        Reject(Id::FrontMatterUnclosed),
    );
    both(
        "trailing blanks",
        "--- \nname: s\ndescription: d\n---\t \nx\n",
        ACCEPT,
    );
    both(
        "comment",
        "---\nname: s\n# a --- b\ndescription: d\n---\n",
        ACCEPT,
    );
    both("end of file", "---\nname: s\ndescription: d\n---", ACCEPT);
}

#[test]
fn a_second_document_is_rejected() {
    both(
        "split",
        "---\nname: s\n---\ndescription: d\n---\nBody\n",
        Reject(Id::YamlSecondDocument),
    );
    both(
        "inner",
        "---\nname: s\ndescription: d\n--- x\n---\n",
        Reject(Id::YamlSecondDocument),
    );
    // A heading underlined with dashes is no document.
    both(
        "heading",
        "---\nname: s\ndescription: d\n---\nname: x\n---\n",
        ACCEPT,
    );
}

#[test]
fn a_duplicate_key_is_rejected_where_it_stands() {
    let text = b"---\nname: s\ndescription: d\nname: s\n---\n";
    both("duplicate", text, Reject(Id::YamlDuplicateKey));
    let (_, found) = Manifest::parse(text, Some("s"), Profile::Tool);
    let at = found[0].position().unwrap();
    assert_eq!((at.line, at.column), (4, 1));
    with(
        "nested",
        "metadata:\n  a: x\n  a: y",
        Reject(Id::YamlDuplicateKey),
        Reject(Id::YamlDuplicateKey),
    );
    with(
        "flow",
        "metadata: {a: x, a: y}",
        Reject(Id::YamlDuplicateKey),
        Reject(Id::YamlDuplicateKey),
    );
}

#[test]
fn flow_collections_are_accepted() {
    with("map", "metadata: {a: x, b: y}", ACCEPT, ACCEPT);
    with(
        "list",
        "allowed-tools: [Read, Grep]",
        Reject(Id::ManifestType),
        ACCEPT,
    );
}

#[test]
fn anchors_aliases_tags_and_merge_keys_are_rejected() {
    for (case, lines, id) in [
        ("anchor", "license: &a MIT", Id::YamlAnchor),
        ("anchor on a map", "metadata: &a {b: c}", Id::YamlAnchor),
        ("alias", "license: *a", Id::YamlAlias),
        ("tag", "license: !!str MIT", Id::YamlTag),
        ("local tag", "metadata: !x {a: b}", Id::YamlTag),
        ("merge", "metadata:\n  <<: {a: b}", Id::YamlMergeKey),
        ("directive", "%YAML 1.2", Id::YamlSyntax),
    ] {
        with(case, lines, Reject(id), Reject(id));
    }
}

#[test]
fn an_unquoted_colon_in_a_description_is_repaired_once_in_profile_tool() {
    let text = b"---\nname: s\ndescription: Use when: asked # really\nlicense: MIT\n---\n";
    judge(
        "colon",
        text,
        "s",
        Reject(Id::YamlSyntax),
        Accept(&[Id::FrontMatterRepaired, Id::FrontMatterComment]),
    );
    assert_eq!(description(text, Profile::Tool), "Use when: asked");
    with(
        "elsewhere",
        "license: a: b",
        Reject(Id::YamlSyntax),
        Reject(Id::YamlSyntax),
    );
    let twice = b"---\nname: s\ndescription: a: b\nlicense: c: d\n---\n";
    both("twice", twice, Reject(Id::YamlSyntax));
}

#[test]
fn a_comment_that_cuts_a_description_is_pointed_out() {
    both(
        "comment",
        "---\nname: s\ndescription: Fixes issue #1 and # 2\n---\n",
        Accept(&[Id::FrontMatterComment]),
    );
    both(
        "quoted",
        "---\nname: s\ndescription: 'Fixes # 2'\n---\n",
        ACCEPT,
    );
}

#[test]
fn every_scalar_is_text() {
    for scalar in [
        "yes",
        "null",
        "~",
        "1.0",
        "0x10",
        "true",
        "2026-01-01",
        ".inf",
    ] {
        let text = format!("---\nname: s\ndescription: {scalar}\n---\n");
        both(scalar, &text, ACCEPT);
        assert_eq!(description(text.as_bytes(), Profile::Standard), scalar);
    }
    judge(
        "digits",
        b"---\nname: 123\ndescription: d\n---\n",
        "123",
        ACCEPT,
        ACCEPT,
    );
    let (manifest, _) = Manifest::parse(
        b"---\nname: s\ndescription: d\nversion: 1.0\n---\n",
        None,
        Profile::Tool,
    );
    assert_eq!(manifest.unwrap().version.as_deref(), Some("1.0"));
}

#[test]
fn tabs_do_not_indent() {
    with(
        "start",
        "metadata:\n\ta: b",
        Reject(Id::YamlTab),
        Reject(Id::YamlTab),
    );
    with(
        "after blanks",
        "metadata:\n  \ta: b",
        Reject(Id::YamlTab),
        Reject(Id::YamlTab),
    );
}

#[test]
fn bytes_that_are_no_text_are_rejected_with_their_place() {
    both(
        "NUL",
        b"---\nname: s\ndescription: a\0b\n---\n",
        Reject(Id::TextControlCharacter),
    );
    both(
        "NUL in the body",
        b"---\nname: s\ndescription: d\n---\n\0",
        Reject(Id::TextControlCharacter),
    );
    both(
        "escape",
        b"---\nname: s\ndescription: a\x1b[2Jb\n---\n",
        Reject(Id::TextControlCharacter),
    );
    both(
        "spelled",
        "---\nname: s\ndescription: \"a\\e[2Jb\"\n---\n",
        Reject(Id::TextControlCharacter),
    );
    let text = b"---\nname: s\ndescription: a\xFFb\n---\n";
    both("UTF-8", text, Reject(Id::TextNotUtf8));
    let (_, found) = Manifest::parse(text, Some("s"), Profile::Tool);
    insta::assert_snapshot!(found[0].to_string(), @"SKILL.md:3:15: error: byte 26 is not UTF-8 [text-not-utf8]");
}

#[test]
fn nested_metadata_is_kept_as_json_in_profile_tool() {
    with(
        "map",
        "metadata:\n  author: {name: A, tags: [x, y]}",
        Reject(Id::ManifestMetadataNested),
        Accept(&[Id::ManifestMetadataNested]),
    );
    let text = b"---\nname: s\ndescription: d\nmetadata: {a: {b: [1, yes]}}\n---\n";
    let (manifest, _) = Manifest::parse(text, Some("s"), Profile::Tool);
    assert_eq!(
        manifest.unwrap().metadata,
        [("a".to_owned(), r#"{"b":["1","yes"]}"#.to_owned())]
    );
}

#[test]
fn values_of_another_shape_are_rejected() {
    for lines in [
        "metadata: x",
        "license: [MIT]",
        "compatibility: {a: b}",
        "allowed-tools: {a: b}",
    ] {
        with(
            lines,
            lines,
            Reject(Id::ManifestType),
            Reject(Id::ManifestType),
        );
    }
    with(
        "block list",
        "allowed-tools:\n  - Read\n  - Grep",
        Reject(Id::ManifestType),
        ACCEPT,
    );
    both(
        "description",
        "---\nname: s\ndescription: [d]\n---\n",
        Reject(Id::ManifestType),
    );
}

#[test]
fn names_are_ascii_in_kebab_case_and_equal_to_the_directory() {
    for name in [
        "\" s \"",
        "\"s²\"",
        "ⅳ",
        "ｓ",
        "p\u{0430}ypal",
        "straße",
        "٣",
        "e\u{0301}",
        "a\u{200D}b",
        "İ",
        "S",
        "-s",
        "s-",
        "a--b",
        "a_b",
        "''",
    ] {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        both(name, &text, Reject(Id::ManifestNameInvalid));
    }
    let long = format!("---\nname: {}\ndescription: d\n---\n", "a".repeat(65));
    both("long", &long, Reject(Id::ManifestNameInvalid));
    judge(
        "other",
        b"---\nname: s\ndescription: d\n---\n",
        "t",
        Reject(Id::ManifestNameDirectory),
        Reject(Id::ManifestNameDirectory),
    );
}

#[test]
fn a_description_has_1_to_1024_characters_and_shows_what_it_says() {
    let describe = |text: &str| format!("---\nname: s\ndescription: {text}\n---\n");
    both("longest", describe(&"é".repeat(1024)), ACCEPT);
    both(
        "too long",
        describe(&"é".repeat(1025)),
        Reject(Id::ManifestDescriptionTooLong),
    );
    both(
        "blank",
        describe("\"  \""),
        Reject(Id::ManifestDescriptionMissing),
    );
    both(
        "absent value",
        describe(""),
        Reject(Id::ManifestDescriptionMissing),
    );
    both(
        "absent",
        "---\nname: s\n---\n",
        Reject(Id::ManifestDescriptionMissing),
    );
    both("XML", describe("<b>\"x\"</b> & y"), ACCEPT);
    both(
        "look-alike",
        describe("Pays with p\u{0430}ypal"),
        Accept(&[Id::ManifestDescriptionMixedScript]),
    );
    both(
        "invisible",
        describe("a\u{200B}b"),
        Accept(&[Id::ManifestDescriptionInvisible]),
    );
    both(
        "bidi",
        describe("a\u{202E}b"),
        Accept(&[Id::ManifestDescriptionInvisible]),
    );
    both("emoji", describe("Works ✔\u{FE0F} 👩\u{200D}💻"), ACCEPT);
}

#[test]
fn compatibility_has_at_most_500_characters() {
    let line = |count| format!("compatibility: {}", "é".repeat(count));
    with("longest", &line(500), ACCEPT, ACCEPT);
    let id = Id::ManifestCompatibilityLength;
    with("too long", &line(501), Reject(id), Reject(id));
    with("empty", "compatibility: ''", Reject(id), ACCEPT);
}

#[test]
fn files_and_front_matter_have_caps() {
    let body = "x".repeat(5 * 1024 * 1024);
    both(
        "5 MB",
        format!("---\nname: s\ndescription: d\n---\n{body}"),
        Reject(Id::FileTooLarge),
    );
    let head = "---\nname: s\ndescription: d\n---\n";
    both(
        "1 MiB",
        format!("{head}{}", "x".repeat(1024 * 1024 - head.len())),
        ACCEPT,
    );
    let comment = |count: usize| {
        format!(
            "---\nname: s\ndescription: d\n#{}\n---\n",
            "x".repeat(count)
        )
    };
    both(
        "64 KiB",
        comment(64 * 1024 - "name: s\ndescription: d\n#\n".len()),
        ACCEPT,
    );
    both("over", comment(64 * 1024), Reject(Id::FrontMatterTooLarge));
    with(
        "deep",
        &format!("metadata: {}x{}", "[".repeat(40), "]".repeat(40)),
        Reject(Id::YamlTooDeep),
        Reject(Id::YamlTooDeep),
    );
}

#[test]
fn the_keys_of_tool_skills_belong_to_profile_tool() {
    const ID: Id = Id::FrontMatterUnknownKey;
    for line in ["version: 1.0.0", "tools: []", "deferred-tools: []"] {
        with(line, line, Reject(ID), ACCEPT);
    }
    with(
        "foreign",
        "disable-model-invocation: true",
        Reject(ID),
        Accept(&[ID]),
    );
    let text = b"---\nname: s\ndescription: d\nrequires: [a]\n---\n";
    let (manifest, _) = Manifest::parse(text, Some("s"), Profile::Tool);
    assert_eq!(
        manifest.unwrap().unknown,
        [("requires".to_owned(), serde_json::json!(["a"]))]
    );
}

#[test]
fn the_seeds_front_matter_is_a_tool_skill() {
    let text = "\
---
name: my-notes # must match the directory name
description: Short trigger text for humans and skill discovery
version: 1.0.0 # semver; used by export
tools:
  - notes # model-facing Tool name(s)
# deferred-tools:              # optional; subset of tools → behind tool_search
#   - notes
---
";
    judge(
        "seed",
        text.as_bytes(),
        "my-notes",
        Reject(Id::FrontMatterUnknownKey),
        ACCEPT,
    );
    let (manifest, _) = Manifest::parse(text.as_bytes(), Some("my-notes"), Profile::Tool);
    let manifest = manifest.unwrap();
    assert_eq!(manifest.version.as_deref(), Some("1.0.0"));
    assert_eq!(manifest.tools[0].as_str(), "notes");
}

#[test]
fn a_text_in_tools_is_an_allow_list_by_mistake_and_publishes_nothing() {
    with(
        "text",
        "tools: Read, Glob, Grep",
        Reject(Id::FrontMatterUnknownKey),
        Accept(&[Id::ManifestToolsText]),
    );
    let text = b"---\nname: s\ndescription: d\ntools: Read\n---\n";
    let (manifest, _) = Manifest::parse(text, Some("s"), Profile::Tool);
    assert!(manifest.unwrap().tools.is_empty());
}
