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
  const bytes = (...list) => new Uint8Array(list);
  const encoder = new TextEncoder();
  same([...encoder.encode("aé€😀")], [97, 195, 169, 226, 130, 172, 240, 159, 152, 128], "encode");
  same([...encoder.encode("\ud800x")], [239, 191, 189, 120], "a lone surrogate is replaced");
  same([...encoder.encode()], [], "nothing");
  check(encoder.encoding === "utf-8", "its encoding");
  const into = new Uint8Array(5);
  same(encoder.encodeInto("a€😀", into), { read: 2, written: 4 }, "encodeInto stops at a character");
  same([...into], [97, 226, 130, 172, 0], "what it wrote");
  same(encoder.encodeInto("😀", new Uint8Array(3)), { read: 0, written: 0 }, "no room for a pair");
  same(encoder.encodeInto("😀", new Uint8Array(4)), { read: 2, written: 4 }, "room for a pair");
  same(encoder.encodeInto("\ud83d", new Uint8Array(3)), { read: 1, written: 3 }, "half a pair");
  check(thrown(() => encoder.encodeInto("a", [])) instanceof TypeError, "a list is no Uint8Array");

  const decode = (list, label, options) => new TextDecoder(label, options).decode(bytes(...list));
  check(decode([0xef, 0xbb, 0xbf, 0x61]) === "a", "the byte order mark goes");
  check(decode([0xef, 0xbb, 0xbf, 0x61], "utf8", { ignoreBOM: true }) === "\ufeffa", "or stays");
  check(decode([0xff, 0x41]) === "\ufffdA", "an impossible byte");
  check(decode([0xe2, 0x82]) === "\ufffd", "one mark for a cut character");
  check(decode([0xe0, 0x80, 0x80]) === "\ufffd\ufffd\ufffd", "an overlong form");
  check(decode([0xed, 0xa0, 0x80]) === "\ufffd\ufffd\ufffd", "a surrogate");
  check(decode([0xf0, 0x9f, 0x98, 0x41]) === "\ufffdA", "a maximal subpart");
  check(decode([0xf4, 0x90, 0x80, 0x80]) === "\ufffd\ufffd\ufffd\ufffd", "past the last character");
  check(decode([0xf0, 0x9f, 0x98, 0x80, 0xff, 0xc3, 0xa9]) === "😀\ufffdé", "good around bad");
  check(thrown(() => decode([0xff], "utf-8", { fatal: true })) instanceof TypeError, "fatal");
  check(thrown(() => decode([0xc3], "utf-8", { fatal: true })) instanceof TypeError, "fatal, cut");
  check(decode([0xc3, 0xa9], "utf-8", { fatal: true }) === "é", "fatal and valid");

  const stream = new TextDecoder();
  let text = "";
  for (const byte of encoder.encode("\ufeffé€😀")) {
    text += stream.decode(bytes(byte), { stream: true });
  }
  check(text + stream.decode() === "é€😀", "byte by byte");
  check(stream.decode(bytes(0xf0, 0x9f), { stream: true }) === "", "held");
  check(stream.decode() === "\ufffd", "and flushed as one mark");
  check(stream.decode(bytes(0xef, 0xbb, 0xbf, 0x62)) === "b", "a flush begins anew");
  check(stream.decode(bytes(0xe2, 0x28), { stream: true }) === "\ufffd(", "no prefix, not held");

  check(decode([0x61, 0, 0x3d, 0xd8, 0, 0xde], "utf-16le") === "a😀", "utf-16le");
  check(decode([0xff, 0xfe, 0x61, 0], "utf-16") === "a", "its mark");
  check(decode([0, 0x61, 0xd8, 0x3d, 0xde, 0], "utf-16be") === "a😀", "utf-16be");
  check(decode([0x61, 0, 0x3d], "utf-16le") === "a\ufffd", "an odd byte");
  check(decode([0x3d, 0xd8, 0x61, 0], "utf-16le") === "\ufffda", "a lone surrogate");
  const wide = new TextDecoder("utf-16le");
  check(wide.decode(bytes(0x3d), { stream: true }) === "", "half a unit");
  check(wide.decode(bytes(0xd8, 0x00), { stream: true }) === "", "half a pair");
  check(wide.decode(bytes(0xde), { stream: true }) === "😀", "the rest");
  check(decode([0x80, 0xe9, 0x81], "latin1") === "€é\u0081", "windows-1252");
  check(new TextDecoder(" ISO-8859-1\n").encoding === "windows-1252", "labels are trimmed");
  check(thrown(() => new TextDecoder("klingon")) instanceof RangeError, "an unknown label");

  const buffer = encoder.encode("..abc..").buffer;
  check(new TextDecoder().decode(new DataView(buffer, 2, 3)) === "abc", "a DataView");
  check(new TextDecoder().decode(new Uint16Array(buffer, 2, 1)) === "ab", "another view");
  check(new TextDecoder().decode(buffer) === "..abc..", "a buffer");
  check(thrown(() => new TextDecoder().decode("a")) instanceof TypeError, "a text is no bytes");
  check(String(new TextDecoder()) === "[object TextDecoder]", "its tag");
  return "ok";
}
