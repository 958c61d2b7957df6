//! Tool modules: what they export, and what they return.

use std::time::Duration;

use bailiwick_core::{CallContext, Code, SkillError};
use bailiwick_quickjs::{Description, Form};
use serde_json::json;

use crate::bed::{self, HEAD, call, call_in, failure};

async fn described(source: &str) -> Result<Description, SkillError> {
    let script = bed::script(source, Form::Module).await?;
    bed::engine().describe(&script).await
}

#[tokio::test]
async fn a_module_says_what_it_is() {
    for source in [
        "export const description = 'd';\nexport const parameters = { type: 'object' };\n\
         export async function execute() {}",
        "const a = async () => {}; const b = 'd'; let c = await Promise.resolve({ type: 'object' \
         });\n\
         console.log('loading'); setTimeout(() => {}, 5);\n\
         export { a as execute, b as description, c as parameters };",
        "export let description; export var parameters = { toJSON: () => ({ type: 'object' }) };\n\
         class Tool {}; export { Tool as execute };\n\
         description = await new Promise((r) => setTimeout(r, 1, 'd'));",
    ] {
        let description = described(source).await.unwrap();
        assert_eq!(description.description, "d");
        assert_eq!(description.schema.json()["type"], "object");
    }
}

/// A module that is refused at load: its source, what is said of it, and where, if anywhere.
type Refused = (String, &'static str, Option<(u64, u64)>);

async fn refused(cases: Vec<Refused>) {
    let mut misplaced = Vec::new();
    for (source, words, place) in cases {
        let error = described(&source).await.unwrap_err();
        assert_eq!(error.code(), Code::IsolatedGuestInvalid, "{words}: {error}");
        assert!(error.message().contains(words), "{words}: {error}");
        assert!(error.hint().is_some());
        let details = error.details();
        assert_eq!(details["path"], "scripts/tool.js");
        let given = details["line"].as_u64().zip(details["column"].as_u64());
        assert!(details.contains_key("line") && details.contains_key("column"));
        if given != place {
            misplaced.push((error.message().to_owned(), given, place));
        }
    }
    assert!(misplaced.is_empty(), "given and expected: {misplaced:#?}");
}

#[tokio::test]
async fn a_module_that_lacks_an_export_is_refused_before_it_runs() {
    let head = HEAD.trim_end();
    let cases = [
        (tail(), "no export is named `description`", (1, 1)),
        (
            "export const description = 'd'; export function execute() {}".to_owned(),
            "no export is named `parameters`",
            (1, 1),
        ),
        (HEAD.to_owned(), "no export is named `execute`", (1, 1)),
        // The top level would never end.
        (
            "for (;;) {}".to_owned(),
            "no export is named `description`, `parameters`, `execute`",
            (1, 1),
        ),
        (
            format!("{HEAD}export default function execute() {{}}"),
            "`export default` in place of an export named `execute`",
            (2, 1),
        ),
        (
            format!("{HEAD} export class execute {{}}"),
            "`execute` is a class",
            (2, 15),
        ),
        (
            format!("{HEAD} export function* execute() {{}}"),
            "`execute` is a generator",
            (2, 19),
        ),
        (
            format!("{HEAD} execute(; export function execute() {{}}"),
            "cannot be loaded",
            (2, 10),
        ),
        (
            format!("{HEAD} export {{ nothing as execute }};"),
            "`nothing` is exported and not declared",
            (2, 11),
        ),
        (
            format!("{head} export function execute() {{}}\nexport {{ description as execute }};"),
            "duplicated export 'execute'",
            (1, 95),
        ),
    ];
    refused(
        cases
            .map(|(source, words, place)| (source, words, Some(place)))
            .into(),
    )
    .await;
}

#[tokio::test]
async fn a_module_that_breaks_its_contract_is_refused_at_load() {
    let description = |value: &str| format!("export const description = {value}; {}", tail());
    let at_description = Some((1, 14));
    let at_parameters = Some((1, 46));
    refused(vec![
        (
            description("5"),
            "`description` is a number, not a text",
            at_description,
        ),
        (
            format!("export let description; {}", tail()),
            "`description` is undefined, not a text",
            Some((1, 12)),
        ),
        (
            format!(
                "export let description = 'd'; {} description = {{}};",
                tail()
            ),
            "`description` is an object, not a text",
            Some((1, 12)),
        ),
        (
            format!("const no = 7; export {{ no as description }};\n{}", tail()),
            "`description` is a number, not a text",
            Some((1, 30)),
        ),
        (description("null"), "`description` is null", at_description),
        (
            description("' \\n'"),
            "`description` has 2 bytes",
            at_description,
        ),
        (
            description("''"),
            "`description` has 0 bytes",
            at_description,
        ),
        (
            description("'x'.repeat(16385)"),
            "`description` has 16385 bytes",
            at_description,
        ),
        (
            parameters("[]"),
            "`parameters` is an array, not an object",
            at_parameters,
        ),
        (
            parameters("'{}'"),
            "`parameters` is a string, not an object",
            at_parameters,
        ),
        (
            parameters("undefined"),
            "`parameters` is undefined",
            at_parameters,
        ),
        (parameters("null"), "`parameters` is null", at_parameters),
        (
            parameters("class {}"),
            "`parameters` is no JSON: function",
            at_parameters,
        ),
        (
            parameters("{ a: () => 1 }"),
            "`parameters` is no JSON: function at `/parameters/a`",
            at_parameters,
        ),
        (
            parameters("(() => { const c = {}; c.c = c; return c; })()"),
            "cycle at `/parameters/c`",
            at_parameters,
        ),
        (
            parameters("{ get a() { throw new Error('no'); } }"),
            "Error: no",
            Some((1, 81)),
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_execute_that_is_no_function_is_refused_at_load() {
    refused(vec![
        (
            format!("{HEAD} export const execute = {{}};"),
            "`execute` is an object, not a function",
            Some((2, 15)),
        ),
        (
            format!("{HEAD} export let execute;"),
            "`execute` is undefined, not a function",
            Some((2, 13)),
        ),
        (
            format!("{HEAD} const text = 'execute';\nexport {{ text as execute }};"),
            "`execute` is a string, not a function",
            Some((3, 18)),
        ),
        (
            format!("{HEAD} let tool = () => 1;\nexport {{ tool as execute }}; tool = [];"),
            "`execute` is an array, not a function",
            Some((3, 18)),
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_module_whose_top_level_fails_is_refused_at_load() {
    let tail = "export function execute() {}";
    refused(vec![
        (
            format!("{HEAD} throw new Error('broken'); {tail}"),
            "Error: broken",
            Some((2, 12)),
        ),
        (
            format!("{HEAD} await Promise.reject('why'); {tail}"),
            "string `why`",
            None,
        ),
        (
            format!("{HEAD} Date.now(); {tail}"),
            "`clock` is not granted",
            Some((2, 7)),
        ),
        (
            format!("{HEAD} await new Promise(() => {{}}); {tail}"),
            "never comes",
            None,
        ),
        (
            format!("{HEAD} const a = []; for (;;) a.push(new ArrayBuffer(1 << 20)); {tail}"),
            "InternalError: out of memory",
            Some((2, 53)),
        ),
        (
            format!("{HEAD} const f = () => f(); f(); {tail}"),
            "RangeError",
            Some((2, 18)),
        ),
        (
            format!("{HEAD} use(); const use = 1; {tail}"),
            "ReferenceError",
            Some((2, 2)),
        ),
    ])
    .await;
}

fn tail() -> String {
    "export const parameters = {}; export function execute() {}".to_owned()
}

fn parameters(value: &str) -> String {
    format!(
        "export const description = 'd'; export const parameters = {value}; \
         export function execute() {{}}"
    )
}

#[tokio::test]
async fn a_mistake_has_its_place() {
    for (source, words, line, column) in [
        (
            "export const description = 'd';\nexport const = 1;\n".to_owned(),
            "cannot be loaded",
            2,
            14,
        ),
        (
            format!("\n\n  throw new Error('x');\n{HEAD}export function execute() {{}}"),
            "Error: x",
            3,
            13,
        ),
        (
            format!("\n\n\nfunction f() {{\n  null.x;\n}}\nf();\n{HEAD}export {{ f as execute }}"),
            "TypeError",
            5,
            3,
        ),
    ] {
        let error = described(&source).await.unwrap_err();
        assert!(error.message().contains(words), "{error}");
        assert_eq!(error.details()["line"], line, "{error}");
        assert_eq!(error.details()["column"], column, "{error}");
    }
    let error = bed::script("async () => {\n  (;\n}", Form::Arrow)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    assert_eq!(error.details()["path"], "scripts/tool.js");
    assert_eq!(error.details()["line"], 2, "{error}");
    assert_eq!(error.details()["column"], 4, "{error}");
}

#[tokio::test]
async fn a_module_that_never_ends_its_top_level_is_refused() {
    let source = format!("{HEAD} for (;;) {{}} export function execute() {{}}");
    let error = described(&source).await.unwrap_err();
    assert_eq!(error.code(), Code::IsolatedGuestInvalid);
    assert!(error.message().contains("did not end within 5s"), "{error}");
}

#[tokio::test]
async fn a_module_is_called_with_what_an_arrow_is() {
    let tool = bed::module(&format!(
        "{HEAD} const greeting = await Promise.resolve('hello');\n\
         export const helper = 3;\n\
         export async function execute(args, context, options) {{\n\
           const echoed = await context.test.echo(args.a, this.helper);\n\
           options.onUpdate({{ half: true }});\n\
           return {{ content: [{{ type: 'text', text: greeting }},\n\
             {{ type: 'text', text: JSON.stringify(\n\
               [echoed, context.cwd, options.signal.aborted]) }}],\n\
             details: {{ secret: 42 }} }};\n\
         }}"
    ))
    .await;
    let host = bed::Host::default();
    let context = host.watching(CallContext::new("/somewhere"));
    let outcome = call_in(&tool, json!({ "a": "b" }), &context).await;
    let response = outcome.result.unwrap();
    assert_eq!(response.text(), "hello\n[[\"b\",3],\"/somewhere\",false]");
    assert_eq!(response.structured, None, "details are no model's business");
    assert_eq!(outcome.report.details, Some(json!({ "secret": 42 })));
}

#[tokio::test]
async fn the_answer_of_a_module_has_one_shape() {
    for (answer, text, details) in [
        ("{ content: [] }", "", None),
        ("{ content: [{ type: 'text', text: '' }] }", "", None),
        (
            "{ content: [{ type: 'text', text: 'a' }], details: undefined }",
            "a",
            None,
        ),
        (
            "{ content: [{ text: 'a', type: 'text' }], details: null }",
            "a",
            Some(json!(null)),
        ),
        (
            "{ content: [{ type: 'text', text: 'a' }], details: 5n }",
            "a",
            Some(json!("5")),
        ),
    ] {
        let source = format!("{HEAD} export const execute = () => ({answer});");
        let outcome = call(&bed::module(&source).await, json!({})).await;
        assert_eq!(outcome.result.unwrap().text(), text);
        assert_eq!(outcome.report.details, details, "{answer}");
    }
    let source = format!(
        "{HEAD} export const execute = () => ({{ then(resolve) {{ \
         resolve({{ content: [{{ type: 'text', text: 'late' }}] }}); }} }});"
    );
    let outcome = call(&bed::module(&source).await, json!({})).await;
    assert_eq!(outcome.result.unwrap().text(), "late");
    for (answer, words) in [
        ("'text'", "it is not an object"),
        ("undefined", "it is not an object"),
        ("[]", "it is not an object"),
        ("{}", "its `content` is no array"),
        ("{ content: 'text' }", "its `content` is no array"),
        ("{ content: null }", "its `content` is no array"),
        ("{ content: [], isError: true }", "it has a key `isError`"),
        ("{ content: ['text'] }", "`/content/0` is no object"),
        (
            "{ content: [{ type: 'text' }] }",
            "`/content/0` is no `{ type",
        ),
        (
            "{ content: [{ type: 'text', text: 5 }] }",
            "`/content/0` is no `{ type",
        ),
        (
            "{ content: [{ type: 'text', text: '' }, { type: 'image', text: '' }] }",
            "`/content/1` is no `{ type",
        ),
        (
            "{ content: [{ type: 'text', text: '', more: 1 }] }",
            "`/content/0` has a key `more`",
        ),
        ("{ content: [null] }", "`/content/0` is no object"),
        (
            "{ content: [], details: () => 1 }",
            "`/details` of its answer has no JSON form: function",
        ),
        (
            "{ content: [], details: new Uint8Array(2) }",
            "no JSON form: bytes",
        ),
    ] {
        let source = format!("{HEAD} export const execute = async () => ({answer});");
        let (error, _) = failure(call(&bed::module(&source).await, json!({})).await);
        assert_eq!(error.code(), Code::ToolBadResponse, "{answer}: {error}");
        assert!(error.message().contains(words), "{answer}: {error}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn a_module_is_held_to_the_same_ends() {
    for (body, code) in [
        ("throw new Error('no');", Code::ToolFailed),
        (
            "await context.fs.read('x');",
            Code::IsolatedCapabilityDenied,
        ),
        ("for (;;) {}", Code::IsolatedTimeout),
        ("await new Promise(() => {});", Code::ToolFailed),
        (
            "const a = []; for (;;) a.push(new ArrayBuffer(1 << 20));",
            Code::IsolatedMemoryExceeded,
        ),
    ] {
        let source = format!("{HEAD} export async function execute(args, context) {{ {body} }}");
        let mut context = CallContext::new("/");
        let is_late = code == Code::IsolatedTimeout;
        context.deadline = is_late.then_some(Duration::from_millis(40));
        let outcome = call_in(&bed::module(&source).await, json!({}), &context).await;
        assert_eq!(failure(outcome).0.code(), code, "{body}");
    }
    let late = format!(
        "{HEAD} if (globalThis.n) throw 1; throw new Error('top'); export function execute() {{}}"
    );
    let (error, report) = failure(call(&bed::module(&late).await, json!({})).await);
    assert!(error.message().contains("Error: top"), "{error}");
    assert!(report.stack.unwrap().contains("scripts/tool.js:2:"));
}
