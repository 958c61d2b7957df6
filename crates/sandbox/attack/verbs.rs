//! The attacks that have a name of their own.

use core::ffi::CStr;

use crate::calls;
use crate::kernel::{self, Address, Environment, number};
use crate::say::{self, Number};
use crate::selftest;
use crate::sys::{self, Errno, nr, numbers};
use crate::words::{Words, parse};

/// Runs the attack that the first word names; `None` when it names none.
pub fn run(words: &Words, environment: Environment) -> Option<i32> {
    let code = match words.at(0)?.to_bytes() {
        b"read" => read(words.at(1)?),
        b"connect" => connect(ipv4(words.at(1)?.to_bytes())?, words.number(2)?),
        b"fork" => fork(words.number(1)?),
        b"allocate" => allocate(words.number(1)?),
        b"write" => write(words.number(1)?),
        b"loop" => endless(),
        b"daemon" => daemon(),
        b"pause" => wait_to_be_killed(),
        b"calls" => calls::run(),
        b"control" => selftest::control(words, environment),
        b"selftest" => selftest::run(words, environment),
        _ => return None,
    };
    Some(code)
}

/// Reads a file.
fn read(path: &CStr) -> i32 {
    match kernel::read_some(path) {
        Ok(bytes) => succeeded(&[b"read: ok ", &number_of(bytes), b" bytes"]),
        Err(errno) => refused(b"read: ", errno),
    }
}

/// Connects to a TCP address.
fn connect(ip: [u8; 4], port: usize) -> i32 {
    let address = Address::internet(ip, port as u16);
    let connected = kernel::socket(2, 1, 0).and_then(|fd| kernel::connect(fd, &address));
    match connected {
        Ok(_) => succeeded(&[b"connect: ok"]),
        Err(errno) => refused(b"connect: ", errno),
    }
}

/// Forks children that sleep, up to a limit (at most [`MOST_CHILDREN`]), and ends them all.
fn fork(limit: usize) -> i32 {
    let limit = limit.min(MOST_CHILDREN);
    let mut children = 0;
    let mut refusals = 0;
    let mut answer = None;
    while children < limit && refusals < PATIENCE {
        match kernel::fork() {
            Ok(0) => loop {
                kernel::pause();
            },
            Ok(child) => {
                remember(children, child);
                children += 1;
            }
            Err(errno) => {
                answer = Some(errno);
                refusals += 1;
                kernel::sleep(TRY_AGAIN_MS);
            }
        }
    }
    for index in 0..children {
        let _ = kernel::kill(recall(index), kernel::SIGKILL);
    }
    while kernel::wait().is_ok() {}
    match answer.filter(|_| children < limit) {
        None => succeeded(&[b"fork: reached ", &number_of(children)]),
        Some(errno) => {
            say::line(&[
                b"fork: refused after ",
                &number_of(children),
                b" errno ",
                &Number::of(errno.0),
                b" ",
                say::name(errno),
            ]);
            1
        }
    }
}

/// How often a refused attack tries again: an endless one would, and it lets the host see it.
const PATIENCE: usize = 50;
const TRY_AGAIN_MS: u64 = 10;
/// The most children that `fork` makes, since it keeps their numbers to end them.
const MOST_CHILDREN: usize = 4096;

static CHILDREN: [core::sync::atomic::AtomicU32; MOST_CHILDREN] =
    [const { core::sync::atomic::AtomicU32::new(0) }; MOST_CHILDREN];

fn remember(index: usize, child: usize) {
    if let Some(place) = CHILDREN.get(index) {
        place.store(child as u32, core::sync::atomic::Ordering::Relaxed);
    }
}

fn recall(index: usize) -> usize {
    CHILDREN
        .get(index)
        .map_or(0, |place| place.load(core::sync::atomic::Ordering::Relaxed)) as usize
}

