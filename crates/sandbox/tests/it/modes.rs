//! Modes: a run may set every bit but those by which a program acts as its owner.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bailiwick_policy::{Rights, SyscallProfile};
use bailiwick_sandbox::End;
use tempfile::TempDir;

use crate::bed::{Bed, needs, open_folder, shown, stdout};

/// A folder that a run writes, which the host then searches.
fn granted() -> (TempDir, Bed) {
    let folder = open_folder();
    let bed = Bed::new().granted(folder.path(), Rights::READ_WRITE);
    (folder, bed)
}

/// Lists what has a set-id bit beneath a folder.
fn set_id(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).expect("metadata");
        if metadata.permissions().mode() & 0o6000 != 0 {
            found.push(path.display().to_string());
        }
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder");
            pending.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
    }
    found
}

/// Where owners are mapped, the file would be that of the folder's owner: of root, on a root host.
#[test]
fn a_run_cannot_leave_a_set_uid_file_in_a_folder_that_it_writes() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let (folder, mut bed) = granted();
    let program = format!(
        "import os, ctypes, errno\n\
         os.chdir('{}')\n\
         open('f', 'w').close(); os.mkdir('d')\n\
         here, f = os.open('.', os.O_RDONLY), os.open('f', os.O_RDWR)\n\
         call = ctypes.CDLL(None, use_errno=True).syscall\n\
         new = os.O_CREAT | os.O_WRONLY\n\
         def raw(*words):\n\
         \x20   words = [ctypes.c_char_p(w) if isinstance(w, bytes) else ctypes.c_long(w) for w in words]\n\
         \x20   if call(*words) < 0: raise OSError(ctypes.get_errno(), '')\n\
         attempts = []\n\
         for m in 0o4755, 0o2755, 0o6777:\n\
         \x20   attempts += [\n\
         \x20   lambda m=m: os.chmod('f', m),\n\
         \x20   lambda m=m: os.chmod('d', m),\n\
         \x20   lambda m=m: os.fchmod(f, m),\n\
         \x20   lambda m=m: os.chmod('f', m, dir_fd=here),\n\
         \x20   lambda m=m: raw(452, here, b'f', m, 0),\n\
         \x20   lambda m=m: raw(452, here, b'f', m | 1 << 32, 0),\n\
         \x20   lambda m=m: os.open(f'n{{m}}', new, m),\n\
         \x20   lambda m=m: os.open(f'o{{m}}', new, m, dir_fd=here),\n\
         \x20   lambda m=m: os.open('.', os.O_TMPFILE | os.O_RDWR, m),\n\
         \x20   lambda m=m: os.mknod(f'k{{m}}', 0o100000 | m)]\n\
         if os.uname().machine == 'x86_64':\n\
         \x20   attempts += [\n\
         \x20   lambda: raw(90, b'f', 0o4755),\n\
         \x20   lambda: raw(2, b'p', new, 0o4755),\n\
         \x20   lambda: raw(85, b'q', 0o4755)]\n\
         for number, attempt in enumerate(attempts):\n\
         \x20   try: attempt(); print(number, 'succeeded')\n\
         \x20   except OSError as error:\n\
         \x20       if error.errno != errno.EPERM: print(number, error)\n\
         how = (ctypes.c_uint64 * 3)(new, 0o4755, 0)\n\
         call(437, ctypes.c_long(here), b'r', how, ctypes.c_long(24))\n\
         print(errno.errorcode[ctypes.get_errno()])\n\
         os.mkdir('e', 0o6777); os.mkdir('g', 0o2777)\n",
        folder.path().display()
    );
    for profile in [SyscallProfile::Standard, SyscallProfile::Wide] {
        bed.policy = bed.policy.with_syscalls(profile);
        let completion = bed.python(&program);
        assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
        assert_eq!(stdout(&completion), "ENOSYS\n", "{profile:?}");
        assert_eq!(set_id(folder.path()), [""; 0]);
        for entry in fs::read_dir(folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let removed = if path.is_dir() {
                fs::remove_dir(path)
            } else {
                fs::remove_file(path)
            };
            removed.expect("room for the next");
        }
    }
}

#[test]
fn tools_that_carry_set_id_bits_over_lose_them() {
    let source = open_folder();
    let program = source.path().join("program");
    fs::write(&program, "x").expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).expect("its mode");
    let shared = source.path().join("shared");
    fs::create_dir(&shared).expect("a folder");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o2755)).expect("its mode");
    let (folder, bed) = granted();
    let bed = bed.granted(source.path(), Rights::READ_ONLY);
    let script = format!(
        "cd {}; s={}; umask 0; \
         cp -p $s/program a; install -m 4755 $s/program b; cp -a $s/shared c; mkdir -m 2777 d; \
         tar -cf t -C $s program shared; mkdir e; tar -xpf t -C e; chmod u+s,g+s t; \
         ls | wc -l; cp $s/program f && cp -r $s/shared g && cat f",
        folder.path().display(),
        source.path().display()
    );
    let printed = bed.prints(&script);
    assert!(printed.ends_with("\nx"), "{printed}");
    assert_eq!(set_id(folder.path()), [""; 0]);
}

#[test]
fn every_other_mode_can_be_set_and_carried_over() {
    let (folder, bed) = granted();
    for place in [folder.path().to_str().expect("text"), "/run/rw/out"] {
        let script = format!(
            "cd {place} && echo x > f && for m in 755 644 0700 1777; do \
             chmod $m f && stat -c %a f || exit 1; done; \
             chmod u+x,g-w,o= f && cp -p f g && mkdir -m 1770 d && cp -a d e && \
             install -m 750 f i && tar -cf t f g d && mkdir x && tar -xpf t -C x && \
             stat -c %a g d e i x/f x/d"
        );
        assert_eq!(
            bed.prints(&script),
            "755\n644\n700\n1777\n750\n1770\n1770\n750\n750\n1770\n",
            "{place}"
        );
        if needs("/usr/bin/git") {
            let script = format!(
                "umask 022; cd {place} && git init -q r && cd r && echo x > p && chmod 755 p && git add p && \
                 git commit -qm first && rm p && git checkout -q p && stat -c %a p && \
                 git clone -q . ../c && stat -c %a ../c/p"
            );
            assert_eq!(bed.prints(&script), "755\n755\n", "{place}");
        }
    }
}
