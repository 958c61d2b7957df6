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
  const of = (init) => new URLSearchParams(init);
  same([...of("?a=1&b=2&a=3")], [["a", "1"], ["b", "2"], ["a", "3"]], "a text");
  same([...of("a&=b&&c=d=e")], [["a", ""], ["", "b"], ["c", "d=e"]], "odd pairs");
  same([...of("a=b+c%20d%zz%e2%82%ac%ff")], [["a", "b c d%zz€\ufffd"]], "decoding");
  same([...of({ a: 1, b: null })], [["a", "1"], ["b", "null"]], "a record");
  same([...of([["x", 1], new Set(["y", "2"])])], [["x", "1"], ["y", "2"]], "a list of pairs");
  same([...of(new Map([["m", "n"]]))], [["m", "n"]], "a map");
  same([...of(of("p=q"))], [["p", "q"]], "another");
  check(thrown(() => of([["one"]])) instanceof TypeError, "a pair of one");
  check(of([["a~b", "é *-._ '!()"]]).toString() === "a%7Eb=%C3%A9+*-._+%27%21%28%29", "encoding");
  check(of("a=\ud800").get("a") === "\ufffd", "scalar values");
  const params = of("b=1&a=2&b=3&c=4");
  check(params.get("b") === "1" && params.get("none") === null, "get");
  same(params.getAll("b"), ["1", "3"], "getAll");
  check(params.has("b", "3") && !params.has("b", "9") && params.has("c"), "has");
  params.set("b", "new");
  check(String(params) === "b=new&a=2&c=4", "set replaces the first and drops the rest");
  params.set("d", "5");
  params.append("a", "1");
  check(params.size === 5, "size");
  params.sort();
  check(String(params) === "a=2&a=1&b=new&c=4&d=5", "a stable sort");
  params.delete("a", "2");
  params.delete("c");
  check(String(params) === "a=1&b=new&d=5", "delete");
  same([[...params.keys()], [...params.values()]], [["a", "b", "d"], ["1", "new", "5"]], "lists");
  const seen = [];
  params.forEach(function (value, key, all) { seen.push(value, key, all === params, this.t); },
    { t: 1 });
  same(seen.slice(0, 4), ["1", "a", true, 1], "forEach");
  check(params[Symbol.iterator] === params.entries, "one function");
  const iterator = params.entries();
  check(String(iterator) === "[object URLSearchParams Iterator]", "the tag of iterators");
  check(iterator[Symbol.iterator]() === iterator, "iterators iterate");
  check(thrown(() => params.append("a")) instanceof TypeError, "one argument");
  check(of("😀=1").toString() === "%F0%9F%98%80=1", "four bytes");
  check(of("a+b").has("a b"), "plus is a space");
  return "ok";
}
