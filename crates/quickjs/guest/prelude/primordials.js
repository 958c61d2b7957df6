// The built-ins that the prelude uses, taken before any code of a tool runs. A tool may patch or
// delete its own; what is shadowed here keeps working. Hot loops index and concatenate instead of
// calling methods, as a call through `uncurryThis` costs four times a direct one.

const {
  Array, ArrayBuffer, BigInt, Boolean, DataView, DOMException, Error, EvalError, InternalError,
  JSON, Map, Math, Number, Object, Promise, RangeError, ReferenceError, Reflect, RegExp, Set,
  SharedArrayBuffer, String, Symbol, SyntaxError, TypeError, Uint8Array, URIError, WeakMap,
} = globalThis;
const EngineDate = globalThis.Date;

const uncurryThis = Function.prototype.bind.bind(Function.prototype.call);
const getterOf = (prototype, key) =>
  uncurryThis(Object.getOwnPropertyDescriptor(prototype, key).get);

const {
  assign, create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf,
  keys: ownEnumerableKeys, prototype: objectPrototype, setPrototypeOf,
} = Object;
const { apply, construct, ownKeys } = Reflect;
const { parse: parseJson, stringify: engineStringify } = JSON;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { floor, max, min, trunc } = Math;
const { fromCharCode } = String;
const { iterator: iteratorSymbol, toStringTag } = Symbol;

const hasOwn = Object.hasOwn;
const isEnumerable = uncurryThis(objectPrototype.propertyIsEnumerable);
const objectTag = uncurryThis(objectPrototype.toString);
const functionText = uncurryThis(Function.prototype.toString);

const arrayPrototype = Array.prototype;
const arrayIndexOf = uncurryThis(arrayPrototype.indexOf);
const join = uncurryThis(arrayPrototype.join);
const sort = uncurryThis(arrayPrototype.sort);
const splice = uncurryThis(arrayPrototype.splice);

const charCodeAt = uncurryThis(String.prototype.charCodeAt);
const includes = uncurryThis(String.prototype.includes);
const indexOf = uncurryThis(String.prototype.indexOf);
const padEnd = uncurryThis(String.prototype.padEnd);
const repeat = uncurryThis(String.prototype.repeat);
const replaceAll = uncurryThis(String.prototype.replaceAll);
const slice = uncurryThis(String.prototype.slice);
const split = uncurryThis(String.prototype.split);
const startsWith = uncurryThis(String.prototype.startsWith);
const toLowerCase = uncurryThis(String.prototype.toLowerCase);
const toWellFormed = uncurryThis(String.prototype.toWellFormed);
const trim = uncurryThis(String.prototype.trim);
const numberText = uncurryThis(Number.prototype.toString);
const symbolText = uncurryThis(Symbol.prototype.toString);
const regExpExec = uncurryThis(RegExp.prototype.exec);

const resolved = Promise.resolve.bind(Promise);
const then = uncurryThis(Promise.prototype.then);

const bufferByteLength = getterOf(ArrayBuffer.prototype, "byteLength");
const bufferDetached = getterOf(ArrayBuffer.prototype, "detached");
const bufferSlice = uncurryThis(ArrayBuffer.prototype.slice);
const bufferTransfer = uncurryThis(ArrayBuffer.prototype.transfer);
const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype);
const typedArrayTag = getterOf(typedArrayPrototype, toStringTag);
const typedArrayBuffer = getterOf(typedArrayPrototype, "buffer");
const typedArrayOffset = getterOf(typedArrayPrototype, "byteOffset");
const typedArrayByteLength = getterOf(typedArrayPrototype, "byteLength");
const typedArrayLength = getterOf(typedArrayPrototype, "length");
const typedArraySet = uncurryThis(typedArrayPrototype.set);
const dataViewBuffer = getterOf(DataView.prototype, "buffer");
const dataViewOffset = getterOf(DataView.prototype, "byteOffset");
const dataViewByteLength = getterOf(DataView.prototype, "byteLength");

