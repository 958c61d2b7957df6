//! What Python scripts do.

use super::probe::{Probe, all, probe};

#[test]
fn python_scripts_use_files_and_processes() {
    all("/usr/bin/python3", "py", SYSTEM);
}

#[test]
fn python_scripts_use_several_processes() {
    all("/usr/bin/python3", "py", PARALLEL);
}

#[test]
fn python_scripts_use_its_library() {
    all("/usr/bin/python3", "py", LIBRARY);
}

const SYSTEM: &[Probe] = &[
    probe(
        "subprocesses",
        "import subprocess as s, sys
print(s.check_output(['echo', 'hi']), s.run('exit 3', shell=True).returncode, s.run(['cat'], input=b'in', capture_output=True).stdout)
p = s.Popen(['sleep', '30']); p.terminate(); print(p.wait())
try: s.run(['sleep', '30'], timeout=0.05)
except s.TimeoutExpired: print('expired')
print(s.run([sys.executable, '-c', 'print(6*7)'], text=True, stdout=s.PIPE, start_new_session=True, close_fds=True).stdout.strip(), s.getoutput('echo a | tr a b'))
a = s.Popen(['echo', 'x'], stdout=s.PIPE); b = s.Popen(['tr', 'x', 'y'], stdin=a.stdout, stdout=s.PIPE); print(b.communicate()[0])",
        "b'hi\\n' 3 b'in'\n-15\nexpired\n42 b\nb'y\\n'\n",
    ),
    probe(
        "files and folders",
        "import os, shutil, pathlib, tempfile, glob, stat, fcntl, mmap
p = pathlib.Path('out'); (p / 'a/b').mkdir(parents=True); (p / 'a/b/f').write_text('x'); os.replace('out/a/b/f', 'out/g'); os.symlink('g', 'out/l'); os.link('out/g', 'out/h')
shutil.copy2('/skill/beside.py', 'out/c.py'); shutil.copytree('out', '/tmp/t', symlinks=True); shutil.move('out/g', '/tmp/g'); shutil.rmtree('out/a'); os.utime('out/h', (5, 5)); os.chmod('out/h', 0o600)
print(sorted(os.listdir('out')), os.stat('out/h').st_mtime, stat.filemode(os.stat('out/h').st_mode), os.readlink('out/l'), sorted(glob.glob('out/*.py')))
with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f, tempfile.TemporaryFile() as g: f.write(b'x'); f.flush(); print(os.path.getsize(f.name)); g.write(b'y'); fcntl.flock(g, fcntl.LOCK_EX); fcntl.lockf(g, fcntl.LOCK_EX)
with open('out/m', 'w+b') as f:
    f.truncate(8192); m = mmap.mmap(f.fileno(), 0); m[:3] = b'abc'; m.flush(); m.close(); f.seek(0); print(f.read(3)); os.fsync(f.fileno()); os.posix_fallocate(f.fileno(), 0, 9000)
print(shutil.disk_usage('out').total > 0, shutil.which('sh') is not None, os.access('out', os.W_OK), os.access('/skill', os.W_OK), [e.name for e in os.scandir('out') if e.is_symlink()])
s = os.open('out/m', os.O_RDONLY); d = os.open('out/n', os.O_WRONLY | os.O_CREAT); print(os.sendfile(d, s, 0, 10), os.copy_file_range(s, d, 5), os.pread(s, 3, 0))",
        "['c.py', 'h', 'l'] 5.0 -rw------- g ['out/c.py']\n1\nb'abc'\nTrue True True False ['l']\n10 5 b'abc'\n",
    ),
    probe(
        "the machine and itself",
        "import os, getpass, pwd, grp, platform, resource, sys, time, socket, locale, sysconfig
print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, grp.getgrgid(os.getgid()).gr_name, os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0, platform.system(), socket.gethostname())
print(os.getcwd(), sys.argv[0], os.path.expanduser('~'), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 64, time.monotonic() > 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)); print(resource.getrlimit(resource.RLIMIT_NOFILE), os.nice(1) == os.nice(0), len(os.urandom(4)), os.get_terminal_size.__name__, sys.stdin.read() == '', os.isatty(1), os.times().user >= 0)",
        "skill /run/rw/home skill True True Linux skill\n/skill probe2.py /run/rw/home True True True\n(32, 32) True 4 get_terminal_size True False True\n",
    ),
    probe(
        "signals, timers and descriptors",
        "import signal, os, select, time, selectors
signal.signal(signal.SIGUSR1, lambda *_: print('sent')); os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGALRM, lambda *_: print('rang')); signal.setitimer(signal.ITIMER_REAL, 0.02); signal.pause()
r, w = os.pipe(); os.write(w, b'x'); print(select.select([r], [], [], 1)[0] == [r], os.read(r, 1)); p = select.epoll(); p.register(r); os.write(w, b'y'); print(len(p.poll(1)))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]); os.kill(os.getpid(), signal.SIGUSR2); print(signal.sigwait([signal.SIGUSR2]) == signal.SIGUSR2)
pid = os.fork()
if pid == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); print(os.posix_spawnp('true', ['true'], os.environ) > 0, os.wait()[1])",
        "sent\nrang\nTrue b'x'\n1\nTrue\n7\nTrue 0\n",
    ),
    probe(
        "modules beside it",
        "import beside, importlib; print(beside.ANSWER, beside.__file__, importlib.import_module('beside') is beside)
open('out/late.py', 'w').write('X = 1'); import sys; sys.path.insert(0, 'out'); import late; print(late.X)",
        "42 /skill/beside.py True\n1\n",
    ),
];

