// What waits for the host: calls and timers, by the number that the host gave them.

const pending = new SafeMap();

// Waits for `settle(id, …)`; `take(ok, json)` runs once.
function wait(id, take) {
  pending.set(id, take);
}

// Gives up what is pending; the host never settles it then.
function drop(id) {
  if (pending.delete(id)) {
    native.drop(id);
  }
}

// Entry point: the host settles a call or a timer.
function settle(id, ok, json) {
  const take = pending.get(id);
  if (take !== undefined) {
    pending.delete(id);
    take(ok, json);
  }
}
