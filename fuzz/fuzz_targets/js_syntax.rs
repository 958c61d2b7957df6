//! Sources of isolated tools: the check never panics, blanking types keeps every position, and what
//! comes out is JavaScript that passes the same check.
#![no_main]

use bailiwick_js_syntax::{Form, Language, Source, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses among the four ways to read the rest.
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let form = if first & 1 == 0 {
        Form::Arrow
    } else {
        Form::Module
    };
    let language = if first & 2 == 0 {
        Language::JavaScript
    } else {
        Language::TypeScript
    };
    let Some(source) = read(language, bytes) else {
        return;
    };
    let text = source.text();
    let checked = match check(&source, form) {
        Ok(checked) => checked,
        Err(error) => {
            let at = error.position();
            let lines = text.split('\n').flat_map(|line| line.split('\r')).count();
            assert!((1..=lines).contains(&at.line) && at.column >= 1);
            return;
        }
    };
    let javascript = checked.javascript();
    assert_eq!(text.chars().count(), javascript.chars().count());
    for (before, after) in text.chars().zip(javascript.chars()) {
        let is_line_end = matches!(before, '\n' | '\r' | '\u{2028}' | '\u{2029}');
        let is_blanked = language == Language::TypeScript
            && !is_line_end
            && matches!(after, ' ' | ';' | '(' | ')');
        assert!(before == after || is_blanked);
    }
    let again = read(Language::JavaScript, javascript.as_bytes()).expect("it is text");
    let again = check(&again, form).expect("what comes out passes the same check");
    assert_eq!(again.javascript(), javascript);
    for (name, position) in checked.exports() {
        assert_eq!(again.export(name), Some(position));
    }
});

fn read(language: Language, bytes: &[u8]) -> Option<Source> {
    Source::new("scripts/tool".parse().ok()?, language, bytes).ok()
}
