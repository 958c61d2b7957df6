//! Capturing output under one budget.

use bailiwick_policy::LimitAxis;
use bailiwick_sandbox::{End, Stream};

use crate::bed::{Bed, needs, shown, stdout};

fn capped(cap: u64) -> Bed {
    Bed::new().limited(|limits| limits.with_output(cap))
}

#[test]
fn exactly_the_budget_is_not_truncated() {
    for (bytes, dropped) in [(999, 0), (1000, 0), (1001, 1)] {
        let completion = capped(1000).script(&format!("head -c {bytes} /dev/zero"));
        assert_eq!(completion.end, End::Exited(0));
        assert_eq!(completion.dropped, dropped);
        assert_eq!(completion.truncated, dropped > 0);
        assert_eq!(completion.output.kept(), bytes.min(1000));
    }
}

#[test]
fn both_streams_share_the_budget_and_keep_their_names() {
    let completion = capped(8).script("echo out; echo err >&2; sleep 0.1; echo more");
    assert_eq!(completion.output.kept(), 8);
    assert_eq!(completion.dropped, 5);
    assert_eq!(completion.output.of(Stream::Stdout), b"out\n");
    assert_eq!(completion.output.of(Stream::Stderr), b"err\n");
}

#[test]
fn bytes_that_are_no_text_arrive_as_they_are() {
    let completion = capped(100).script("printf '\\000\\377\\033[2J'");
    assert_eq!(completion.output.of(Stream::Stdout), b"\0\xff\x1b[2J");
}

#[test]
fn a_flood_ends_the_run() {
    let bed = Bed::new().limited(|limits| limits.with_output(10).with_flood(1 << 20));
    let completion = bed.script("yes");
    assert_eq!(
        completion.end,
        End::Limit(LimitAxis::Output),
        "{}",
        shown(&completion)
    );
    assert_eq!(completion.output.kept(), 10);
    assert!(completion.dropped > 1 << 20);
    assert!(completion.confirmed_dead.confirmed);
}

/// Nothing that a run leaves is removed by its path: it goes with the file system that it is in.
#[test]
fn deep_trees_and_hostile_names_go_with_the_run() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let before = mounts().lines().count();
    let bed = Bed::new().limited(|limits| limits.with_inodes(1500));
    let completion = bed.python(
        "import os\n\
         os.chdir('/run/rw/out')\n\
         for name in (b'-rf', b'a\\nb', b'\\xff\\xfe', b'..\\\\', b' ', b'x' * 255, b'\\x1b[2J', b'...'): os.mkdir(name)\n\
         os.symlink('/', b'root'); os.symlink('root/root', 'loop'); os.chmod(b'-rf', 0)\n\
         depth = 0\n\
         while True:\n\
         \x20   try: os.mkdir('d'); os.chdir('d'); depth += 1\n\
         \x20   except OSError: break\n\
         print(depth > 1000)",
    );
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(stdout(&completion), "True\n");
    assert!(completion.confirmed_dead.confirmed);
    let out = completion.out_dir.expect("a folder");
    let entries = rustix::fs::Dir::read_from(&out).expect("a listing");
    assert_eq!(entries.flatten().count(), 2 + 8 + 2 + 1);
    drop(out);
    assert_eq!(mounts().lines().count(), before);
}
