//! The table of `table.txt`: sources, and what is said of them.

use bailiwick_js_syntax::{Form, Language, check};

use super::{EXPORTS, source};

/// A case: `--- LANGUAGE FORM accept|refuse LINE:COLUMN KIND: TITLE`, the source, `===`, and the
/// JavaScript (where `·` is a blank) or the message.
struct Case<'a> {
    header: &'a str,
    source: &'a str,
    expected: &'a str,
}

fn cases() -> Vec<Case<'static>> {
    include_str!("table.txt")
        .split("\n--- ")
        .skip(1)
        .map(|case| {
            let (header, rest) = case.split_once('\n').unwrap();
            let (source, expected) = rest.split_once("\n===").expect(header);
            Case {
                header,
                source,
                expected: expected.trim_matches('\n'),
            }
        })
        .collect()
}

#[test]
fn every_case_of_the_table_holds() {
    let mut failures = Vec::new();
    for case in cases() {
        let actual = outcome(&case);
        if let Err(difference) = actual {
            failures.push(format!(
                "--- {}\n{}\n{difference}",
                case.header, case.source
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn outcome(case: &Case<'_>) -> Result<(), String> {
    let (verdict, _title) = case.header.split_once(": ").expect(case.header);
    let words: Vec<&str> = verdict.split(' ').collect();
    let language = match words[0] {
        "js" => Language::JavaScript,
        "ts" => Language::TypeScript,
        other => panic!("{other} is no language"),
    };
    // `body` stands for any statements of a module.
    let (form, exports) = match words[1] {
        "arrow" => (Form::Arrow, ""),
        "module" => (Form::Module, ""),
        "body" => (Form::Module, EXPORTS),
        other => panic!("{other} is no form"),
    };
    let text = format!("{}{exports}", case.source);
    let answer = check(&source(language, &text), form);
    let (is_same, shown) = match (&answer, words[2]) {
        (Ok(checked), "accept") => {
            let javascript = checked.javascript().strip_suffix(exports).unwrap();
            let expected = match case.expected {
                "(same)" => case.source.to_owned(),
                expected => expected.replace('·', " "),
            };
            (javascript == expected, javascript.replace(' ', "·"))
        }
        (Err(error), "refuse") => {
            let at = error.position();
            let expected = format!("{} {}: {}", words[3], words[4], case.expected);
            let kind = error.kind().as_str();
            let actual = format!("{}:{} {kind}: {}", at.line, at.column, error.message());
            // What a slip of the pen should have been, only its author knows.
            let is_helped = kind == "syntax" || error.hint().is_some();
            (expected == actual && is_helped, actual)
        }
        (Ok(checked), _) => (false, format!("accepted:\n{}", checked.javascript())),
        (Err(error), _) => (
            false,
            format!("{:?}: {error}; {:?}", error.kind(), error.hint()),
        ),
    };
    if is_same {
        Ok(())
    } else {
        Err(format!("=== was\n{shown}"))
    }
}

#[test]
fn the_table_is_large_and_its_titles_are_unique() {
    let cases = cases();
    let erasing = cases
        .iter()
        .filter(|case| case.header.starts_with("ts"))
        .count();
    assert!(erasing >= 60, "{erasing}");
    let mut titles: Vec<&str> = cases.iter().map(|case| case.header).collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), cases.len());
}
