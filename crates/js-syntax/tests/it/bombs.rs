//! Sources that are made to bring the host down.

use std::thread;
use std::time::{Duration, Instant};

use bailiwick_js_syntax::{Form, MAX_SOURCE_BYTES, SyntaxError, SyntaxErrorKind};

use super::{EXPORTS, javascript, typescript};

/// Constructs that nest: what stands before each level, what stands inside of all, what closes.
const BOMBS: &[(&str, &str, &str, &str)] = &[
    ("", "(", "1", ")"),
    ("", "[", "1", "]"),
    ("x=", "{a:", "1", "}"),
    ("", "{", "", "}"),
    ("", "`${", "1", "}`"),
    ("", "!", "1", ""),
    ("", "- ", "1", ""),
    ("", "typeof ", "a", ""),
    ("", "await ", "a", ""),
    ("", "new ", "a", ""),
    ("", "delete ", "a.b", ""),
    ("", "1+", "1", ""),
    ("", "1**", "1", ""),
    ("", "a,", "1", ""),
    ("", "a=", "1", ""),
    ("", "a||", "1", ""),
    ("", "a??", "1", ""),
    ("", "a?b:", "1", ""),
    ("", "a?", "1", ":1"),
    ("", "x=>", "1", ""),
    ("", "x=>{", "", "}"),
    ("", "async x=>", "1", ""),
    ("", "(x=", "1", ")=>1"),
    ("", "async(x=", "1", ")=>1"),
    ("", "(function(){", "", "})"),
    ("", "(class{a(){", "", "}})"),
    ("", "(class extends ", "b", "{})"),
    ("", "(class{a=", "b", "})"),
    ("", "(class{static{", "", "}})"),
    ("a", ".a", "", ""),
    ("a", "?.a", "", ""),
    ("a", "()", "", ""),
    ("a", "[0]", "", ""),
    ("a", "``", "", ""),
    ("", "a[", "1", "]"),
    ("", "a(", "1", ")"),
    ("", "({[", "1", "]:1})"),
    ("", "[{a:", "1", "}]"),
    ("let ", "[", "a", "]=b"),
    ("let ", "{a:", "b", "}=c"),
    ("(", "[a=", "b", "])"),
    ("", "[...", "a", "]"),
    ("", "if(1)", ";", ""),
    ("", "if(1);else ", ";", ""),
    ("", "if(1){}else ", ";", ""),
    ("", "if(1)a,b\nelse ", ";", ""),
    ("", "while(1)", ";", ""),
    ("", "for(;;)", ";", ""),
    ("", "for(a of b)", ";", ""),
    ("", "do ", ";", " while(1);"),
    ("", "a:", ";", ""),
    ("", "try{", "", "}finally{}"),
    ("", "switch(1){case 1:", "", "}"),
    ("", "function f(){", "", "}"),
    ("x=/", "(", "a", ")"),
    ("x=/[", "[", "a", "]"),
    ("x=/", "(?=", "a", ")"),
    ("x=/", "a|", "a", ""),
    ("", "import(", "a", ")"),
    ("", "/*", "", "*/"),
    ("", "<!--", "", "\n"),
    ("", "}/(", "", ")"),
    ("", "if(1)/'/,(", "1", ")"),
    ("", "a.#if(1)/'/,(", "1", ")"),
    ("", "for await(1)/'/,(", "1", ")"),
    ("", "\n/(", "", ")"),
    ("", "\\u0061(", "", ")"),
    ("", "await\u{24b6}", "", ""),
    ("", "a\u{a0}=>", "a", ""),
    ("", "(", "", ""),
    ("", "[", "", ""),
    ("", "{", "", ""),
    ("", "`${", "", ""),
    ("", "'", "", ""),
    ("", "\"\\", "", ""),
];

