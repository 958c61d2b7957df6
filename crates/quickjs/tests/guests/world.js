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
  for (const name of ["fetch", "process", "require", "module", "Deno", "Bun", "Intl", "WebAssembly",
    "navigator", "window", "self", "global", "std", "os", "print", "gc", "scriptArgs", "native",
    "XMLHttpRequest", "Worker", "setImmediate", "__entry"]) {
    check(!(name in globalThis), `${name} is there`);
  }
  for (const name of ["console", "setTimeout", "clearTimeout", "setInterval", "clearInterval",
    "queueMicrotask", "TextEncoder", "TextDecoder", "URL", "URLSearchParams", "structuredClone",
    "AbortController", "AbortSignal", "Event", "EventTarget", "DOMException", "atob", "btoa",
    "crypto", "performance", "Date"]) {
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
    check(descriptor !== undefined, `${name} is missing`);
    check(!descriptor.enumerable && descriptor.writable && descriptor.configurable,
      `the attributes of ${name}`);
  }
  same(Object.keys(globalThis), [], "nothing is enumerable");
  for (const name of ["TextEncoder", "TextDecoder", "URL", "URLSearchParams", "AbortController",
    "AbortSignal", "Event", "EventTarget"]) {
    const Class = globalThis[name];
    check(Class.name === name, `the name of ${name}`);
    const tag = Object.getOwnPropertyDescriptor(Class.prototype, Symbol.toStringTag);
    check(tag.value === name && !tag.writable && !tag.enumerable && tag.configurable,
      `the tag of ${name}`);
    check(thrown(() => Class()) instanceof TypeError, `${name} without new`);
    check(!("doors" in Class) && !("dispatch" in Class), `${name} has no way in`);
  }
  check(URL.length === 1 && URLSearchParams.length === 0 && TextDecoder.length === 0, "lengths");
  check(thrown(() => Reflect.get(URL.prototype, "href")) instanceof TypeError, "brand checks");
  check(thrown(() => AbortSignal.prototype.aborted) instanceof TypeError, "of signals");
  check((0, eval)("1 + 1") === 2 && new Function("return 3")() === 3, "eval stays");
  check(new DOMException("m", "SyntaxError").code === 12, "DOMException");
  check(new DOMException("m") instanceof Error, "it is an Error");
  check(args.a === 1, "the arguments");
  return "ok";
}
