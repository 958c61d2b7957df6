export const description =
  "Echo a short message back to the conversation. Use for smoke-testing Tool skills.";

export const parameters = {
  type: "object",
  properties: {
    message: { type: "string", description: "Text to echo" },
  },
  required: ["message"],
};

export async function execute(args, context) {
  const text = String(args.message ?? "");
  return {
    content: [{ type: "text", text: `echo (${context.cwd}): ${text}` }],
    details: undefined,
  };
}
