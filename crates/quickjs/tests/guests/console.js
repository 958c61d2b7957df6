async (args, context, options) => {
  const check = (condition, what) => {
    if (!condition) throw new Error(what);
  };
  const same = (actual, expected, what) => {
    const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (left !== right) throw new Error(`${what}: ${left} is not ${right}`);
  };
  console.log("plain");
  console.log("%s has %d of %i, %f, %j%c!", "a", "42", 3.9, "1.5", { x: 1 }, "color: red");
  console.log("100%", "%s");
  console.log("%s");
  console.log("%o %O", [1], { a: "b" });
  console.info({ a: 1, "b-c": [1, "two", null, undefined, -0, 10n, Symbol("s")] });
  console.warn(new Map([["k", { v: 1 }]]), new Set([1, "x"]));
  console.error(new Date(0), /a+/g, new Uint8Array([1, 2]), [1, , 3]);
  class Point { constructor() { this.x = 1; } get y() { return 2; } }
  console.debug(new Point(), Point, function named() {}, async () => {}, class extends Point {});
  const loop = { name: "loop" };
  loop.self = loop;
  console.log(loop);
  console.log({ a: { b: { c: { d: { e: { f: 1 } } } } } });
  const accessors = { get g() { return 1; }, set s(v) {} };
  console.log(Object.create(null), accessors, [Object(1), Object("s")]);
  console.assert(true, "not shown");
  console.assert(1 === 2, "math %s", "holds");
  console.count();
  console.count();
  console.countReset();
  console.count();
  console.group("outer");
  console.log("inner\nsecond");
  console.groupEnd();
  console.log("after");
  console.table([{ a: 1, b: "x" }, { a: 22 }]);
  console.time("t");
  console.timeEnd("t");
  console.log(new Proxy({}, { ownKeys() { throw new Error("trap"); } }));
  console.log();
  console.dir({ a: { b: 1 } }, { depth: 0 });
  check(Object.prototype.toString.call(console) === "[object console]", "the tag of console");
  const failing = new TypeError("bad", { cause: new Error("root") });
  failing.code = "E_X";
  console.log(failing);
  console.log("x".repeat(200000));
  console.log(Array.from({ length: 5000 }, (_, i) => i));
  return "ok";
}
