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
  const order = [];
  const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
  setTimeout(() => order.push("20"), 20);
  setTimeout((a, b) => order.push(a + b), 10, "1", "0");
  setTimeout(() => order.push("0a"));
  setTimeout(() => order.push("0b"), -5);
  setTimeout(() => order.push("nan"), "soon");
  queueMicrotask(() => order.push("micro"));
  order.push("now");
  await pause(30);
  same(order, ["now", "micro", "0a", "0b", "nan", "10", "20"], "the order of timers");

  let ticks = 0;
  const interval = setInterval((step) => {
    ticks += step;
    if (ticks === 3) clearInterval(interval);
  }, 5, 1);
  await pause(100);
  check(ticks === 3, `an interval stops when its callback clears it: ${ticks}`);

  let cleared = true;
  const handle = setTimeout(() => { cleared = false; }, 5);
  check(typeof handle === "number" && handle > 0, "a handle is a positive number");
  clearTimeout(handle);
  clearTimeout(handle);
  clearTimeout(undefined);
  clearTimeout(123456);
  await pause(20);
  check(cleared, "a cleared timer does not run");

  check(thrown(() => setTimeout("code")) instanceof TypeError, "a text is no callback");
  check(thrown(() => queueMicrotask(1)) instanceof TypeError, "a number is no callback");
  const huge = [];
  setTimeout(() => huge.push(1), 2 ** 31);
  await pause(1);
  same(huge, [1], "a delay over 31 bits is none");
  check(setTimeout.name === "setTimeout" && !("prototype" in setTimeout), "its function");
  check(!Object.keys(globalThis).includes("setTimeout"), "it is not enumerable");

  const keptThen = Promise.prototype.then;
  Promise.prototype.then = () => { throw new Error("patched"); };
  let ran = false;
  queueMicrotask(() => { ran = true; });
  Promise.prototype.then = keptThen;
  await pause(1);
  check(ran, "a patched `then` is not used");
  return "ok";
}
