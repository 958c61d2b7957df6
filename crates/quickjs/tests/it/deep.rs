//! Recursion in every part of the engine that recurses: each ends in an error that a script can
//! catch, and none at the end of the native stack, which ends the call.
//!
//! The ratio of the two stacks holds only as long as each of these passes: a new version of the
//! engine, or another C compiler, can move it.

use std::time::Duration;

use bailiwick_core::CallContext;
use bailiwick_quickjs::Form;
use serde_json::json;

use crate::bed::{self, call_in, works};

const PROXIES: &str = "let p = {}; for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, {});";
const CALLABLE: &str =
    "let p = function () {}; for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, {});";
const HEIRS: &str =
    "let p = {}; for (let i = 0; i < 5e4; i += 1) p = Object.create(new Proxy(p, {}));";
const LISTS: &str = "let a = []; for (let i = 0; i < 1e5; i += 1) a = [a];";
const BOUND: &str = "let f = function () {}; for (let i = 0; i < 1e5; i += 1) \
     f = Object.defineProperty(f.bind(null), 'name', { value: '' });";
const OWN_PROXY: &str = "const p = {}; Object.setPrototypeOf(p, new Proxy(p, {}));";

/// What comes first, and what then recurses.
const DEEP: &[(&str, &str)] = &[
    (PROXIES, "p.x"),
    (PROXIES, "p.x = 1"),
    (PROXIES, "'x' in p"),
    (PROXIES, "delete p.x"),
    (PROXIES, "Reflect.ownKeys(p)"),
    (PROXIES, "Object.getOwnPropertyDescriptor(p, 'x')"),
    (PROXIES, "Object.defineProperty(p, 'x', { value: 1 })"),
    (PROXIES, "Object.getPrototypeOf(p)"),
    (PROXIES, "Object.setPrototypeOf(p, null)"),
    (PROXIES, "Object.isExtensible(p)"),
    (PROXIES, "Object.preventExtensions(p)"),
    (PROXIES, "Object.prototype.toString.call(p)"),
    (PROXIES, "Array.isArray(p)"),
    (PROXIES, "p instanceof Array"),
    (PROXIES, "JSON.stringify(p)"),
    (PROXIES, "[].concat(p)"),
    (PROXIES, "({ ...p })"),
    (PROXIES, "console.log(p)"),
    (PROXIES, "structuredClone(p)"),
    (PROXIES, "await p"),
    (PROXIES, "await context.test.echo(p)"),
    (PROXIES, "options.onUpdate(p)"),
    (CALLABLE, "p()"),
    (CALLABLE, "new p()"),
    (CALLABLE, "({}) instanceof p"),
    (CALLABLE, "new (class extends p {})()"),
    (CALLABLE, "[1].map(p)"),
    (HEIRS, "p.x"),
    (HEIRS, "p.x = 1"),
    (HEIRS, "'x' in p"),
    (HEIRS, "for (const key in p);"),
    (HEIRS, "p instanceof Array"),
    (LISTS, "String(a)"),
    (LISTS, "JSON.stringify(a)"),
    (LISTS, "a.flat(Infinity)"),
    (LISTS, "structuredClone(a)"),
    (LISTS, "console.log(a)"),
    (LISTS, "await context.test.echo(a)"),
    (BOUND, "f()"),
    (BOUND, "new f()"),
    (BOUND, "({}) instanceof f"),
    (OWN_PROXY, "p.x"),
    (OWN_PROXY, "p.x = 1"),
    (OWN_PROXY, "'x' in p"),
    ("", "JSON.parse('['.repeat(1e6))"),
    ("", "JSON.parse('{\"a\":'.repeat(1e6))"),
    ("", "eval('('.repeat(1e5))"),
    ("", "eval('['.repeat(1e5))"),
    ("", "eval('{'.repeat(1e5))"),
    ("", "eval('- '.repeat(1e5) + '1')"),
    ("", "eval('!'.repeat(1e5) + '1')"),
    ("", "eval('1**'.repeat(1e5) + '1')"),
    ("", "eval('a=>'.repeat(1e5) + '1')"),
    ("", "eval('a?'.repeat(1e5))"),
    ("", "eval('a='.repeat(1e5) + '1')"),
    ("", "eval('if(1)'.repeat(1e5) + ';')"),
    ("", "eval('new '.repeat(1e5) + 'a')"),
    ("", "eval('(function(){'.repeat(1e4))"),
    ("", "eval('class a{static{'.repeat(1e4))"),
    ("", "eval('`${'.repeat(1e5))"),
    ("", "eval('for(;;)'.repeat(1e5))"),
    ("", "eval('a:'.repeat(1e5))"),
    ("", "eval('[a='.repeat(1e5))"),
    ("", "eval('({a:'.repeat(1e5))"),
    ("", "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))"),
    ("", "new RegExp('(?='.repeat(1e5) + ')'.repeat(1e5))"),
    ("", "new RegExp('['.repeat(1e5) + ']'.repeat(1e5), 'v')"),
    ("", "/(?:a|b)*c/.test('a'.repeat(1e6))"),
    (
        "let s = 'a'; for (let i = 0; i < 2e5; i += 1) s = 'b'.concat(s, 'c');",
        "s.indexOf('zz')",
    ),
    (
        "let s = 'a'; for (let i = 0; i < 2e5; i += 1) s = i + s;",
        "s.indexOf('zz')",
    ),
    ("const f = () => [1, 2, 3].sort(f);", "f()"),
    ("const f = () => [1].map(f);", "f()"),
    ("const f = () => [1, 2].reduce(f);", "f()"),
    ("const f = () => 'aaa'.replace(/a/g, f);", "f()"),
    ("const f = () => 'aaa'.replaceAll('a', f);", "f()"),
    ("const f = () => Array.from([1], f);", "f()"),
    ("const f = () => Reflect.apply(f, null, []);", "f()"),
    (
        "const c = class { constructor() { Reflect.construct(c, []); } };",
        "new c()",
    ),
    ("const f = () => new Map([[1, 1]]).forEach(f);", "f()"),
    ("const f = () => Object.groupBy([1], f);", "f()"),
    ("const f = () => [...{ [Symbol.iterator]: f }];", "f()"),
    ("const f = () => JSON.parse('[1]', f);", "f()"),
    ("const f = () => JSON.stringify([1], f);", "f()"),
    ("globalThis.f = () => eval('f()');", "f()"),
    ("globalThis.f = () => new Function('f()')();", "f()"),
    (
        "const f = () => new Uint8Array({ length: 1, get 0() { return f(); } });",
        "f()",
    ),
    (
        "const f = () => structuredClone({ get a() { return f(); } });",
        "f()",
    ),
    (
        "const f = () => console.log({ get a() { return f(); }, toString: f });",
        "f()",
    ),
    ("const f = () => `${{ toString: f }}`;", "f()"),
    ("const f = () => new URL({ toString: f });", "f()"),
    (
        "const f = () => setTimeout(() => {}, { valueOf: f });",
        "f()",
    ),
    (
        "const f = () => new TextEncoder().encode({ toString: f });",
        "f()",
    ),
    (
        "const f = () => context.util.withAbort(undefined, f);",
        "await f()",
    ),
    ("const f = () => options.onUpdate({ toJSON: f });", "f()"),
    (
        "const f = () => context.test.echo({ toJSON: f });",
        "await f()",
    ),
    ("const o = { get x() { return this.x; } };", "o.x"),
    ("const o = { set x(v) { this.x = v; } };", "o.x = 1"),
    ("const o = { valueOf() { return +o; } };", "+o"),
    (
        "const p = new Proxy({}, { get(t, k, r) { return r[k]; } });",
        "p.x",
    ),
    (
        "const p = new Proxy({}, { has() { return 'x' in p; } });",
        "'x' in p",
    ),
    (
        "const p = new Proxy({}, { ownKeys() { return Object.keys(p); } });",
        "Object.keys(p)",
    ),
    (
        "const p = new Proxy({}, { getPrototypeOf() { return Object.getPrototypeOf(p); } });",
        "Object.getPrototypeOf(p)",
    ),
];