const PARALLEL: &[Probe] = &[
    probe(
        "threads",
        "import threading, queue
from concurrent.futures import ThreadPoolExecutor as T
q = queue.Queue(); t = [threading.Thread(target=q.put, args=(i,)) for i in range(5)]; [x.start() for x in t]; [x.join() for x in t]; print(sorted(q.queue))
with T(4) as e: print(sum(e.map(lambda x: x * x, range(10))))
l = threading.Lock(); c = threading.Condition(l); e = threading.Event(); threading.Timer(0.01, e.set).start(); print(e.wait(5))",
        "[0, 1, 2, 3, 4]\n285\nTrue\n",
    ),
    probe(
        "a pool, a queue, a lock and a pipe by fork",
        "import multiprocessing as m
def square(x): return x * x
def fill(q, l, v):
    with l: v.value += 1
    q.put(v.value)
if __name__ == '__main__':
    m.set_start_method('fork')
    with m.Pool(3) as p: print(sum(p.map(square, range(10))), p.apply_async(square, (5,)).get(5))
    q, l, v = m.Queue(), m.Lock(), m.Value('i', 0); ps = [m.Process(target=fill, args=(q, l, v)) for _ in range(3)]; [p.start() for p in ps]; print(sorted(q.get() for _ in ps)); [p.join() for p in ps]
    a, b = m.Pipe(); a.send('through'); print(b.recv(), m.cpu_count() > 0); s = m.Semaphore(2); print(s.acquire(timeout=1)); e = m.Event(); e.set(); print(e.is_set()); print(m.Array('i', [1, 2])[:])",
        "285 25\n[1, 2, 3]\nthrough True\nTrue\nTrue\n[1, 2]\n",
    ),
    probe(
        "a pool by spawn",
        "import multiprocessing as m
def square(x): return x * x
if __name__ == '__main__':
    c = m.get_context('spawn')
    with c.Pool(2) as p: print(p.map(square, [1, 2, 3]))
    q = c.Queue(); p = c.Process(target=q.put, args=(4,)); p.start(); print(q.get()); p.join(); print(p.exitcode)",
        "[1, 4, 9]\n4\n0\n",
    ),
    probe(
        "a pool by fork server",
        "import multiprocessing as m
def square(x): return x * x
if __name__ == '__main__':
    c = m.get_context('forkserver')
    with c.Pool(2) as p: print(p.map(square, [1, 2, 3]))
    q = c.Queue(); p = c.Process(target=q.put, args=(4,)); p.start(); print(q.get()); p.join(); print(p.exitcode)",
        "[1, 4, 9]\n4\n0\n",
    ),
    probe(
        "a manager of shared objects",
        "import multiprocessing as m
def fill(d, l, key): d[key] = key * 2; l.append(key)
if __name__ == '__main__':
    with m.Manager() as manager:
        d, l = manager.dict(), manager.list(); ps = [m.Process(target=fill, args=(d, l, i)) for i in range(3)]; [p.start() for p in ps]; [p.join() for p in ps]
        print(sorted(d.items()), sorted(l), manager.Namespace() is not None)",
        "[(0, 0), (1, 2), (2, 4)] [0, 1, 2] True\n",
    ),
    probe(
        "executors of processes",
        "from concurrent.futures import ProcessPoolExecutor, as_completed
def square(x): return x * x
if __name__ == '__main__':
    with ProcessPoolExecutor(2) as e: print(list(e.map(square, range(4))), sorted(f.result() for f in as_completed([e.submit(square, 5)])))",
        "[0, 1, 4, 9] [25]\n",
    ),
    probe(
        "shared memory",
        "from multiprocessing import shared_memory, Process
def write(name): m = shared_memory.SharedMemory(name=name); m.buf[0] = 7; m.close()
if __name__ == '__main__':
    m = shared_memory.SharedMemory(create=True, size=10); p = Process(target=write, args=(m.name,)); p.start(); p.join(); print(m.buf[0]); m.close(); m.unlink()
    l = shared_memory.ShareableList([1, 'two']); print(l[1]); l.shm.close(); l.shm.unlink()",
        "7\ntwo\n",
    ),
    probe(
        "asyncio with subprocesses and threads",
        "import asyncio, signal, os
async def main():
    p = await asyncio.create_subprocess_exec('echo', 'sub', stdout=-1); print((await p.communicate())[0])
    p = await asyncio.create_subprocess_shell('cat', stdin=-1, stdout=-1); print(await p.communicate(b'in'))
    print(await asyncio.gather(*(asyncio.sleep(0.001, i) for i in range(3))), await asyncio.to_thread(lambda: 5))
    l = asyncio.get_running_loop(); f = l.create_future(); l.add_signal_handler(signal.SIGUSR1, f.set_result, 'signal'); os.kill(os.getpid(), signal.SIGUSR1); print(await f)
    print(await l.run_in_executor(None, os.getcwd))
    try: await asyncio.wait_for(asyncio.sleep(30), 0.01)
    except asyncio.TimeoutError: print('late')
asyncio.run(main())",
        "b'sub\\n'\n(b'in', None)\n[0, 1, 2] 5\nsignal\n/skill\nlate\n",
    ),
];

