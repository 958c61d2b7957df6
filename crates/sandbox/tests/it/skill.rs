//! No run can change what another sees of the skill.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bailiwick_sandbox::{Compiled, End, spawn};

use crate::bed::{Bed, command, needs, shown, stdout};

#[test]
fn a_run_that_attacks_the_skill_by_every_path_changes_nothing_for_the_others() {
    const PYTHON: &str = "/usr/bin/python3";
    if !needs(PYTHON) {
        return;
    }
    let bed = Bed::new();
    bed.file("attack.py", ATTACK);
    bed.file("data.txt", "data");
    bed.file("other.txt", "other");
    fs::create_dir(bed.skill.path().join("empty")).expect("a folder");
    let python = bed.compile_for(PYTHON).expect("a policy");
    let shell = bed.compile().expect("a policy");
    let (by_host, by_run) = (host_view(bed.skill.path()), view(&shell));

    let attack = |rounds: &str| {
        let command = command(&[PYTHON, "attack.py", rounds]);
        spawn(&python, command).expect("a run")
    };
    let first = attack("1").wait();
    assert_eq!(first.end, End::Exited(0), "{}", shown(&first));
    // The control shows that the attacks work where a run may write.
    assert_eq!(
        stdout(&first),
        "control: append chmod chmodat create link link-out mkdir open-for-writing put rename \
         replace rmdir symlink tmpfile truncate unlink utime\nskill:\n"
    );
    assert_eq!(view(&shell), by_run, "a later run");

    let endless = attack("1000000");
    for _ in 0..5 {
        assert_eq!(view(&shell), by_run, "a run at the same time");
    }
    endless.canceller().cancel();
    assert_eq!(endless.wait().end, End::Cancelled);
    assert_eq!(view(&shell), by_run, "a run after one that was killed");
    assert_eq!(host_view(bed.skill.path()), by_host);
}

/// What a run sees: names, kinds, modes, links, owners, sizes, all times, and every byte.
fn view(shell: &Compiled) -> String {
    let script = "ls -a /skill; find /skill/ -exec stat -c '%n %F %a %h %u %g %s %b %i %X %Y %Z' {} + | sort; \
                  find /skill/ -type f -exec sha256sum {} + | sort";
    let completion = spawn(shell, command(&["/bin/sh", "-c", script])).expect("a run");
    let completion = completion.wait();
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    let text = stdout(&completion);
    assert!(text.contains("data.txt"), "{text}");
    text
}

/// What the host sees, and nothing that its own reading changes.
fn host_view(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, [i64; 9])> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("its metadata");
            let bytes = if metadata.is_file() {
                fs::read(&path).expect("its bytes")
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).expect("its target");
                target.into_os_string().into_encoded_bytes()
            } else {
                folders.push(path.clone());
                Vec::new()
            };
            let facts = [
                metadata.mode().into(),
                metadata.uid().into(),
                metadata.gid().into(),
                i64::try_from(metadata.nlink()).expect("a count"),
                i64::try_from(metadata.ino()).expect("a number"),
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ];
            seen.insert(path, (bytes, facts));
        }
    }
    seen
}

/// Tries everything on a folder of its own, where it works, and then on the skill, by every path
/// that leads there. What worked is printed.
const ATTACK: &str = r"
import ctypes, mmap, os, shutil, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0: raise OSError(ctypes.get_errno(), 'refused')
def text(path): return path.encode()
def write(path, flags, bytes=b'changed'):
    f = os.open(path, flags, 0o644)
    try: os.write(f, bytes)
    finally: os.close(f)
def by_descriptor(path, work):
    f = os.open(path, os.O_RDONLY)
    try: work(f)
    finally: os.close(f)
def mapped(f):
    m = mmap.mmap(f, 4, mmap.MAP_SHARED, mmap.PROT_WRITE); m[0] = 0; m.flush()
def flags(f):
    import fcntl, struct
    fcntl.ioctl(f, 0x40086602, struct.pack('l', 0x10))
