//! What a source may say, through the engine's own door, and how TypeScript runs.

use bailiwick_core::Code;
use bailiwick_quickjs::Form;
use serde_json::{Value, json};

use crate::bed::{self, HEAD, call, failure, success};

#[tokio::test]
async fn an_arrow_source_is_one_async_arrow_function() {
    for (source, words, line, column) in [
        ("42", "an expression that is not an arrow function", 1, 1),
        ("() => 1", "an arrow function that is not async", 1, 1),
        ("// one\n\n  (args) => 1", "that is not async", 3, 3),
        ("(async function tool() {})", "not an arrow function", 1, 2),
        ("async function tool() {}", "a statement", 1, 1),
        ("class Tool {}", "a statement", 1, 1),
        ("const tool = async () => 1;", "a statement", 1, 1),
        ("(class Tool {})", "not an arrow function", 1, 2),
        ("(0, async () => 1)", "not an arrow function", 1, 2),
        (
            "'use strict'; async () => 1",
            "a string before the function",
            1,
            1,
        ),
        ("async () => 1;\n 2", "code after the function", 2, 2),
        ("// nothing", "the file has no function", 1, 1),
        ("", "the file has no function", 1, 1),
    ] {
        let error = bed::script(source, Form::Arrow).await.unwrap_err();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid, "{source}");
        assert!(error.message().contains(words), "{source}: {error}");
        assert!(error.hint().unwrap().contains("async"), "{source}: {error}");
        let details = error.details();
        assert_eq!(details["path"], "scripts/tool.js", "{source}");
        assert_eq!(details["reason"], "form", "{source}");
        assert_eq!(details["line"], line, "{source}: {error}");
        assert_eq!(details["column"], column, "{source}: {error}");
    }
}

/// A way to another module: the file, its form, the code, what is said of it, and where it stands.
type Import = (&'static str, Form, &'static str, &'static str, (u64, u64));

const IMPORTS: &[Import] = &[
    (
        "scripts/a.js",
        Form::Module,
        "import fs from 'node:fs';",
        "a static import",
        (2, 1),
    ),
    (
        "scripts/a.mjs",
        Form::Module,
        "  import './b.js';",
        "a static import",
        (2, 3),
    ),
    (
        "scripts/a.mts",
        Form::Module,
        "type A = 1; import { b } from './b.ts';",
        "a static import",
        (2, 13),
    ),
    (
        "scripts/a.ts",
        Form::Module,
        "import type { A } from './b.ts';",
        "an import of types",
        (2, 1),
    ),
    (
        "scripts/a.js",
        Form::Module,
        "export * from './b.js';",
        "an export from another module",
        (2, 1),
    ),
    (
        "scripts/a.js",
        Form::Module,
        "const b = 1; export { c } from './b.js';",
        "an export from another module",
        (2, 14),
    ),
    (
        "scripts/a.js",
        Form::Module,
        "const b = await import('./b.js');",
        "a dynamic `import()`",
        (2, 17),
    ),
    (
        "scripts/a.ts",
        Form::Module,
        "const b: any = await import('./b.js') as any;",
        "a dynamic `import()`",
        (2, 22),
    ),
    (
        "scripts/a.js",
        Form::Module,
        "const here = import.meta.url;",
        "`import.meta`",
        (2, 14),
    ),
    (
        "scripts/a.js",
        Form::Module,
        "const fs = require('fs');",
        "`require`",
        (2, 12),
    ),
    (
        "scripts/a.ts",
        Form::Module,
        "import fs = require('fs');",
        "`import … =`",
        (2, 1),
    ),
    (
        "scripts/a.js",
        Form::Arrow,
        "async () => {\n  return import('./b.js');\n}",
        "a dynamic `import()`",
        (2, 10),
    ),
    (
        "scripts/a.js",
        Form::Arrow,
        "async (args) => `${await import(args.b)}`",
        "a dynamic `import()`",
        (1, 26),
    ),
    (
        "scripts/a.js",
        Form::Arrow,
        "async (args = import('./b.js')) => args",
        "a dynamic `import()`",
        (1, 15),
    ),
    (
        "scripts/a.ts",
        Form::Arrow,
        "async (a: { b: string }): Promise<unknown> => import(a.b)",
        "a dynamic `import()`",
        (1, 47),
    ),
    (
        "scripts/a.js",
        Form::Arrow,
        "async () => import.meta",
        "`import.meta`",
        (1, 13),
    ),
    (
        "scripts/a.js",
        Form::Arrow,
        "async () => {\n\n  const fs = require('fs');\n}",
        "`require`",
        (3, 14),
    ),
    (
        "scripts/a.js",
        Form::Arrow,
        "async () => { const load = require; return load('fs'); }",
        "`require`",
        (1, 28),
    ),
    (
        "scripts/a.mts",
        Form::Arrow,
        "async (a: import('./b.ts').B) => a",
        "a type of another module",
        (1, 11),
    ),
];

#[tokio::test]
async fn every_way_to_another_module_is_refused_where_it_stands() {
    for &(path, form, code, words, (line, column)) in IMPORTS {
        let source = match form {
            Form::Arrow => code.to_owned(),
            Form::Module => format!("{HEAD}{code}\nexport async function execute() {{}}\n"),
        };
        let error = bed::script_at(path, &source, form).await.unwrap_err();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid, "{code}: {error}");
        assert!(error.message().contains(words), "{code}: {error}");
        let place = format!("(line {line}, column {column})");
        assert!(error.message().contains(path), "{code}: {error}");
        assert!(error.message().contains(&place), "{code}: {error}");
        let details = error.details();
        assert_eq!(details["path"], path, "{code}");
        assert_eq!(details["line"], line, "{code}");
        assert_eq!(details["column"], column, "{code}");
        assert_eq!(details["reason"], "import", "{code}: {error}");
        assert!(error.hint().is_some(), "{code}");
    }
}

