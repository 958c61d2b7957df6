// `context.util` and `context.chat`: pure, and there for every tool.

const TITLE_MAX_LENGTH = 80;

const QUOTE_PAIRS = new SafeMap();
for (const pair of ["\"\"", "''", "``", "“”", "‘’", "«»", "„“"]) {
  QUOTE_PAIRS.set(pair[0], pair[1]);
}

// Matches white space, controls, and the marks that change the direction of text.
const isBlank = (unit) => unit <= 0x20 || (unit >= 0x7f && unit <= 0xa0) || unit === 0x1680
  || (unit >= 0x2000 && unit <= 0x200f) || (unit >= 0x2028 && unit <= 0x202f)
  || (unit >= 0x205f && unit <= 0x206f) || unit === 0x3000 || unit === 0xfeff;

// Joins the words of a text with single spaces; stops when `limit` units are there.
function oneLine(text, limit) {
  let line = "";
  let gap = false;
  for (let index = 0; index < text.length && line.length < limit; index += 1) {
    if (isBlank(charCodeAt(text, index))) {
      gap = line !== "";
    } else {
      line += gap ? ` ${text[index]}` : text[index];
      gap = false;
    }
  }
  return line;
}

// Cuts after a number of characters, not code units.
function firstCharacters(text, count) {
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken += 1) {
    const pair = isHighSurrogate(charCodeAt(text, end))
      && (charCodeAt(text, end + 1) & 0xfc00) === 0xdc00;
    end += pair ? 2 : 1;
  }
  return slice(text, 0, end);
}

// Enough for the longest title in pairs and some quotes around it.
const TITLE_SCAN = 4 * TITLE_MAX_LENGTH;

function normalizeTitle(title) {
  let line = oneLine(toWellFormed(`${title ?? ""}`), TITLE_SCAN);
  while (line.length > 1 && QUOTE_PAIRS.get(line[0]) === line[line.length - 1]) {
    line = trim(slice(line, 1, -1));
  }
  return trim(firstCharacters(line, TITLE_MAX_LENGTH));
}

function bound(value, name) {
  if (value === undefined || value === null) {
    return Infinity;
  }
  if (typeof value !== "number" || !(value >= 0)) {
    throw new RangeError(`truncateHead: ${name} must be a number that is not negative`);
  }
  return floor(value);
}

// A line ends with its line feed; what follows the last one is a line too, unless it is empty.
function countLines(text) {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) {
    const end = indexOf(text, "\n", at);
    at = end < 0 ? text.length : end + 1;
  }
  return count;
}

function firstLines(text, count) {
  let at = 0;
  for (let line = 0; line < count && at < text.length; line += 1) {
    const end = indexOf(text, "\n", at);
    if (end < 0) {
      return text;
    }
    at = end + 1;
  }
  // The last kept line loses its line feed where something was cut after it.
  return at < text.length ? slice(text, 0, max(at - 1, 0)) : text;
}

// Keeps the beginning of a text. `bytes` and `maxBytes` count UTF-8.
function truncateHead(text, options = undefined) {
  if (typeof text !== "string") {
    throw new TypeError("truncateHead needs a text");
  }
  const { maxLines, maxBytes } = dictionary(options, "truncateHead");
  const lineLimit = bound(maxLines, "maxLines");
  const byteLimit = bound(maxBytes, "maxBytes");
  const totalBytes = bufferByteLength(utf8Bytes(text));
  const totalLines = countLines(text);
  let kept = totalLines > lineLimit ? firstLines(text, lineLimit) : text;
  let cutBy = kept === text ? null : "lines";
  let bytes = new Uint8Array(utf8Bytes(kept));
  if (bytes.length > byteLimit) {
    const end = characterBoundary(bytes, byteLimit);
    bytes = new Uint8Array(typedArrayBuffer(bytes), 0, end);
    kept = decodeValid(bytes);
    cutBy = "bytes";
  }
  return {
    text: kept, truncated: cutBy !== null, truncatedBy: cutBy,
    lines: countLines(kept), totalLines, bytes: bytes.length, totalBytes,
  };
}

// Runs a function until it ends or the signal fires, whichever is first.
function withAbort(signal, work) {
  return new Promise((resolve, reject) => {
    if (signal !== undefined && signal !== null && !isSignal(signal)) {
      throw new TypeError("withAbort needs an AbortSignal");
    }
    if (typeof work !== "function") {
      throw new TypeError("withAbort needs a function");
    }
    if (!isSignal(signal)) {
      resolve(work(() => false));
      return;
    }
    if (isAborted(signal)) {
      reject(abortReason(signal));
      return;
    }
    const stop = () => reject(abortReason(signal));
    onAbort(signal, stop);
    const forget = () => { offAbort(signal, stop); };
    const result = new Promise((settle) => { settle(work(() => isAborted(signal))); });
    // `resolve(result)` would tie the promise to the work and leave the signal without effect.
    then(result, (value) => {
      forget();
      resolve(value);
    }, (thrown) => {
      forget();
      reject(thrown);
    });
  });
}
