async (args, context, options) => {
  const check = (condition, what) => {
    if (!condition) throw new Error(what);
  };
  const thrown = (run) => {
    try {
      run();
    } catch (error) {
      return error;
    }
    throw new Error(`nothing was thrown by ${run}`);
  };
  check(btoa("") === "" && btoa("a") === "YQ==" && btoa("ab") === "YWI=", "padding");
  check(btoa("\xff\x00é") === "/wDp", "bytes");
  check(btoa("abc") === "YWJj", "no padding");
  check(thrown(() => btoa("€")).name === "InvalidCharacterError", "past one byte");
  check(thrown(() => btoa("€")) instanceof DOMException, "as a DOMException");
  check(thrown(() => btoa("€")).code === 5, "with its code");
  check(atob("YQ==") === "a" && atob("YWI=") === "ab" && atob("YWJj") === "abc", "decode");
  check(atob("YQ") === "a" && atob("YWI") === "ab", "padding may be missing");
  check(atob(" Y\tQ\n=\f=\r") === "a", "white space goes");
  check(atob("") === "", "nothing");
  check(atob("/wDp") === "\xff\x00é", "bytes back");
  check(atob("YR==") === "a", "spare bits go");
  for (const text of ["Y", "YQ=", "YQ===", "=", "Y=Q=", "YQ==YQ==", "YQ-_", "é", "YW JjZ"]) {
    check(thrown(() => atob(text)).name === "InvalidCharacterError", `rejected: ${text}`);
  }
  const long = "ab".repeat(5000) + String("c").padEnd(3000, "d");
  check(atob(btoa(long)) === long, "long texts that were joined");
  check(btoa(null) === "bnVsbA==", "converted to text");
  return "ok";
}
