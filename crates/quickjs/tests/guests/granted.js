// grants: clock, random
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
  const now = Date.now();
  check(Number.isInteger(now) && now >= 1700000000000, "Date.now is whole");
  check(Math.abs(new Date().getTime() - now) < 1000, "new Date()");
  check(typeof Date() === "string" && Date().includes("20"), "Date()");
  class Day extends Date {}
  check(new Day() instanceof Day && new Day().getTime() >= now, "a subclass");
  const start = performance.now();
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  check(performance.now() - start >= 5, "performance.now goes on");
  check(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 10, "timeOrigin");
  check("timeOrigin" in performance.toJSON(), "toJSON");
  check(String(performance) === "[object Performance]", "its tag");
  const draw = Math.random();
  check(draw >= 0 && draw < 1 && draw !== Math.random(), "Math.random");
  const id = crypto.randomUUID();
  check(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), id);
  check(id !== crypto.randomUUID(), "another one");
  const buffer = new Uint8Array(16);
  const part = new Uint32Array(buffer.buffer, 4, 2);
  check(crypto.getRandomValues(part) === part, "the array itself");
  check(part[0] !== 0 || part[1] !== 0, "filled");
  same([...buffer.slice(0, 4), ...buffer.slice(12)], [0, 0, 0, 0, 0, 0, 0, 0], "and no more");
  check(thrown(() => crypto.getRandomValues(new Uint8Array(65537))).name === "QuotaExceededError",
    "too much");
  check(thrown(() => crypto.getRandomValues([1])).name === "TypeMismatchError", "a list");
  check(thrown(() => new crypto.constructor()) instanceof TypeError, "no constructor");
  console.time("t");
  console.timeLog("t", "half");
  console.timeEnd("t");
  return "ok";
}
