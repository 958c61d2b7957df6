//! Limits: each is enforced, and a run that fails at one says which.

use std::time::Duration;

use bailiwick_policy::LimitAxis;
use bailiwick_sandbox::End;

use crate::bed::{Bed, needs, shown, stdout};

const MIB: u64 = 1 << 20;

#[test]
fn a_fork_bomb_meets_the_limit_of_processes() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| {
            limits
                .with_processes(16)
                .with_wall(Duration::from_millis(1500))
        });
        let completion = bed.python(
            "import os\n\
         while True:\n\
         \x20   try: os.fork()\n\
         \x20   except OSError: pass",
        );
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Processes),
            "{}",
            shown(&completion)
        );
        assert!(completion.confirmed_dead.confirmed);
        assert!(completion.limits_hit.contains(&LimitAxis::Processes));
    }
}

/// It stays at the ceiling for a moment, since an ordinary user's host sees that only by looking.
#[test]
fn threads_count_as_processes() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_processes(10));
        let completion = bed.python(
        "import threading, time\n\
         try:\n\
         \x20   for i in range(40): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n\
         except RuntimeError: time.sleep(1); raise",
    );
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Processes),
            "{}",
            shown(&completion)
        );
    }
}

#[test]
fn a_memory_bomb_meets_the_limit_of_memory() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_memory(100 * MIB));
        let completion = bed.python("x = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))");
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Memory),
            "{}",
            shown(&completion)
        );
        assert!(completion.confirmed_dead.confirmed);
    }
}

#[test]
fn memory_that_many_processes_share_out_meets_the_limit_too() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_memory(120 * MIB));
        let completion = bed.python(
            "import os, time\n\
         for i in range(8):\n\
         \x20   if os.fork() == 0:\n\
         \x20       x = bytearray(b'x' * (40 << 20)); time.sleep(5); os._exit(0)\n\
         codes = [os.waitpid(-1, 0)[1] for i in range(8)]\n\
         raise SystemExit(1 if any(codes) else 0)",
        );
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Memory),
            "{}",
            shown(&completion)
        );
    }
}

#[test]
fn processes_that_a_thread_forked_are_counted_too() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_memory(128 * MIB));
        let completion = bed.python(
            "import os, threading, time\n\
         def fork():\n\
         \x20   for i in range(8):\n\
         \x20       if os.fork() == 0:\n\
         \x20           x = bytearray(60 << 20); x[::4096] = b'x' * len(x[::4096])\n\
         \x20           time.sleep(9); os._exit(0)\n\
         \x20   codes = [os.waitpid(-1, 0)[1] for i in range(8)]\n\
         \x20   os._exit(1 if any(codes) else 0)\n\
         thread = threading.Thread(target=fork); thread.start(); thread.join()",
        );
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Memory),
            "{}",
            shown(&completion)
        );
    }
}

#[test]
fn memory_that_is_held_behind_a_first_thread_that_ended_is_counted() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_memory(100 * MIB));
        let completion = bed.python(
            "import ctypes, os, threading, time\n\
         def hold():\n\
         \x20   x = bytearray(60 << 20); x[::4096] = b'x' * len(x[::4096])\n\
         \x20   time.sleep(5); os._exit(0)\n\
         for i in range(3):\n\
         \x20   if os.fork() == 0:\n\
         \x20       threading.Thread(target=hold).start()\n\
         \x20       ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n\
         codes = [os.waitpid(-1, 0)[1] for i in range(3)]\n\
         raise SystemExit(1 if any(codes) else 0)",
        );
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Memory),
            "{}",
            shown(&completion)
        );
    }
}

#[test]
fn memory_that_vfork_lends_to_a_child_is_counted_once() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_memory(160 * MIB));
        let completion = bed.python(
            "import subprocess\n\
         x = bytearray(100 << 20); x[::4096] = b'x' * len(x[::4096])\n\
         for i in range(200): subprocess.run(['/bin/true'], check=True)",
        );
        assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    }
}

#[test]
fn memory_that_forks_share_is_counted_once() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| limits.with_memory(128 * MIB));
        let completion = bed.python(
            "import os, time\n\
         x = bytearray(60 << 20); x[::4096] = b'x' * len(x[::4096])\n\
         for i in range(6):\n\
         \x20   if os.fork() == 0: time.sleep(1); os._exit(0)\n\
         codes = [os.waitpid(-1, 0)[1] for i in range(6)]\n\
         raise SystemExit(1 if any(codes) else 0)",
        );
        assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
        assert_eq!(completion.limits_hit, []);
    }
}

