// `structuredClone`. The engine has no way to tell a proxy from its target, so a proxy is read
// through its traps where a browser would refuse it.

const cannotClone = (what) => new DOMException(`${what} cannot be cloned`, "DataCloneError");

const ERROR_CLASSES = create(null);
for (const Class of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError,
  URIError]) {
  ERROR_CLASSES[Class.name] = Class;
}

// Objects whose state is out of reach, by what `Object.prototype.toString` says of them.
const UNCLONEABLE = new SafeSet();
for (const tag of ["Promise", "WeakMap", "WeakSet", "WeakRef", "FinalizationRegistry", "Generator",
  "AsyncGenerator", "Map Iterator", "Set Iterator", "Array Iterator", "String Iterator",
  "DisposableStack", "AsyncDisposableStack"]) {
  UNCLONEABLE.add(`[object ${tag}]`);
}

// One check for each class of the prelude that may not be cloned.
const PLATFORM_CHECKS = [
  eventType, urlHref, getterOf(URLSearchParams.prototype, "size"),
  getterOf(TextEncoder.prototype, "encoding"), getterOf(TextDecoder.prototype, "encoding"),
  getterOf(AbortController.prototype, "signal"),
];

function isPlatformObject(value) {
  if (value instanceof EventTarget || value instanceof Crypto) {
    return true;
  }
  for (let index = 0; index < PLATFORM_CHECKS.length; index += 1) {
    if (passes(PLATFORM_CHECKS[index], value)) {
      return true;
    }
  }
  return false;
}

// Clones a value. `memory` holds what was cloned before, so that cycles and shared parts stay so.
function cloneValue(value, memory) {
  if (!isObject(value)) {
    if (typeof value === "symbol") {
      throw cannotClone(symbolText(value));
    }
    return value;
  }
  if (typeof value === "function") {
    throw cannotClone("a function");
  }
  const known = memory.get(value);
  if (known !== undefined) {
    return known;
  }
  const prototype = getPrototypeOf(value);
  if (prototype === objectPrototype && getOwnPropertyDescriptor(value, toStringTag) === undefined) {
    return cloneMembers(value, {}, memory);
  }
  if (isArray(value)) {
    const copy = new Array(value.length);
    return cloneMembers(value, copy, memory);
  }
  return cloneExotic(value, memory);
}

function cloneMembers(value, copy, memory) {
  memory.set(value, copy);
  const keys = ownEnumerableKeys(value);
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index];
    // A getter that ran meanwhile may have deleted it.
    if (hasOwn(value, key)) {
      const member = cloneValue(value[key], memory);
      if (key === "__proto__") {
        defineProperty(copy, key, {
          value: member, writable: true, enumerable: true, configurable: true,
        });
      } else {
        copy[key] = member;
      }
    }
  }
  return copy;
}

function cloneExotic(value, memory) {
  const copy = cloneLeaf(value, memory);
  if (copy !== undefined) {
    memory.set(value, copy);
    return copy;
  }
  if (isMap(value)) {
    return cloneMap(value, memory);
  }
  if (isSet(value)) {
    return cloneSet(value, memory);
  }
  if (isErrorObject(value)) {
    return cloneError(value, memory);
  }
  if (UNCLONEABLE.has(objectTag(value)) || isPlatformObject(value)) {
    throw cannotClone(objectTag(value));
  }
  return cloneMembers(value, {}, memory);
}

// Clones what holds no other value; undefined for all else.
function cloneLeaf(value, memory) {
  if (isView(value)) {
    return cloneView(value, memory);
  }
  if (isBuffer(value)) {
    return cloneBuffer(value);
  }
  if (isDate(value)) {
    return new EngineDate(dateTime(value));
  }
  if (isRegExp(value)) {
    return new RegExp(regExpSource(value), regExpFlags(value));
  }
  if (isDomException(value)) {
    return new DOMException(domExceptionMessage(value), domExceptionName(value));
  }
  if (value instanceof SharedArrayBuffer) {
    throw cannotClone("a SharedArrayBuffer");
  }
  const primitive = unboxed(value);
  return isObject(primitive) ? undefined : Object(primitive);
}

