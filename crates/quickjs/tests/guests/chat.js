async (args, context, options) => {
  const check = (condition, what) => {
    if (!condition) throw new Error(what);
  };
  const same = (actual, expected, what) => {
    const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (left !== right) throw new Error(`${what}: ${left} is not ${right}`);
  };
  const { normalizeTitle, titleMaxLength } = context.chat;
  check(titleMaxLength === 80, "the longest title");
  const cases = [
    ["  A title  ", "A title"],
    ["two\n lines\r\n\there", "two lines here"],
    ["\"Quoted\"", "Quoted"],
    ["'“Twice”'", "Twice"],
    ["`code`", "code"],
    ["«Titre»", "Titre"],
    ["Don't \"stop\" now", "Don't \"stop\" now"],
    ["a\u0000b\u001b[31mc\u007f", "a b [31mc"],
    ["a\u202eb\u200bc", "a b c"],
    ["\"", "\""],
    ["", ""],
    [undefined, ""],
    [null, ""],
    [42, "42"],
    ["\ud800x", "\ufffdx"],
  ];
  for (const [title, expected] of cases) {
    same(normalizeTitle(title), expected, `the title ${JSON.stringify(title)}`);
  }
  check(normalizeTitle("x".repeat(200)).length === 80, "cut");
  check([...normalizeTitle("😀".repeat(200))].length === 80, "counted in characters");
  check(normalizeTitle(`${"x".repeat(79)} y`).length === 79, "no space at the end");
  check(normalizeTitle(normalizeTitle("'a b'")) === "a b", "once is enough");
  return "ok";
}
