//! How runs end, and that nothing of them is left.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use bailiwick_policy::LimitAxis;
use bailiwick_sandbox::{End, spawn};

use crate::bed::{Bed, alive, command, nap, needs, shown, stdout};

#[test]
fn an_exit_code_is_kept() {
    let bed = Bed::new();
    assert_eq!(bed.script("exit 3").end, End::Exited(3));
    assert_eq!(bed.script("exit 255").end, End::Exited(255));
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let bed = Bed::new();
    assert_eq!(
        bed.script("kill -SEGV $$").end,
        End::Signalled { signal: 11 }
    );
    assert_eq!(
        bed.script("kill -KILL $$").end,
        End::Signalled { signal: 9 }
    );
}

#[test]
fn the_deadline_ends_a_run_and_keeps_what_it_printed() {
    let nap = nap();
    let bed = Bed::new().limited(|limits| limits.with_wall(Duration::from_millis(300)));
    let completion = bed.script(&format!("echo before; sleep {nap}"));
    assert_eq!(completion.end, End::TimedOut, "{}", shown(&completion));
    assert_eq!(stdout(&completion), "before\n");
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive(&nap), 0);
}

#[test]
fn a_command_can_shorten_the_deadline_and_never_lengthen_it() {
    let bed = Bed::new().limited(|limits| limits.with_wall(Duration::from_millis(300)));
    let compiled = bed.compile_for("/bin/sleep").expect("a policy");
    for deadline in [Duration::from_millis(200), Duration::from_mins(1)] {
        let command = command(&["/bin/sleep", "30"]).with_deadline(deadline);
        let completion = spawn(&compiled, command).expect("a run").wait();
        assert_eq!(completion.end, End::TimedOut);
        assert!(completion.usage.wall < Duration::from_secs(30));
    }
}

/// The grace is time, which a loaded machine may not give: one of a few tries is enough.
#[test]
fn a_program_may_clean_up_in_the_grace_time() {
    let bed = Bed::new().limited(|limits| limits.with_wall(Duration::from_millis(2500)));
    let cleaned = (0..5).any(|_| {
        let completion = bed.script("trap 'echo cleaned; exit 0' TERM; sleep 30 & wait");
        assert_eq!(completion.end, End::TimedOut, "{}", shown(&completion));
        stdout(&completion) == "cleaned\n"
    });
    assert!(cleaned);
}

#[test]
fn a_program_that_ignores_termination_is_killed() {
    let nap = nap();
    let bed = Bed::new().limited(|limits| limits.with_wall(Duration::from_millis(300)));
    let completion = bed.script(&format!("trap '' TERM; while :; do sleep {nap}; done"));
    assert_eq!(completion.end, End::TimedOut);
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive(&nap), 0);
}

#[test]
fn a_daemon_that_holds_the_output_open_does_not_outlive_its_parent() {
    let nap = nap();
    let bed = Bed::new();
    let started = Instant::now();
    let completion = bed.script(&format!(
        "setsid sh -c 'trap \"\" HUP INT TERM; sleep {nap}' & echo parent"
    ));
    assert_eq!(completion.end, End::Exited(0), "{}", shown(&completion));
    assert_eq!(stdout(&completion), "parent\n");
    assert!(completion.confirmed_dead.confirmed);
    assert!(
        started.elapsed() < Duration::from_mins(1),
        "returned before the daemon would end"
    );
    assert_eq!(alive(&nap), 0);
}

#[test]
fn a_cancel_kills_at_once() {
    let nap = nap();
    let bed = Bed::new();
    let child = bed.start_script(&format!("trap '' TERM; echo up; sleep {nap}"));
    let canceller = child.canceller();
    let waiter = thread::spawn(move || child.wait());
    canceller.cancel();
    let completion = waiter.join().expect("a completion");
    assert_eq!(completion.end, End::Cancelled);
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive(&nap), 0);
    canceller.cancel();
}

#[test]
fn dropping_a_run_kills_it() {
    let nap = nap();
    let bed = Bed::new();
    drop(bed.start_script(&format!("sleep {nap}")));
    assert_eq!(alive(&nap), 0);
}

#[test]
fn a_program_that_cannot_be_executed_is_a_failed_launch() {
    const NO_PROGRAM: &str = "/usr/lib/os-release";
    let bed = Bed::new();
    assert!(bed.compile_for("/usr/bin/no-such-program").is_err());
    let compiled = bed.compile_for(NO_PROGRAM).expect("a policy");
    let error = spawn(&compiled, command(&[NO_PROGRAM])).expect_err("no run");
    assert_eq!(error.code(), bailiwick_core::Code::ScriptSandboxUnavailable);
    assert!(error.to_string().contains("stage `execute`"), "{error}");
}

