// `TextEncoder` and `TextDecoder` of the encoding standard.

class TextEncoder {
  #encoding = "utf-8";

  get encoding() { return this.#encoding; }

  encode(text = "") {
    return new Uint8Array(utf8Bytes(`${text}`));
  }

  encodeInto(source, destination) {
    requireArguments(arguments.length, 2, "encodeInto");
    if (typedArrayTag(destination) !== "Uint8Array") {
      throw new TypeError("encodeInto needs a Uint8Array");
    }
    const room = typedArrayLength(destination);
    // No more code units than bytes can fit. A pair cut in two would need three bytes for its first
    // half where one at most is left.
    const text = slice(`${source}`, 0, room);
    const bytes = new Uint8Array(utf8Bytes(text));
    if (bytes.length <= room) {
      typedArraySet(destination, bytes);
      return { read: text.length, written: bytes.length };
    }
    const written = characterBoundary(bytes, room);
    const part = new Uint8Array(typedArrayBuffer(bytes), 0, written);
    typedArraySet(destination, part);
    return { read: decodeValid(part).length, written };
  }
}
expose(TextEncoder);

const LABELS = new SafeMap();
for (const [name, labels] of [
  ["utf-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"],
  ["utf-16le", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"],
  ["utf-16be", "unicodefffe utf-16be"],
  ["windows-1252", "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100"
    + " iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"],
]) {
  for (const label of labels.split(" ")) {
    LABELS.set(label, name);
  }
}

// The characters of windows-1252, by byte.
const WINDOWS_1252 = [];
const HIGH_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";
for (let byte = 0; byte < 256; byte += 1) {
  WINDOWS_1252[byte] = byte >= 0x80 && byte < 0xa0
    ? HIGH_1252[byte - 0x80] : String.fromCharCode(byte);
}

function decode1252(bytes) {
  let text = "";
  for (let index = 0; index < bytes.length; index += 1) {
    text += WINDOWS_1252[bytes[index]];
  }
  return text;
}

// Decodes an even number of bytes; lone surrogates stay, for the caller to judge.
function decodeUtf16(bytes, bigEndian) {
  const high = bigEndian ? 0 : 1;
  const low = 1 - high;
  let text = "";
  for (let index = 0; index + 1 < bytes.length; index += 2) {
    text += fromCharCode((bytes[index + high] << 8) | bytes[index + low]);
  }
  return text;
}

const isHighSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdbff;

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  // Bytes of an unfinished character, and whether a stream's beginning is behind us.
  #held = new Uint8Array(0);
  #begun = false;

  constructor(label = "utf-8", options = undefined) {
    const encoding = LABELS.get(toLowerCase(asciiTrim(`${label}`)));
    if (encoding === undefined) {
      throw new RangeError(`the encoding "${label}" is not supported`);
    }
    const { fatal, ignoreBOM } = dictionary(options, "TextDecoder");
    this.#encoding = encoding;
    this.#fatal = !!fatal;
    this.#ignoreBOM = !!ignoreBOM;
  }

  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }

  decode(input = undefined, options = undefined) {
    const stream = !!dictionary(options, "decode").stream;
    const bytes = this.#take(input === undefined ? new Uint8Array(0) : bytesOf(input, "decode"));
    let text;
    try {
      text = this.#decode(bytes, stream);
    } catch (thrown) {
      this.#reset();
      throw thrown;
    }
    const first = !this.#begun;
    if (text !== "") {
      this.#begun = true;
    }
    if (!stream) {
      this.#reset();
    }
    return first && !this.#ignoreBOM && text[0] === "\ufeff" ? slice(text, 1) : text;
  }

  #reset() {
    this.#held = new Uint8Array(0);
    this.#begun = false;
  }

  // Joins what was held with new bytes.
  #take(bytes) {
    if (this.#held.length === 0) {
      return bytes;
    }
    const joined = new Uint8Array(this.#held.length + bytes.length);
    typedArraySet(joined, this.#held);
    typedArraySet(joined, bytes, this.#held.length);
    this.#held = new Uint8Array(0);
    return joined;
  }

  // Keeps the last bytes for the next call and returns those before them.
  #hold(bytes, count) {
    const end = bytes.length - count;
    const start = typedArrayOffset(bytes);
    const buffer = typedArrayBuffer(bytes);
    const held = new Uint8Array(count);
    typedArraySet(held, new Uint8Array(buffer, start + end, count));
    this.#held = held;
    return new Uint8Array(buffer, start, end);
  }

  #decode(bytes, stream) {
    if (this.#encoding === "windows-1252") {
      return decode1252(bytes);
    }
    if (this.#encoding !== "utf-8") {
      return this.#utf16(bytes, stream);
    }
    const whole = stream ? this.#hold(bytes, incompleteTail(bytes)) : bytes;
    const text = decodeValid(whole);
    if (text === null && this.#fatal) {
      throw new TypeError("the bytes are not valid utf-8");
    }
    return text ?? decodeLossy(whole);
  }

  #utf16(bytes, stream) {
    const bigEndian = this.#encoding === "utf-16be";
    let odd = bytes.length % 2;
    if (stream && bytes.length - odd >= 2) {
      const last = bytes.length - odd - (bigEndian ? 2 : 1);
      odd += isHighSurrogate(bytes[last] << 8) ? 2 : 0;
    }
    const whole = stream ? this.#hold(bytes, odd) : bytes;
    const units = decodeUtf16(whole, bigEndian);
    const text = toWellFormed(units);
    const cut = whole.length % 2 === 1;
    if (this.#fatal && (cut || text !== units)) {
      throw new TypeError(`the bytes are not valid ${this.#encoding}`);
    }
    // A lone first half and a cut unit after it are one error.
    const joins = text !== "" && isHighSurrogate(charCodeAt(units, units.length - 1));
    return cut && !joins ? `${text}\ufffd` : text;
  }
}
expose(TextDecoder);

const ASCII_SPACE = "\t\n\f\r ";

function asciiTrim(text) {
  let start = 0;
  let end = text.length;
  while (start < end && includes(ASCII_SPACE, text[start])) {
    start += 1;
  }
  while (end > start && includes(ASCII_SPACE, text[end - 1])) {
    end -= 1;
  }
  return slice(text, start, end);
}
