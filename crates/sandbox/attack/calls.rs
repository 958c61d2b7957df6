//! Any system calls at all, as a table of attacks spells them.
//!
//! Each line of standard input is one attempt, made in a process of its own, so that what one
//! attempt does to itself is not done to the next: `KEY TOKEN TOKEN…`. A token is a letter and what
//! follows it:
//!
//! - `n123`: a number as an argument
//! - `x2f746d70`: the address of these bytes and a NUL as an argument
//! - `z4096`: the address of so many zero bytes as an argument
//! - `r0`: the result of the first call as an argument
//! - `w3`: the last three arguments, laid out as words; their address takes their place
//! - `c257`: makes this call with the arguments so far
//! - `i5`: the same by the entry of 32-bit programs
//!
//! A call that fails ends its attempt. The answer is `KEY ok VALUE` with the result of the last
//! call, `KEY errno ERRNO CALL` with the position of the call that failed, or how the process ended
//! before it could answer: `KEY exited CODE`, `KEY signalled SIGNAL`.

use core::arch::asm;

use crate::kernel::{self, number};
use crate::say::{self, Number};
use crate::sys::{self, Errno, Result, call, numbers};
use crate::words::parse;

/// Makes every attempt of standard input; ends with 0 when all lines were understood.
pub fn run() -> i32 {
    let (text, memory) = memory().split_at_mut(TEXT);
    let mut filled = 0;
    loop {
        match sys::read(0, &mut text[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(_) => return 2,
        }
    }
    for line in text[..filled].split(|byte| *byte == b'\n') {
        let mut tokens = line.split(|byte| *byte == b' ');
        let Some(key) = tokens.next().filter(|key| !key.is_empty()) else {
            continue;
        };
        match kernel::fork() {
            Ok(0) => attempt(key, tokens, Machine::new(memory)),
            Ok(child) => follow(key, child),
            Err(errno) => answer(key, Err((errno, 0))),
        }
    }
    0
}

/// Makes one attempt and ends the process.
fn attempt<'a>(key: &[u8], tokens: impl Iterator<Item = &'a [u8]>, mut machine: Machine) -> ! {
    // Where a call waits for ever, that is its answer.
    let _ = numbers(number::ALARM, PATIENCE_SECONDS, 0, 0, 0);
    for token in tokens {
        match machine.take(token) {
            Some(Ok(())) => {}
            Some(Err(errno)) => {
                answer(key, Err((errno, machine.calls)));
                sys::exit(ANSWERED);
            }
            None => sys::exit(NOT_UNDERSTOOD),
        }
    }
    let last = machine.calls.checked_sub(1).map(|last| machine.results[last]);
    answer(key, Ok(last.unwrap_or_default()));
    sys::exit(ANSWERED)
}

/// Waits for an attempt and says how it ended, unless it has answered itself.
fn follow(key: &[u8], child: usize) {
    let Ok(status) = wait_for(child) else {
        return;
    };
    let (how, code): (&[u8], u32) = match (status & 0x7f, status >> 8 & 0xff) {
        (0, code) if code == ANSWERED as u32 => return,
        (0, code) => (b" exited ", code),
        (signal, _) => (b" signalled ", signal),
    };
    say::line(&[key, how, &Number::of(i64::from(code))]);
}

fn answer(key: &[u8], result: core::result::Result<usize, (Errno, usize)>) {
    match result {
        Ok(value) => say::line(&[key, b" ok ", &Number::of(value as i64)]),
        Err((Errno(errno), at)) => say::line(&[
            key,
            b" errno ",
            &Number::of(errno),
            b" ",
            &Number::of(at as i64),
        ]),
    }
}

/// The arguments of the next call, the results of those before, and memory for what is pointed to.
struct Machine {
    memory: &'static mut [u8],
    used: usize,
    arguments: [usize; MOST_ARGUMENTS],
    count: usize,
    results: [usize; MOST_CALLS],
    calls: usize,
}

impl Machine {
    fn new(memory: &mut [u8]) -> Self {
        // The process was forked for this attempt and has the memory for itself.
        let (start, length) = (memory.as_mut_ptr(), memory.len());
        // JUSTIFICATION: the loop that forks lends the memory again in every child.
        // SAFETY: it is a part of a static; in this process nothing else refers to it any more,
        // since `attempt` never returns to the loop.
        let memory = unsafe { core::slice::from_raw_parts_mut(start, length) };
        Self {
            memory,
            used: 0,
            arguments: [0; MOST_ARGUMENTS],
            count: 0,
            results: [0; MOST_CALLS],
            calls: 0,
        }
    }

    /// Does what a token says; `None` when it says nothing.
    fn take(&mut self, token: &[u8]) -> Option<Result<()>> {
        let (kind, rest) = token.split_first()?;
        match kind {
            b'n' => self.push(parse(rest)?)?,
            b'r' => self.push(*self.results[..self.calls].get(parse(rest)?)?)?,
            b'x' => self.bytes(rest)?,
            b'z' => {
                let address = self.reserve(parse(rest)?)?.as_ptr() as usize;
                self.push(address)?;
            }
            b'w' => self.words(parse(rest)?)?,
            b'c' => return self.call(|arguments| enter(parse(rest)?, arguments)),
            b'i' => return self.call(|arguments| enter_as_32_bit(parse(rest)?, arguments)),
            _ => return None,
        }
        Some(Ok(()))
    }

