// `context`: who calls, and one function for each member that the host knows. Whether a member is
// granted is the host's to say, when it is called.

// The signal of this call's `options`.
const callController = new AbortController();
const callSignal = getterOf(AbortController.prototype, "signal")(callController);

// Returns the JSON of one argument and leaves the signal that it may hold to `signals`.
function argumentJson(value, signals) {
  if (typeof value === "object" && value !== null && isSignal(value.signal)) {
    signals[signals.length] = value.signal;
    const rest = assign({}, value);
    delete rest.signal;
    return stringifyJson(rest) ?? "null";
  }
  return stringifyJson(value) ?? "null";
}

// Returns the arguments as a JSON list; those at the end that are undefined do not count.
function argumentsJson(values, signals) {
  let count = values.length;
  while (count > 0 && values[count - 1] === undefined) {
    count -= 1;
  }
  let json = "[";
  for (let index = 0; index < count; index += 1) {
    json += `${index === 0 ? "" : ","}${argumentJson(values[index], signals)}`;
  }
  return `${json}]`;
}

function callHost(member, values) {
  // Made here for its stack: where the author called is what an error must show.
  const error = new Error();
  return new Promise((resolve, reject) => {
    const signals = [callSignal];
    const json = argumentsJson(values, signals);
    for (let index = 0; index < signals.length; index += 1) {
      if (isAborted(signals[index])) {
        reject(abortReason(signals[index]));
        return;
      }
    }
    const id = native.start(member, json);
    const stops = [];
    const forget = () => {
      for (let index = 0; index < signals.length; index += 1) {
        offAbort(signals[index], stops[index]);
      }
    };
    for (let index = 0; index < signals.length; index += 1) {
      stops[index] = () => {
        forget();
        drop(id);
        reject(abortReason(signals[index]));
      };
      onAbort(signals[index], stops[index]);
    }
    wait(id, (ok, answerJson) => {
      forget();
      if (ok) {
        resolve(parseJson(answerJson));
      } else {
        reject(hostError(error, answerJson));
      }
    });
  });
}

function memberFunction(member, name) {
  // A method, so that it has its name and is no constructor.
  return { [name](...values) { return callHost(member, values); } }[name];
}

// Makes the members that are always there and those of the registry.
function makeNamespaces(members) {
  const made = create(null);
  made.chat = { titleMaxLength: TITLE_MAX_LENGTH, normalizeTitle };
  made.util = { truncateHead, withAbort };
  for (let index = 0; index < members.length; index += 1) {
    const member = members[index];
    const dot = indexOf(member, ".");
    if (dot < 0) {
      made[member] = memberFunction(member, member);
    } else {
      const space = slice(member, 0, dot);
      const name = slice(member, dot + 1);
      made[space] ??= {};
      made[space][name] = memberFunction(member, name);
    }
  }
  for (const name in made) {
    freeze(made[name]);
  }
  return made;
}

// What a tool is called with. The shim completes `context` and makes it frozen.
let context;
const options = { signal: callSignal, onUpdate };

// Entry point: makes what is the same for every call of every tool, before the snapshot; returns
// `context`, in which only who calls is missing.
function prepare(settingJson) {
  const namespaces = makeNamespaces(parseJson(settingJson).members);
  context = { cwd: "", projectId: "", threadId: "", conversationId: "" };
  for (const name in namespaces) {
    defineProperty(context, name, { value: namespaces[name], enumerable: true });
  }
  return context;
}

// Entry point: says how large the JSON of this call may be, before user code runs.
function begin(depth, nodes) {
  maxDepth = depth;
  maxNodes = nodes;
}

// Hands a partial result to the host. One that is no JSON, or too much, is left out: it must not
// end a call that would succeed.
function onUpdate(partial) {
  try {
    native.update(encodeJson(partial).json ?? "null");
  } catch {
    // The result, not this, is what the author must get right.
  }
}