const mapSize = getterOf(Map.prototype, "size");
const mapForEach = uncurryThis(Map.prototype.forEach);
const setSize = getterOf(Set.prototype, "size");
const setForEach = uncurryThis(Set.prototype.forEach);
const mapPrototypeSet = uncurryThis(Map.prototype.set);
const setPrototypeAdd = uncurryThis(Set.prototype.add);
const dateTime = uncurryThis(EngineDate.prototype.getTime);
const dateIsoText = uncurryThis(EngineDate.prototype.toISOString);
const regExpSource = getterOf(RegExp.prototype, "source");
const regExpFlags = getterOf(RegExp.prototype, "flags");
const regExpText = uncurryThis(RegExp.prototype.toString);
const numberValue = uncurryThis(Number.prototype.valueOf);
const stringValue = uncurryThis(String.prototype.valueOf);
const booleanValue = uncurryThis(Boolean.prototype.valueOf);
const bigintValue = uncurryThis(BigInt.prototype.valueOf);
const domExceptionName = getterOf(DOMException.prototype, "name");
const domExceptionMessage = getterOf(DOMException.prototype, "message");

// Returns a subclass whose methods no patch of the guest reaches.
function safeClass(Base) {
  const Safe = class extends Base {};
  for (const key of ownKeys(Base.prototype)) {
    if (key !== "constructor") {
      defineProperty(Safe.prototype, key, getOwnPropertyDescriptor(Base.prototype, key));
    }
  }
  return setPrototypeOf(Safe.prototype, null), Safe;
}

const SafeMap = safeClass(Map);
const SafeSet = safeClass(Set);
const SafeWeakMap = safeClass(WeakMap);

// Answers whether a brand check, which throws for any other value, accepts this one.
function passes(check, value) {
  try {
    check(value);
    return true;
  } catch {
    return false;
  }
}

// Writes JSON that any parser takes. A surrogate without its other half, which JavaScript writes as
// an escape and other languages have no character for, becomes the replacement character.
function stringifyJson(value) {
  const text = engineStringify(value);
  if (text === undefined || !includes(text, "\\ud")) {
    return text;
  }
  let whole = "";
  let from = 0;
  for (let at = indexOf(text, "\\"); at >= 0; at = indexOf(text, "\\", at)) {
    // An escape of six characters here, one of two or of another six elsewhere: no backslash is
    // the second character of any but an escaped backslash.
    if (text[at + 1] === "u" && text[at + 2] === "d") {
      whole += `${slice(text, from, at)}\\ufffd`;
      at += 6;
      from = at;
    } else {
      at += 2;
    }
  }
  return whole + slice(text, from);
}

const isObject = (value) =>
  (typeof value === "object" && value !== null) || typeof value === "function";
const isBuffer = (value) => passes(bufferByteLength, value);
const isDate = (value) => passes(dateTime, value);
const isMap = (value) => passes(mapSize, value);
const isSet = (value) => passes(setSize, value);
// The prototype answers "(?:)" and is no expression.
const isRegExp = (value) => value !== RegExp.prototype && passes(regExpSource, value);
const isDomException = (value) => passes(domExceptionName, value);

// Returns the primitive in a boxed one; any other object is returned as it is.
function unboxed(value) {
  for (let index = 0; index < UNBOXERS.length; index += 1) {
    try {
      return UNBOXERS[index](value);
    } catch {
      // It is no box of this kind.
    }
  }
  return value;
}
const UNBOXERS = [numberValue, stringValue, booleanValue, bigintValue];

// Copies an iterable to a list without the guest's `Array.prototype[Symbol.iterator]`.
function listOf(iterable) {
  const list = [];
  const iterator = iterable[iteratorSymbol]();
  for (let step = iterator.next(); !step.done; step = iterator.next()) {
    list[list.length] = step.value;
  }
  return list;
}
