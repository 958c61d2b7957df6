// How the shim runs a tool.

// Answers with what a tool returns or resolves to; a throw at once is as one later.
function run(start) {
  let result;
  try {
    result = start();
  } catch (thrown) {
    fail(thrown);
    return;
  }
  then(resolved(result), answer, fail);
}

// Entry point: calls a tool in the form of an arrow function.
function call(tool, argumentsText) {
  run(() => {
    if (typeof tool !== "function") {
      throw new TypeError("the source of the tool is not a function");
    }
    return tool(parseJson(argumentsText), context, options);
  });
}

// Entry point: calls `execute` of a tool in the form of a module, once its top level is through.
function callTool(namespace, argumentsText, evaluated) {
  run(() => then(evaluated, () =>
    namespace.execute(parseJson(argumentsText), context, options)));
}

function typeName(value) {
  if (value === null) {
    return "null";
  }
  return isArray(value) ? "array" : typeof value;
}

// Entry point: answers with what a tool module exports. The host judges it.
function describe(namespace, _argumentsText, evaluated) {
  then(evaluated, () => describeExports(namespace), fail);
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

return { prepare, begin, call, callTool, describe, settle, threw: fail };