/// Allocates and touches memory, one mebibyte at a time.
fn allocate(mebibytes: usize) -> i32 {
    const MEBIBYTE: usize = 1 << 20;
    let mut held = 0;
    let mut refusals = 0;
    while held < mebibytes {
        match kernel::map(MEBIBYTE) {
            Ok(address) => {
                kernel::touch_pages(address, MEBIBYTE);
                held += 1;
            }
            Err(_) if refusals < PATIENCE => {
                refusals += 1;
                kernel::sleep(TRY_AGAIN_MS);
            }
            Err(errno) => {
                say::line(&[
                    b"allocate: refused after ",
                    &number_of(held),
                    b" MiB errno ",
                    &Number::of(errno.0),
                    b" ",
                    say::name(errno),
                ]);
                return 1;
            }
        }
    }
    succeeded(&[b"allocate: reached ", &number_of(held), b" MiB"])
}

/// Fills a file in the scratch folder, one mebibyte at a time.
fn write(mebibytes: usize) -> i32 {
    const CHUNK: [u8; 4096] = [b'x'; 4096];
    const CHUNKS: usize = 256;
    // The kernel announces the limit of a file by a signal; the errno is wanted instead.
    kernel::ignore(SIGXFSZ);
    let fd = match kernel::open(c"out/filled", kernel::O_WRONLY | kernel::O_CREAT) {
        Ok(fd) => fd,
        Err(errno) => return refused(b"write: ", errno),
    };
    for held in 0..mebibytes {
        for _ in 0..CHUNKS {
            if let Err(errno) = sys::write(fd, &CHUNK) {
                say::line(&[
                    b"write: refused after ",
                    &number_of(held),
                    b" MiB errno ",
                    &Number::of(errno.0),
                    b" ",
                    say::name(errno),
                ]);
                return 1;
            }
        }
    }
    succeeded(&[b"write: reached ", &number_of(mebibytes), b" MiB"])
}

/// Uses the processor for ever.
fn endless() -> i32 {
    loop {
        core::hint::spin_loop();
    }
}

/// Leaves a process behind that has its own session, ignores every polite signal and holds the
/// standard streams and a lock, and ends.
pub fn daemon() -> i32 {
    const LOCK_EXCLUSIVE: usize = 2;
    let lock = match kernel::open(c"out/alive", kernel::O_WRONLY | kernel::O_CREAT) {
        Ok(fd) => fd,
        Err(errno) => return refused(b"daemon: ", errno),
    };
    if let Err(errno) = numbers(number::FLOCK, lock as usize, LOCK_EXCLUSIVE, 0, 0) {
        return refused(b"daemon: ", errno);
    }
    match kernel::fork() {
        Ok(0) => {
            let _ = numbers(nr::SETSID, 0, 0, 0, 0);
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                kernel::ignore(signal);
            }
            loop {
                kernel::pause();
            }
        }
        Ok(child) => succeeded(&[b"daemon: left ", &number_of(child)]),
        Err(errno) => refused(b"daemon: ", errno),
    }
}

const SIGHUP: usize = 1;
const SIGINT: usize = 2;
const SIGQUIT: usize = 3;
const SIGTERM: usize = 15;
const SIGXFSZ: usize = 25;

/// Is the victim of others: says its number and waits.
fn wait_to_be_killed() -> i32 {
    match numbers(nr::GETPID, 0, 0, 0, 0) {
        Ok(pid) => say::line(&[b"pause: ", &number_of(pid)]),
        Err(errno) => return refused(b"pause: ", errno),
    }
    loop {
        kernel::pause();
    }
}

fn succeeded(parts: &[&[u8]]) -> i32 {
    say::line(parts);
    0
}

fn refused(verb: &[u8], errno: Errno) -> i32 {
    say::line(&[
        verb,
        b"errno ",
        &Number::of(errno.0),
        b" ",
        say::name(errno),
    ]);
    1
}

fn number_of(count: usize) -> Number {
    Number::of(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Reads a dotted address.
fn ipv4(text: &[u8]) -> Option<[u8; 4]> {
    let mut parts = text
        .split(|byte| *byte == b'.')
        .map(|part| u8::try_from(parse(part)?).ok());
    let ip = [
        parts.next()??,
        parts.next()??,
        parts.next()??,
        parts.next()??,
    ];
    parts.next().is_none().then_some(ip)
}
