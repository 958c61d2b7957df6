// How `console` shows values: the notation that authors know from Node, bounded in all directions.

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
const MAX_STRING = 10000;
const MAX_TEXT = 65536;
const LINE_WIDTH = 76;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function quoted(text) {
  const cut = text.length > MAX_STRING ? slice(text, 0, MAX_STRING) : text;
  const rest = text.length - cut.length;
  const inner = slice(stringifyJson(cut), 1, -1);
  const body = includes(cut, "'")
    ? `"${inner}"`
    : `'${replaceAll(inner, '\\"', '"')}'`;
  return rest === 0 ? body : `${body}... ${rest} more character${rest === 1 ? "" : "s"}`;
}

function inspectPrimitive(value) {
  switch (typeof value) {
    case "string": return quoted(value);
    case "number": return value === 0 && 1 / value < 0 ? "-0" : numberText(value);
    case "bigint": return `${value}n`;
    case "symbol": return symbolText(value);
    default: return `${value}`;
  }
}

function inspectFunction(value) {
  const name = readText(value, "name");
  const source = functionText(value);
  if (startsWith(source, "class")) {
    const parent = readText(getPrototypeOf(value) ?? {}, "name");
    return `[class ${name || "(anonymous)"}${parent === "" ? "" : ` extends ${parent}`}]`;
  }
  const kind = slice(objectTag(value), 8, -1);
  return `[${kind}${name === "" ? " (anonymous)" : `: ${name}`}]`;
}

// Returns the name of the class of an object, null for one without a prototype.
function className(value) {
  for (let at = getPrototypeOf(value); at !== null; at = getPrototypeOf(at)) {
    const constructor = getOwnPropertyDescriptor(at, "constructor")?.value;
    if (typeof constructor === "function" && readText(constructor, "name") !== "") {
      return readText(constructor, "name");
    }
  }
  return null;
}

function inspect(value, depth = MAX_DEPTH) {
  const text = inspectAt({ depth, parents: [], room: MAX_TEXT }, value, 0);
  return text.length > MAX_TEXT ? `${slice(text, 0, MAX_TEXT)}...` : text;
}

// `state.room` shrinks with all that is shown, so that wide and deep values end.
function inspectAt(state, value, level) {
  if (!isObject(value)) {
    const text = inspectPrimitive(value);
    state.room -= text.length;
    return text;
  }
  for (let index = 0; index < level; index += 1) {
    if (state.parents[index] === value) {
      return "[Circular]";
    }
  }
  state.parents[level] = value;
  const text = inspectObject(state, value, level);
  state.room -= 8;
  return text;
}

function inspectObject(state, value, level) {
  const name = className(value);
  const whole = inspectWhole(value, name);
  const opens = whole ?? prefixOf(value, name);
  if (level > state.depth || state.room <= 0) {
    return whole ?? `[${opens === "" ? (isArray(value) ? "Array" : "Object") : trim(opens)}]`;
  }
  const items = [];
  const list = isArray(value) || (isView(value) && typedArrayTag(value) !== undefined);
  if (list) {
    inspectItems(state, value, level, items);
  } else if (isMap(value)) {
    inspectEntries(state, value, level, items);
  } else if (isSet(value)) {
    inspectMembers(state, value, level, items);
  }
  // The characters of a boxed text are properties too, and shown already.
  const indexed = list || (whole !== null && passes(stringValue, value));
  inspectProperties(state, value, level, items, indexed);
  if (items.length === 0 && whole !== null) {
    return whole;
  }
  const brackets = list ? "[]" : "{}";
  const lead = whole === null ? opens : `${whole} `;
  return items.length === 0 ? `${lead}${brackets}` : layOut(lead, brackets, items, level);
}

// Returns how a value without parts is shown; null for one whose properties are all there is.
function inspectWhole(value, name) {
  if (typeof value === "function") {
    return inspectFunction(value);
  }
  if (name === "Object" || name === null || isArray(value)) {
    return null;
  }
  if (isErrorObject(value)) {
    const frames = ownFrames(readText(value, "stack"));
    return frames === "" ? headline(value) : `${headline(value)}\n${slice(frames, 0, -1)}`;
  }
  if (isDate(value)) {
    const time = dateTime(value);
    return time === time ? dateIsoText(value) : "Invalid Date";
  }
  if (isRegExp(value)) {
    return regExpText(value);
  }
  if (passes(urlHref, value)) {
    return `URL(${quoted(urlHref(value))})`;
  }
  if (isBuffer(value)) {
    return `${name} { byteLength: ${bufferByteLength(value)} }`;
  }
  const primitive = unboxed(value);
  return isObject(primitive) ? null : `[${name}: ${inspectPrimitive(primitive)}]`;
}

