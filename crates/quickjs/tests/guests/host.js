async (args, context, options) => {
  const check = (condition, what) => {
    if (!condition) throw new Error(what);
  };
  const same = (actual, expected, what) => {
    const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (left !== right) throw new Error(`${what}: ${left} is not ${right}`);
  };
  const thrown = (run) => {
    try {
      run();
    } catch (error) {
      return error;
    }
    throw new Error(`nothing was thrown by ${run}`);
  };
  const rejected = (promise) => promise.then(
    (value) => { throw new Error(`resolved to ${JSON.stringify(value)}`); }, (error) => error);
  same(await context.test.echo(1, "a", null, [true]), [1, "a", null, [true]], "arguments");
  same(await context.test.echo(undefined, 2, undefined), [null, 2], "undefined at the end");
  same(await context.test.echo(), [], "no arguments");
  same(await context.test.echo("\ud800a", { "\udc00": "\\ud800" }),
    ["\ufffda", { "\ufffd": "\\ud800" }], "halves of characters");
  const values = await Promise.all([context.test.after(20, "b"), context.test.after(10, "a")]);
  same(values, ["b", "a"], "side by side");

  const error = await rejected(context.fs.read("x"));
  check(error instanceof Error && error.name === "Error", "a denial is an Error");
  check(error.code === "E_SKILL_ISOLATED_CAPABILITY_DENIED", "its code");
  check(error.message === "`fs.read` is not granted", "its message");
  check(error.hint === "grant `fs.read`" && error.retryable === false, "its hint");
  same(Object.keys(error), ["code", "hint", "retryable"], "its members");
  const busy = await rejected(context.test.fail(
    { code: "E_SKILL_SOURCE_FAILED", message: "no", retryable: true }));
  check(busy.retryable === true && busy.code === "E_SKILL_SOURCE_FAILED", "another failure");
  check(!("hint" in busy), "no hint, no member");

  const cyclic = {};
  cyclic.self = cyclic;
  check((await rejected(context.test.echo(cyclic))) instanceof TypeError, "no cycles go out");
  check((await rejected(context.test.echo(1n))) instanceof TypeError, "no BigInt goes out");

  check(context.cwd === "/work" && context.projectId === "" && context.threadId === "t1", "who");
  check(context.conversationId === "c1" && context.threadPath === "/threads/t1", "where");
  check(!("messageId" in context), "what is not known is absent");
  check(context.nope === undefined && context.fs.nope === undefined, "unknown names are undefined");
  check(Object.isFrozen(context) && Object.isFrozen(context.fs), "frozen");
  check(thrown(() => { "use strict"; context.fs = 1; }) instanceof TypeError, "not assignable");
  check(context.fs.read.name === "read", "functions have names");
  check(Object.getPrototypeOf(context) === Object.prototype, "plain");
  same(Object.keys(options), ["signal", "onUpdate"], "options");

  check(options.onUpdate({ step: 1, big: 2n }) === undefined, "an update");
  options.onUpdate(() => 1);
  options.onUpdate(undefined);
  same(await context.test.updates(), [{ step: 1, big: "2" }, null], "what the host got");

  const kept = { stringify: JSON.stringify, Promise, Error };
  Array.prototype.toJSON = () => "patched";
  JSON.stringify = () => "patched";
  globalThis.Promise = null;
  globalThis.Error = null;
  const patched = await context.test.echo("still");
  globalThis.Promise = kept.Promise;
  globalThis.Error = kept.Error;
  JSON.stringify = kept.stringify;
  delete Array.prototype.toJSON;
  same(patched, ["still"], "patches do not reach the prelude");
  return "ok";
}
