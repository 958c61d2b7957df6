//! The gate: who is asked, and what happens when nobody can be.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::Stdio;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::tcgetattr;
use nix::unistd::Pid;

use crate::run::{Ran, World};

const READS_DOCS: &str = "cat ";

fn with_docs() -> World {
    let world = World::new();
    let file = world.write("project/docs/a.md", "the document\n");
    world.skill("reader", &format!("{READS_DOCS}{}\n", file.display()));
    world
}

#[test]
fn a_contained_call_runs_in_a_pipe_without_a_question() {
    let world = World::new();
    world.skill("fine", "echo fine\n");
    world.run(&["call", "fine.run"]).succeeded();
}

#[test]
fn a_call_with_a_grant_in_a_pipe_is_unanswered_and_not_denied() {
    let world = with_docs();
    let call = ["call", "reader.run", "--grant", "read=./docs"];
    let ran = world.run(&[&call[..], &["--json"]].concat()).ended(5);
    assert_eq!(ran.code(), "E_SKILL_SCRIPT_GATE_UNAVAILABLE");
    insta::assert_snapshot!(world.run(&call).stderr, @"
    error: E_SKILL_SCRIPT_GATE_UNAVAILABLE: nobody decided about `run_reader_run`: there is no terminal to ask at
    hint: answer with `--yes`, which grants nothing, or run it on a terminal
    ");
}

#[test]
fn yes_answers_the_question_and_grants_nothing() {
    let world = with_docs();
    let answered = world
        .run(&["call", "reader.run", "--grant", "read=./docs", "--yes"])
        .succeeded();
    assert_eq!(answered.stdout, "the document\n");
    let ungranted = world
        .run(&["call", "reader.run", "--yes", "--json"])
        .ended(1);
    assert_eq!(ungranted.code(), "E_SKILL_SCRIPT_FAILED");
}

#[test]
fn a_rule_that_never_asks_lets_the_grant_be_used_and_one_that_always_does_stops_a_contained_call() {
    let world = with_docs();
    let digest = world.digest_of("reader");
    let policy = |ask: &str, grant: &str| {
        format!(
            "version = 1\n[session]\nread = [\"./docs\"]\n[[skill]]\nname = \"reader\"\ndigest = \"{digest}\"\n{grant}tool.run_reader_run.ask = \"{ask}\"\n"
        )
    };
    let grant = "grant.read = [\"./docs\"]\n";
    world.write("project/p.toml", &policy("never", grant));
    let ran = world
        .run(&["--policy", "p.toml", "call", "reader.run"])
        .succeeded();
    assert_eq!(ran.stdout, "the document\n");
    world.write("project/p.toml", &policy("always", ""));
    let ran = world
        .run(&["--policy", "p.toml", "--json", "call", "reader.run"])
        .ended(5);
    assert_eq!(ran.code(), "E_SKILL_SCRIPT_GATE_UNAVAILABLE");
}

#[test]
fn a_person_at_a_terminal_sees_the_call_and_decides() {
    let world = with_docs();
    let call = ["call", "reader.run", "--grant", "read=./docs", "--json"];
    let yes = at_a_terminal(&world, &call, b"y\r");
    assert_eq!(yes.ran.json()["structured"]["stdout"], "the document\n");
    for shown in [
        "run_reader_run of reader 1.0.0",
        "argv",
        "reaches",
        "docs",
        "cli:read=./docs",
    ] {
        assert!(yes.screen.contains(shown), "{shown}: {}", yes.screen);
    }
    let no = at_a_terminal(&world, &call, b"n\r");
    assert_eq!(no.ran.ended(3).code(), "E_SKILL_SCRIPT_DENIED");
    // Nothing typed is no.
    let silent = at_a_terminal(&world, &call, b"\r");
    assert_eq!(silent.ran.ended(3).code(), "E_SKILL_SCRIPT_DENIED");
    let interrupted = at_a_terminal(&world, &call, b"\x03");
    assert_eq!(interrupted.ran.ended(7).code(), "E_SKILL_CANCELLED");
}

#[test]
fn a_question_whose_deadline_passes_keeps_nobody_waiting() {
    let world = with_docs();
    let digest = world.digest_of("reader");
    world.write(
        "project/p.toml",
        &format!(
            "version = 1\n[gate]\ndeadline = \"1s\"\n[session]\nread = [\"./docs\"]\n[[skill]]\nname = \"reader\"\ndigest = \"{digest}\"\ngrant.read = [\"./docs\"]\n"
        ),
    );
    let call = ["--policy", "p.toml", "--json", "call", "reader.run"];
    let ran = answered(&world, &call, Answer::Nothing).ran.ended(5);
    assert_eq!(ran.code(), "E_SKILL_SCRIPT_GATE_UNAVAILABLE");
}

#[test]
fn a_program_that_is_asked_to_stop_does_not_wait_for_the_answer() {
    let world = with_docs();
    let call = ["call", "reader.run", "--grant", "read=./docs", "--json"];
    let ran = answered(&world, &call, Answer::Signal(Signal::SIGTERM))
        .ran
        .ended(7);
    assert_eq!(ran.code(), "E_SKILL_CANCELLED");
}

/// What happens once the question is there.
#[derive(Clone, Copy)]
enum Answer<'a> {
    Keys(&'a [u8]),
    Signal(Signal),
    Nothing,
}

/// What came of a run whose input and messages were a terminal's.
pub(crate) struct AtTerminal {
    pub(crate) ran: Ran,
    pub(crate) screen: String,
}

/// Runs the program at a terminal and types once the question is there.
pub(crate) fn at_a_terminal(world: &World, arguments: &[&str], keys: &[u8]) -> AtTerminal {
    answered(world, arguments, Answer::Keys(keys))
}

/// Runs the program at a terminal, which must be as it was afterwards.
fn answered(world: &World, arguments: &[&str], answer: Answer<'_>) -> AtTerminal {
    let pty = nix::pty::openpty(None, None).unwrap();
    let before = tcgetattr(&pty.slave).unwrap().local_flags;
    let mut command = world.command(arguments);
    let (stdin, stderr) = (pty.slave.try_clone().unwrap(), pty.slave);
    command
        .env("TERM", "xterm")
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(stderr);
    let mut child = command.spawn().unwrap();
    // The program alone holds the terminal now, so that its end ends the reading.
    drop(command);
    let mut screen = Vec::new();
    let mut terminal = File::from(pty.master);
    let mut answered = false;
    let mut some = [0; 1024];
    loop {
        if !is_readable(&terminal) {
            child.kill().unwrap();
            panic!("it hangs: {}", String::from_utf8_lossy(&screen));
        }
        // A terminal whose last user has gone reports an error.
        let Ok(read @ 1..) = terminal.read(&mut some) else {
            break;
        };
        screen.extend_from_slice(&some[..read]);
        if !answered && String::from_utf8_lossy(&screen).contains("Let it run?") {
            answered = true;
            match answer {
                Answer::Keys(keys) => terminal.write_all(keys).unwrap(),
                Answer::Signal(signal) => {
                    let pid = Pid::from_raw(child.id().try_into().unwrap());
                    kill(pid, signal).unwrap();
                }
                Answer::Nothing => {}
            }
        }
    }
    assert_eq!(tcgetattr(&terminal).unwrap().local_flags, before);
    let screen = String::from_utf8_lossy(&screen).into_owned();
    AtTerminal {
        ran: Ran::of(&child.wait_with_output().unwrap()),
        screen,
    }
}

/// Waits until a terminal has something to read, or has lost its last user; a minute at most.
fn is_readable(terminal: &File) -> bool {
    let mut waiting = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
    poll(&mut waiting, PollTimeout::from(60_000_u16)).unwrap() > 0
}
