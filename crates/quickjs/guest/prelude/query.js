// `URLSearchParams`, and the form encoding under it.

const FORM_SAFE = new SafeSet();
for (const character of "*-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  FORM_SAFE.add(character.charCodeAt(0));
}
const UPPER_HEX = HEX.map((pair) => `%${pair.toUpperCase()}`);

function formEncode(text) {
  const bytes = new Uint8Array(utf8Bytes(text));
  let encoded = "";
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === 0x20) {
      encoded += "+";
    } else {
      encoded += FORM_SAFE.has(byte) ? fromCharCode(byte) : UPPER_HEX[byte];
    }
  }
  return encoded;
}

function hexDigit(byte) {
  if (byte >= 0x30 && byte <= 0x39) {
    return byte - 0x30;
  }
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function formDecode(text) {
  if (!includes(text, "%")) {
    return toWellFormed(replaceAll(text, "+", " "));
  }
  const bytes = new Uint8Array(utf8Bytes(replaceAll(text, "+", " ")));
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    let byte = bytes[index];
    if (byte === 0x25 && index + 2 < bytes.length) {
      const high = hexDigit(bytes[index + 1]);
      const low = hexDigit(bytes[index + 2]);
      if (high >= 0 && low >= 0) {
        byte = high * 16 + low;
        index += 2;
      }
    }
    bytes[length] = byte;
    length += 1;
  }
  return decodeUtf8(new Uint8Array(typedArrayBuffer(bytes), 0, length));
}

// Returns names and values in turn, in one flat list.
function parseForm(text) {
  const list = [];
  const parts = split(text, "&");
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    if (part !== "") {
      const equals = indexOf(part, "=");
      const name = equals < 0 ? part : slice(part, 0, equals);
      list[list.length] = formDecode(name);
      list[list.length] = equals < 0 ? "" : formDecode(slice(part, equals + 1));
    }
  }
  return list;
}

function serializeForm(list) {
  let text = "";
  for (let index = 0; index < list.length; index += 2) {
    text += `${index === 0 ? "" : "&"}${formEncode(list[index])}=${formEncode(list[index + 1])}`;
  }
  return text;
}

// Converts as a `USVString` does.
const scalarText = (value) => toWellFormed(`${value}`);

class URLSearchParams {
  #list = [];
  // Tells the URL that this belongs to.
  #changed = null;

  constructor(init = "") {
    if (isObject(init)) {
      this.#fill(init);
    } else {
      const text = scalarText(init);
      this.#list = parseForm(text[0] === "?" ? slice(text, 1) : text);
    }
  }

