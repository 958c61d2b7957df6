// Randomness, all of it from the host.

defineProperty(Math, "random", {
  value: { random() { return granted(native.random()); } }.random,
});

const INTEGER_ARRAYS = new SafeSet();
for (const name of ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array",
  "Int32Array", "Uint32Array", "BigInt64Array", "BigUint64Array"]) {
  INTEGER_ARRAYS.add(name);
}
const MAX_RANDOM_BYTES = 65536;

const HEX = [];
for (let byte = 0; byte < 256; byte += 1) {
  HEX[byte] = (byte < 16 ? "0" : "") + byte.toString(16);
}

class Crypto {
  constructor(key = undefined) {
    if (key !== internal) {
      throw new TypeError("Illegal constructor");
    }
  }

  getRandomValues(array) {
    if (!isView(array) || !INTEGER_ARRAYS.has(typedArrayTag(array))) {
      throw new DOMException("getRandomValues needs an integer typed array", "TypeMismatchError");
    }
    const length = typedArrayByteLength(array);
    if (length > MAX_RANDOM_BYTES) {
      const text = `getRandomValues gives at most ${MAX_RANDOM_BYTES} bytes, not ${length}`;
      throw new DOMException(text, "QuotaExceededError");
    }
    const bytes = new Uint8Array(typedArrayBuffer(array), typedArrayOffset(array), length);
    granted(native.randomBytes(bytes));
    return array;
  }

  randomUUID() {
    const bytes = new Uint8Array(16);
    granted(native.randomBytes(bytes));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let text = "";
    for (let index = 0; index < 16; index += 1) {
      text += (index === 4 || index === 6 || index === 8 || index === 10 ? "-" : "");
      text += HEX[bytes[index]];
    }
    return text;
  }
}
expose(Crypto);
publish("crypto", new Crypto(internal));
