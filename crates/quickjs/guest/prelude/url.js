// `URL`. The host parses and changes; this holds the parts that it answered.

function askUrl(operation, first, second, third) {
  const values = third === undefined ? [first, second] : [first, second, third];
  let json = "[";
  for (let index = 0; index < values.length; index += 1) {
    json += `${index === 0 ? "" : ","}${stringifyJson(values[index])}`;
  }
  const answer = parseJson(native.url(operation, `${json}]`));
  return answer.ok ? answer.url : null;
}

function parseUrl(input, base) {
  return askUrl("parse", scalarText(input), base === undefined ? null : scalarText(base));
}

function invalidUrl() {
  const error = new TypeError("Invalid URL");
  error.code = "ERR_INVALID_URL";
  throw error;
}

class URL {
  #parts;
  // Made when first asked for, and the same from then on.
  #params = null;

  constructor(url, base = undefined) {
    requireArguments(arguments.length, 1, "URL");
    const parts = url === internal ? base : parseUrl(url, base);
    this.#parts = parts ?? invalidUrl();
  }

  static canParse(url, base = undefined) {
    requireArguments(arguments.length, 1, "URL.canParse");
    return parseUrl(url, base) !== null;
  }

  static parse(url, base = undefined) {
    requireArguments(arguments.length, 1, "URL.parse");
    const parts = parseUrl(url, base);
    return parts === null ? null : new URL(internal, parts);
  }

  get href() { return this.#parts.href; }
  get origin() { return this.#parts.origin; }
  get protocol() { return this.#parts.protocol; }
  get username() { return this.#parts.username; }
  get password() { return this.#parts.password; }
  get host() { return this.#parts.host; }
  get hostname() { return this.#parts.hostname; }
  get port() { return this.#parts.port; }
  get pathname() { return this.#parts.pathname; }
  get search() { return this.#parts.search; }
  get hash() { return this.#parts.hash; }

  set href(value) {
    this.#parts = parseUrl(value, undefined) ?? invalidUrl();
    this.#refresh();
  }

  set protocol(value) { this.#set("protocol", value); }
  set username(value) { this.#set("username", value); }
  set password(value) { this.#set("password", value); }
  set host(value) { this.#set("host", value); }
  set hostname(value) { this.#set("hostname", value); }
  set port(value) { this.#set("port", value); }
  set pathname(value) { this.#set("pathname", value); }
  set hash(value) { this.#set("hash", value); }

  set search(value) {
    this.#set("search", value);
    this.#refresh();
  }

  get searchParams() {
    if (this.#params === null) {
      const params = new URLSearchParams(this.#parts.search);
      linkParams(params, () => this.#set("search", searchText(params)));
      this.#params = params;
    }
    return this.#params;
  }

  toString() { return this.#parts.href; }
  toJSON() { return this.#parts.href; }

  #set(component, value) {
    // The host refuses what the standard ignores; the URL then stays as it was.
    this.#parts = askUrl("set", this.#parts.href, component, scalarText(value)) ?? this.#parts;
  }

  #refresh() {
    if (this.#params !== null) {
      replaceParams(this.#params, slice(this.#parts.search, 1));
    }
  }
}
expose(URL);
const urlHref = getterOf(URL.prototype, "href");