/// The same for TypeScript.
const TYPED_BOMBS: &[(&str, &str, &str, &str)] = &[
    ("type A=", "(", "B", ")"),
    ("type A=", "[", "B", "]"),
    ("type A=", "{a:", "B", "}"),
    ("type A=", "A<", "B", ">"),
    ("type A=", "A<b,", "B", ">"),
    ("type A=", "`${", "B", "}`"),
    ("type A=", "keyof ", "B", ""),
    ("type A=", "readonly\n", "B", ""),
    ("type A=", "()=>", "B", ""),
    ("type A=", "(a:", "B", ")=>c"),
    ("type A=", "new()=>", "B", ""),
    ("type A=", "B|", "C", ""),
    ("type A=", "B extends C?D:", "E", ""),
    ("type A=", "B extends C?", "D", ":E"),
    ("type A=B extends ", "infer A extends ", "B", ""),
    ("type A=", "{[a in ", "B", "]:c}"),
    ("type A=B", "[]", "", ""),
    ("type A=B", "['c']", "", ""),
    ("type A=B", ".B", "", ""),
    ("type A=typeof b", ".B", "", ""),
    ("let a:", "asserts ", "B", ""),
    ("x=", "f<", "A", ">()"),
    ("x=", "f<(a:", "A", ")=>b>()"),
    ("x=", "<A>", "b", ""),
    ("x=", "<A>(b)=>", "b", ""),
    ("x=", "<A>(b=", "b", ")=>c"),
    ("x=", "async<A>(b=", "b", ")=>c"),
    ("x=", "(a:B)=>", "b", ""),
    ("x=", "(a):B=>", "b", ""),
    ("x=", "(a=(b):C=>", "1", ")"),
    ("x=", "a?(b):", "c", ""),
    ("x=", "a?(b)=>", "c", ":d"),
    ("x=", "a?(b)=>(", "c", "):d"),
    ("x=", "a?(b,(c):d=>", "c", "):d"),
    ("x=", "(a?b:", "c", ")=>d"),
    ("x=a", "!", "", ""),
    ("x=a", " as B", "", ""),
    ("x=a", " satisfies B", "", ""),
    ("x=a", "<B>", "", ""),
    ("x=a", "<B>c", "", ""),
    ("", "namespace A{", "", "}"),
    ("", "namespace A.", "B{}", ""),
    ("", "declare module 'a'{", "", "}"),
    ("", "enum A{B=", "1", "}"),
    ("", "@a(", "", ")class B{}"),
    ("import a=b", ".c", "", ""),
    ("", "interface A{b:", "C", "}"),
    ("", "abstract class A{b:", "C", "}"),
    ("x=", "<a>", "", ""),
];

fn repeated((head, open, middle, close): (&str, &str, &str, &str), count: usize) -> String {
    let (open, close) = (open.repeat(count), close.repeat(count));
    format!("{head}{open}{middle}{close}{EXPORTS}")
}

fn check_both(text: &str, typed: bool) -> Result<(), SyntaxError> {
    let answer = if typed {
        typescript(Form::Module, text)
    } else {
        javascript(Form::Module, text)
    };
    if let Err(error) = &answer {
        let start: String = text.chars().take(40).collect();
        assert_ne!(error.message(), "the parser failed on it", "{start}");
    }
    answer.map(drop)
}

fn bombs() -> impl Iterator<
    Item = (
        (&'static str, &'static str, &'static str, &'static str),
        bool,
    ),
> {
    let plain = BOMBS.iter().map(|bomb| (*bomb, false));
    let plain_as_typed = BOMBS.iter().map(|bomb| (*bomb, true));
    let typed = TYPED_BOMBS.iter().map(|bomb| (*bomb, true));
    plain.chain(plain_as_typed).chain(typed)
}

