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
  const { signal } = options;
  check(signal instanceof AbortSignal && !signal.aborted && signal.reason === undefined, "ours");
  check(thrown(() => new AbortSignal()) instanceof TypeError, "no constructor");
  const controller = new AbortController();
  check(controller.signal === controller.signal, "one signal");
  const seen = [];
  controller.signal.onabort = (event) => seen.push(`on:${event.type}:${event.isTrusted}`);
  controller.signal.addEventListener("abort", () => seen.push("listener"));
  controller.abort();
  controller.abort("again");
  same(seen, ["on:abort:true", "listener"], "fires once");
  check(controller.signal.reason instanceof DOMException, "the default reason");
  check(controller.signal.reason.name === "AbortError", "by its name");
  check(thrown(() => controller.signal.throwIfAborted()) === controller.signal.reason, "throws it");
  check(AbortSignal.abort("why").reason === "why", "a given reason");
  check(AbortSignal.abort().aborted, "aborted from the start");
  check(controller.signal.onabort !== null, "the handler can be read");

  const first = new AbortController();
  const second = new AbortController();
  const either = AbortSignal.any([first.signal, AbortSignal.any([second.signal])]);
  let order = "";
  second.signal.addEventListener("abort", () => { order += either.aborted ? "s" : "?"; });
  either.addEventListener("abort", () => { order += "e"; });
  second.abort("two");
  check(either.reason === "two" && order === "se", `any: ${order}`);
  check(AbortSignal.any([AbortSignal.abort(3)]).reason === 3, "any of one aborted");
  check(!AbortSignal.any([]).aborted, "any of none");
  check(thrown(() => AbortSignal.any([{}])) instanceof TypeError, "any of what is no signal");

  const timed = AbortSignal.timeout(5);
  await new Promise((resolve) => { timed.addEventListener("abort", resolve); });
  check(timed.reason.name === "TimeoutError" && timed.reason.code === 23, "a timeout");
  check(thrown(() => AbortSignal.timeout(-1)) instanceof TypeError, "a negative delay");

  const host = new AbortController();
  const call = rejected(context.test.never({ signal: host.signal, x: 1 }));
  // A call begins when the tool next waits.
  await context.test.echo();
  host.abort(new Error("enough"));
  check((await call).message === "enough", "a host call rejects with the reason");
  same(await context.test.dropped(), ["test.never"], "and is given up");
  const before = await rejected(context.test.echo(1, { signal: AbortSignal.abort("early") }));
  check(before === "early", "aborted before it began");
  same(await context.test.echo({ signal, a: 1 }), [{ a: 1 }], "the signal is no argument");
  same(await context.test.echo({ signal: "text" }), [{ signal: "text" }], "unless it is a text");
  const done = new AbortController();
  same(await context.test.echo(1, { signal: done.signal }), [1, {}], "not aborted");
  done.abort();
  same(await context.test.dropped(), ["test.never"], "nothing to give up afterwards");
  return "ok";
}
