// `AbortController` and `AbortSignal`.

class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  // What the prelude does on abort, before listeners run. Made when first needed.
  #actions = null;
  // Signals that follow this one; and, for one made by `any`, those that it follows.
  #dependents = null;
  #sources = null;

  constructor(key = undefined) {
    if (key !== internal) {
      throw new TypeError("Illegal constructor");
    }
    super();
  }

  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }

  throwIfAborted() {
    if (this.#aborted) {
      throw this.#reason;
    }
  }

  static abort(reason = undefined) {
    const signal = new AbortSignal(internal);
    signal.#aborted = true;
    signal.#reason = reason === undefined ? abortError() : reason;
    return signal;
  }

  static timeout(milliseconds) {
    requireArguments(arguments.length, 1, "AbortSignal.timeout");
    const delay = trunc(Number(milliseconds));
    if (!(delay >= 0 && delay <= Number.MAX_SAFE_INTEGER)) {
      throw new TypeError("the delay of AbortSignal.timeout is out of range");
    }
    const signal = new AbortSignal(internal);
    wait(native.sleep(delay), () => {
      AbortSignal.#abort(signal, new DOMException("The operation timed out", "TimeoutError"));
    });
    return signal;
  }

  static any(signals) {
    requireArguments(arguments.length, 1, "AbortSignal.any");
    const list = listOf(signals);
    for (let index = 0; index < list.length; index += 1) {
      if (!isSignal(list[index])) {
        throw new TypeError("AbortSignal.any needs a list of AbortSignal");
      }
    }
    const result = new AbortSignal(internal);
    for (let index = 0; index < list.length; index += 1) {
      if (list[index].#aborted) {
        result.#aborted = true;
        result.#reason = list[index].#reason;
        return result;
      }
    }
    result.#sources = new SafeSet();
    for (let index = 0; index < list.length; index += 1) {
      // A signal made by `any` is replaced by what it follows, so that chains stay flat.
      const sources = list[index].#sources;
      if (sources === null) {
        result.#follow(list[index]);
      } else {
        sources.forEach((source) => result.#follow(source));
      }
    }
    return result;
  }

  #follow(source) {
    this.#sources.add(source);
    source.#dependents ??= new SafeSet();
    source.#dependents.add(this);
  }

  // All signals are marked before any listener runs, as the standard asks.
  static #abort(signal, reason) {
    if (signal.#aborted) {
      return;
    }
    signal.#aborted = true;
    signal.#reason = reason === undefined ? abortError() : reason;
    const followers = [];
    signal.#dependents?.forEach((dependent) => {
      if (!dependent.#aborted) {
        dependent.#aborted = true;
        dependent.#reason = signal.#reason;
        followers[followers.length] = dependent;
      }
    });
    signal.#dependents = null;
    signal.#run();
    for (let index = 0; index < followers.length; index += 1) {
      followers[index].#run();
    }
  }

  #run() {
    const actions = this.#actions;
    this.#actions = null;
    actions?.forEach((action) => action());
    fire(this, "abort");
  }

  // The ways in for the rest of the prelude; taken out of the class below.
  static doors = {
    abort: (signal, reason) => AbortSignal.#abort(signal, reason),
    is: (value) => isObject(value) && #reason in value,
    on: (signal, action) => {
      signal.#actions ??= new SafeSet();
      signal.#actions.add(action);
    },
    off: (signal, action) => signal.#actions?.delete(action),
  };
}

const { abort: abortSignal, is: isSignal, on: onAbort, off: offAbort } = AbortSignal.doors;
delete AbortSignal.doors;

const abortError = () => new DOMException("This operation was aborted", "AbortError");
const isAborted = getterOf(AbortSignal.prototype, "aborted");
const abortReason = getterOf(AbortSignal.prototype, "reason");

expose(AbortSignal);
handlerAttribute(AbortSignal.prototype, "abort");

class AbortController {
  #signal = new AbortSignal(internal);

  get signal() { return this.#signal; }
  abort(reason = undefined) { abortSignal(this.#signal, reason); }
}
expose(AbortController);