/// Together they are resident with more than the limit of memory, nearly all of it shared.
#[test]
fn a_bomb_that_forks_is_not_taken_for_one_that_allocates() {
    if !needs("/usr/bin/python3") {
        return;
    }
    for bed in Bed::with_and_without_groups() {
        let bed = bed.limited(|limits| {
            limits
                .with_processes(64)
                .with_memory(400 * MIB)
                .with_wall(Duration::from_secs(3))
        });
        let completion = bed.python(
            "import os\n\
         x = bytearray(20 << 20); x[::4096] = b'x' * len(x[::4096])\n\
         while True:\n\
         \x20   try: os.fork()\n\
         \x20   except OSError: pass",
        );
        assert_eq!(
            completion.end,
            End::Limit(LimitAxis::Processes),
            "{}",
            shown(&completion)
        );
    }
}

#[test]
fn a_deadline_and_a_flood_end_a_run_with_and_without_control_groups() {
    for bed in Bed::with_and_without_groups() {
        let wall = Duration::from_millis(300);
        let bed = bed.limited(|limits| limits.with_wall(wall).with_output(10).with_flood(MIB));
        let late = bed.script("sleep 77.875");
        assert_eq!(late.end, End::TimedOut, "{}", shown(&late));
        assert!(late.confirmed_dead.confirmed);
        let bed = bed.limited(|limits| limits.with_output(10).with_flood(MIB));
        let flood = bed.script("yes & yes & wait");
        assert_eq!(
            flood.end,
            End::Limit(LimitAxis::Output),
            "{}",
            shown(&flood)
        );
        assert!(flood.confirmed_dead.confirmed);
    }
}

/// The kernel tells the program and nobody else, so the end is the program's own.
#[test]
fn open_descriptors_end_at_their_limit() {
    let bed = Bed::new().limited(|limits| limits.with_files(20));
    assert_eq!(bed.prints("ulimit -n"), "20\n");
    if !needs("/usr/bin/python3") {
        return;
    }
    let completion = bed.python(
        "import os\n\
         opened = []\n\
         try:\n\
         \x20   while True: opened.append(os.open('/dev/null', os.O_RDONLY))\n\
         except OSError as error:\n\
         \x20   print(max(opened) + 1, error.errno); raise SystemExit(7)",
    );
    assert_eq!(stdout(&completion), "20 24\n");
    assert_eq!(completion.end, End::Exited(7));
    assert_eq!(completion.limits_hit, []);
}

#[test]
fn a_run_that_opens_descriptors_without_end_gets_its_limit_in_each_process_and_no_more() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = Bed::new().limited(|limits| limits.with_files(20));
    let completion = bed.python(
        "import os, resource\n\
         def fill():\n\
         \x20   held = []\n\
         \x20   for make in (lambda: os.open('/dev/null', 0), lambda: os.dup(0), os.pipe, lambda: os.eventfd(0)):\n\
         \x20       try:\n\
         \x20           while True: held.append(make())\n\
         \x20       except OSError as error: assert error.errno == 24, error\n\
         \x20   return len(os.listdir('/proc/self/fd')) if not held else max(held)\n\
         for limits in ((4096, 4096), (21, 21), (20, 4096)):\n\
         \x20   try: resource.setrlimit(resource.RLIMIT_NOFILE, limits); print('raised')\n\
         \x20   except (PermissionError, ValueError): pass\n\
         for child in range(3):\n\
         \x20   if os.fork() == 0: print(fill(), flush=True); os._exit(0)\n\
         \x20   os.wait()\n\
         print(fill())",
    );
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(stdout(&completion), "19\n19\n19\n19\n");
}

#[test]
fn a_program_that_crashes_leaves_no_core() {
    for bed in Bed::with_and_without_groups() {
        let shown = bed.prints(
            "cd out; ulimit -c unlimited 2>/dev/null; ulimit -c; \
             sh -c 'kill -QUIT $$'; echo $?; ls -A | wc -l",
        );
        assert_eq!(shown, "0\n131\n0\n");
    }
}
