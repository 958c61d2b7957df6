// What Web IDL asks of a class or function that a global names.

// Makes a member enumerable, as operations and attributes of an interface are.
function enumerable(target, names) {
  for (const name of names) {
    defineProperty(target, name, { enumerable: true });
  }
}

// Publishes a class: tagged prototype, enumerable members, a global that enumeration skips.
function expose(Class) {
  const { prototype } = Class;
  enumerable(prototype, Object.getOwnPropertyNames(prototype).filter((n) => n !== "constructor"));
  enumerable(Class, Object.getOwnPropertyNames(Class).filter((name) =>
    typeof Class[name] === "function" && name !== "prototype"));
  defineProperty(prototype, toStringTag, { value: Class.name, configurable: true });
  publish(Class.name, Class);
}

function defineHidden(target, name, value) {
  defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true });
}

function publish(name, value) {
  defineHidden(globalThis, name, value);
}

// Interfaces without a public constructor are made with this key.
const internal = Symbol("internal");

function requireArguments(count, needed, what) {
  if (count < needed) {
    throw new TypeError(`${what} needs ${needed} argument${needed === 1 ? "" : "s"}`);
  }
}

// Checks a dictionary argument.
function dictionary(value, what) {
  if (value === undefined || value === null) {
    return {};
  }
  if (!isObject(value)) {
    throw new TypeError(`the options of ${what} must be an object`);
  }
  return value;
}

for (const name of ["performance", "scriptArgs", "print", "gc", "std", "os", "bjson"]) {
  delete globalThis[name];
}
