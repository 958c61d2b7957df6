// `console`. Each call is one event for the host, which counts and cuts them.

let groupMargin = "";
const counts = new SafeMap();
const startTimes = new SafeMap();

function log(level, text) {
  native.log(level, groupMargin === ""
    ? text : groupMargin + replaceAll(text, "\n", `\n${groupMargin}`));
}

const shown = (value) => (typeof value === "string" ? value : inspect(value));

// Applies the format of the first argument, when it is a text, to those after it.
function format(values) {
  let text = "";
  let next = 0;
  if (typeof values[0] === "string" && values.length > 1) {
    next = 1;
    const pattern = values[0];
    let from = 0;
    for (let at = indexOf(pattern, "%"); at >= 0; at = indexOf(pattern, "%", from)) {
      text += slice(pattern, from, at);
      from = at + 2;
      const directive = pattern[at + 1];
      if (directive === "%") {
        text += "%";
      } else if (directive !== undefined && includes("sdifjoOc", directive)
        && next < values.length) {
        text += formatOne(directive, values[next]);
        next += 1;
      } else {
        text += slice(pattern, at, from);
      }
    }
    text += slice(pattern, from);
  }
  for (; next < values.length; next += 1) {
    text += `${next === 0 ? "" : " "}${shown(values[next])}`;
  }
  return text;
}

function formatOne(directive, value) {
  switch (directive) {
    case "s": return formatText(value);
    case "d": return formatNumber(value, Number);
    case "i": return formatNumber(value, Number.parseInt);
    case "f": return formatNumber(value, Number.parseFloat);
    case "j": return stringifyJson(value) ?? "undefined";
    case "c": return "";
    default: return inspect(value);
  }
}

function formatText(value) {
  if (typeof value === "string") {
    return value;
  }
  return isObject(value) ? inspect(value, 0) : inspectPrimitive(value);
}

function formatNumber(value, convert) {
  if (typeof value === "bigint") {
    return `${value}n`;
  }
  return isObject(value) || typeof value === "symbol" ? "NaN" : inspectPrimitive(convert(value));
}

// Formats without a throw, whatever traps and getters the values have.
function formatSafely(values) {
  try {
    return format(values);
  } catch {
    return "[a value that cannot be shown]";
  }
}

function elapsed(label) {
  const start = startTimes.get(label);
  if (start === undefined) {
    return `Timer '${label}' does not exist`;
  }
  const end = native.monotonic();
  return typeof end === "string" ? `${label}: ${parseJson(end).message}` : `${label}: ${
    floor((end - start) * 1000) / 1000}ms`;
}

function startTime(label) {
  const start = native.monotonic();
  if (typeof start === "string") {
    log("warn", `${label}: ${parseJson(start).message}`);
  } else {
    startTimes.set(label, start);
  }
}

// Lays a table out as rows of cells under a head.
function table(data, columns) {
  const heads = ["(index)"];
  const rows = [];
  let hasValues = false;
  const add = (key, row) => {
    const cells = create(null);
    cells["(index)"] = `${key}`;
    if (isObject(row)) {
      const keys = columns === undefined ? ownEnumerableKeys(row) : columns;
      for (let index = 0; index < keys.length; index += 1) {
        const column = `${keys[index]}`;
        if (arrayIndexOf(heads, column) < 0) {
          heads[heads.length] = column;
        }
        cells[column] = hasOwn(row, column) ? inspect(row[column], 0) : "";
      }
    } else {
      hasValues = true;
      cells.Values = inspect(row, 0);
    }
    rows[rows.length] = cells;
  };
  if (isMap(data)) {
    let index = 0;
    mapForEach(data, (value, key) => {
      add(index, { Key: key, Values: value });
      index += 1;
    });
  } else if (isSet(data)) {
    setForEach(data, (value) => add(rows.length, value));
  } else {
    const keys = ownEnumerableKeys(data);
    for (let index = 0; index < keys.length && index < MAX_ITEMS; index += 1) {
      add(keys[index], data[keys[index]]);
    }
  }
  if (hasValues && arrayIndexOf(heads, "Values") < 0) {
    heads[heads.length] = "Values";
  }
  return drawTable(heads, rows);
}

function drawTable(heads, rows) {
  let line = "";
  const lines = [];
  for (let index = 0; index < rows.length; index += 1) {
    lines[index] = "";
  }
  for (let column = 0; column < heads.length; column += 1) {
    const head = heads[column];
    let width = head.length;
    for (let index = 0; index < rows.length; index += 1) {
      width = max(width, (rows[index][head] ?? "").length);
    }
    const gap = column === 0 ? "" : " | ";
    line += gap + padEnd(head, width);
    for (let index = 0; index < rows.length; index += 1) {
      lines[index] += gap + padEnd(rows[index][head] ?? "", width);
    }
  }
  return `${line}\n${repeat("-", line.length)}\n${join(lines, "\n")}`;
}

const consoleMethods = {
  log(...values) { log("info", formatSafely(values)); },
  info(...values) { log("info", formatSafely(values)); },
  debug(...values) { log("debug", formatSafely(values)); },
  warn(...values) { log("warn", formatSafely(values)); },
  error(...values) { log("error", formatSafely(values)); },
  trace(...values) {
    const text = formatSafely(values);
    const frames = ownFrames(readText(new Error(), "stack"));
    log("debug", `Trace${text === "" ? "" : `: ${text}`}\n${slice(frames, 0, -1)}`);
  },
  assert(condition = false, ...values) {
    if (!condition) {
      const text = formatSafely(values);
      log("error", `Assertion failed${text === "" ? "" : `: ${text}`}`);
    }
  },
  dir(value, options = undefined) {
    const depth = options?.depth;
    const limit = depth === null ? Infinity : typeof depth === "number" ? depth : MAX_DEPTH;
    try {
      log("info", inspect(value, min(limit, 64)));
    } catch {
      log("info", formatSafely([value]));
    }
  },
  dirxml(...values) { log("info", formatSafely(values)); },
  table(data, columns = undefined) {
    let text;
    try {
      text = isObject(data) ? table(data, columns) : format([data]);
    } catch {
      text = formatSafely([data]);
    }
    log("info", text);
  },
  group(...values) {
    if (values.length > 0) {
      log("info", formatSafely(values));
    }
    groupMargin += "  ";
  },
  groupCollapsed(...values) { apply(consoleMethods.group, undefined, values); },
  groupEnd() { groupMargin = slice(groupMargin, 2); },
  count(label = "default") {
    const key = `${label}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    log("info", `${key}: ${count}`);
  },
  countReset(label = "default") { counts.delete(`${label}`); },
  time(label = "default") { startTime(`${label}`); },
  timeLog(label = "default", ...values) {
    const text = formatSafely(values);
    log("info", `${elapsed(`${label}`)}${text === "" ? "" : ` ${text}`}`);
  },
  timeEnd(label = "default") {
    log("info", elapsed(`${label}`));
    startTimes.delete(`${label}`);
  },
  clear() { groupMargin = ""; },
};

const consoleObject = assign(create({}), consoleMethods);
defineProperty(consoleObject, toStringTag, { value: "console", configurable: true });
publish("console", consoleObject);
