// Turns a value into JSON as `JSON.stringify` does, but for three differences: numbers that JSON
// lacks become text and are noted; what has no JSON is refused with its place instead of dropped;
// depth and size are bounded.

let maxDepth = 128;
let maxNodes = 100000;
const MAX_NOTES = 100;

// Thrown inside this file and caught by those who encode.
class Refused {
  constructor(reason, path) {
    this.reason = reason;
    this.path = path;
  }
}

// `keys[depth]` names the member that is being taken at that depth, `parents` what it is in.
function encodeJson(value, key = "", depth = 0) {
  const state = {
    left: maxNodes - 1, notes: "", noteCount: 0, keys: [key], parents: [],
    // A guest's own `Array.prototype.toJSON` has had its say when the copy is written.
    patched: arrayPrototype.toJSON !== undefined,
  };
  const plain = plainValue(state, value, key, depth);
  return { json: stringifyJson(plain), notes: state.notes };
}

function pointer(state, depth) {
  let path = "";
  for (let index = 0; index < depth; index += 1) {
    path += `/${replaceAll(replaceAll(`${state.keys[index]}`, "~", "~0"), "/", "~1")}`;
  }
  return path;
}

function refuse(state, depth, reason) {
  throw new Refused(reason, pointer(state, depth));
}

function note(state, depth, text, was) {
  if (state.noteCount < MAX_NOTES) {
    const path = stringifyJson(pointer(state, depth));
    state.notes += `${state.noteCount === 0 ? "" : ","}{"path":${path},"was":"${was}"}`;
    state.noteCount += 1;
  }
  return text;
}

// Returns what stands for a value in JSON: plain objects, lists, texts, finite numbers, booleans,
// null; undefined for what is left out. Every member is read once, and the engine writes the copy:
// to write here would be one more call for each text.
function plainValue(state, value, key, depth) {
  if (isObject(value) || typeof value === "bigint") {
    const { toJSON } = value;
    return plainConverted(
      state, typeof toJSON === "function" ? apply(toJSON, value, [`${key}`]) : value, depth);
  }
  return plainConverted(state, value, depth);
}

function plainConverted(state, value, depth) {
  switch (typeof value) {
    case "number": {
      // Only a finite number less itself is zero.
      if (value - value === 0) {
        return value;
      }
      const was = value !== value ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
      return note(state, depth, was, was);
    }
    case "bigint": return note(state, depth, `${value}`, "bigint");
    case "object": return value === null ? null : plainObject(state, value, depth);
    case "function":
    case "symbol": return refuse(state, depth, typeof value);
    default: return value;
  }
}

function plainObject(state, value, depth) {
  const { parents } = state;
  for (let index = parents.length - 1; index >= 0; index -= 1) {
    if (parents[index] === value) {
      refuse(state, depth, "cycle");
    }
  }
  if (parents.length >= maxDepth) {
    refuse(state, depth, "depth");
  }
  const list = isArray(value);
  const prototype = list ? objectPrototype : getPrototypeOf(value);
  if (prototype !== objectPrototype && prototype !== null) {
    const primitive = unboxed(value);
    if (!isObject(primitive)) {
      return plainConverted(state, primitive, depth);
    }
    // Index by index is no useful form of bytes.
    if (isView(value) || isBuffer(value)) {
      refuse(state, depth, "bytes");
    }
  }
  parents[parents.length] = value;
  const copy = list ? plainList(state, value, depth) : plainMembers(state, value, depth);
  parents.length -= 1;
  return copy;
}

// Takes the parts of an object or list from what may still be encoded.
function count(state, depth, parts) {
  state.left -= parts;
  if (state.left < 0) {
    refuse(state, depth, "nodes");
  }
}

// The two loops below are the cost of every answer: texts and finite numbers need no call.

function plainList(state, list, depth) {
  // A proxy of a list can claim any length.
  const { length: claimed } = list;
  const length = typeof claimed === "number" && claimed > 0 ? trunc(claimed) : 0;
  count(state, depth, length);
  const copy = [];
  if (state.patched) {
    setPrototypeOf(copy, null);
  }
  for (let index = 0; index < length; index += 1) {
    let value = list[index];
    if (typeof value !== "string" && (typeof value !== "number" || value - value !== 0)) {
      state.keys[depth] = index;
      value = plainValue(state, value, index, depth + 1) ?? null;
    }
    copy[index] = value;
  }
  return copy;
}

function plainMembers(state, object, depth) {
  const keys = ownEnumerableKeys(object);
  const { length } = keys;
  count(state, depth, length);
  // Without a prototype every key is a plain member, `__proto__` too.
  const copy = create(null);
  for (let index = 0; index < length; index += 1) {
    const key = keys[index];
    let value = object[key];
    if (typeof value !== "string" && (typeof value !== "number" || value - value !== 0)) {
      state.keys[depth] = key;
      value = plainValue(state, value, key, depth + 1);
    }
    if (value !== undefined) {
      copy[key] = value;
    }
  }
  return copy;
}

const withNotes = (json, notes) =>
  (notes === "" ? `{"value":${json}}` : `{"value":${json},"encoded":[${notes}]}`);

// Ends the call with what `encode` returns, or with what stood in its way.
function finishEncoded(encode) {
  try {
    finish(1, encode());
  } catch (thrown) {
    if (thrown instanceof Refused) {
      finish(3, `{"reason":"${thrown.reason}","path":${stringifyJson(thrown.path)}}`);
    } else {
      fail(thrown);
    }
  }
}

function answer(value) {
  finishEncoded(() => {
    const { json, notes } = encodeJson(value);
    return withNotes(json ?? "null", notes);
  });
}
