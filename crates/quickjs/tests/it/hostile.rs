//! Programs that try to outlast or outgrow what they were given.

use std::time::{Duration, Instant};

use bailiwick_core::{CallContext, Code, SkillError};
use bailiwick_quickjs::{EngineSettings, Form};
use serde_json::{Value, json};

use crate::bed::{self, call, call_in, failure, success, works};

/// How a hostile program ends.
enum End {
    /// With a code, and words of the message.
    Fails(Code, &'static str),
    /// With an error that the program itself caught and returned as text; any of these.
    Catches(&'static [&'static str]),
}

use End::{Catches, Fails};

const STACK: &[&str] = &["RangeError: Maximum call stack size exceeded"];

/// Ends of programs that hold no loop without end.
const BOUNDED: &[(&str, &str, End)] = &[
    (
        "a text that doubles",
        "async () => { let s = 'a'; for (;;) s += s; }",
        // Whichever is first: the longest text there may be, or memory.
        Fails(Code::ToolFailed, "InternalError: string too long"),
    ),
    (
        "lists without end",
        "async () => { const a = []; for (;;) a.push(new Array(1000).fill(1)); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "buffers without end",
        "async () => { const a = []; for (;;) a.push(new ArrayBuffer(1 << 20)); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "objects without end",
        "async () => { let o = null; for (;;) o = { o }; }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "functions without end",
        "async () => { const a = []; for (;;) a.push(() => a); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "promises without end",
        "async () => { const a = []; for (;;) a.push(new Promise(() => {})); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "microtasks that make two of themselves",
        "async () => { const f = () => { queueMicrotask(f); queueMicrotask(f); }; f(); \
         await new Promise(() => {}); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "keys without end",
        "async () => { const o = {}; for (let i = 0; ; i += 1) o[`k${i}`] = i; }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "keys with objects without end",
        "async () => { const o = {}; for (let i = 0; ; i += 1) o[`k${i}`] = {}; }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "objects of one prototype without end",
        "async () => { const a = []; for (;;) a.push(Object.create({})); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "async functions that never end, without end",
        "async () => { const a = []; for (;;) a.push((async () => { await new Promise(() => {}); \
         })()); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "small objects where large ones no longer fit",
        "async () => { const a = []; for (let n = 1 << 26; n > 1024;) { try { a.push(new \
         ArrayBuffer(n)); } catch { n >>= 1; } } const b = []; for (;;) b.push([b.length]); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "expressions without end",
        "async () => { const a = []; for (let i = 0; ; i += 1) a.push(new RegExp(`a${i}`)); }",
        Fails(Code::IsolatedMemoryExceeded, "64 MiB"),
    ),
    (
        "cycles of large buffers that nobody holds",
        "async () => { for (let i = 0; i < 300; i += 1) { const a = { b: new Uint8Array(1 << 20) }; \
         a.a = a; } return 'collected'; }",
        Catches(&["collected"]),
    ),
    (
        "a proxy of a list that claims a length below zero",
        "async () => [new Proxy([], { get: (list, key) => key === 'length' ? -1e9 : undefined }), \
         new Array(300000).fill(0)]",
        Fails(Code::ToolBadResponse, "no JSON form"),
    ),
    (
        "buffers, caught",
        "async () => { const a = []; try { for (;;) a.push(new ArrayBuffer(1 << 20)); } \
         catch (e) { a.length = 0; return String(e); } }",
        Catches(&["InternalError: out of memory"]),
    ),
    (
        "timers without end",
        "async () => { for (;;) setTimeout(() => {}, 1e6); }",
        Fails(Code::ToolFailed, "more than 4096 timers"),
    ),
    (
        "host calls without end, none awaited",
        "async (args, context) => { for (;;) context.test.echo(1); }",
        Fails(Code::ToolFailed, "of 4096 that were refused"),
    ),
    (
        "recursion",
        "async () => { const f = (n) => 1 + f(n + 1); return f(0); }",
        Fails(Code::ToolFailed, STACK[0]),
    ),
    (
        "a mistake at run time",
        "async () => { return eval('(('); }",
        Fails(Code::ToolFailed, "SyntaxError"),
    ),
    (
        "parsing of deep lists",
        "async () => JSON.parse('['.repeat(1e6))",
        Fails(Code::ToolFailed, "Error"),
    ),
    (
        "recursion, caught",
        "async () => { const f = (n) => 1 + f(n + 1); try { return f(0); } catch (e) { return \
         String(e); } }",
        Catches(STACK),
    ),
    (
        "the text of deep lists",
        "async () => { let a = []; for (let i = 0; i < 1e5; i += 1) a = [a]; \
         try { return String(a); } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "deep source",
        "async () => { try { return eval('('.repeat(1e5)); } catch (e) { return String(e); } }",
        Catches(&["RangeError", "SyntaxError"]),
    ),
    (
        "deep source of lists",
        "async () => { try { return eval('['.repeat(1e5)); } catch (e) { return String(e); } }",
        Catches(&["RangeError", "SyntaxError"]),
    ),
    (
        "deep source of functions",
        "async () => { try { return eval('()=>'.repeat(1e5) + '1'); } catch (e) { return \
         String(e); } }",
        Catches(&["RangeError", "SyntaxError", "InternalError: out of memory"]),
    ),
    (
        "deep source of blocks",
        "async () => { try { return eval('{'.repeat(1e5)); } catch (e) { return String(e); } }",
        Catches(&["RangeError", "SyntaxError"]),
    ),
    (
        "a deep expression",
        "async () => { try { return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test(''); } \
         catch (e) { return String(e); } }",
        Catches(&["RangeError", "SyntaxError"]),
    ),
    (
        "proxies of proxies",
        "async () => { let p = {}; for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, {}); \
         try { return p.x; } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "prototypes of proxies",
        "async () => { let p = {}; for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, {}); \
         try { return String(p instanceof Array); } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "proxies of prototypes",
        "async () => { let p = {}; for (let i = 0; i < 3e4; i += 1) p = Object.create(new \
         Proxy(p, {})); \
         try { return String(p.x); } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "an answer of proxies",
        "async () => { let p = {}; for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, {}); return \
         p; }",
        Fails(
            Code::ToolFailed,
            "RangeError: Maximum call stack size exceeded",
        ),
    ),
    (
        "an error of proxies",
        "async () => { let p = new Error(); for (let i = 0; i < 1e5; i += 1) p = new Proxy(p, \
         {}); throw p; }",
        Fails(Code::ToolFailed, "threw"),
    ),
    (
        "a signal of proxies",
        "async (args, context) => { let p = {}; for (let i = 0; i < 1e5; i += 1) p = new \
         Proxy(p, {}); \
         try { await context.test.echo(p); return 'over'; } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "a getter of itself",
        "async () => { const o = { get x() { return this.x; } }; \
         try { return o.x; } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "a sort in a sort",
        "async () => { const f = () => [1, 2, 3].sort(f); try { return f(); } catch (e) { return \
         String(e); } }",
        Catches(STACK),
    ),
    (
        "a replace in a replace",
        "async () => { const f = () => 'aaa'.replace(/a/g, f); try { return f(); } catch (e) { \
         return String(e); } }",
        Catches(STACK),
    ),
    (
        "a toJSON in a toJSON",
        "async () => { const o = { toJSON() { return JSON.stringify(o); } }; \
         try { return JSON.stringify(o); } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "a reviver in a reviver",
        "async () => { const f = () => JSON.parse('[1]', f); try { return f(); } catch (e) { \
         return String(e); } }",
        Catches(STACK),
    ),
    (
        "an iterator of itself",
        "async () => { const o = { *[Symbol.iterator]() { yield* o; } }; \
         try { return [...o].length; } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "a constructor of itself",
        "async () => { class A { constructor() { new A(); } } \
         try { new A(); } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "a tagged template in its tag",
        "async () => { const f = () => f`${1}`; try { return f(); } catch (e) { return \
         String(e); } }",
        Catches(STACK),
    ),
    (
        "an eval in an eval",
        "async () => { globalThis.f = () => (0, eval)('f()'); try { return f(); } catch (e) { \
         return String(e); } }",
        Catches(STACK),
    ),
    (
        "a primitive of itself",
        "async () => { const o = { toString() { return `${o}`; } }; \
         try { return `${o}`; } catch (e) { return String(e); } }",
        Catches(STACK),
    ),
    (
        "a listener that dispatches",
        "async () => { const t = new EventTarget(); let depth = 0; \
         t.addEventListener('x', () => { depth += 1; t.dispatchEvent(new Event('x')); }); \
         t.dispatchEvent(new Event('x')); return 'over'; }",
        Fails(Code::ToolFailed, STACK[0]),
    ),
    (
        "a clone of what is deep",
        "async () => { let v = 1; for (let i = 0; i < 1e5; i += 1) v = [v]; \
         try { structuredClone(v); return 'cloned'; } catch (e) { return String(e); } }",
        Catches(&["RangeError", "DataCloneError", "cloned"]),
    ),
    (
        "a destructor of what is deep",
        "async () => { let v = null; for (let i = 0; i < 3e5; i += 1) v = [v]; v = null; return \
         'freed'; }",
        Catches(&["freed"]),
    ),
];

