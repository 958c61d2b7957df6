// Timers and `queueMicrotask`. What a callback throws ends the call.

const MAX_DELAY = 0x7fffffff;

// Numbers of the host's timers, by the handles that the guest holds.
const timers = new SafeMap();
let lastHandle = 0;

// Takes what is no delay, or one that 31 bits do not hold, as none.
function delayOf(milliseconds) {
  const delay = trunc(Number(milliseconds));
  return delay > 0 && delay <= MAX_DELAY ? delay : 0;
}

function startTimer(callback, milliseconds, values, repeats) {
  if (typeof callback !== "function") {
    throw new TypeError("a timer needs a function");
  }
  const delay = delayOf(milliseconds);
  lastHandle += 1;
  const handle = lastHandle;
  const arm = () => {
    const id = native.sleep(delay);
    timers.set(handle, id);
    wait(id, ring);
  };
  const ring = () => {
    try {
      apply(callback, undefined, values);
    } catch (thrown) {
      fail(thrown);
    }
    // The callback may have cleared its own interval.
    if (!timers.has(handle)) {
      return;
    }
    if (repeats) {
      rearm();
    } else {
      timers.delete(handle);
    }
  };
  const rearm = () => {
    try {
      arm();
    } catch (thrown) {
      fail(thrown);
    }
  };
  arm();
  return handle;
}

function stopTimer(handle) {
  const key = Number(handle);
  const id = timers.get(key);
  if (id !== undefined) {
    timers.delete(key);
    drop(id);
  }
}

const settled = resolved();

const timerFunctions = {
  setTimeout(callback, milliseconds = 0, ...values) {
    return startTimer(callback, milliseconds, values, false);
  },
  setInterval(callback, milliseconds = 0, ...values) {
    return startTimer(callback, milliseconds, values, true);
  },
  clearTimeout(handle = 0) { stopTimer(handle); },
  clearInterval(handle = 0) { stopTimer(handle); },
  queueMicrotask(callback) {
    if (typeof callback !== "function") {
      throw new TypeError("queueMicrotask needs a function");
    }
    then(settled, () => {
      try {
        callback();
      } catch (thrown) {
        fail(thrown);
      }
    });
  },
};
for (const name of ownKeys(timerFunctions)) {
  publish(name, timerFunctions[name]);
}
