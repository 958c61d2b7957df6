//! What a tool throws, and what is told of it.

use bailiwick_core::{Code, MODEL_TEXT_CHARS};
use serde_json::json;

use crate::bed::{self, call, failure};

#[tokio::test]
async fn stacks_have_the_lines_and_columns_of_the_author() {
    for (name, source, frames) in [
        (
            "the first line",
            "async () => { throw new Error('x'); }",
            &["at <anonymous> (scripts/tool.js:1:25)"][..],
        ),
        (
            "a function further down",
            "async (args) => {\n  const inner = () => {\n    throw new TypeError('bad');\n  };\n \
             inner();\n}",
            &["at inner (scripts/tool.js:3:15)", "(scripts/tool.js:5:"],
        ),
        (
            "after a wait",
            "async (args, context) => {\n  await context.test.echo(1);\n\n  throw new \
             Error('late');\n}",
            &["(scripts/tool.js:4:13)"],
        ),
        (
            "a timer",
            "async () => {\n  setTimeout(function ring() {\n    null.x;\n  }, 1);\n  await new \
             Promise(() => {});\n}",
            &["at ring (scripts/tool.js:3:"],
        ),
        (
            "a refused call",
            "async (args, context) => {\n  await context.fs.read('x');\n}",
            &["(scripts/tool.js:2:"],
        ),
        (
            "an engine's own error",
            "async () => {\n\n  return undefinedName;\n}",
            &["(scripts/tool.js:3:"],
        ),
    ] {
        let (_, report) = bed::fails(source).await;
        let stack = report.stack.unwrap();
        for frame in frames {
            assert!(stack.contains(frame), "{name}: {frame} is not in\n{stack}");
        }
        assert!(!stack.contains("<prelude>"), "{name}: {stack}");
    }
    let module = bed::module(
        "export const description = 'd';\nexport const parameters = {};\n\
         function inner() {\n  throw new Error('deep');\n}\n\
         export async function execute() {\n  inner();\n}\n",
    )
    .await;
    let (_, report) = failure(call(&module, json!({})).await);
    let stack = report.stack.unwrap();
    assert!(stack.contains("at inner (scripts/tool.js:4:13)"), "{stack}");
    assert!(stack.contains("at execute (scripts/tool.js:7:"), "{stack}");
}

#[tokio::test]
async fn a_thrown_value_is_told_by_what_it_is() {
    for (thrown, told) in [
        ("new Error('plain')", "threw Error: plain"),
        ("new TypeError()", "threw TypeError"),
        ("'a text'", "threw the string `a text`"),
        ("''", "threw a value of type string"),
        ("5", "threw a value of type number"),
        ("null", "threw a value of type null"),
        ("undefined", "threw a value of type undefined"),
        ("Symbol('s')", "threw a value of type symbol"),
        ("10n", "threw a value of type bigint"),
        ("() => 1", "threw a value of type function"),
        ("{ message: 'secret' }", "threw a value of type object"),
        (
            "{ code: 'E_SKILL_GATE_DENIED', message: 'no' }",
            "threw a value of type object",
        ),
        (
            "new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } })",
            "of type object",
        ),
        ("new Proxy(new Error('x'), { get() { throw 1; } })", "threw"),
        (
            "Object.create(Error.prototype, { message: { get() { throw 1; } } })",
            "threw Error",
        ),
        (
            "Object.defineProperty(new Error('own'), 'stack', { value: { toString() { throw 1; } \
             } })",
            "Error: own",
        ),
        (
            "Object.assign(new Error('own'), { name: {}, cause: null })",
            "threw Error: own",
        ),
        (
            "new AggregateError([new Error('a')], 'several')",
            "threw AggregateError: several",
        ),
        (
            "new DOMException('stop', 'AbortError')",
            "threw AbortError: stop",
        ),
        ("class extends Error {}", "threw a value of type function"),
    ] {
        let throws = format!("async () => {{ throw {thrown}; }}");
        let rejects = format!("async () => Promise.reject({thrown})");
        for (error, report) in [
            bed::fails(&throws).await,
            bed::fails(&rejects).await,
            bed::execute_fails(&throws).await,
            bed::execute_fails(&format!("() => {{ throw {thrown}; }}")).await,
            bed::execute_fails(&format!("() => Promise.reject({thrown})")).await,
        ] {
            assert_eq!(error.code(), Code::ToolFailed, "{thrown}: {error}");
            assert!(error.message().contains(told), "{thrown}: {error}");
            assert!(!error.message().contains("secret"), "{error}");
            assert!(report.denials.is_empty());
        }
    }
}