/// Programs that only their deadline ends.
const ENDLESS: &[(&str, &str)] = &[
    ("a loop", "async () => { for (;;) {} }"),
    ("a loop that awaits", "async () => { for (;;) await 0; }"),
    (
        "a loop that catches",
        "async () => { for (;;) { try { for (;;) {} } catch {} } }",
    ),
    (
        "a loop with a finally",
        "async () => { for (;;) { try { for (;;) {} } finally { continue; } } }",
    ),
    (
        "an expression that tries all ways",
        "async () => /^(a+)+$/.test('a'.repeat(40) + 'b')",
    ),
    (
        "a sort of three million",
        "async () => { const a = Array.from({ length: 8e5 }, (_, i) => (i * 7919) % 1000003); \
         for (;;) a.sort(); }",
    ),
    (
        "a number that squares itself",
        "async () => { let x = 3n; for (;;) x = x * x; }",
    ),
    (
        "microtasks",
        "async () => { const f = () => queueMicrotask(f); f(); await new Promise(() => {}); }",
    ),
    (
        "timers",
        "async () => { setInterval(() => {}, 0); await new Promise(() => {}); }",
    ),
    (
        "a promise of the host's",
        "async (args, context) => context.test.never()",
    ),
    (
        "refused host calls",
        "async (args, context) => { for (;;) await context.fs.read(1).catch(() => 0); }",
    ),
    (
        "a text that is searched",
        "async () => { const t = 'a'.repeat(1e7); for (;;) t.indexOf('b'); }",
    ),
    (
        "a filled buffer",
        "async () => { const b = new Uint8Array(3e7); for (;;) b.fill(1); }",
    ),
    (
        "a getter of the answer",
        "async () => ({ get a() { for (;;) {} } })",
    ),
    (
        "a stack of the error",
        "async () => { throw Object.defineProperty(new Error(), 'stack', { get() { for (;;) {} } \
         }); }",
    ),
    (
        "a name of the error",
        "async () => { const e = new Error(); \
      Object.defineProperty(e, 'name', { get() { for (;;) {} } }); throw e; }",
    ),
    (
        "generators",
        "async () => { const g = function* () { for (;;) yield 1; }; for (const x of g()); }",
    ),
    (
        "a proxy without keys of its own",
        "async () => { const p = new Proxy({}, { get() { for (;;) {} } }); return p.x; }",
    ),
];

