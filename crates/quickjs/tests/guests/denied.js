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
  const denied = (run, capability) => {
    const error = thrown(run);
    check(error.code === "E_SKILL_ISOLATED_CAPABILITY_DENIED", `${run}: ${error.code}`);
    check(error.message.includes(capability), `${run}: ${error.message}`);
  };
  denied(() => Date.now(), "clock");
  denied(() => new Date(), "clock");
  denied(() => Date(), "clock");
  denied(() => performance.now(), "clock");
  denied(() => performance.timeOrigin, "clock");
  denied(() => new (class extends Date {})(), "clock");
  denied(() => Math.random(), "random");
  denied(() => crypto.randomUUID(), "random");
  denied(() => crypto.getRandomValues(new Uint8Array(4)), "random");
  check(new Date(0).toISOString() === "1970-01-01T00:00:00.000Z", "a given time");
  check(new Date(2020, 1, 29, 1, 2, 3, 4).getMonth() === 1, "given parts");
  check(new Date("2020-02-29").getTime() === Date.UTC(2020, 1, 29), "a given text");
  check(new Date(undefined).getTime() !== new Date(undefined).getTime(), "an invalid date");
  check(Date.parse("1970-01-01T00:00:01Z") === 1000, "parse");
  check(typeof Date.prototype.toISOString === "function", "methods");
  const copy = new Date(new Date(77));
  check(copy.getTime() === 77 && copy instanceof Date, "a copy");
  check(Date.name === "Date" && Date.length === 7, "its name and length");
  check(new Date(0).constructor === Date && Date.prototype.constructor === Date, "one constructor");
  check(Object.getPrototypeOf(new Date(0)) === Date.prototype, "one prototype");
  const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(Date, "prototype");
  check(!writable && !enumerable && !configurable, "its prototype is fixed");
  class Day extends Date { day() { return this.getUTCDate(); } }
  const day = new Day(0);
  check(day instanceof Day && day instanceof Date && day.day() === 1, "subclasses");
  check(thrown(() => crypto.getRandomValues(new Float64Array(1))).name === "TypeMismatchError",
    "wrong arrays come before the grant");
  return "ok";
}
