// One pipe table in, the same table with its columns lined up out.
async ({ table, narrow = false }) => {
  // A `|` that is escaped is text of its cell.
  const cells = (line) => {
    const found = [""];
    for (const [part] of line.trim().matchAll(/\\.|[^\\|]+|\||\\/gsu)) {
      if (part === "|") {
        found.push("");
      } else {
        found[found.length - 1] += part;
      }
    }
    // Nothing stands before the first `|` and after the last one.
    const first = found[0] === "" ? 1 : 0;
    const last = found.length > 1 && found.at(-1) === "" ? -1 : undefined;
    return found.slice(first, last).map((cell) => cell.trim());
  };
  const rows = table.trim().split(/\r?\n/).map(cells);
  const [header, rule, ...body] = rows;
  const isRule = rule?.length === header.length && rule.every((cell) => /^:?-+:?$/.test(cell));
  if (!isRule) {
    throw new TypeError(
      `line 2 must have ${header.length} cells of dashes, such as \`| --- | --: |\``,
    );
  }

  const sides = rule.map((cell) => ({ left: cell.startsWith(":"), right: cell.endsWith(":") }));
  // Characters and not code units, so that what is outside the first plane is one.
  const width = (text) => [...text].length;
  const full = body.map((row) => header.map((_, column) => row[column] ?? ""));
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...full].map((row) => width(row[column]))),
  );

  const pad = (text, column) => {
    const room = narrow ? 0 : widths[column] - width(text);
    const { left, right } = sides[column];
    const before = !right ? 0 : left ? Math.floor(room / 2) : room;
    return " ".repeat(before) + text + " ".repeat(room - before);
  };
  const dashes = ({ left, right }, column) => {
    const size = (narrow ? 3 : widths[column]) - Number(left) - Number(right);
    return `${left ? ":" : ""}${"-".repeat(size)}${right ? ":" : ""}`;
  };
  const line = (row) => `| ${row.join(" | ")} |`;
  return [
    line(header.map(pad)),
    line(sides.map(dashes)),
    ...full.map((row) => line(row.map(pad))),
  ].join("\n");
}
