// `Event` and `EventTarget` of the DOM standard, without a tree.

const BUBBLES = 1;
const CANCELABLE = 2;
const COMPOSED = 4;

class Event {
  #type;
  #flags = 0;
  #canceled = false;
  #dispatching = false;
  #stopped = false;
  #stoppedNow = false;
  #passive = false;
  #target = null;
  #current = null;

  constructor(type, options = undefined) {
    requireArguments(arguments.length, 1, "Event");
    this.#type = `${type}`;
    const { bubbles, cancelable, composed } = dictionary(options, "Event");
    this.#flags =
      (bubbles ? BUBBLES : 0) | (cancelable ? CANCELABLE : 0) | (composed ? COMPOSED : 0);
  }

  get type() { return this.#type; }
  get target() { return this.#target; }
  get srcElement() { return this.#target; }
  get currentTarget() { return this.#current; }
  get eventPhase() { return this.#current === null ? 0 : 2; }
  get bubbles() { return (this.#flags & BUBBLES) !== 0; }
  get cancelable() { return (this.#flags & CANCELABLE) !== 0; }
  get composed() { return (this.#flags & COMPOSED) !== 0; }
  get defaultPrevented() { return this.#canceled; }
  get returnValue() { return !this.#canceled; }
  get cancelBubble() { return this.#stopped; }
  // Reading the clock is a capability, so every event is as old as the call.
  get timeStamp() { return 0; }
  get isTrusted() { return trustedEvents.has(this); }

  set returnValue(value) {
    if (!value) {
      this.preventDefault();
    }
  }

  set cancelBubble(value) {
    if (value) {
      this.#stopped = true;
    }
  }

  composedPath() { return this.#current === null ? [] : [this.#current]; }
  stopPropagation() { this.#stopped = true; }

  stopImmediatePropagation() {
    this.#stopped = true;
    this.#stoppedNow = true;
  }

  preventDefault() {
    if ((this.#flags & CANCELABLE) !== 0 && !this.#passive) {
      this.#canceled = true;
    }
  }

  // Runs listeners of a target; only `EventTarget` calls this, as the static is deleted below.
  static dispatch(event, target, listeners, remove) {
    if (event.#dispatching) {
      throw new DOMException("The event is being dispatched already", "InvalidStateError");
    }
    event.#dispatching = true;
    event.#target = target;
    event.#current = target;
    for (let index = 0; index < listeners.length && !event.#stoppedNow; index += 1) {
      const listener = listeners[index];
      if (listener.removed) {
        continue;
      }
      if (listener.once) {
        remove(listener);
      }
      event.#passive = listener.passive;
      try {
        const { callback } = listener;
        if (typeof callback === "function") {
          apply(callback, target, [event]);
        } else {
          callback.handleEvent(event);
        }
      } catch (thrown) {
        fail(thrown);
      }
      event.#passive = false;
    }
    event.#current = null;
    event.#dispatching = false;
    event.#stopped = false;
    event.#stoppedNow = false;
    return !event.#canceled;
  }
}

const trustedEvents = new SafeWeakMap();
const dispatchTo = Event.dispatch;
delete Event.dispatch;
expose(Event);
for (const [name, value] of [["NONE", 0], ["CAPTURING_PHASE", 1], ["AT_TARGET", 2],
  ["BUBBLING_PHASE", 3]]) {
  defineProperty(Event, name, { value, enumerable: true });
  defineProperty(Event.prototype, name, { value, enumerable: true });
}

class EventTarget {
  // Made with the first listener: most targets never have one.
  #listeners = null;

  addEventListener(type, callback, options = undefined) {
    requireArguments(arguments.length, 2, "addEventListener");
    const { capture, once, passive, signal } = listenerOptions(options);
    if (signal !== undefined && !isSignal(signal)) {
      throw new TypeError("the signal of a listener must be an AbortSignal");
    }
    if (callback === null || callback === undefined) {
      return;
    }
    if (!isObject(callback)) {
      throw new TypeError("a listener must be a function or an object with handleEvent");
    }
    const name = `${type}`;
    if (signal?.aborted || this.#find(name, callback, !!capture) >= 0) {
      return;
    }
    this.#listeners ??= [];
    const listener = {
      name, callback, capture: !!capture, once: !!once, passive: !!passive, removed: false,
    };
    this.#listeners[this.#listeners.length] = listener;
    if (signal !== undefined) {
      onAbort(signal, () => this.#remove(listener));
    }
  }

  removeEventListener(type, callback, options = undefined) {
    requireArguments(arguments.length, 2, "removeEventListener");
    const index = this.#find(`${type}`, callback, !!listenerOptions(options).capture);
    if (index >= 0) {
      this.#remove(this.#listeners[index]);
    }
  }

  dispatchEvent(event) {
    if (!passes(eventType, event)) {
      throw new TypeError("dispatchEvent needs an Event");
    }
    const listeners = [];
    // A target without a tree is its own root: those that capture are first.
    this.#collect(eventType(event), true, listeners);
    this.#collect(eventType(event), false, listeners);
    return dispatchTo(event, this, listeners, (listener) => this.#remove(listener));
  }

  #collect(name, capture, listeners) {
    const all = this.#listeners ?? [];
    for (let index = 0; index < all.length; index += 1) {
      if (all[index].name === name && all[index].capture === capture) {
        listeners[listeners.length] = all[index];
      }
    }
  }

  #find(name, callback, capture) {
    const all = this.#listeners ?? [];
    for (let index = 0; index < all.length; index += 1) {
      const one = all[index];
      if (one.name === name && one.callback === callback && one.capture === capture) {
        return index;
      }
    }
    return -1;
  }

  #remove(listener) {
    listener.removed = true;
    for (let index = 0; index < this.#listeners.length; index += 1) {
      if (this.#listeners[index] === listener) {
        splice(this.#listeners, index, 1);
        return;
      }
    }
  }
}

const eventType = getterOf(Event.prototype, "type");
const dispatchEvent = uncurryThis(EventTarget.prototype.dispatchEvent);
const addEventListener = uncurryThis(EventTarget.prototype.addEventListener);
expose(EventTarget);

function listenerOptions(options) {
  return isObject(options) ? options : { capture: !!options };
}

// Dispatches an event that the prelude, not the guest, made.
function fire(target, type) {
  const event = new Event(type);
  trustedEvents.set(event, true);
  dispatchEvent(target, event);
}

// Adds an `on…` attribute to a prototype. The handler keeps its place among the listeners.
function handlerAttribute(prototype, type) {
  const handlers = new SafeWeakMap();
  defineProperty(prototype, `on${type}`, {
    get() { return handlers.get(this)?.current ?? null; },
    set(value) {
      const current = isObject(value) ? value : null;
      const handler = handlers.get(this);
      if (handler !== undefined) {
        handler.current = current;
      } else if (current !== null) {
        const made = { current };
        handlers.set(this, made);
        addEventListener(this, type, (event) => {
          if (typeof made.current === "function") {
            apply(made.current, this, [event]);
          }
        });
      }
    },
    enumerable: true,
    configurable: true,
  });
}