#[test]
fn a_working_directory_that_does_not_exist_is_a_failed_launch() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    let command = command(&["/bin/sh"])
        .with_cwd("/nowhere")
        .expect("a command");
    let error = spawn(&compiled, command).expect_err("no run");
    assert!(
        error.to_string().contains("stage `working-directory`"),
        "{error}"
    );
}

#[test]
fn many_runs_at_once_do_not_meet() {
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    thread::scope(|scope| {
        for number in 0..16 {
            let compiled = &compiled;
            scope.spawn(move || {
                let script = format!("echo {number} > /tmp/f; cat /tmp/f; ls /tmp | wc -l");
                let command = command(&["/bin/sh", "-c", &script]);
                let completion = spawn(compiled, command).expect("a run").wait();
                assert_eq!(stdout(&completion), format!("{number}\n1\n"));
            });
        }
    });
}

#[test]
fn sixty_four_runs_at_once_each_end_in_their_own_way() {
    let nap = nap();
    let bed = Bed::new().limited(|limits| limits.with_output(64).with_flood(1 << 16));
    let compiled = bed.compile().expect("a policy");
    let barrier = Barrier::new(64);
    let sleep = format!("sleep {nap} & exec sleep {nap}");
    thread::scope(|scope| {
        for number in 0..64 {
            let (compiled, barrier, sleep) = (&compiled, &barrier, &sleep);
            scope.spawn(move || {
                let exit = format!("echo {number}; exit {number}");
                let (script, deadline, expected) = match number % 5 {
                    0 => (exit.as_str(), 60_000, End::Exited(number)),
                    1 => ("kill -KILL $$", 60_000, End::Signalled { signal: 9 }),
                    2 => (sleep.as_str(), 50, End::TimedOut),
                    3 => (sleep.as_str(), 60_000, End::Cancelled),
                    _ => ("exec yes", 60_000, End::Limit(LimitAxis::Output)),
                };
                let deadline = Duration::from_millis(deadline);
                barrier.wait();
                let command = command(&["/bin/sh", "-c", script]).with_deadline(deadline);
                let child = spawn(compiled, command).expect("a run");
                if expected == End::Cancelled {
                    child.canceller().cancel();
                }
                let completion = child.wait();
                assert_eq!(completion.end, expected, "{script}: {}", shown(&completion));
                assert!(completion.confirmed_dead.confirmed, "{script}");
                if number % 5 == 0 {
                    assert_eq!(stdout(&completion), format!("{number}\n"));
                }
            });
        }
    });
    assert_eq!(alive(&nap), 0);
}

/// The numbers of the x32 calls, and those of i386, belong to another architecture.
#[test]
fn a_system_call_of_a_foreign_architecture_kills() {
    if !needs("/usr/bin/python3") {
        return;
    }
    let bed = Bed::new();
    let x32 = "import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39); print('alive')";
    // `mov eax, 20; int 0x80; ret`, which asks for the process's number.
    let i386 = "import ctypes, mmap\n\
                m = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('b814000000cd80c3'))\n\
                address = ctypes.addressof(ctypes.c_char.from_buffer(m))\n\
                ctypes.CFUNCTYPE(ctypes.c_int)(address)(); print('alive')";
    for program in [x32, i386] {
        let completion = bed.python(program);
        let End::Signalled { signal } = completion.end else {
            panic!("{program}: {}", shown(&completion));
        };
        assert_eq!(stdout(&completion), "");
        // A kernel without these calls kills by another signal, before the filter is asked.
        if signal == SIGSYS {
            let denial = completion.denials.first().expect("it is told");
            assert_eq!(denial.layer, "seccomp");
        } else {
            assert_eq!((program, signal), (i386, SIGSEGV));
        }
    }
}

const SIGSYS: i32 = 31;
const SIGSEGV: i32 = 11;

#[test]
fn a_deadline_that_passed_during_the_launch_ends_the_run_at_once() {
    let nap = nap();
    let bed = Bed::new();
    let compiled = bed.compile().expect("a policy");
    let command =
        command(&["/bin/sh", "-c", &format!("exec sleep {nap}")]).with_deadline(Duration::ZERO);
    let completion = spawn(&compiled, command).expect("a run").wait();
    assert_eq!(completion.end, End::TimedOut, "{}", shown(&completion));
    assert!(completion.confirmed_dead.confirmed);
    assert_eq!(alive(&nap), 0);
}