    fn call(
        &mut self,
        enter: impl FnOnce([usize; 6]) -> Option<Result<usize>>,
    ) -> Option<Result<()>> {
        let mut arguments = [0; 6];
        let given = self.arguments.get(..self.count)?;
        arguments.get_mut(..self.count)?.copy_from_slice(given);
        self.count = 0;
        let result = enter(arguments)?;
        Some(result.and_then(|value| {
            let place = self.results.get_mut(self.calls).ok_or(Errno(0))?;
            *place = value;
            self.calls += 1;
            Ok(())
        }))
    }

    fn push(&mut self, argument: usize) -> Option<()> {
        *self.arguments.get_mut(self.count)? = argument;
        self.count += 1;
        Some(())
    }

    fn bytes(&mut self, hex: &[u8]) -> Option<()> {
        let length = hex.len() / 2;
        let place = self.reserve(length + 1)?;
        for (byte, pair) in place.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        let address = place.as_ptr() as usize;
        self.push(address)
    }

    fn words(&mut self, count: usize) -> Option<()> {
        let first = self.count.checked_sub(count)?;
        let words = self.arguments;
        let place = self.reserve(count * 8)?;
        for (bytes, word) in place.chunks_exact_mut(8).zip(words.get(first..)?) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        let address = place.as_ptr() as usize;
        self.count = first;
        self.push(address)
    }

    /// Takes zeroed memory, aligned as any structure of the kernel's asks.
    fn reserve(&mut self, length: usize) -> Option<&mut [u8]> {
        let start = self.used;
        self.used = start.checked_add(length)?.next_multiple_of(16);
        self.memory.get_mut(start..start + length)
    }
}

fn digit(hex: u8) -> Option<u8> {
    match hex {
        b'0'..=b'9' => Some(hex - b'0'),
        b'a'..=b'f' => Some(hex - b'a' + 10),
        _ => None,
    }
}

fn enter(number: usize, arguments: [usize; 6]) -> Option<Result<usize>> {
    // JUSTIFICATION: the attacks are data, and no safe wrapper lets one of them through.
    // SAFETY: the process exists for this attempt alone; what the kernel writes goes to memory that
    // the table reserved, and a table that is wrong breaks nothing but its own attempt.
    Some(unsafe { call(number, arguments) })
}

/// Enters the kernel as a 32-bit program does, with the numbers of its table.
///
/// The program is linked below 4 GiB, and with it everything that an argument points to.
fn enter_as_32_bit(number: usize, arguments: [usize; 6]) -> Option<Result<usize>> {
    let result: u32;
    // JUSTIFICATION: a filter that looks at 64-bit numbers only is passed by this door.
    // SAFETY: as in `enter`. `rbx` is the compiler's and put back; the kernel clears `r8` to `r11`.
    unsafe {
        asm!(
            "mov r12, rbx",
            "mov rbx, r13",
            "int 0x80",
            "mov rbx, r12",
            inlateout("eax") number as u32 => result,
            in("r13") arguments[0],
            in("ecx") arguments[1] as u32,
            in("edx") arguments[2] as u32,
            in("esi") arguments[3] as u32,
            in("edi") arguments[4] as u32,
            out("r12") _,
            lateout("r8") _,
            lateout("r9") _,
            lateout("r10") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    let result = result as i32;
    Some(if (-4095..0).contains(&result) {
        Err(Errno(-result))
    } else {
        Ok(result as usize)
    })
}

/// Waits for a child and returns its wait status.
fn wait_for(child: usize) -> Result<u32> {
    let mut status = 0_u32;
    // JUSTIFICATION: see `enter`.
    // SAFETY: the status is one live word that the kernel writes.
    unsafe {
        call(
            number::WAIT4,
            [child, &raw mut status as usize, 0, 0, 0, 0],
        )
    }?;
    Ok(status)
}

/// The memory for the lines of standard input and for what arguments point to.
fn memory() -> &'static mut [u8] {
    static mut MEMORY: [u8; TEXT + POINTED_TO] = [0; TEXT + POINTED_TO];
    // JUSTIFICATION: there is no allocator.
    // SAFETY: the program has one thread and calls this once.
    unsafe { &mut *(&raw mut MEMORY) }
}

const TEXT: usize = 1 << 20;
const POINTED_TO: usize = 1 << 18;
const MOST_ARGUMENTS: usize = 32;
const MOST_CALLS: usize = 16;
const PATIENCE_SECONDS: usize = 5;
/// The exit code of an attempt that has answered itself.
const ANSWERED: i32 = 97;
/// The exit code of an attempt whose line was wrong.
const NOT_UNDERSTOOD: i32 = 98;
