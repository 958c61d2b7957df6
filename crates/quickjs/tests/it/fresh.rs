//! Nothing of a call is there in the next.

use bailiwick_quickjs::{EngineSettings, Form};
use serde_json::json;

use crate::bed::{self, call, success};

/// Looks for what the polluting half leaves behind, then leaves it behind.
const POLLUTING: &str = r#"async (args, context) => {
  const found = [];
  if ("left" in globalThis) found.push("a global");
  if ([].left !== undefined) found.push("a member of lists");
  if (({}).left !== undefined) found.push("a member of objects");
  if (Object.isFrozen(Array.prototype)) found.push("a frozen prototype");
  if (JSON.parse("1") !== 1) found.push("a patched parser");
  if ([3, 1, 2].sort().join() !== "1,2,3") found.push("a patched sort");
  if (typeof setTimeout !== "function") found.push("a missing timer");
  if (Math.max(1, 2) !== 2) found.push("a patched Math");
  if (new URL("http://a/b").pathname !== "/b") found.push("a patched URL");
  if (/(.)/.exec("z") && RegExp.$1 !== undefined && RegExp.$1 !== "z") found.push("a match");
  if (Symbol.for("left").description !== "left") found.push("a symbol");
  globalThis.left = new Array(200000).fill(args.n);
  Array.prototype.left = 1;
  Object.prototype.left = 1;
  JSON.parse = () => 2;
  Math.max = () => 0;
  Array.prototype.sort = () => "patched";
  URL.prototype.__proto__ = null;
  Object.defineProperty(URL.prototype, "pathname", { get() { return "patched"; } });
  setTimeout(() => { throw new Error("left behind"); }, 50);
  setInterval(() => {}, 1);
  Promise.reject(new Error("left behind"));
  context.test.never();
  new Promise(() => {}).then(() => {});
  queueMicrotask(() => {});
  delete globalThis.setTimeout;
  for (const value of [Array.prototype, Object.prototype, Promise.prototype, Function.prototype]) {
    Object.freeze(value);
  }
  return found;
}"#;

#[tokio::test]
async fn a_thousand_calls_leave_nothing_behind() {
    // With one slot each call gets what the one before it had.
    let engine = bed::start(EngineSettings::default().slots(1));
    let tool = bed::of(
        &engine,
        bed::script(POLLUTING, Form::Arrow).await.unwrap(),
        |_| (),
    );
    let mut usage = None;
    for index in 0..1000 {
        let outcome = call(&tool, json!({ "n": 7 })).await;
        let peak = outcome.report.usage.clone();
        assert_eq!(success(outcome), json!([]), "call {index}");
        assert_eq!(
            *usage.get_or_insert_with(|| peak.clone()),
            peak,
            "call {index}"
        );
    }
}