#[tokio::test]
async fn deep_recursion_is_an_error_that_a_script_can_catch() {
    let engine = bed::engine();
    let sum = bed::script(bed::SUM, Form::Arrow).await.unwrap();
    let mut wrong = Vec::new();
    let mut caught = 0;
    for (setup, deep) in DEEP {
        let source = format!(
            "async (args, context, options) => {{ {setup} \
             try {{ {deep}; return 'over'; }} catch (e) {{ return String(e); }} }}"
        );
        let mut context = CallContext::new("/");
        context.deadline = Some(Duration::from_mins(1));
        let outcome = call_in(&bed::arrow(&source).await, json!({}), &context).await;
        match outcome.result {
            Ok(response) if response.text().starts_with("RangeError: Maximum call") => caught += 1,
            // What has a bound of its own, or needs no stack.
            Ok(response)
                if OTHERS
                    .iter()
                    .any(|other| response.text().starts_with(other)) => {}
            Ok(response) => wrong.push(format!("{setup} {deep}: {}", response.text())),
            Err(error) => wrong.push(format!("{setup} {deep}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        caught * 3 > DEEP.len() * 2,
        "only {caught} of {} recursed",
        DEEP.len()
    );
    works(&engine, &sum).await;
}

const OTHERS: [&str; 6] = [
    "over",
    "SyntaxError",
    "TypeError",
    "DataCloneError",
    "InternalError: out of memory",
    "Error: the arguments of `test.echo` cannot be taken: it is nested deeper",
];