#[test]
fn the_largest_bomb_of_each_kind_is_answered_on_a_small_stack() {
    let small = thread::Builder::new().stack_size(256 * 1024);
    let thread = small.spawn(|| {
        for (bomb, typed) in bombs() {
            let room = MAX_SOURCE_BYTES - EXPORTS.len() - bomb.0.len() - bomb.2.len();
            let text = repeated(bomb, room / (bomb.1.len() + bomb.3.len()));
            assert!(text.len() > MAX_SOURCE_BYTES - 64 && text.len() <= MAX_SOURCE_BYTES);
            let started = Instant::now();
            let answer = check_both(&text, typed);
            let took = started.elapsed();
            assert!(took < Duration::from_secs(20), "{bomb:?} took {took:?}");
            // A list is flat, and a comment and a string are one token however long they are.
            let is_flat = ["a,", "/*", "'", "a|", "B|"].contains(&bomb.1);
            let is_deep = answer.is_err_and(|error| error.kind() == SyntaxErrorKind::TooDeep);
            assert!(is_deep || is_flat, "{bomb:?} as TypeScript: {typed}");
        }
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn the_deepest_bomb_that_is_parsed_leaves_the_stack_whole() {
    for (bomb, typed) in bombs() {
        // The count at which the measure of depth begins to refuse.
        let (mut parsed, mut refused) = (1, 4096);
        while refused - parsed > 8 {
            let count = usize::midpoint(parsed, refused);
            let answer = check_both(&repeated(bomb, count), typed);
            if answer.is_err_and(|error| error.kind() == SyntaxErrorKind::TooDeep) {
                refused = count;
            } else {
                parsed = count;
            }
        }
        let started = Instant::now();
        let _ = check_both(&repeated(bomb, parsed), typed);
        let took = started.elapsed();
        assert!(
            took < Duration::from_secs(5),
            "{bomb:?} {parsed} times took {took:?}"
        );
    }
}

#[test]
fn many_deep_nestings_are_answered_in_bounded_time() {
    for (bomb, typed) in [
        (("", "({[", "1", "]:1});"), false),
        (("", "(a=(b):C=>", "1", ");"), true),
        (("", "await ", "a", ";"), false),
        (("", "(a:B)=>", "b", ";"), true),
    ] {
        for depth in [10, 50, 150, 300] {
            let one = format!(
                "{}{}{};",
                bomb.1.repeat(depth),
                bomb.2,
                bomb.3.trim_end_matches(';').repeat(depth)
            );
            let text = one.repeat((MAX_SOURCE_BYTES - EXPORTS.len()) / one.len());
            let started = Instant::now();
            let _ = check_both(&format!("{text}{EXPORTS}"), typed);
            let took = started.elapsed();
            assert!(
                took < Duration::from_secs(20),
                "{bomb:?} {depth} deep took {took:?}"
            );
        }
    }
}

#[test]
fn thousands_of_siblings_are_no_nesting() {
    for statement in [
        "call(1, [2], { a: 3 });\n",
        "call(1, [2], { a: 3 })\n",
        "f = function () { if (a) { b } else { c } }\n",
        "var a = b\n",
        "a = `${b}`;",
        "x = /a(b)/.test(c) / 2;\n",
    ] {
        let text = statement.repeat(5_000);
        let answer = javascript(Form::Module, &format!("{text}{EXPORTS}"));
        assert!(answer.is_ok(), "{statement}: {answer:?}");
    }
}

#[test]
fn a_module_of_nothing_but_exports_takes_time_in_proportion() {
    let took = |count: usize| {
        let exports: Vec<_> = (0..count).map(|n| format!("export let v{n};")).collect();
        let source = format!("{}{EXPORTS}", exports.concat());
        let started = Instant::now();
        let checked = javascript(Form::Module, &source).unwrap();
        let column = checked.export("v1").unwrap().column;
        assert_eq!(column, "export let v0;export let v".len());
        started.elapsed()
    };
    let (few, many) = (took(6_875), took(55_000));
    // Eight times as many; a look at each export for each export would take 64 times as long.
    assert!(many < few * 32, "{few:?}, then {many:?}");
}