#[tokio::test]
async fn what_cannot_be_called_is_told() {
    for (execute, told) in [
        ("42", "threw TypeError: not a function"),
        ("undefined", "threw TypeError: not a function"),
        ("{}", "threw TypeError: not a function"),
        (
            "class {}",
            "threw TypeError: class constructors must be invoked with 'new'",
        ),
    ] {
        let (error, _) = bed::execute_fails(execute).await;
        assert_eq!(error.code(), Code::ToolFailed, "{execute}: {error}");
        assert!(error.message().contains(told), "{execute}: {error}");
    }
}

#[tokio::test]
async fn what_a_model_reads_is_one_bounded_line_without_control() {
    let (error, report) = bed::fails(
        "async () => { throw new Error('a\\n\\u001b[31mb\\u202e\\u0000' + 'x'.repeat(2000)); }",
    )
    .await;
    let text = error.model_text();
    assert!(text.contains("threw Error: a [31mb x"), "{text}");
    assert_eq!(text.chars().count(), MODEL_TEXT_CHARS);
    assert!(!text.chars().any(bailiwick_core::is_unprintable), "{text}");
    assert!(!text.contains("tool.js"), "the stack is for the report");
    assert!(report.stack.unwrap().contains("tool.js"));
    let wire = serde_json::to_string(&error.wire()).unwrap();
    assert!(
        wire.contains("test-skill") && !wire.contains("tool.js"),
        "{wire}"
    );
}

#[tokio::test]
async fn only_the_very_denial_ends_a_call_as_denied() {
    let read = "await context.fs.read('x')";
    for (name, body, code, denials) in [
        (
            "uncaught",
            format!("{read};"),
            Some(Code::IsolatedCapabilityDenied),
            1,
        ),
        (
            "thrown again",
            format!("try {{ {read}; }} catch (e) {{ throw e; }}"),
            Some(Code::IsolatedCapabilityDenied),
            1,
        ),
        (
            "changed and thrown again",
            format!(
                "try {{ {read}; }} catch (e) {{ e.message = 'all is well'; e.code = 1; throw \
             e; }}"
            ),
            Some(Code::IsolatedCapabilityDenied),
            1,
        ),
        (
            "as a cause",
            format!(
                "try {{ {read}; }} catch (cause) {{ throw new Error('wrapped', {{ cause }}); \
             }}"
            ),
            Some(Code::ToolFailed),
            1,
        ),
        (
            "copied",
            format!(
                "try {{ {read}; }} catch (e) {{ const copy = new Error(e.message); \
                 Object.assign(copy, e, {{ call: 1, code: e.code }}); throw copy; }}"
            ),
            Some(Code::ToolFailed),
            1,
        ),
        (
            "made up",
            "const e = new Error('`fs.read` is not granted'); \
             throw Object.assign(e, { code: 'E_SKILL_ISOLATED_CAPABILITY_DENIED', call: 1, \
             retryable: false });"
                .to_owned(),
            Some(Code::ToolFailed),
            0,
        ),
        (
            "another failure after one that was caught",
            format!("try {{ {read}; }} catch {{}} throw new Error('later');"),
            Some(Code::ToolFailed),
            1,
        ),
        (
            "caught",
            format!("try {{ {read}; }} catch {{ return 'fine'; }}"),
            None,
            1,
        ),
        (
            "a failure of the host that is no denial",
            "await context.test.fail({ message: 'no' });".to_owned(),
            Some(Code::ToolFailed),
            0,
        ),
        (
            "from a getter of the answer",
            "let e; try { await context.fs.read('x'); } catch (x) { e = x; } \
             return { get a() { throw e; } };"
                .to_owned(),
            Some(Code::IsolatedCapabilityDenied),
            1,
        ),
    ] {
        let source = format!("async (args, context) => {{ {body} }}");
        let outcome = call(&bed::arrow(&source).await, json!({})).await;
        let given = outcome
            .result
            .as_ref()
            .err()
            .map(bailiwick_core::SkillError::code);
        assert_eq!(given, code, "{name}: {:?}", outcome.result);
        assert_eq!(outcome.report.denials.len(), denials, "{name}");
        if let Some(denial) = outcome.report.denials.first() {
            assert_eq!(denial["access"], "use fs.read");
            assert_eq!(denial["hint"], "grant `fs.read`");
        }
        if code == Some(Code::IsolatedCapabilityDenied) {
            let error = outcome.result.unwrap_err();
            assert_eq!(
                error.message(),
                "`tool` ended on a refusal: `fs.read` is not granted"
            );
            assert_eq!(error.hint(), Some("grant `fs.read`"));
            assert_eq!(error.details()["capability"], "fs.read");
            assert_eq!(error.details()["skill"], "test-skill");
        }
    }
}