#[tokio::test]
async fn the_words_of_imports_may_stand_where_they_import_nothing() {
    let source = "// import x from 'y'; require('z')\n\
         async (args) => {\n\
           /* import('a'); import.meta */\n\
           const text = \"import('a')\" + 'require(\"b\")' + `import ${args.a} from require`;\n\
           const found = /import\\(|require/.exec(text)[0];\n\
           const tool = { import: 1, require() { return 2; }, 'import.meta': 3 };\n\
           class Loader { import() { return 4; } static require = 5; }\n\
           const call = ({ require }) => require('own');\n\
           return [text, found, tool.import, tool.require(), tool['import.meta'],\n\
             new Loader().import(), Loader.require, call({ require: (name) => name })];\n\
         }";
    let expected = json!([
        "import('a')require(\"b\")import 1 from require",
        "import(",
        1,
        2,
        3,
        4,
        5,
        "own"
    ]);
    for path in ["scripts/tool.js", "scripts/tool.ts"] {
        let script = bed::script_at(path, source, Form::Arrow).await.unwrap();
        let tool = bed::of(&bed::engine(), script, |_| ());
        assert_eq!(success(call(&tool, json!({ "a": 1 })).await), expected);
    }
}

/// What only an evaluation at run time can ask for is refused by the engine.
#[tokio::test]
async fn code_made_at_run_time_imports_nothing_either() {
    for way in [
        "await (0, eval)('import(\"./b.js\")')",
        "await new Function('return import(\"./b.js\")')()",
        "await new Function('return import(\"std\")')()",
        "new Function('return require(\"fs\")')()",
        "(0, eval)('import.meta')",
    ] {
        let told = bed::value(&format!(
            "async () => {{ try {{ return ['got', typeof ({way})]; }} \
             catch (e) {{ return ['threw', e instanceof Error]; }} }}"
        ))
        .await;
        assert_eq!(told, json!(["threw", true]), "{way}");
    }
}

async fn typed(source: &str) -> Value {
    let script = bed::script_at("scripts/tool.ts", source, Form::Arrow)
        .await
        .unwrap();
    let tool = bed::of(&bed::engine(), script, |_| ());
    success(call(&tool, json!({ "a": 2, "b": "x" })).await)
}

#[tokio::test]
async fn typescript_runs_without_its_types() {
    let value = typed(
        "async <T extends { a: number; b?: string }>(args: T, context?: unknown): \
         Promise<[number, string | undefined]> => {\n\
           interface Local { readonly list: Array<number> }\n\
           type Pair<A, B = A> = readonly [A, B];\n\
           const local: Local = { list: [1, 2] satisfies number[] };\n\
           class Box<V> { private value!: V; declare never: string; \
             constructor(value: V) { this.value = value; } \
             get(this: Box<V>): V { return this.value as V; } }\n\
           const box = new Box<number>(args.a!);\n\
           function sum(list: number[]): number;\n\
           function sum(list: number[], start: number): number;\n\
           function sum(list: number[], start = 0): number { \
             return list.reduce<number>((a, b) => a + b, start); }\n\
           const less = args.a < 3, more = (args.a as number) > 1;\n\
           return [sum(local.list, box.get()), less && more ? args.b : undefined];\n\
         }",
    )
    .await;
    assert_eq!(value, json!([5, "x"]));
}

