//! What a tool can lay its hands on.

use bailiwick_quickjs::Holdings;
use serde_json::{Value, json};

use crate::bed;

/// Walks from everything that a tool is given or can come by to every object that hangs on it, and
/// collects the functions among them: name, whether it is the engine's, and the way to it.
const WALK: &str = r#"
  const seen = new Map();
  const queue = [];
  const mapSet = Map.prototype.set;
  const add = (value, way) => {
    const is = typeof value === "function" || (typeof value === "object" && value !== null);
    if (is && !seen.has(value) && value !== seen && value !== queue) {
      Reflect.apply(mapSet, seen, [value, way]);
      queue.push(value);
    }
  };
  add(globalThis, "globalThis");
  add(given, "what the tool was called with");
  // The source of a tool is strict; what a sloppy function knows of its caller is asked too.
  const sloppy = new Function("return [arguments, arguments.callee, arguments.callee.caller, "
    + "arguments.callee.arguments, arguments.callee.caller?.caller]");
  for (const value of sloppy()) add(value, "sloppy");
  add(context, "context");
  add(options, "options");
  const literals = [[], {}, "", 0, 0n, true, Symbol(), /x/, () => 1, async () => 1, function* () {},
    async function* () {}, class {}, new Proxy({}, {}), new Error("x"), [][Symbol.iterator](),
    new Map()[Symbol.iterator](), "x"[Symbol.iterator](), "x".matchAll(/x/g),
    new URLSearchParams("a=b"),
    new URLSearchParams("a=b").keys(), (function* () {})(), (async function* () {})(),
    Promise.resolve(),
    setTimeout(() => {}, 1), AbortSignal.abort(), new AbortController(), new WeakRef({}),
    new TextEncoder().encode("x"), new DOMException("x")];
  literals.forEach((value, index) => add(Object(value), `literal ${index}`));

  // Whatever the engine tells of the frames that are on the stack while the prelude calls us.
  let isBusy = false;
  const frames = (way) => {
    if (!isBusy) {
      isBusy = true;
      look(way);
      isBusy = false;
    }
  };
  const look = (way) => {
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFunction());
    const error = new Error();
    add(error.stack, way);
    const target = {};
    Error.captureStackTrace?.(target);
    add(target.stack, way);
    for (const value of sloppy()) add(value, way);
  };
  const bait = (way) => ({
    get a() { frames(`${way} getter`); return 1; },
    toJSON() { frames(`${way} toJSON`); return 1; },
    toString() { frames(`${way} toString`); return "x"; },
    valueOf() { frames(`${way} valueOf`); return 1; },
    then(resolve) { frames(`${way} then`); resolve(1); },
    [Symbol.iterator]() { frames(`${way} iterator`); return [][Symbol.iterator](); },
    [Symbol.toPrimitive]() { frames(`${way} primitive`); return 1; },
  });
  const attempt = async (work) => {
    try {
      add(await work(), "what was returned");
    } catch (thrown) {
      add(thrown, "what was thrown");
    }
  };
  Object.defineProperty(Error.prototype, "code", {
    configurable: true, set() { frames("code of an error"); }, get() { return 1; },
  });
  Object.defineProperty(Object.prototype, "hidden", {
    configurable: true, get() { frames("a member of objects"); },
  });
  Array.prototype.toJSON = function () { frames("toJSON of lists"); return this; };
  Object.defineProperty(Array.prototype, "0", {
    configurable: true, set(value) { frames("an item of lists"); add(value, "an item"); },
  });
  const then = Promise.prototype.then;
  Promise.prototype.then = function (...values) {
    frames("then");
    values.forEach((value) => add(value, "then"));
    return Reflect.apply(then, this, values);
  };
  Map.prototype.set = function (...values) {
    frames("Map");
    return Reflect.apply(mapSet, this, values);
  };
  const call = Function.prototype.call;
  Function.prototype.call = function (...values) {
    add(this, "call");
    return Reflect.apply(call, this, values);
  };
  await attempt(() => context.test.echo(bait("argument")));
  await attempt(() => context.fs.read("x"));
  await attempt(() => context.test.echo(bait("signal"), { signal: bait("signal") }));
  await attempt(() => options.onUpdate(bait("update")));
  await attempt(() => options.onUpdate({ deep: [bait("update")] }));
  await attempt(() => structuredClone(bait("clone")));
  await attempt(() => console.log(bait("log"), "%s %d %o", bait("format")));
  await attempt(() => console.table([bait("table")]));
  await attempt(() => new URL(bait("url"), bait("base")));
  await attempt(() => new URLSearchParams(bait("query")));
  await attempt(() => new TextEncoder().encode(bait("encode")));
  await attempt(() => new TextDecoder(bait("label"), bait("options")));
  await attempt(() => atob(bait("atob")));
  await attempt(() => new Event(bait("event"), bait("options")));
  await attempt(() => Math.random());
  await attempt(() => Date.now());
  await attempt(() => crypto.getRandomValues(bait("random")));
  await attempt(() => context.util.truncateHead("x", bait("bound")));
  await attempt(() => context.util.withAbort(options.signal, () => frames("work")));
  await attempt(() => context.chat.normalizeTitle(bait("title")));
  await attempt(() => new Promise((resolve) => setTimeout(() => {
    frames("timer");
    resolve();
  }, bait("delay"))));
  await attempt(() => new Promise((resolve) => queueMicrotask(() => {
    frames("microtask");
    resolve();
  })));
  const target = new EventTarget();
  target.addEventListener("x", { handleEvent() { frames("listener"); } }, bait("listener"));
  target.dispatchEvent(new Event("x"));
  const controller = new AbortController();
  controller.signal.onabort = () => frames("abort");
  controller.abort(bait("reason"));
  Promise.prototype.then = then;
  delete Array.prototype[0];
  delete Array.prototype.toJSON;
  Function.prototype.call = call;
  Map.prototype.set = mapSet;

  const functions = [];
  while (queue.length > 0) {
    const value = queue.pop();
    const way = seen.get(value);
    const step = (next, name) => add(next, way.length > 200 ? way : `${way}.${name}`);
    try { step(Object.getPrototypeOf(value), "__proto__"); } catch {}
    let keys = [];
    try { keys = Reflect.ownKeys(value); } catch {}
    for (const key of keys) {
      if (typeof value === "object" && ArrayBuffer.isView(value)) break;
      const { get, set, value: member } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      step(get, `get ${String(key)}`);
      step(set, `set ${String(key)}`);
      step(member, String(key));
    }
    if (value instanceof Map || value instanceof Set) {
      try { for (const entry of value) add(entry, `${way} entry`); } catch {}
    }
    if (typeof value === "function") {
      let name = "";
      try { name = String(Object.getOwnPropertyDescriptor(value, "name")?.value ?? ""); } catch {}
      let text = "";
      try { text = Function.prototype.toString.apply(value); } catch {}
      functions.push([name, text.includes("[native code]"), way.slice(0, 200)]);
    }
  }
