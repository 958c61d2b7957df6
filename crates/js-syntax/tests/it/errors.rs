//! Sources that are no text, and the form that errors take outside of this crate.

use bailiwick_core::{Code, SkillError};
use bailiwick_js_syntax::{Form, Language, MAX_SOURCE_BYTES, Source, SyntaxErrorKind, check};

use super::{EXPORTS, javascript, typescript};

fn refused(bytes: &[u8]) -> (SyntaxErrorKind, usize, usize) {
    let path = "scripts/tool.js".parse().unwrap();
    let error = Source::new(path, Language::JavaScript, bytes).unwrap_err();
    (error.kind(), error.position().line, error.position().column)
}

#[test]
fn bytes_that_are_no_text_are_refused_where_they_stand() {
    let not_text = SyntaxErrorKind::NotText;
    assert_eq!(refused("a\r\né\u{0}".as_bytes()), (not_text, 2, 2));
    assert_eq!(refused(b"\xef\xbb\xbfab\xff"), (not_text, 1, 3));
    assert_eq!(refused(b"\xc3"), (not_text, 1, 1));
    let large = vec![b' '; MAX_SOURCE_BYTES + 1];
    assert_eq!(refused(&large), (SyntaxErrorKind::TooLarge, 1, 1));
}

#[test]
fn a_file_of_the_largest_size_is_read() {
    let text = format!("async () => 1 //{}", "x".repeat(MAX_SOURCE_BYTES));
    assert!(javascript(Form::Arrow, &text[..MAX_SOURCE_BYTES]).is_ok());
}

#[test]
fn a_language_is_known_by_the_extension() {
    for (path, language) in [
        ("scripts/a.js", Some(Language::JavaScript)),
        ("scripts/a.b.mjs", Some(Language::JavaScript)),
        ("scripts/a.ts", Some(Language::TypeScript)),
        ("scripts/a.mts", Some(Language::TypeScript)),
        ("scripts/a.cjs", None),
        ("scripts/a.jsx", None),
        ("scripts/a.tsx", None),
        ("scripts/a.cts", None),
        ("scripts/js", None),
        ("scripts/.js", None),
    ] {
        assert_eq!(Language::of(&path.parse().unwrap()), language, "{path}");
    }
}

#[test]
fn an_error_crosses_with_code_place_and_the_line() {
    let text = format!("\u{feff}#!/usr/bin/env node\nconst größe = import('a');{EXPORTS}");
    let error = SkillError::from(javascript(Form::Module, &text).unwrap_err());
    assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    assert_eq!(
        error.message(),
        "`scripts/tool.js` cannot be loaded: a dynamic `import()` (line 2, column 15)"
    );
    assert_eq!(
        serde_json::to_value(error.details()).unwrap(),
        serde_json::json!({
            "path": "scripts/tool.js",
            "line": 2,
            "column": 15,
            "reason": "import",
            "excerpt": "const größe = import('a');",
        })
    );
    assert!(error.hint().unwrap().starts_with("a tool is one file"));
}

#[test]
fn an_error_cannot_steer_a_terminal() {
    let text = "export const a = '\u{1b}[31m\u{202e}', b = import(c);";
    let error = SkillError::from(javascript(Form::Module, text).unwrap_err());
    let shown = format!("{error} {:?}", error.wire().details);
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

#[test]
fn the_place_of_an_export_is_kept() {
    let text = "\
type A = 1;
const execute_ = async (args: A) => {};
export const description = '', größe = 1, parameters = {}; export { execute_ as execute };";
    let checked = typescript(Form::Module, text).unwrap();
    let place = |name| checked.export(name).map(|at| (at.line, at.column));
    assert_eq!(place("description"), Some((3, 14)));
    assert_eq!(place("parameters"), Some((3, 43)));
    assert_eq!(place("execute"), Some((3, 81)));
    assert_eq!(place("execute_"), None);
    let names: Vec<_> = checked.exports().map(|(name, _)| name).collect();
    assert_eq!(names, ["description", "größe", "parameters", "execute"]);
    assert_eq!(checked.form(), Form::Module);
}

#[test]
fn a_source_keeps_what_it_was_made_of() {
    let path: bailiwick_core::SkillPath = "scripts/a.ts".parse().unwrap();
    let source = Source::new(path.clone(), Language::TypeScript, b"async () => 1").unwrap();
    assert_eq!(
        (source.path(), source.language()),
        (&path, Language::TypeScript)
    );
    assert_eq!(source.language().to_string(), "TypeScript");
    let checked = check(&source, Form::Arrow).unwrap();
    assert_eq!(checked.into_javascript(), source.text());
}
