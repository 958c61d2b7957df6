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
  const url = new URL("HTTP://user:pa%20ss@EXAMPLE.com:8080/a/../b c?x=1&y=2#frag");
  check(url.href === "http://user:pa%20ss@example.com:8080/b%20c?x=1&y=2#frag", url.href);
  same([url.protocol, url.username, url.password, url.host, url.hostname, url.port, url.pathname,
    url.search, url.hash, url.origin], ["http:", "user", "pa%20ss", "example.com:8080",
    "example.com", "8080", "/b%20c", "?x=1&y=2", "#frag", "http://example.com:8080"], "parts");
  check(new URL("../c?d", "https://h/a/b/").href === "https://h/a/c?d", "a base");
  check(new URL("//x", new URL("https://h")).href === "https://x/", "a URL as base");
  check(new URL("https://h:443/").port === "", "a default port");
  check(new URL("https://ex\u00e4mple.com").hostname === "xn--exmple-cua.com", "punycode");
  check(new URL("mailto:a@b").origin === "null", "an opaque origin");
  check(new URL("http://0x7f.1/").hostname === "127.0.0.1", "an address");
  check(new URL("http://[::1]:3/").host === "[::1]:3", "an IPv6 address");
  const failure = thrown(() => new URL("nope"));
  check(failure instanceof TypeError && failure.code === "ERR_INVALID_URL", "no base");
  check(thrown(() => new URL("/a", "nope")) instanceof TypeError, "a bad base");
  check(thrown(() => new URL()) instanceof TypeError, "no argument");
  check(thrown(() => URL("http://a")) instanceof TypeError, "without new");
  check(URL.canParse("/a", "http://h") && !URL.canParse("/a"), "canParse");
  check(URL.parse("x:") instanceof URL && URL.parse("/a") === null, "parse");
  check(JSON.stringify({ url }) === JSON.stringify({ url: url.href }), "toJSON");
  check(`${url}` === url.href, "toString");

  const set = new URL("https://h/p");
  set.protocol = "http";
  set.host = "other:81";
  set.pathname = "a b";
  set.search = "q=1";
  set.hash = "z";
  set.username = "me";
  set.password = "p:w";
  check(set.href === "http://me:p%3Aw@other:81/a%20b?q=1#z", set.href);
  set.port = "";
  set.hostname = "h2";
  set.hash = "";
  check(set.href === "http://me:p%3Aw@h2/a%20b?q=1", set.href);
  set.port = "99999";
  check(set.port === "", "a bad port is ignored");
  set.protocol = "mailto";
  check(set.protocol === "http:", "no change from special to not special");
  check(thrown(() => { set.href = "bad"; }) instanceof TypeError && set.hostname === "h2", "href");
  set.href = "https://fresh/?n=1";
  check(set.href === "https://fresh/?n=1", "a new href");

  const params = set.searchParams;
  check(params === set.searchParams, "the same object");
  params.append("n", "a b&c");
  check(set.href === "https://fresh/?n=1&n=a+b%26c", set.href);
  set.search = "?k=v";
  check(params.get("k") === "v" && params.size === 1, "linked the other way");
  params.delete("k");
  check(set.href === "https://fresh/", "the question mark goes");
  set.href = "https://again/?z=9";
  check(params.get("z") === "9", "and after href");
  check(Object.prototype.toString.call(url) === "[object URL]", "its tag");
  check(Object.keys(URL.prototype).includes("href"), "attributes are enumerable");
  return "ok";
}
