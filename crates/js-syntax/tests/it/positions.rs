//! Everything that remains keeps its line and column, whatever is erased around it.

use bailiwick_js_syntax::{Checked, Form, Position};
use proptest::prelude::*;

use super::{EXPORTS, javascript, typescript};

/// Statements of TypeScript that are accepted alone; `~` stands for any blank or line end.
const STATEMENTS: &[&str] = &[
    "type~A<B>~=~{~b:~string;~'ü':~1~};",
    "interface~C<T~extends~D>~extends~E<T>~{~(f:~T):~void~}",
    "let~größe:~'ß'~|~\"😀\"~=~x~as~any;",
    "const~{~a,~b:~[c]~}:~D~=~f!~satisfies~D;",
    "function~f<T,>(this:~A,~a?:~B,~...b:~C[]):~a is~D~{~return a!;~}",
    "class~A<T>~extends~B<T>~implements~C,~D~{~private~a?:~T;~declare~b:~1;~}",
    "class~A~{~c!:~2;~d():~void;~d()~{}~}",
    "abstract~class~E~{~abstract~a:~string;~protected~readonly~b:~C~=~1;~[k:~string]:~any;~}",
    "g<string>(a,~b~as~C<D>)`${a~as~'`'}`.b!.c;",
    "const~h~=~async~<T,>(a:~T)~:~Promise<T>=>~a;",
    "declare~module~'a'~{~export~const~b:~1;~}",
    "export~type~{~F~};",
    "declare~function~i(a:~string):~void;",
    "for~(const~j~of~k~as~L[])~{~m:~break~m;~}",
    "// comment: type\n",
    "/* 'comment' ~ */",
    "'string: type';",
    "(n~as~O)[0]~=~/re: [/]gex/~/~2;",
    "switch~(p~as~Q)~{~case~r!:~default:~}",
];

fn statement() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec![" ", "\t", "\n", "\r\n", "\u{2028}", "/* ü\n */", ""]);
    let blanks = prop::collection::vec(blank, 24);
    (prop::sample::select(STATEMENTS), blanks).prop_map(|(statement, blanks)| {
        let mut text = String::new();
        for (index, part) in statement.split('~').enumerate() {
            let blank = match index.checked_sub(1) {
                // Where nothing would join two words, a space stands instead.
                Some(index) if !blanks[index].is_empty() => blanks[index],
                Some(_) => " ",
                None => "",
            };
            text.push_str(blank);
            text.push_str(part);
        }
        text
    })
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn each_character_stays_or_becomes_a_blank(
        statements in prop::collection::vec(statement(), 1..6),
    ) {
        let text = format!("{}{EXPORTS}", statements.join("\n"));
        // A line end in some places makes another program, which may be refused.
        if let Ok(checked) = typescript(Form::Module, &text) {
            let after = checked.javascript();
            prop_assert_eq!(text.chars().count(), after.chars().count());
            for (before, after) in text.chars().zip(after.chars()) {
                let is_blanked = !is_line_end(before) && matches!(after, ' ' | ';' | '(' | ')');
                prop_assert!(before == after || is_blanked, "{before:?} became {after:?}");
            }
            // What came out is JavaScript, and passes through as it is.
            let again = javascript(Form::Module, after);
            prop_assert_eq!(again.map(Checked::into_javascript), Ok(after.to_owned()));
            // No type is left, so reading it as TypeScript erases nothing more.
            let again = typescript(Form::Module, after);
            prop_assert_eq!(again.map(Checked::into_javascript), Ok(after.to_owned()));
        }
    }

    #[test]
    fn javascript_passes_through(text in "[a-c ({;=\\[\\]})'\"`/*+.,\n\r\u{2028}é]{0,40}") {
        if let Ok(checked) = javascript(Form::Module, &format!("{text}{EXPORTS}")) {
            prop_assert_eq!(checked.into_javascript(), format!("{text}{EXPORTS}"));
        }
    }

    #[test]
    fn no_text_brings_the_host_down(text in any::<String>(), typed in any::<bool>()) {
        let answer = if typed {
            typescript(Form::Module, &text.replace('\0', ""))
        } else {
            javascript(Form::Arrow, &text.replace('\0', ""))
        };
        if let Err(error) = answer {
            prop_assert!(error.message() != "the parser failed on it", "{text:?}");
        }
    }
}

#[test]
fn most_of_the_statements_are_accepted_with_every_kind_of_blank() {
    for blank in [" ", "\t", "\u{a0}"] {
        for statement in STATEMENTS {
            let text = format!("{}{EXPORTS}", statement.replace('~', blank));
            let answer = typescript(Form::Module, &text);
            assert!(answer.is_ok(), "{text}: {answer:?}");
        }
    }
}

#[test]
fn a_column_counts_characters_in_every_line_of_every_kind() {
    for (text, line, column) in [
        ("'é😀'; import 'a';", 1, 7),
        ("a;\r\n  import 'a';", 2, 3),
        ("a;\rimport 'a';", 2, 1),
        ("a;\u{2028}import 'a';", 1, 4),
        ("\u{feff}import 'a';", 1, 1),
        ("#!/bin/é\nimport 'a';", 2, 1),
        ("\t\timport 'a';", 1, 3),
    ] {
        let error = javascript(Form::Module, text).unwrap_err();
        let Position {
            line: at_line,
            column: at_column,
            ..
        } = error.position();
        assert_eq!((at_line, at_column), (line, column), "{text:?}");
        assert_eq!(error.message(), "a static import");
    }
}

#[test]
fn an_error_after_erased_letters_stands_where_the_source_has_it() {
    let text = "const a: 'größe😀' = 1, b: 'ß' = c; require('a'); let a;";
    let error = typescript(Form::Module, text).unwrap_err();
    assert_eq!((error.position().line, error.position().column), (1, 36));
    assert!(error.excerpt().contains("größe😀"));
    let text = "const a: 'größe😀' = 1;\nlet a: 'ü', b = 1, c: 'é' = 2; let c;";
    let error = typescript(Form::Module, text).unwrap_err();
    assert_eq!((error.position().line, error.position().column), (1, 7));
}
