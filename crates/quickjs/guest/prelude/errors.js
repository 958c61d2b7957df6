// Errors that come from the host, and how a throw is told to it.

// The engine hands this hook the function of every frame, and ours would be among them.
delete Error.prepareStackTrace;

// The number of the host call that failed, by error. A property would be open to forgery.
const failedCalls = new SafeWeakMap();

// Fills an error, which holds the stack of the place that called, from the host's failure.
function hostError(error, json) {
  const { message, code, hint, retryable, call } = parseJson(json);
  defineHidden(error, "message", message);
  error.code = code;
  if (hint !== undefined && hint !== null) {
    error.hint = hint;
  }
  error.retryable = retryable === true;
  failedCalls.set(error, call);
  return error;
}

// Clock and randomness answer with a text when they are denied.
function granted(answer) {
  if (typeof answer === "string") {
    throw hostError(new Error(), answer);
  }
  return answer;
}

const MAX_MESSAGE = 8192;
const MAX_STACK = 16384;
const MAX_CAUSES = 4;

// Reads a property that may be a getter which throws, as text.
function readText(object, key) {
  try {
    const value = object[key];
    return isObject(value) || typeof value === "symbol" ? "" : `${value ?? ""}`;
  } catch {
    return "";
  }
}

function isErrorObject(value) {
  try {
    return isObject(value) && (Error.isError(value) || value instanceof Error);
  } catch {
    return false;
  }
}

// Keeps the lines of a stack that are the author's.
function ownFrames(stack) {
  let frames = "";
  const lines = split(slice(stack, 0, MAX_STACK), "\n");
  for (let index = 0; index < lines.length; index += 1) {
    if (lines[index] !== "" && !includes(lines[index], "<prelude>")) {
      frames += `${lines[index]}\n`;
    }
  }
  return frames;
}

function headline(error) {
  const message = readText(error, "message");
  const name = readText(error, "name") || "Error";
  return message === "" ? name : `${name}: ${slice(message, 0, MAX_MESSAGE)}`;
}

// Returns the stack of an error and of what caused it.
function stackText(error) {
  let text = ownFrames(readText(error, "stack"));
  let current = error;
  for (let count = 0; count < MAX_CAUSES && text.length < MAX_STACK; count += 1) {
    try {
      current = current.cause;
    } catch {
      break;
    }
    if (!isErrorObject(current)) {
      if (typeof current === "string") {
        text += `Caused by: ${slice(current, 0, MAX_MESSAGE)}\n`;
      }
      break;
    }
    text += `Caused by: ${headline(current)}\n${ownFrames(readText(current, "stack"))}`;
  }
  return slice(text, 0, MAX_STACK);
}

// Says whether the engine may have thrown for want of memory: what it throws then depends on what
// it had no memory for. The host asks only where it refused some.
function isOutOfMemory(thrown) {
  try {
    // The second is no value of the language: it stands for none in the engine.
    if (thrown === null || typeof thrown === "unknown") {
      return true;
    }
    const isOfEngine = thrown instanceof InternalError || thrown instanceof SyntaxError;
    const { message } = thrown;
    return isOfEngine && typeof message === "string"
      && (startsWith(message, "out of memory") || message === "Invalid error message");
  } catch {
    return false;
  }
}

// Describes a thrown value as the JSON that `native.done(2, …)` takes.
function describeThrown(thrown) {
  if (!isErrorObject(thrown)) {
    const type = thrown === null ? "null" : typeof thrown;
    const message = type === "string" ? slice(thrown, 0, MAX_MESSAGE) : "";
    const json = `{"name":"","message":${stringifyJson(message)},"stack":"","type":"${type}"`;
    return isOutOfMemory(thrown) ? `${json},"outOfMemory":true}` : `${json}}`;
  }
  const name = stringifyJson(slice(readText(thrown, "name") || "Error", 0, 128));
  const message = stringifyJson(slice(readText(thrown, "message"), 0, MAX_MESSAGE));
  let json = `{"name":${name},"message":${message},"stack":${stringifyJson(stackText(thrown))}`;
  json += `,"type":"error"`;
  const call = failedCalls.get(thrown);
  if (call !== undefined) {
    json += `,"call":${stringifyJson(call)}`;
  }
  return isOutOfMemory(thrown) ? `${json},"outOfMemory":true}` : `${json}}`;
}

// Made at start-up, as there may be no memory for it when it is needed.
const OUT_OF_MEMORY =
  `{"name":"InternalError","message":"out of memory","stack":"","type":"error","outOfMemory":true}`;

let answered = false;

// Ends the call with an answer; only the first that the host takes counts.
function finish(kind, json) {
  if (!answered) {
    native.done(kind, json);
    answered = true;
  }
}

// Throws where the stack is nearly used up.
const needRoom = (frames) => (frames === 0 ? 0 : needRoom(frames - 1) + 1);
const FRAMES_TO_DESCRIBE = 32;

// Ends the call as thrown. What nobody caught in a timer, a listener or a microtask ends here too.
// Where the stack is nearly used up it throws that instead, and is called again further down.
function fail(thrown) {
  needRoom(FRAMES_TO_DESCRIBE);
  let json;
  try {
    json = describeThrown(thrown);
  } catch {
    json = OUT_OF_MEMORY;
  }
  finish(2, json);
}
