//! Resources that a hostile script takes in roundabout ways, and what it would like to leave behind.

use std::fs;
use std::time::Duration;

use bailiwick_policy::{LimitAxis, Rights};
use bailiwick_sandbox::{End, Layer, spawn};

use crate::bed::{Bed, alive, command, needs, open_folder, shown, stdout};

const MIB: u64 = 1 << 20;
/// The descriptors of a run that opens many pipes.
const FILES: u32 = 2000;

/// R06.
#[test]
fn memory_in_the_buffers_of_pipes_is_the_runs_own() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = Bed::new().limited(|limits| limits.with_memory(48 * MIB).with_files(FILES));
    let completion = bed.python(
        "import os\n\
         held, kept = 0, []\n\
         try:\n\
         \x20   while True:\n\
         \x20       r, w = os.pipe(); kept.append(r); os.set_blocking(w, False)\n\
         \x20       try:\n\
         \x20           while True: held += os.write(w, b'x' * 4096)\n\
         \x20       except BlockingIOError: pass\n\
         except OSError: print(held)",
    );
    if completion.layers.is_in_force(Layer::CgroupMemory) {
        let end = End::Limit(LimitAxis::Memory);
        assert_eq!(completion.end, end, "{}", shown(&completion));
    } else {
        // No group counts them; the number of descriptors bounds them.
        let held: u64 = stdout(&completion).trim().parse().expect("a number");
        assert!(held <= u64::from(FILES) / 2 * (64 << 10), "{held}");
    }
    assert!(completion.confirmed_dead.confirmed);
}

/// R13.
#[test]
fn no_run_opens_more_than_its_processes_times_their_descriptors() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = Bed::new().limited(|limits| limits.with_processes(8).with_files(32));
    let completion = bed.python(
        "import os, time\n\
         r, w = os.pipe()\n\
         children = []\n\
         try:\n\
         \x20   while len(children) < 100:\n\
         \x20       child = os.fork()\n\
         \x20       if child == 0:\n\
         \x20           opened = 0\n\
         \x20           try:\n\
         \x20               while opened < 10000: os.dup(0); opened += 1\n\
         \x20           except OSError: pass\n\
         \x20           os.write(w, b'%d\\n' % opened); time.sleep(9); os._exit(0)\n\
         \x20       children.append(child)\n\
         except OSError: pass\n\
         text = b''\n\
         while text.count(b'\\n') < len(children): text += os.read(r, 4096)\n\
         print(len(children), sum(map(int, text.split())))",
    );
    let said = stdout(&completion);
    let numbers: Vec<usize> = said
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [children, opened] = numbers.as_slice() else {
        panic!("{}", shown(&completion));
    };
    assert!((1..8).contains(children), "{said}");
    assert!((1..8 * 32).contains(opened), "{said}");
    assert!(completion.confirmed_dead.confirmed);
}

/// R15.
#[test]
fn spinning_in_many_processes_ends_with_the_run() {
    let bed = Bed::new().limited(|limits| limits.with_wall(Duration::from_millis(700)));
    let spin = "for i in 1 2 3 4 5 6; do sh -c 'while :; do :; done' 77.375 & done; wait";
    let completion = bed.script(spin);
    assert_eq!(completion.end, End::TimedOut, "{}", shown(&completion));
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive("77.375"), 0);
}

/// R18.
#[test]
fn output_that_trickles_does_not_delay_the_deadline() {
    let bed = Bed::new().limited(|limits| limits.with_wall(Duration::from_millis(600)));
    let completion = bed.script("while :; do printf x; sleep 0.02; done");
    assert_eq!(completion.end, End::TimedOut, "{}", shown(&completion));
    assert!(stdout(&completion).starts_with('x'));
}

/// R19.
#[test]
fn a_script_that_waits_for_input_finds_its_end() {
    let bed = Bed::new();
    assert_eq!(
        bed.prints("read line; echo \"$?\"; cat; echo end"),
        "1\nend\n"
    );
}

