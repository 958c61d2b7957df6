//! Node as it is measured from inside, where it is installed.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::script::command;
use crate::measure::{BoxError, Sample};

/// Runs a program whose `once` calls the function and returns what that took, in microseconds.
///
/// # Errors
///
/// Why it cannot be measured here.
pub(super) fn measure(
    name: &str,
    program: &str,
    function: &str,
    arguments: &Value,
    rounds: usize,
) -> Result<Sample, BoxError> {
    let output = command("node")
        .args(["-e", &format!("{program}{ROUNDS}"), "--", function])
        .args([arguments.to_string(), rounds.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`node` cannot be run: {error}"))?;
    if output.status.code() == Some(NOT_INSTALLED) {
        return Err("its package is not installed".into());
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("`node` ended with {}: {said}", output.status).into());
    }
    let micros: Vec<f64> = serde_json::from_slice(&output.stdout)?;
    let durations = micros
        .into_iter()
        .map(|micros| Duration::from_secs_f64(micros / 1e6));
    Ok(Sample::of(name, durations.collect()))
}

/// A new worker for each call: what Node itself offers of isolation within a process.
pub(super) const WORKER: &str = r#"
const { Worker } = require("node:worker_threads");
const [source, text, rounds] = process.argv.slice(1);
const code = `const { parentPort, workerData } = require("node:worker_threads");
(${source})(workerData).then((value) => parentPort.postMessage(value));`;
const once = () => new Promise((resolve, reject) => {
  const start = process.hrtime.bigint();
  const worker = new Worker(code, { eval: true, workerData: JSON.parse(text) });
  worker.once("error", reject);
  worker.once("message", () => {
    worker.once("exit", () => resolve(Number(process.hrtime.bigint() - start) / 1000));
  });
});
"#;

/// A new isolate for each call, by the package `isolated-vm`.
pub(super) const ISOLATED_VM: &str = r#"
let vm;
try { vm = require("isolated-vm"); } catch { process.exit(69); }
const [source, text, rounds] = process.argv.slice(1);
const once = async () => {
  const start = process.hrtime.bigint();
  const isolate = new vm.Isolate({ memoryLimit: 64 });
  const context = isolate.createContextSync();
  const call = context.evalSync(
    `(text) => (${source})(JSON.parse(text)).then(JSON.stringify)`, { reference: true });
  await call.apply(undefined, [text], { result: { promise: true } });
  isolate.dispose();
  return Number(process.hrtime.bigint() - start) / 1000;
};
"#;

/// Calls `once` again and again, after three calls that are not counted, and prints the times.
const ROUNDS: &str = r"
(async () => {
  const taken = [];
  for (let round = -3; round < Number(rounds); round += 1) {
    const micros = await once();
    if (round >= 0) taken.push(micros);
  }
  console.log(JSON.stringify(taken));
})();
";

/// What a program ends with that misses a package.
const NOT_INSTALLED: i32 = 69;