#[tokio::test]
async fn typescript_keeps_the_lines_and_columns_of_its_author() {
    for (name, source, frame) in [
        (
            "on one line",
            "async (args: { a: number }, context?: any): Promise<1> => { throw new Error('x'); }",
            "at <anonymous> (scripts/tool.ts:1:",
        ),
        (
            "after an annotation on its line",
            "async () => {\n  const a: Map<string, number> = new Map(); throw new Error('x');\n}",
            "(scripts/tool.ts:2:",
        ),
        (
            "after types of several lines",
            "async (): Promise<{\n  a: 1,\n  b: 2,\n}> => {\n  type A = {\n    a: 1;\n  };\n  \
             const a = 1 as A | 1; throw new Error('x');\n}",
            "(scripts/tool.ts:8:",
        ),
        (
            "after a type with characters of several bytes",
            "async () => {\n  const a: 'é€' = 'é€' as 'é€'; throw new Error('x');\n}",
            "(scripts/tool.ts:2:",
        ),
        (
            "after a character of two UTF-16 units",
            "async () => {\n  const a: string = '𝓭'; throw new Error('x');\n}",
            "(scripts/tool.ts:2:",
        ),
        (
            "in a function with a typed head",
            "async () => {\n  function inner<T>(a: T, b?: number): T { throw new Error('x'); }\n  \
             inner<string>('a');\n}",
            "at inner (scripts/tool.ts:2:",
        ),
    ] {
        // The engine names the place of what is constructed.
        let line = source.lines().find(|line| line.contains("throw")).unwrap();
        let before = line.split("Error(").next().unwrap();
        let column = before.chars().count() + 1;
        let script = bed::script_at("scripts/tool.ts", source, Form::Arrow)
            .await
            .unwrap();
        let tool = bed::of(&bed::engine(), script, |_| ());
        let (error, report) = failure(call(&tool, json!({})).await);
        assert_eq!(error.code(), Code::ToolFailed, "{name}: {error}");
        let stack = report.stack.unwrap();
        let frame = format!("{frame}{column})");
        assert!(stack.contains(&frame), "{name}: {frame} is not in\n{stack}");
    }
}

#[tokio::test]
async fn a_typed_module_keeps_its_places() {
    let head = "type Schema = Record<string, unknown>;\n\
        export const description: string = 'd', parameters: Schema = {};\n";
    let compile = |source: String| async move {
        let script = bed::script_at("scripts/tool.ts", &source, Form::Module).await?;
        bed::engine().describe(&script).await.map(|_| script)
    };
    let source = format!(
        "{head}export async function execute(args: Schema): Promise<never> {{ \
         const a: number = 1; throw new Error('x'); }}"
    );
    let script = compile(source).await.unwrap();
    let tool = bed::of(&bed::engine(), script, |_| ());
    let (_, report) = failure(call(&tool, json!({})).await);
    let stack = report.stack.unwrap();
    assert!(
        stack.contains("at execute (scripts/tool.ts:3:94)"),
        "{stack}"
    );

    for (rest, words, place) in [
        (
            "const a: any = 1; export { a as execute };",
            "`execute` is a number, not a function",
            [3, 33],
        ),
        (
            "const a: any = null; a.b; export function execute(): void {}",
            "TypeError",
            [3, 22],
        ),
        (
            "enum E { A } export function execute(): void {}",
            "an `enum`",
            [3, 1],
        ),
        (
            "const a: 'é' = 'é'; throw new Error('x'); export function execute(): void {}",
            "Error: x",
            [3, 31],
        ),
        (
            "let a: number =; export function execute(): void {}",
            "cannot be loaded",
            [3, 16],
        ),
    ] {
        let error = compile(format!("{head}{rest}")).await.unwrap_err();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid, "{error}");
        assert!(error.message().contains(words), "{error}");
        let details = error.details();
        assert_eq!(details["path"], "scripts/tool.ts", "{error}");
        assert_eq!(
            json!([details["line"], details["column"]]),
            json!(place),
            "{error}"
        );
    }
}
