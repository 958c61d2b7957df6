// The forms that read a clock. All else of `Date` is the engine's.

const now = () => floor(granted(native.now()));

const dateText = uncurryThis(EngineDate.prototype.toString);
const GuestDate = {
  Date: function (year, month, date, hours, minutes, seconds, ms) {
    if (new.target === undefined) {
      return dateText(new EngineDate(now()));
    }
    return construct(EngineDate, arguments.length === 0 ? [now()] : arguments, new.target);
  },
}.Date;

for (const key of ["parse", "UTC"]) {
  defineProperty(GuestDate, key, getOwnPropertyDescriptor(EngineDate, key));
}
defineHidden(GuestDate, "now", { now() { return now(); } }.now);
defineProperty(GuestDate, "prototype", {
  value: EngineDate.prototype, writable: false, enumerable: false, configurable: false,
});
defineProperty(EngineDate.prototype, "constructor", { value: GuestDate });
publish("Date", GuestDate);

class Performance extends EventTarget {
  constructor(key = undefined) {
    if (key !== internal) {
      throw new TypeError("Illegal constructor");
    }
    super();
  }

  get timeOrigin() { return granted(native.now()) - granted(native.monotonic()); }
  now() { return granted(native.monotonic()); }
  toJSON() { return { timeOrigin: this.timeOrigin }; }
}
expose(Performance);
publish("performance", new Performance(internal));