function cloneBuffer(buffer) {
  if (bufferDetached(buffer)) {
    throw cannotClone("a detached ArrayBuffer");
  }
  return bufferSlice(buffer, 0);
}

function cloneView(view, memory) {
  const { Class, buffer, offset, length } = viewParts(view);
  let copy = memory.get(buffer);
  if (copy === undefined) {
    copy = cloneBuffer(buffer);
    memory.set(buffer, copy);
  }
  return new Class(copy, offset, length);
}

function viewParts(view) {
  const tag = typedArrayTag(view);
  return tag === undefined
    ? { Class: DataView, buffer: dataViewBuffer(view), offset: dataViewOffset(view),
      length: dataViewByteLength(view) }
    : { Class: VIEW_CLASSES[tag], buffer: typedArrayBuffer(view),
      offset: typedArrayOffset(view), length: typedArrayLength(view) };
}

const VIEW_CLASSES = create(null);
for (const name of [...listOf(INTEGER_ARRAYS), "Float16Array", "Float32Array", "Float64Array"]) {
  VIEW_CLASSES[name] = globalThis[name];
}

function cloneMap(map, memory) {
  const copy = new Map();
  memory.set(map, copy);
  const entries = [];
  mapForEach(map, (value, key) => {
    entries[entries.length] = key;
    entries[entries.length] = value;
  });
  for (let index = 0; index < entries.length; index += 2) {
    const key = cloneValue(entries[index], memory);
    mapPrototypeSet(copy, key, cloneValue(entries[index + 1], memory));
  }
  return copy;
}

function cloneSet(set, memory) {
  const copy = new Set();
  memory.set(set, copy);
  const values = [];
  setForEach(set, (value) => { values[values.length] = value; });
  for (let index = 0; index < values.length; index += 1) {
    setPrototypeAdd(copy, cloneValue(values[index], memory));
  }
  return copy;
}

// Copies class, message, stack and cause, as engines of browsers do; other members are lost.
function cloneError(error, memory) {
  const Class = ERROR_CLASSES[readText(error, "name")] ?? Error;
  const copy = new Class();
  memory.set(error, copy);
  const message = getOwnPropertyDescriptor(error, "message");
  if (message !== undefined && hasOwn(message, "value")) {
    defineHidden(copy, "message", `${message.value}`);
  }
  defineHidden(copy, "stack", readText(error, "stack"));
  if (hasOwn(error, "cause")) {
    defineHidden(copy, "cause", cloneValue(error.cause, memory));
  }
  return copy;
}

// Clones while buffers move: a first clone keeps the buffers and shows whether all can be cloned,
// as nothing may move otherwise; a second one puts the moved buffers in.
function cloneAndMove(value, buffers) {
  const kept = new SafeMap();
  for (let index = 0; index < buffers.length; index += 1) {
    const buffer = buffers[index];
    if (!isObject(buffer) || !isBuffer(buffer)) {
      throw cannotClone("what is transferred and no ArrayBuffer");
    }
    if (kept.has(buffer)) {
      throw cannotClone("an ArrayBuffer that is transferred twice");
    }
    if (bufferDetached(buffer)) {
      throw cannotClone("a detached ArrayBuffer");
    }
    kept.set(buffer, buffer);
  }
  const draft = cloneValue(value, kept);
  const views = [];
  kept.forEach((copy) => {
    if (isView(copy)) {
      views[views.length] = assign(viewParts(copy), { copy });
    }
  });
  const moved = new SafeMap();
  for (let index = 0; index < buffers.length; index += 1) {
    moved.set(buffers[index], bufferTransfer(buffers[index]));
  }
  for (let index = 0; index < views.length; index += 1) {
    const { copy, Class, buffer, offset, length } = views[index];
    const target = moved.get(buffer);
    if (target !== undefined) {
      moved.set(copy, new Class(target, offset, length));
    }
  }
  return cloneValue(draft, moved);
}

publish("structuredClone", {
  structuredClone(value, options = undefined) {
    requireArguments(arguments.length, 1, "structuredClone");
    const { transfer } = dictionary(options, "structuredClone");
    const buffers = transfer === undefined ? [] : listOf(transfer);
    return buffers.length === 0
      ? cloneValue(value, new SafeMap())
      : cloneAndMove(value, buffers);
  },
}.structuredClone);