#[tokio::test]
async fn every_hostile_program_ends_as_it_must() {
    let engine = bed::engine();
    let sum = bed::script(bed::SUM, Form::Arrow).await.unwrap();
    let mut wrong: Vec<String> = Vec::new();
    for (name, source, end) in BOUNDED {
        let mut context = CallContext::new("/");
        context.deadline = Some(Duration::from_mins(2));
        let outcome = call_in(&bed::arrow(source).await, json!({}), &context).await;
        let told = match outcome.result {
            Ok(response) => Ok(response.structured.unwrap()),
            Err(error) => Err((error.code(), error.message().to_owned())),
        };
        let is_right = match (end, &told) {
            (Fails(code, words), Err((given, message))) => code == given && message.contains(words),
            (Catches(any), Ok(Value::String(text))) => any.iter().any(|one| text.starts_with(one)),
            (Fails(..) | Catches(_), _) => false,
        };
        if !is_right {
            wrong.push(format!("{name}: {told:?}"));
        }
        works(&engine, &sum).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn every_endless_program_ends_at_its_deadline() {
    let engine = bed::engine();
    let sum = bed::script(bed::SUM, Form::Arrow).await.unwrap();
    let mut wrong: Vec<String> = Vec::new();
    for (name, source) in ENDLESS {
        let tool = bed::with(source, |holdings| holdings.limits.host_calls = u32::MAX).await;
        let mut context = CallContext::new("/");
        context.deadline = Some(Duration::from_millis(40));
        let outcome = call_in(&tool, json!({}), &context).await;
        let report = outcome.report;
        let code = outcome.result.as_ref().err().map(SkillError::code);
        let is_confirmed = report.confirmed && report.confirmed_dead.is_some();
        let is_told = report.limit_hit.as_deref() == Some("wall");
        if code != Some(Code::IsolatedTimeout) || !is_confirmed || !is_told {
            wrong.push(format!("{name}: {:?}", outcome.result));
        }
        works(&engine, &sum).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn the_depth_of_recursion_follows_the_limit_of_the_stack() {
    let source = "async () => { let depth = 0; const f = () => { depth += 1; f(); }; \
                  try { f(); } catch { return depth; } }";
    let mut depths = Vec::new();
    for stack in [64 << 10, 128 << 10, 512 << 10] {
        let tool = bed::with(source, |holdings| holdings.limits.stack = stack).await;
        depths.push(success(call(&tool, json!({})).await).as_u64().unwrap());
    }
    assert!(
        depths[0] > 50 && depths[1] > depths[0] && depths[2] > 3 * depths[1],
        "{depths:?}"
    );
}

#[tokio::test]
async fn fuel_is_used_the_same_each_time_and_ends_a_call() {
    let engine = bed::start(EngineSettings::default().slots(2).fuel(true));
    let source = "async () => { let n = 0; for (let i = 0; i < 1e4; i += 1) n += i; return n; }";
    let script = bed::script(source, Form::Arrow).await.unwrap();
    let tool = |fuel| {
        bed::of(&engine, script.clone(), |holdings| {
            holdings.limits.fuel = fuel;
        })
    };
    let mut used = Vec::new();
    for _ in 0..3 {
        let outcome = call(&tool(Some(1 << 40)), json!({})).await;
        used.push(outcome.report.usage["fuel"].as_u64().unwrap());
        assert_eq!(success(outcome), 49_995_000);
    }
    assert!(used.iter().all(|one| *one == used[0]), "{used:?}");
    let (error, report) = failure(call(&tool(Some(used[0] / 2)), json!({})).await);
    assert_eq!(error.code(), Code::IsolatedOutOfFuel);
    assert_eq!(report.limit_hit.as_deref(), Some("fuel"));

    let uncounted = bed::with(source, |holdings| holdings.limits.fuel = Some(1)).await;
    let (error, _) = failure(call(&uncounted, json!({})).await);
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
    assert!(error.message().contains("counts none"), "{error}");
}

#[tokio::test]
async fn memory_is_that_of_the_tool_and_not_of_the_engine() {
    let source = "async () => { const a = []; for (let i = 0; i < 20; i += 1) a.push(new \
     ArrayBuffer(1 << 20)); \
                  return a.length; }";
    assert_eq!(bed::value(source).await, 20);
    let tool = bed::with(source, |holdings| holdings.limits.memory = 16 << 20).await;
    let (error, report) = failure(call(&tool, json!({})).await);
    assert_eq!(error.code(), Code::IsolatedMemoryExceeded, "{error}");
    assert!(error.message().contains("16 MiB"));
    assert_eq!(report.limit_hit.as_deref(), Some("memory"));
    assert!(report.usage["memory_peak"].as_u64().unwrap() <= 16 << 20);
    let tool = bed::with(source, |holdings| holdings.limits.memory = 1 << 20).await;
    let (error, _) = failure(call(&tool, json!({})).await);
    assert_eq!(error.code(), Code::IsolatedMemoryExceeded, "{error}");
}

#[tokio::test]
async fn a_deadline_bounds_the_call_and_not_its_waiting_for_the_gate() {
    let begun = Instant::now();
    let tool = bed::arrow("async () => { for (;;) {} }").await;
    let (error, report) = failure(call(&tool, json!({ "timeout_seconds": 1 })).await);
    assert_eq!(error.code(), Code::IsolatedTimeout);
    assert_eq!(report.limits["wall"], 1.0);
    assert!(begun.elapsed() >= Duration::from_secs(1));
}
