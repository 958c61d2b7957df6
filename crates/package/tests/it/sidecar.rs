//! `bailiwick.yaml`.

use bailiwick_core::ParamKind;
use bailiwick_package::{Channel, DiagnosticId as Id, Sidecar};
use proptest::prelude::*;

use crate::support::{errors, ids};

fn good(text: &str) -> Sidecar {
    let (sidecar, found) = Sidecar::parse(text.as_bytes());
    sidecar.unwrap_or_else(|| panic!("{found:?}"))
}

/// Returns what is said of a text that is refused, one line a finding.
fn refused(text: &str) -> String {
    let (sidecar, found) = Sidecar::parse(text.as_bytes());
    assert!(sidecar.is_none(), "accepted: {text}");
    let lines: Vec<_> = found
        .iter()
        .map(|d| match d.advice() {
            Some(help) => format!("{d}\n  help: {help}"),
            None => d.to_string(),
        })
        .collect();
    lines.join("\n")
}

fn script(lines: &str) -> String {
    format!(
        "scripts:\n  - name: go\n    path: scripts/go.sh\n    description: Goes.\n    interpreter: sh\n{lines}"
    )
}

#[test]
fn every_key_is_read() {
    let sidecar = good(
        "\
scripts:
  - name: convert
    path: ./scripts/convert.py
    description: Converts.
    interpreter: python3
    params:
      - {name: input, type: file, description: What is read.}
      - {name: format, type: enum, values: [csv, json], description: How., flag: --format}
      - {name: level, type: integer, description: How far., flag: level, required: true}
isolated:
  - name: sum
    description: Sums.
    source: isolated/sum.js
    params:
      - {name: values, type: string, description: Which.}
requests:
  read: [./docs]
  fetch: [api.example.org]
  undeclared_scripts: true
channel: inline
artifactKind: markdown
failOnNonzeroExit: false
",
    );
    let script = &sidecar.scripts[0];
    assert_eq!(script.path.as_str(), "scripts/convert.py");
    let shown: Vec<_> = script
        .params
        .iter()
        .map(|p| {
            (
                p.name.as_str(),
                p.required,
                p.flag.as_ref().map(ToString::to_string),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("input", true, None),
            ("format", false, Some("--format".to_owned())),
            ("level", true, Some("--level".to_owned())),
        ]
    );
    assert_eq!(
        script.params[1].kind,
        ParamKind::Enum {
            values: vec!["csv".into(), "json".into()]
        }
    );
    assert_eq!(sidecar.isolated[0].source.as_str(), "isolated/sum.js");
    assert_eq!(
        sidecar.requests.lists[1],
        ("fetch".to_owned(), vec!["api.example.org".to_owned()])
    );
    assert!(sidecar.requests.undeclared_scripts);
    assert_eq!(sidecar.channel, Some(Channel::Inline));
    assert_eq!(sidecar.artifact_kind.as_deref(), Some("markdown"));
    assert_eq!(sidecar.fail_on_nonzero_exit, Some(false));
}

#[test]
fn an_unknown_key_is_refused_with_the_one_that_is_meant() {
    insta::assert_snapshot!(refused("script: []\n"), @r"
    bailiwick.yaml:1:1: error: `script` is no key of bailiwick.yaml [sidecar-unknown-key]
      help: did you mean `scripts`?
    ");
    insta::assert_snapshot!(refused(&script("    parms: []\n")), @r"
    bailiwick.yaml:6:5: error: `parms` is no key of a script [sidecar-unknown-key]
      help: did you mean `params`?
    ");
    insta::assert_snapshot!(refused("requests: {reed: []}\n"), @r"
    bailiwick.yaml:1:12: error: `reed` is no key of `requests` [sidecar-unknown-key]
      help: did you mean `read`?
    ");
}

#[test]
fn a_declaration_is_refused_where_it_breaks_a_rule() {
    let param = |rest: &str| {
        script(&format!(
            "    params:\n      - {{name: a, description: A., {rest}}}\n"
        ))
    };
    insta::assert_snapshot!(refused(&param("type: text")), @r"
    bailiwick.yaml:7:42: error: `text` is no value of `type` [sidecar-value]
      help: the values are string, number, integer, boolean, enum, file, dir
    ");
    insta::assert_snapshot!(refused(&param("type: string, required: false")), @"bailiwick.yaml:7:60: error: `required`: a positional parameter cannot be optional; give it a `flag` [sidecar-value]");
    insta::assert_snapshot!(refused(&param("type: enum, values: [ok, -x]")), @r#"bailiwick.yaml:7:48: error: `values`: the member "-x" could be read as an option or nothing [sidecar-value]"#);
    insta::assert_snapshot!(refused(&param("type: string, flag: -v")), @"bailiwick.yaml:7:56: error: `flag`: a flag is a bare name such as `verbose` [sidecar-value]");
    insta::assert_snapshot!(refused(&param("type: string, values: [a]")), @r"
    bailiwick.yaml:7:50: error: `values` has no effect on a parameter of type `string` [sidecar-value]
      help: remove it, or write `type: enum`
    ");
    insta::assert_snapshot!(refused(&param("type: string").replace("name: a", "name: timeout_seconds")), @"bailiwick.yaml:7:16: error: `name`: `timeout_seconds` is the runtime's own parameter [sidecar-value]");
}

#[test]
fn an_interpreter_is_a_name_and_a_path_stays_inside() {
    insta::assert_snapshot!(refused(&script("").replace("interpreter: sh", "interpreter: /bin/sh")), @r#"
    bailiwick.yaml:5:18: error: the interpreter "/bin/sh" is no name [sidecar-value]
      help: name a key of the host's allow-list, such as `sh` or `python3`; never a path
    "#);
    insta::assert_snapshot!(refused(&script("").replace("scripts/go.sh", "../go.sh")), @r#"
    bailiwick.yaml:3:11: error: the path "../go.sh" is rejected: it has a `..` segment [package-path-rejected]
      help: name the file relative to the skill's folder, such as `scripts/run.sh`
    "#);
}

#[test]
fn a_description_is_bounded_wherever_it_stands() {
    let long = |bytes: usize| "x".repeat(bytes);
    let isolated = |description: &str| {
        format!("isolated: [{{name: sum, description: {description}, source: sum.js}}]\n")
    };
    let param = |description: &str| {
        script(&format!(
            "    params: [{{name: a, type: string, description: {description}}}]\n"
        ))
    };
    let tool = |description: &str| script("").replace("Goes.", description);
    good(&tool(&long(16 << 10)));
    good(&isolated(&long(16 << 10)));
    good(&param(&long(4 << 10)));
    for text in [
        tool(&long((16 << 10) + 1)),
        isolated(&long((16 << 10) + 1)),
        param(&long((4 << 10) + 1)),
        // Bytes count, not characters.
        param(&"é".repeat((2 << 10) + 1)),
    ] {
        let (sidecar, found) = Sidecar::parse(text.as_bytes());
        assert!(sidecar.is_none());
        assert_eq!(errors(&found), [Id::SidecarDescriptionTooLong]);
    }
    insta::assert_snapshot!(refused(&param(&long(5000))), @r"
    bailiwick.yaml:6:51: error: `description` has 5000 bytes and may have 4096 [sidecar-description-too-long]
      help: say in short when to use it, and move the rest to the skill's body
    ");
}

#[test]
fn a_description_that_hides_or_imitates_is_warned_about() {
    let warned = |text: String| {
        let (sidecar, found) = Sidecar::parse(text.as_bytes());
        assert!(sidecar.is_some(), "{found:?}");
        ids(&found)
    };
    for (words, id) in [
        ("Reads \u{202E}sdrow", "sidecar-description-invisible"),
        ("Pays with p\u{430}ypal", "sidecar-description-mixed-script"),
    ] {
        let param = format!("    params: [{{name: a, type: string, description: {words}}}]\n");
        let isolated = format!("isolated: [{{name: sum, description: {words}, source: sum.js}}]\n");
        assert_eq!(warned(script("").replace("Goes.", words)), [id]);
        assert_eq!(warned(script(&param)), [id]);
        assert_eq!(warned(isolated), [id]);
    }
    assert_eq!(warned(script("")), [""; 0]);
}

#[test]
fn flags_are_true_or_false_without_quotes() {
    for word in ["yes", "'false'", "0", "no", "~"] {
        let (_, found) = Sidecar::parse(format!("failOnNonzeroExit: {word}\n").as_bytes());
        assert_eq!(errors(&found), [Id::SidecarType], "{word}");
    }
}

#[test]
fn yaml_is_held_to_the_rules_of_front_matter() {
    for (text, id) in [
        ("channel: inline\nchannel: handle\n", Id::YamlDuplicateKey),
        ("channel: &a inline\n", Id::YamlAnchor),
        (
            "channel: inline\n---\nchannel: handle\n",
            Id::YamlSecondDocument,
        ),
        ("scripts:\n\t- a\n", Id::YamlTab),
        ("", Id::YamlNotMapping),
        ("- a\n", Id::YamlNotMapping),
    ] {
        let (_, found) = Sidecar::parse(text.as_bytes());
        assert_eq!(errors(&found), [id], "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (sidecar, found) = Sidecar::parse(&bytes);
        prop_assert!(sidecar.is_some() || !found.is_empty());
    }

    #[test]
    fn no_words_make_the_parser_panic(text in "(scripts|isolated|params|requests|channel|name|type|flag|: |\\[|\\]|\\{|\\}|, |- |  |\n|x|'|true){0,40}") {
        let (sidecar, found) = Sidecar::parse(text.as_bytes());
        prop_assert!(sidecar.is_some() || !found.is_empty());
    }
}
