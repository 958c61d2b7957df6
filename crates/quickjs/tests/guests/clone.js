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
  const original = {
    n: 1, s: "x", u: undefined, z: null, big: 10n, list: [1, , 3], date: new Date(5),
    re: /a/gi, map: new Map([[{ k: 1 }, new Set([1])]]), boxed: [Object(1), Object("s"),
      Object(false), Object(2n)],
  };
  original.self = original;
  original.map.set("back", original);
  const copy = structuredClone(original);
  check(copy !== original && copy.self === copy, "a cycle");
  check(copy.map.get("back") === copy, "a cycle through a map");
  check("u" in copy && copy.u === undefined && copy.big === 10n, "undefined and BigInt");
  check(copy.list.length === 3 && !(1 in copy.list), "holes stay");
  check(copy.date instanceof Date && copy.date.getTime() === 5, "a date");
  check(copy.re.source === "a" && copy.re.flags === "gi" && copy.re !== original.re, "a RegExp");
  const [key] = copy.map.keys();
  check(key.k === 1 && copy.map.get(key) instanceof Set, "keys are cloned");
  check(copy.boxed.every((box) => typeof box === "object"), "boxes stay boxes");
  same(copy.boxed.slice(0, 3), [1, "s", false], "with their values");
  const shared = { a: 1 };
  const pair = structuredClone([shared, shared]);
  check(pair[0] === pair[1] && pair[0] !== shared, "identity inside is kept");

  class Point { constructor() { this.x = 1; } get y() { return 2; } }
  const plain = structuredClone(new Point());
  check(Object.getPrototypeOf(plain) === Object.prototype && plain.x === 1 && !("y" in plain),
    "classes are lost");
  check(structuredClone({ get g() { return 7; } }).g === 7, "getters are read");
  const proto = structuredClone(JSON.parse('{"__proto__": 1}'));
  check(Object.hasOwn(proto, "__proto__"), "a member of that name");
  const hidden = Object.defineProperty({}, "h", { value: 1 });
  check(!("h" in structuredClone(hidden)), "hidden members are left");
  check(Object.keys(structuredClone({ [Symbol("s")]: 1 })).length === 0, "symbol keys are left");

  const failure = structuredClone(new RangeError("far", { cause: { c: 1 } }));
  check(failure instanceof RangeError && failure.message === "far" && failure.cause.c === 1,
    "errors");
  check(!Object.keys(failure).length, "their members are hidden");
  const odd = new Error("x");
  odd.name = "Custom";
  check(structuredClone(odd).name === "Error", "an unknown name is Error");
  const dom = structuredClone(new DOMException("m", "AbortError"));
  check(dom instanceof DOMException && dom.name === "AbortError", "a DOMException");

  const bytes = new Uint8Array([1, 2, 3, 4]);
  const parts = { part: bytes.subarray(1, 3), view: new DataView(bytes.buffer, 2) };
  const views = structuredClone(parts);
  same([...views.part], [2, 3], "a view");
  check(views.part.buffer === views.view.buffer && views.view.byteOffset === 2, "one buffer");
  check(views.part.buffer !== bytes.buffer, "of its own");

  for (const [what, value] of [["function", () => 1], ["symbol", Symbol("s")],
    ["promise", Promise.resolve()], ["weak map", new WeakMap()], ["URL", new URL("http://a")],
    ["signal", options.signal], ["encoder", new TextEncoder()], ["event", new Event("e")]]) {
    const error = thrown(() => structuredClone({ deep: [value] }));
    check(error instanceof DOMException && error.name === "DataCloneError" && error.code === 25,
      `${what} is refused`);
  }

  const moved = new ArrayBuffer(8);
  const window = new Uint8Array(moved, 2, 3);
  window[0] = 9;
  const got = structuredClone({ moved, window, again: [moved] }, { transfer: [moved] });
  check(moved.byteLength === 0 && moved.detached && window.length === 0, "the original is gone");
  check(got.moved.byteLength === 8 && got.window[0] === 9 && got.again[0] === got.moved, "moved");
  check(got.window.buffer === got.moved && got.window.byteOffset === 2, "views follow");
  const kept = new ArrayBuffer(4);
  const refused = thrown(() => structuredClone({ kept, f() {} }, { transfer: [kept] }));
  check(refused.code === 25, "refused");
  check(!kept.detached, "nothing moves when the clone fails");
  check(thrown(() => structuredClone(1, { transfer: [kept, kept] })).code === 25, "twice");
  check(thrown(() => structuredClone(1, { transfer: [{}] })).code === 25, "no buffer");
  check(thrown(() => structuredClone(moved)).code === 25, "a detached buffer");
  check(thrown(() => structuredClone()) instanceof TypeError, "no argument");
  return "ok";
}