TESTS = {
    'open-for-writing': lambda d: write(d + '/data.txt', os.O_WRONLY),
    'append': lambda d: write(d + '/data.txt', os.O_WRONLY | os.O_APPEND, b''),
    'create': lambda d: write(d + '/new', os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    'tmpfile': lambda d: write(d, os.O_WRONLY | os.O_TMPFILE),
    'truncate': lambda d: os.truncate(d + '/data.txt', 0),
    'rename': lambda d: os.rename(d + '/data.txt', d + '/renamed'),
    'replace': lambda d: os.replace(d + '/renamed' if 'control' in d else d + '/other.txt', d + '/data.txt'),
    'exchange': lambda d: check(libc.renameat2(-100, text(d + '/data.txt'), -100, text(d + '/nothing'), 2)),
    'link': lambda d: os.link(d + '/data.txt', d + '/linked'),
    'link-out': lambda d: os.link(d + '/data.txt', '/run/rw/out/link-%d' % len(os.listdir('/run/rw/out'))),
    'symlink': lambda d: os.symlink('/etc/passwd', d + '/symlink'),
    'mkdir': lambda d: os.mkdir(d + '/folder'),
    'rmdir': lambda d: os.rmdir(d + '/empty'),
    'mknod': lambda d: os.mknod(d + '/node', 0o100644),
    'chmod': lambda d: os.chmod(d + '/data.txt', 0o600),
    'chmodat': lambda d: by_descriptor(d + '/data.txt', lambda f: os.chmod(f, 0o640)),
    'chown': lambda d: os.chown(d + '/data.txt', 12345, 12345),
    'utime': lambda d: os.utime(d + '/data.txt', (1, 1)),
    'futime-by-link': lambda d: os.utime(d + '/tmp', (1, 1), follow_symlinks=False),
    'setxattr': lambda d: os.setxattr(d + '/data.txt', 'user.x', b'x'),
    'fsetxattr': lambda d: by_descriptor(d + '/data.txt', lambda f: os.setxattr(f, 'user.x', b'x')),
    'removexattr': lambda d: os.removexattr(d + '/data.txt', 'user.x'),
    'ftruncate': lambda d: by_descriptor(d + '/data.txt', lambda f: os.ftruncate(f, 0)),
    'fallocate': lambda d: by_descriptor(d + '/data.txt', lambda f: os.posix_fallocate(f, 0, 9000)),
    'map': lambda d: by_descriptor(d + '/data.txt', mapped),
    'flags': lambda d: by_descriptor(d + '/data.txt', flags),
    'mount': lambda d: check(libc.mount(b'none', text(d), b'tmpfs', 0, b'')),
    'bind': lambda d: check(libc.mount(b'/tmp', text(d), b'', 4096, b'')),
    'remount': lambda d: check(libc.mount(b'', text(d), b'', 32 | 4096, b'')),
    'unmount': lambda d: check(libc.umount2(text(d), 2)),
    'put': lambda d: shutil.copyfile('/skill/attack.py', d + '/put.txt'),
    'unlink': lambda d: os.unlink(d + '/data.txt'),
}
# A descriptor of a file that is open for reading does not become one for writing.
REOPEN = lambda f: write('/proc/self/fd/%d' % f, os.O_WRONLY)
def attack(base):
    worked = set()
    for name, test in TESTS.items():
        try: test(base)
        except (OSError, ValueError): pass
        else: worked.add(name)
    return worked
def through(folder):
    d = os.open(folder, os.O_RDONLY | os.O_DIRECTORY); p = os.open(folder, os.O_PATH); e = os.dup(d)
    return ['/proc/self/fd/%d' % f for f in (d, p, e)]
control = '/run/rw/out/control'
os.mkdir(control); os.mkdir(control + '/empty'); write(control + '/data.txt', os.O_WRONLY | os.O_CREAT, b'data')
print('control:', *sorted(attack(control)))
worked = set()
bases = ['/skill', '.', '/proc/self/cwd', '/proc/self/root/skill', '/proc/thread-self/root/skill', '/tmp/../skill', '/proc/1/root/skill', '/proc/1/cwd'] + through('/skill') + through('/proc/self/cwd')
os.symlink('/skill', '/tmp/alias'); bases.append('/tmp/alias')
d = os.open('/skill', os.O_RDONLY)
for round in range(int(sys.argv[1])):
    for base in bases: worked |= attack(base)
    for name, test in {
        'unlinkat': lambda: os.unlink('data.txt', dir_fd=d), 'renameat': lambda: os.rename('data.txt', 'x', src_dir_fd=d, dst_dir_fd=d),
        'openat': lambda: os.open('data.txt', os.O_RDWR, dir_fd=d), 'mkdirat': lambda: os.mkdir('x', dir_fd=d),
        'linkat': lambda: os.link('data.txt', 'x', src_dir_fd=d, dst_dir_fd=d), 'utimensat': lambda: os.utime('data.txt', (1, 1), dir_fd=d),
        'fchmodat': lambda: os.chmod('data.txt', 0o600, dir_fd=d), 'fchmod': lambda: os.fchmod(d, 0o700), 'futimens': lambda: os.utime(d, (1, 1)),
        'symlinkat': lambda: os.symlink('x', 'x', dir_fd=d), 'fchown': lambda: os.fchown(d, 1, 1),
        'reopen': lambda: by_descriptor('/skill/data.txt', REOPEN), 'move-in': lambda: os.rename('/run/rw/out/control', '/skill/control'),
    }.items():
        try: test()
        except OSError: pass
        else: worked.add(name)
print('skill:', *sorted(worked), sep=' ' if worked else '')
";
