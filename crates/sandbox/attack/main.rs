//! Tries what a hostile script would try, and says what the kernel answered.
//!
//! It behaves like an interpreter: `attack FILE` runs the one line in the file, and what follows on
//! the command line is added to it; `attack VERB WORD…` does the same without a file. Every attack
//! is bounded by its own words, so that the same program can run without confinement as a control.
//! It prints one line for each attempt and ends with 0 when the attack succeeded, with 1 when it
//! was refused, and with 2 when it was asked wrongly.

#![no_std]
#![no_main]

mod calls;
mod kernel;
mod say;
mod selftest;
#[path = "../launcher/sys.rs"]
mod sys;
mod verbs;
mod words;

use kernel::Environment;
use words::Words;

/// The entry point.
///
/// # Safety
///
/// Called once by the kernel, through `_start`, with the initial stack.
pub unsafe extern "C" fn entry(stack: *const usize) -> ! {
    // JUSTIFICATION: arguments and environment exist only as pointers on the initial stack.
    // SAFETY: `stack` is the initial stack pointer, and this is the only reading of it.
    let (words, environment) = unsafe { words::from_stack(stack) };
    sys::exit(run(words, environment))
}

/// Nothing is left to say; the exit code tells.
pub fn on_panic() {}

fn run(arguments: Words, environment: Environment) -> i32 {
    let Some(first) = arguments.at(0) else {
        return usage();
    };
    if let Some(code) = verbs::run(&arguments, environment) {
        return code;
    }
    match words::from_file(first, &arguments) {
        // An empty script does nothing, like that of any interpreter.
        Ok(line) if line.at(0).is_none() => 0,
        Ok(line) => verbs::run(&line, environment).unwrap_or_else(usage),
        Err(errno) => {
            say::line(&[b"script: errno ", &say::Number::of(errno.0), b" ", say::name(errno)]);
            2
        }
    }
}

fn usage() -> i32 {
    say::line(&[
        b"usage: attack FILE | read PATH | connect IPV4 PORT | fork LIMIT | allocate MIB | loop | \
          write MIB | daemon | pause | calls | control KEY=VALUE... | selftest KEY=VALUE...",
    ]);
    2
}