function prefixOf(value, name) {
  if (name === null) {
    return `[${isArray(value) ? "Array" : "Object"}: null prototype] `;
  }
  if (isArray(value)) {
    return name === "Array" ? "" : `${name}(${value.length}) `;
  }
  if (name === "Object") {
    return "";
  }
  if (isView(value) && typedArrayTag(value) !== undefined) {
    return `${name}(${typedArrayLength(value)}) `;
  }
  if (isMap(value)) {
    return `${name}(${mapSize(value)}) `;
  }
  return isSet(value) ? `${name}(${setSize(value)}) ` : `${name} `;
}

function more(items, count, what) {
  if (count > 0) {
    items[items.length] = `... ${count} more ${what}${count === 1 ? "" : "s"}`;
  }
}

function inspectItems(state, value, level, items) {
  const { length } = value;
  let index = 0;
  for (; index < length && items.length < MAX_ITEMS && state.room > 0; index += 1) {
    if (hasOwn(value, index)) {
      items[items.length] = inspectAt(state, value[index], level + 1);
    } else {
      let holes = 1;
      while (index + holes < length && holes < MAX_ITEMS && !hasOwn(value, index + holes)) {
        holes += 1;
      }
      items[items.length] = `<${holes} empty item${holes === 1 ? "" : "s"}>`;
      index += holes - 1;
    }
  }
  more(items, length - index, "item");
}

function inspectEntries(state, value, level, items) {
  mapForEach(value, (member, key) => {
    if (items.length < MAX_ITEMS && state.room > 0) {
      const shown = inspectAt(state, key, level + 1);
      items[items.length] = `${shown} => ${inspectAt(state, member, level + 1)}`;
    }
  });
  more(items, mapSize(value) - items.length, "item");
}

function inspectMembers(state, value, level, items) {
  setForEach(value, (member) => {
    if (items.length < MAX_ITEMS && state.room > 0) {
      items[items.length] = inspectAt(state, member, level + 1);
    }
  });
  more(items, setSize(value) - items.length, "item");
}

function inspectProperties(state, value, level, items, indexed) {
  const keys = ownKeys(value);
  let shown = 0;
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index];
    const isIndex = indexed && typeof key === "string" && `${key >>> 0}` === key;
    const descriptor = isIndex ? undefined : getOwnPropertyDescriptor(value, key);
    if (!descriptor?.enumerable) {
      continue;
    }
    if (shown >= MAX_ITEMS || state.room <= 0) {
      items[items.length] = "... more properties";
      return;
    }
    shown += 1;
    items[items.length] = `${keyText(key)}: ${inspectProperty(state, descriptor, level)}`;
    state.room -= 4;
  }
}

function keyText(key) {
  if (typeof key === "symbol") {
    return `[${symbolText(key)}]`;
  }
  return regExpExec(IDENTIFIER, key) === null ? quoted(key) : key;
}

// A getter is named and not run: showing a value must not change it.
function inspectProperty(state, descriptor, level) {
  if (hasOwn(descriptor, "value")) {
    return inspectAt(state, descriptor.value, level + 1);
  }
  if (descriptor.get === undefined) {
    return "[Setter]";
  }
  return descriptor.set === undefined ? "[Getter]" : "[Getter/Setter]";
}

// Lays parts out on one line where they fit, else one a line.
function layOut(lead, brackets, items, level) {
  let width = lead.length + level * 2;
  let breaks = false;
  for (let index = 0; index < items.length; index += 1) {
    width += items[index].length + 2;
    breaks ||= includes(items[index], "\n");
  }
  if (!breaks && width <= LINE_WIDTH) {
    return `${lead}${brackets[0]} ${join(items, ", ")} ${brackets[1]}`;
  }
  const margin = repeat("  ", level + 1);
  const body = join(items, `,\n${margin}`);
  return `${lead}${brackets[0]}\n${margin}${body}\n${repeat("  ", level)}${brackets[1]}`;
}