  #fill(init) {
    const list = this.#list;
    if (init[iteratorSymbol] === undefined || init[iteratorSymbol] === null) {
      const keys = ownKeys(init);
      for (let index = 0; index < keys.length; index += 1) {
        if (typeof keys[index] !== "symbol" && isEnumerable(init, keys[index])) {
          list[list.length] = scalarText(keys[index]);
          list[list.length] = scalarText(init[keys[index]]);
        }
      }
      return;
    }
    const pairs = listOf(init);
    for (let index = 0; index < pairs.length; index += 1) {
      const pair = isObject(pairs[index]) ? listOf(pairs[index]) : [];
      if (pair.length !== 2) {
        throw new TypeError("each entry of a URLSearchParams must be a name and a value");
      }
      list[list.length] = scalarText(pair[0]);
      list[list.length] = scalarText(pair[1]);
    }
  }

  get size() { return this.#list.length / 2; }

  append(name, value) {
    requireArguments(arguments.length, 2, "append");
    const list = this.#list;
    list[list.length] = scalarText(name);
    list[list.length] = scalarText(value);
    this.#changed?.();
  }

  delete(name, value = undefined) {
    requireArguments(arguments.length, 1, "delete");
    this.#list = this.#without(0, scalarText(name), value);
    this.#changed?.();
  }

  // Returns the list from `start` on without the pairs of a name, and of a value when one is given.
  #without(start, name, value) {
    const wanted = value === undefined ? undefined : scalarText(value);
    const kept = [];
    const list = this.#list;
    for (let index = 0; index < list.length; index += 2) {
      const matches = list[index] === name && (wanted === undefined || list[index + 1] === wanted);
      if (index < start || !matches) {
        kept[kept.length] = list[index];
        kept[kept.length] = list[index + 1];
      }
    }
    return kept;
  }

  #find(name, value) {
    const wanted = value === undefined ? undefined : scalarText(value);
    const list = this.#list;
    for (let index = 0; index < list.length; index += 2) {
      if (list[index] === name && (wanted === undefined || list[index + 1] === wanted)) {
        return index;
      }
    }
    return -1;
  }

  get(name) {
    requireArguments(arguments.length, 1, "get");
    const index = this.#find(scalarText(name), undefined);
    return index < 0 ? null : this.#list[index + 1];
  }

  getAll(name) {
    requireArguments(arguments.length, 1, "getAll");
    const wanted = scalarText(name);
    const values = [];
    for (let index = 0; index < this.#list.length; index += 2) {
      if (this.#list[index] === wanted) {
        values[values.length] = this.#list[index + 1];
      }
    }
    return values;
  }

  has(name, value = undefined) {
    requireArguments(arguments.length, 1, "has");
    return this.#find(scalarText(name), value) >= 0;
  }

  set(name, value) {
    requireArguments(arguments.length, 2, "set");
    const key = scalarText(name);
    const text = scalarText(value);
    const index = this.#find(key, undefined);
    if (index < 0) {
      this.#list[this.#list.length] = key;
      this.#list[this.#list.length] = text;
    } else {
      this.#list[index + 1] = text;
      this.#list = this.#without(index + 2, key, undefined);
    }
    this.#changed?.();
  }

  // Sorts by the code units of the names; pairs of one name keep their order.
  sort() {
    const list = this.#list;
    const places = [];
    for (let index = 0; index < list.length; index += 2) {
      places[places.length] = index;
    }
    sort(places, (a, b) => (list[a] < list[b] ? -1 : list[a] > list[b] ? 1 : a - b));
    const sorted = [];
    for (let index = 0; index < places.length; index += 1) {
      sorted[sorted.length] = list[places[index]];
      sorted[sorted.length] = list[places[index] + 1];
    }
    this.#list = sorted;
    this.#changed?.();
  }

  forEach(callback, thisArgument = undefined) {
    if (typeof callback !== "function") {
      throw new TypeError("forEach needs a function");
    }
    // The list may grow or shrink meanwhile.
    for (let index = 0; index < this.#list.length; index += 2) {
      apply(callback, thisArgument, [this.#list[index + 1], this.#list[index], this]);
    }
  }

  entries() { return searchIterator(() => this.#list, (list, i) => [list[i], list[i + 1]]); }
  keys() { return searchIterator(() => this.#list, (list, i) => list[i]); }
  values() { return searchIterator(() => this.#list, (list, i) => list[i + 1]); }
  toString() { return serializeForm(this.#list); }

  static doors = {
    link: (params, changed) => { params.#changed = changed; },
    replace: (params, text) => { params.#list = parseForm(text); },
  };
}

const { link: linkParams, replace: replaceParams } = URLSearchParams.doors;
delete URLSearchParams.doors;

const searchIteratorStates = new SafeWeakMap();
const searchIteratorPrototype = create(globalThis.Iterator.prototype, {
  next: {
    value: function next() {
      const state = searchIteratorStates.get(this);
      if (state === undefined) {
        throw new TypeError("this is no iterator of a URLSearchParams");
      }
      const list = state.list();
      if (state.index >= list.length) {
        return { value: undefined, done: true };
      }
      state.index += 2;
      return { value: state.pick(list, state.index - 2), done: false };
    },
    writable: true, enumerable: true, configurable: true,
  },
  [toStringTag]: { value: "URLSearchParams Iterator", configurable: true },
});

function searchIterator(list, pick) {
  const iterator = create(searchIteratorPrototype);
  searchIteratorStates.set(iterator, { list, pick, index: 0 });
  return iterator;
}

expose(URLSearchParams);
defineProperty(URLSearchParams.prototype, iteratorSymbol, {
  value: URLSearchParams.prototype.entries, writable: true, configurable: true,
});
const searchText = uncurryThis(URLSearchParams.prototype.toString);