"#;

/// What the shim gives the prelude, and what the prelude keeps to itself.
const PRIVATE: [&str; 36] = [
    "start",
    "sleep",
    "drop",
    "done",
    "monotonic",
    "randomBytes",
    "url",
    "utf8Encode",
    "utf8Decode",
    "begin",
    "callTool",
    "describe",
    "settle",
    "fail",
    "finish",
    "finishEncoded",
    "answer",
    "encodeJson",
    "plainValue",
    "plainConverted",
    "plainObject",
    "plainList",
    "plainMembers",
    "hostError",
    "granted",
    "describeThrown",
    "callHost",
    "prepare",
    "makeNamespaces",
    "startTimer",
    "stopTimer",
    "wait",
    "inspect",
    "stringifyJson",
    "onAbort",
    "readText",
];

#[tokio::test]
async fn nothing_that_a_tool_can_reach_is_the_preludes_own() {
    let room = |holdings: &mut Holdings| {
        holdings.limits.memory = 64 << 20;
        holdings.limits.log_events = 0;
        holdings.reply = holdings.limits.result;
    };
    // An arrow function has neither `this` nor `arguments`; `execute` of a module has both.
    let arrow = format!(
        "async (...given) => {{ const [args, context, options] = given;\n{WALK}\n\
         return functions; }}"
    );
    let outcome = bed::call(&bed::with(&arrow, room).await, json!({})).await;
    judge(&bed::success(outcome));
    let module = format!(
        "{HEAD} export async function execute(args, context, options) {{\n\
         const given = [arguments, this, execute];\n{WALK}\n\
         return {{ content: [], details: functions }}; }}",
        HEAD = bed::HEAD
    );
    let outcome = bed::call(&bed::module_with(&module, room).await, json!({})).await;
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    judge(&outcome.report.details.unwrap());
}

fn judge(functions: &Value) {
    let functions = functions.as_array().unwrap();
    assert!(
        functions.len() > 600,
        "the walk found only {}",
        functions.len()
    );
    for name in [
        "echo",
        "truncateHead",
        "setTimeout",
        "sort",
        "getRandomValues",
    ] {
        let is_found = functions.iter().any(|function| function[0] == name);
        assert!(is_found, "the walk does not even find {name}");
    }
    let leaked: Vec<&Value> = functions
        .iter()
        .filter(|function| PRIVATE.contains(&function[0].as_str().unwrap()))
        .filter(|function| {
            // Two that everybody may have: that of iterators, and a member of the tests' own.
            let way = function[2].as_str().unwrap();
            way != "context.test.fail" && !way.ends_with(".__proto__.drop")
        })
        .collect();
    assert!(leaked.is_empty(), "{leaked:#?}");
}

#[tokio::test]
async fn the_hook_of_stacks_shows_no_function() {
    let seen = bed::value(
        "async () => { const seen = []; Error.prepareStackTrace = (_, sites) => { \
         seen.push(sites.length); }; \
         await Promise.resolve({ toJSON() { new Error('x').stack; return 1; } }); \
         String(new Error('x').stack); return [seen, 'prepareStackTrace' in \
         Object.getPrototypeOf(Error)]; }",
    )
    .await;
    assert_eq!(seen, json!([[], false]));
}