const LIBRARY: &[Probe] = &[
    probe(
        "databases in memory and in files",
        "import sqlite3, dbm
for place in (':memory:', 'out/d.db'):
    c = sqlite3.connect(place); c.execute('create table t(x)'); c.executemany('insert into t values(?)', [(1,), (2,)]); c.commit(); print(c.execute('select sum(x) from t').fetchone()); c.close()
c = sqlite3.connect('out/d.db'); print(c.execute('pragma journal_mode=wal').fetchone()); c.execute('insert into t values(3)'); c.commit(); c.execute('vacuum'); print(c.execute('select count(*) from t').fetchone())
with dbm.open('out/k', 'c') as k: k[b'a'] = b'b'; print(k[b'a'])",
        "(3,)\n(3,)\n('wal',)\n(3,)\nb'b'\n",
    ),
    probe(
        "archives",
        "import zipfile, tarfile, gzip, bz2, lzma, zlib, shutil, io
with zipfile.ZipFile('out/a.zip', 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('d/f', 'x'); z.write('/skill/beside.py', 'b.py')
with zipfile.ZipFile('out/a.zip') as z: print(z.namelist(), z.testzip()); z.extractall('out/z')
with tarfile.open('out/t.tar.gz', 'w:gz') as t: t.add('out/z', 'z')
with tarfile.open('out/t.tar.gz') as t: t.extractall('out/y'); print(sorted(t.getnames()))
for m in (gzip, bz2, lzma, zlib): print(m.decompress(m.compress(b'same')))
shutil.unpack_archive(shutil.make_archive('out/m', 'zip', 'out/z'), 'out/u'); print(open('out/u/d/f').read())",
        "['d/f', 'b.py'] None\n['z', 'z/b.py', 'z/d', 'z/d/f']\nb'same'\nb'same'\nb'same'\nb'same'\nx\n",
    ),
    probe(
        "formats and addresses",
        "import json, csv, io, urllib.parse as u, mimetypes, configparser, xml.etree.ElementTree as e, base64, hashlib, struct, html, email.message, ipaddress, pickle, tomllib
print(json.loads(json.dumps({'a': [1, None]})), list(csv.DictReader(io.StringIO('a,b\\n1,2\\n'))), u.parse_qs(u.urlparse('http://h/p?q=1').query), u.quote('a b'))
print(mimetypes.guess_type('a.json')[0], mimetypes.guess_type('a.png')[0], e.fromstring('<a><b>c</b></a>')[0].text, hashlib.sha256(b'abc').hexdigest()[:8], hashlib.blake2b(b'').digest_size, base64.b64encode(b'x'))
print(struct.pack('>H', 258), html.escape('<'), ipaddress.ip_address('::1').is_loopback, pickle.loads(pickle.dumps((1,))), tomllib.loads('a = 1'))",
        "{'a': [1, None]} [{'a': '1', 'b': '2'}] {'q': ['1']} a%20b\napplication/json image/png c ba7816bf 64 b'eA=='\nb'\\x01\\x02' &lt; True (1,) {'a': 1}\n",
    ),
    probe(
        "certificates, time, chance and names",
        "import ssl, datetime, random, secrets, uuid, zoneinfo, decimal, statistics, logging, argparse, ctypes, re, time, locale, threading
c = ssl.create_default_context(); print(c.verify_mode == ssl.CERT_REQUIRED, c.check_hostname, len(c.get_ca_certs()) >= 0)
print(datetime.datetime.fromtimestamp(0, datetime.timezone.utc).isoformat(), len(secrets.token_hex(4)), len(str(uuid.uuid4())), uuid.uuid1().version, time.strftime('%Y', time.gmtime(0)))
print(decimal.Decimal('0.1') * 3, statistics.mean([1, 2, 3]), argparse.ArgumentParser(prog='p').parse_args([]), ctypes.CDLL(None).abs(-3), random.Random(1).randint(1, 1))
logging.basicConfig(filename='out/log'); logging.warning('kept'); print(open('out/log').read().strip(), datetime.date(2024, 2, 29).strftime('%A'), datetime.datetime.now().year > 2000)",
        "True True True\n1970-01-01T00:00:00+00:00 8 36 1 1970\n0.3 2 Namespace() 3 1\nWARNING:root:kept Thursday True\n",
    ),
];
