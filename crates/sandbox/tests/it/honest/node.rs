//! What Node.js scripts do.

use super::probe::{Probe, all, probe};

#[test]
fn node_scripts_use_files_and_processes() {
    all("/usr/bin/node", "js", SYSTEM);
}

#[test]
fn node_scripts_use_its_library() {
    all("/usr/bin/node", "js", LIBRARY);
}

const SYSTEM: &[Probe] = &[
    probe(
        "files, synchronous and not",
        "const fs = require('fs'), path = require('path'), os = require('os');
const d = fs.mkdtempSync(path.join(os.tmpdir(), 'x-'));
fs.writeFileSync(d + '/a', 'x'); fs.appendFileSync(d + '/a', 'y'); fs.renameSync(d + '/a', d + '/b'); fs.copyFileSync(d + '/b', 'out/c');
fs.cpSync(d, 'out/tree', { recursive: true }); fs.symlinkSync('c', 'out/l'); fs.utimesSync('out/c', 5, 5); fs.chmodSync('out/c', 0o600);
(async () => {
  const p = fs.promises; await p.mkdir('out/p/q', { recursive: true }); await p.writeFile('out/p/q/f', 'z'.repeat(3));
  console.log(await p.readFile('out/p/q/f', 'utf8'), (await p.stat('out/c')).mtimeMs, fs.readdirSync('out').join());
  await p.rm('out/p', { recursive: true }); console.log(fs.existsSync('out/p'), fs.realpathSync('out/l'), fs.readFileSync('out/tree/b', 'utf8'));
  const w = fs.createWriteStream('out/s'); w.end('streamed'); await require('events').once(w, 'close');
  let all = ''; for await (const c of fs.createReadStream('out/s')) all += c; console.log(all);
  try { fs.watch('out', () => {}).close(); } catch (e) { }
})();",
        "zzz 5000 c,l,p,tree\nfalse /run/rw/out/c xy\nstreamed\n",
    ),
    probe(
        "child processes",
        "const cp = require('child_process'), { promisify } = require('util');
console.log(cp.execSync('echo hi').toString().trim(), cp.spawnSync('sh', ['-c', 'exit 3']).status);
(async () => {
  console.log((await promisify(cp.execFile)('echo', ['later'])).stdout.trim());
  const c = cp.spawn('cat'); let got = ''; c.stdout.on('data', d => got += d); c.stdin.end('through'); await require('events').once(c, 'close'); console.log(got);
  const k = cp.spawn('sleep', ['30']); k.kill(); const [, signal] = await require('events').once(k, 'exit'); console.log(signal);
  const f = cp.fork('/skill/probe1.js', ['child'], { execArgv: ['-e', 'process.send({ n: 42 }); process.disconnect()'] }); f.on('message', m => console.log(m.n));
})();",
        "hi 3\nlater\nthrough\nSIGTERM\n42\n",
    ),
    probe(
        "worker threads",
        "const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) { const s = new SharedArrayBuffer(4); const w = [1, 2].map(n => new Promise(r => new Worker(__filename, { workerData: { n, s } }).on('message', r)));
  Promise.all(w).then(r => console.log(r.join(), new Int32Array(s)[0])); }
else { Atomics.add(new Int32Array(workerData.s), 0, workerData.n); parentPort.postMessage(workerData.n * 2); }",
        "2,4 3\n",
    ),
    probe(
        "the machine and itself",
        "const os = require('os'), u = os.userInfo();
console.log(u.username, u.homedir, os.tmpdir(), os.platform(), os.hostname(), process.memoryUsage().rss > 0, os.totalmem() > 0);
console.log(process.cwd(), process.argv.length, process.hrtime.bigint() > 0n, process.cpuUsage().user >= 0, process.uptime() > 0, process.resourceUsage().maxRSS > 0);
os.networkInterfaces === undefined || (() => { try { os.networkInterfaces(); } catch { } })(); os.loadavg(); os.cpus(); process.title; process.umask();",
        "skill /run/rw/home /run/rw/tmp linux skill true true\n/skill 2 true true true true\n",
    ),
    probe(
        "a module beside it",
        "console.log(require('./beside').answer, require.resolve('./beside')); import('./beside.js').then(m => console.log(m.default.answer));",
        "42 /skill/beside.js\n42\n",
    ),
    probe(
        "signals and exit codes",
        "process.on('SIGUSR2', () => { console.log('sent'); clearInterval(t); }); const t = setInterval(() => {}, 1000); process.kill(process.pid, 'SIGUSR2');
process.on('exit', c => console.log('exit', c));",
        "sent\nexit 0\n",
    ),
];

const LIBRARY: &[Probe] = &[
    probe(
        "cryptography",
        "const c = require('crypto'); console.log(c.createHash('sha256').update('abc').digest('hex').slice(0, 8), c.randomBytes(8).length, c.randomUUID().length);
const k = c.scryptSync('p', 's', 32), iv = Buffer.alloc(16), e = c.createCipheriv('aes-256-cbc', k, iv); const x = e.update('t', 'utf8', 'hex') + e.final('hex');
const d = c.createDecipheriv('aes-256-cbc', k, iv); console.log(d.update(x, 'hex', 'utf8') + d.final('utf8'));
c.generateKeyPair('ec', { namedCurve: 'P-256' }, (e, p, q) => { console.log(e, q.type); crypto.subtle.digest('SHA-1', Buffer.from('')).then(b => console.log(b.byteLength)); });",
        "ba7816bf 8 36\nt\nnull private\n20\n",
    ),
    probe(
        "compression and pipelines",
        "const z = require('zlib'), fs = require('fs'); console.log(z.gunzipSync(z.gzipSync('packed')).toString(), z.brotliDecompressSync(z.brotliCompressSync('br')).toString());
require('stream/promises').pipeline(fs.createReadStream('/skill/beside.js'), z.createGzip(), fs.createWriteStream('out/g')).then(() => console.log(z.gunzipSync(fs.readFileSync('out/g')).length));",
        "packed br\n21\n",
    ),
    probe(
        "timers and tasks",
        "const t = require('timers/promises'); (async () => { process.nextTick(() => console.log(1)); queueMicrotask(() => console.log(2)); await t.setImmediate(); console.log(3); await t.setTimeout(5); console.log(4);
const a = new AbortController(); setTimeout(() => a.abort(), 1); await t.setTimeout(10000, 0, { signal: a.signal }).catch(e => console.log(e.name)); console.log(performance.now() > 0); })();",
        "1\n2\n3\n4\nAbortError\ntrue\n",
    ),
    probe(
        "addresses, texts and standard input",
        "console.log(new URL('http://a/b?c=d').searchParams.get('c'), new Intl.NumberFormat('en').format(1234.5), new TextDecoder().decode(new Uint8Array([104, 105])), structuredClone({ a: [1] }).a[0]);
require('readline').createInterface({ input: process.stdin }).on('close', () => console.log('closed')); console.log(require('util').inspect(new Map([[1, 2]])), require('path').relative('/a/b', '/a/c'));
console.log(require('tls').rootCertificates.length > 10, new Date(0).toISOString(), WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])));",
        "d 1,234.5 hi 1\nMap(1) { 1 => 2 } ../c\ntrue 1970-01-01T00:00:00.000Z true\nclosed\n",
    ),
];