/// R22.
#[test]
fn timers_and_queued_signals_are_limited() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let completion = Bed::new().python(
        "import ctypes, errno\n\
         c = ctypes.CDLL(None, use_errno=True)\n\
         made, timer = 0, ctypes.c_void_p()\n\
         while made < 100000 and c.timer_create(0, None, ctypes.byref(timer)) == 0: made += 1\n\
         print(made, errno.errorcode[ctypes.get_errno()])",
    );
    let said = stdout(&completion);
    let (made, error) = said.trim().split_once(' ').expect("two words");
    assert_eq!(error, "EAGAIN", "{}", shown(&completion));
    let made: usize = made.parse().expect("a number");
    assert!(made <= 1024, "{made}");
}

/// R25.
#[test]
fn children_that_nobody_awaits_are_counted_until_they_are_reaped() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = Bed::new().limited(|limits| limits.with_processes(16));
    // Those that lost their parent are init's, which reaps them.
    let orphans = bed.python(
        "import os\n\
         for i in range(200):\n\
         \x20   child = os.fork()\n\
         \x20   if child == 0:\n\
         \x20       for attempt in range(1000):\n\
         \x20           try:\n\
         \x20               if os.fork() == 0: os._exit(0)\n\
         \x20               break\n\
         \x20           except BlockingIOError: os.sched_yield()\n\
         \x20       os._exit(0)\n\
         \x20   os.waitpid(child, 0)\n\
         print('all')",
    );
    assert_eq!(stdout(&orphans), "all\n", "{}", shown(&orphans));
    let zombies = bed.python(
        "import os\n\
         made = 0\n\
         try:\n\
         \x20   while made < 1000:\n\
         \x20       if os.fork() == 0: os._exit(0)\n\
         \x20       made += 1\n\
         except BlockingIOError: pass\n\
         print(made)",
    );
    let made: usize = stdout(&zombies).trim().parse().expect("a number");
    assert!((1..=16).contains(&made), "{made}");
    assert!(zombies.confirmed_dead.confirmed);
}

/// R26.
#[test]
fn a_script_is_not_the_init_of_its_namespace() {
    let bed = Bed::new();
    assert_ne!(bed.prints("echo $$"), "1\n");
    // As init it would ignore what it does not handle.
    let completion = bed.script("kill -TERM $$; echo went on");
    assert_eq!(completion.end, End::Signalled { signal: 15 });
}

/// S09: what runs later is the skill and what a run is given, and no file that an earlier one left.
#[test]
fn nothing_that_a_run_plants_is_there_for_the_next() {
    let folder = open_folder();
    let bed = Bed::new().granted(folder.path(), Rights::READ_ONLY);
    let compiled = bed.compile().expect("a policy");
    let run = |script: &str| {
        let completion = spawn(&compiled, command(&["/bin/sh", "-c", script])).expect("a run");
        let completion = completion.wait();
        assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
        stdout(&completion)
    };
    let look = "for d in ~ /tmp /dev/shm /skill/out /skill/tmp /run/rw/tmp /run/rw/shm; do \
                ls -A $d/ | grep -v '^.tmp'; done; true";
    let places = "for d in ~ /tmp /dev/shm /skill/out /skill/tmp; do cd $d && \
                  for f in .bashrc .profile .pythonrc .gitconfig .ssh sitecustomize.py; do \
                  echo 'echo planted' > $f; done; done; cd /; \
                  mkdir -p ~/.config/systemd/user ~/.local/bin; true";
    let persist = format!(
        "{places}; echo '* * * * * true' | crontab - ; echo true | at now; \
         ln -s ~/.bashrc {0}/.bashrc; echo x > {0}/x; echo x > /etc/cron.d/x; \
         echo x > /etc/profile.d/x; echo x > /skill/x; echo x > /usr/local/bin/ls; \
         setsid sleep 77.625 & exit 0",
        folder.path().display()
    );
    for _ in 0..2 {
        assert_eq!(run(look), "", "a run begins with nothing");
        run(&persist);
        assert_eq!(alive("77.625"), 0);
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    assert_eq!(
        run("bash -ic 'echo own' 2>/dev/null; true")
            .matches("planted")
            .count(),
        0
    );
}
