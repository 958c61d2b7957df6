// How the shim runs a tool.

// Entry point: calls a tool in the form of an arrow function; returns a promise of its answer.
function call(tool, argumentsText) {
  if (typeof tool !== "function") {
    throw new TypeError("the source of the tool is not a function");
  }
  return resolved(tool(parseJson(argumentsText), context, options));
}

// Runs a function once the top level of a module, where it waits for something, is through.
function once(evaluated, run) {
  return evaluated === undefined ? resolved(run()) : then(evaluated, run);
}

// Entry point: calls `execute` of a tool in the form of a module; returns a promise of its answer.
function callTool(namespace, argumentsText, evaluated) {
  return once(evaluated, () => namespace.execute(parseJson(argumentsText), context, options));
}

function typeName(value) {
  if (value === null) {
    return "null";
  }
  return isArray(value) ? "array" : typeof value;
}

// Entry point: answers with what a tool module exports. The host judges it.
function describe(namespace, _argumentsText, evaluated) {
  return once(evaluated, () => describeExports(namespace));
}

function describeExports(namespace) {
  finishEncoded(() => {
    const { description, parameters, execute } = namespace;
    const { json, notes } = encodeJson(parameters, "parameters", 1);
    const text = typeof description === "string" ? `,"value":${stringifyJson(description)}` : "";
    const schema = json === undefined ? "" : `,"value":${json}`;
    return withNotes(`{"description":{"type":"${typeName(description)}"${text}},`
      + `"parameters":{"type":"${typeName(parameters)}"${schema}},`
      + `"execute":{"type":"${typeName(execute)}"}}`, notes);
  });
}

return { prepare, begin, call, callTool, describe, returned: answer, settle, threw: fail };
