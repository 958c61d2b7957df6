// UTF-8 over the host's fast paths, with the replacement of the encoding standard where the host
// finds the bytes invalid.

// Returns the bytes of a text in a buffer of their own.
const utf8Bytes = (text) => native.utf8Encode(toWellFormed(text));

const isContinuation = (byte) => (byte & 0xc0) === 0x80;

// Answers how many continuation bytes a lead byte needs; -1 for a byte that can lead nothing.
function continuations(lead) {
  if (lead < 0x80) {
    return 0;
  }
  if (lead < 0xc2 || lead > 0xf4) {
    return -1;
  }
  return lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
}

// Answers whether a byte may follow the lead directly: no overlong form, surrogate or too great.
function mayFollow(lead, byte) {
  switch (lead) {
    case 0xe0: return byte >= 0xa0 && byte <= 0xbf;
    case 0xed: return byte >= 0x80 && byte <= 0x9f;
    case 0xf0: return byte >= 0x90 && byte <= 0xbf;
    case 0xf4: return byte >= 0x80 && byte <= 0x8f;
    default: return isContinuation(byte);
  }
}

// Returns how many bytes from `start`, the place of a lead, belong together: a whole character, or
// the longest beginning of one.
function subpart(bytes, start, end) {
  const needed = continuations(bytes[start]);
  let length = 1;
  while (length <= needed && start + length < end) {
    const byte = bytes[start + length];
    if (length === 1 ? !mayFollow(bytes[start], byte) : !isContinuation(byte)) {
      break;
    }
    length += 1;
  }
  return length;
}

// Returns how many bytes at the end are the beginning of a character that may yet be completed.
function incompleteTail(bytes) {
  const end = bytes.length;
  for (let start = end - 1; start >= 0 && start >= end - 3; start -= 1) {
    if (!isContinuation(bytes[start])) {
      const complete = end - start > continuations(bytes[start]);
      return !complete && subpart(bytes, start, end) === end - start ? end - start : 0;
    }
  }
  return 0;
}

// Decodes with one U+FFFD for each maximal subpart that is no character.
function decodeLossy(bytes) {
  let text = "";
  const end = bytes.length;
  for (let at = 0; at < end;) {
    const lead = bytes[at];
    const length = subpart(bytes, at, end);
    if (length !== continuations(lead) + 1) {
      text += "\ufffd";
    } else if (length === 1) {
      text += fromCharCode(lead);
    } else if (length === 2) {
      text += fromCharCode(((lead & 0x1f) << 6) | (bytes[at + 1] & 0x3f));
    } else if (length === 3) {
      text += fromCharCode(
        ((lead & 0x0f) << 12) | ((bytes[at + 1] & 0x3f) << 6) | (bytes[at + 2] & 0x3f));
    } else {
      const point = (((lead & 0x07) << 18) | ((bytes[at + 1] & 0x3f) << 12)
        | ((bytes[at + 2] & 0x3f) << 6) | (bytes[at + 3] & 0x3f)) - 0x10000;
      text += fromCharCode(0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
    }
    at += length;
  }
  return text;
}

// Returns the text of valid bytes, else null.
const decodeValid = (bytes) =>
  native.utf8Decode(typedArrayBuffer(bytes), typedArrayOffset(bytes), typedArrayByteLength(bytes));

const decodeUtf8 = (bytes) => decodeValid(bytes) ?? decodeLossy(bytes);

// Returns the place, at most `limit`, at which valid bytes can be cut between characters.
function characterBoundary(bytes, limit) {
  let at = limit;
  while (at > 0 && at < bytes.length && isContinuation(bytes[at])) {
    at -= 1;
  }
  return at;
}

// Returns the bytes of a buffer or view, without a copy.
function bytesOf(source, what) {
  if (isView(source)) {
    return typedArrayTag(source) === undefined
      ? new Uint8Array(dataViewBuffer(source), dataViewOffset(source), dataViewByteLength(source))
      : new Uint8Array(typedArrayBuffer(source), typedArrayOffset(source),
        typedArrayByteLength(source));
  }
  if (isBuffer(source) || source instanceof SharedArrayBuffer) {
    return new Uint8Array(source);
  }
  throw new TypeError(`${what} needs an ArrayBuffer or a view of one`);
}
