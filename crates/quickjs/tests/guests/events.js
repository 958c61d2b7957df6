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
  const target = new EventTarget();
  const seen = [];
  const listener = (event) => seen.push(`f:${event.type}:${event.currentTarget === target}`);
  const object = {
    handleEvent(event) { seen.push(`o:${this === object}:${event.target === target}`); },
  };
  target.addEventListener("a", listener);
  target.addEventListener("a", listener);
  target.addEventListener("a", listener, true);
  target.addEventListener("a", object);
  target.addEventListener("a", null);
  check(target.dispatchEvent(new Event("a")) === true, "not canceled");
  same(seen, ["f:a:true", "f:a:true", "o:true:true"], "listeners, once for each phase");
  target.removeEventListener("a", listener);
  target.removeEventListener("a", listener, { capture: true });
  target.removeEventListener("a", object);
  seen.length = 0;
  target.dispatchEvent(new Event("a"));
  same(seen, [], "removed");

  target.addEventListener("order", () => seen.push("bubble"));
  target.addEventListener("order", () => seen.push("capture"), { capture: true });
  target.dispatchEvent(new Event("order"));
  same(seen, ["capture", "bubble"], "those that capture are first");

  let count = 0;
  target.addEventListener("once", () => { count += 1; }, { once: true });
  target.dispatchEvent(new Event("once"));
  target.dispatchEvent(new Event("once"));
  check(count === 1, "once");
  target.addEventListener("c", (event) => event.preventDefault());
  check(target.dispatchEvent(new Event("c", { cancelable: true })) === false, "canceled");
  check(target.dispatchEvent(new Event("c")) === true, "not cancelable");
  target.addEventListener("p", (event) => event.preventDefault(), { passive: true });
  check(target.dispatchEvent(new Event("p", { cancelable: true })), "a passive listener cannot");
  target.addEventListener("s", (event) => event.stopImmediatePropagation());
  target.addEventListener("s", () => { count = -1; });
  target.dispatchEvent(new Event("s"));
  check(count === 1, "stopImmediatePropagation");
  const late = () => { count = -2; };
  target.addEventListener("r", () => target.removeEventListener("r", late));
  target.addEventListener("r", late);
  target.dispatchEvent(new Event("r"));
  check(count === 1, "removed while it runs");
  const controller = new AbortController();
  target.addEventListener("sig", () => { count += 1; }, { signal: controller.signal });
  controller.abort();
  target.dispatchEvent(new Event("sig"));
  check(count === 1, "a signal removes");

  const event = new Event("x", { bubbles: true });
  check(event.bubbles && !event.cancelable && event.target === null, "new");
  check(event.eventPhase === 0, "no phase");
  check(!event.isTrusted && event.timeStamp === 0 && event.composedPath().length === 0, "facts");
  check(Event.AT_TARGET === 2 && event.BUBBLING_PHASE === 3, "constants");
  target.addEventListener("again", (e) => {
    check(thrown(() => target.dispatchEvent(e)).name === "InvalidStateError", "twice at once");
    check(e.eventPhase === 2 && e.composedPath()[0] === target, "while it runs");
  });
  target.dispatchEvent(new Event("again"));
  check(thrown(() => new Event()) instanceof TypeError, "no type");
  check(thrown(() => target.dispatchEvent({ type: "a" })) instanceof TypeError, "no event");
  check(thrown(() => target.addEventListener("a", 1)) instanceof TypeError, "no listener");
  class Own extends EventTarget {}
  const own = new Own();
  own.addEventListener("z", () => { count = 7; });
  own.dispatchEvent(new Event("z"));
  check(count === 7, "subclasses");
  check(String(event) === "[object Event]", "its tag");
  return "ok";
}
