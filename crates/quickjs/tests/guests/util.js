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
  const { truncateHead, withAbort } = context.util;
  same(truncateHead("a\nb"), { text: "a\nb", truncated: false, truncatedBy: null, lines: 2,
    totalLines: 2, bytes: 3, totalBytes: 3 }, "no limits");
  same(truncateHead("a\nb\nc\n", { maxLines: 2 }), { text: "a\nb", truncated: true,
    truncatedBy: "lines", lines: 2, totalLines: 3, bytes: 3, totalBytes: 6 }, "lines");
  check(truncateHead("a\nb\n", { maxLines: 2 }).truncated === false, "a last line feed is no line");
  same(truncateHead("a€b", { maxBytes: 3 }), { text: "a", truncated: true, truncatedBy: "bytes",
    lines: 1, totalLines: 1, bytes: 1, totalBytes: 5 }, "bytes, at a character");
  check(truncateHead("a€b", { maxBytes: 4 }).text === "a€", "just fits");
  check(truncateHead("😀😀", { maxBytes: 7 }).text === "😀", "pairs stay whole");
  check(truncateHead("abc", { maxBytes: 0 }).text === "", "no bytes");
  check(truncateHead("abc", { maxLines: 0 }).text === "", "no lines");
  check(truncateHead("", { maxLines: 1 }).totalLines === 0, "nothing has no lines");
  const both = truncateHead("aaaa\nbbbb\ncccc", { maxLines: 2, maxBytes: 6 });
  check(both.text === "aaaa\nb" && both.truncatedBy === "bytes", "both limits");
  check(thrown(() => truncateHead(5)) instanceof TypeError, "no text");
  check(thrown(() => truncateHead("a", { maxLines: -1 })) instanceof RangeError, "negative");
  check(thrown(() => truncateHead("a", { maxBytes: "9" })) instanceof RangeError, "a text");
  check(truncateHead("\ud800".repeat(3), { maxBytes: 3 }).text === "\ufffd", "lone surrogates");

  const controller = new AbortController();
  check(await withAbort(controller.signal, async (isAborted) => isAborted()) === false, "a result");
  check(await withAbort(undefined, () => 3) === 3, "no signal");
  let flag;
  const stopped = rejected(withAbort(controller.signal, (isAborted) => {
    flag = isAborted;
    return new Promise(() => {});
  }));
  controller.abort(new Error("stop"));
  check((await stopped).message === "stop" && flag() === true, "the signal ends it");
  check((await rejected(withAbort(controller.signal, () => 1))).message === "stop", "before it");
  check((await rejected(withAbort(null, () => { throw new Error("own"); }))).message === "own",
    "its own error");
  check((await rejected(withAbort({}, () => 1))) instanceof TypeError, "no signal at all");
  return "ok";
}
