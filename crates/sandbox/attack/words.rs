//! The words of an attack: from the command line, or from the one line of a script.

use core::ffi::CStr;

use crate::kernel::{self, Environment};
use crate::sys;

/// The words that one attack can have.
const MOST: usize = 24;

/// A verb and what follows it.
#[derive(Clone, Copy)]
pub struct Words {
    words: [&'static CStr; MOST],
    count: usize,
}

impl Words {
    const EMPTY: Self = Self {
        words: [c""; MOST],
        count: 0,
    };

    /// Returns a word by its position, the verb being the first.
    pub fn at(&self, index: usize) -> Option<&'static CStr> {
        self.words[..self.count].get(index).copied()
    }

    /// Returns a word as a number.
    pub fn number(&self, index: usize) -> Option<usize> {
        parse(self.at(index)?.to_bytes())
    }

    /// Returns the value of the word `KEY=VALUE`.
    pub fn value(&self, key: &[u8]) -> Option<&'static CStr> {
        self.words[..self.count].iter().find_map(|word| {
            let rest = word
                .to_bytes_with_nul()
                .strip_prefix(key)?
                .strip_prefix(b"=")?;
            CStr::from_bytes_with_nul(rest).ok()
        })
    }

    fn push(&mut self, word: &'static CStr) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
            self.count += 1;
        }
    }
}

/// Reads a decimal number.
pub fn parse(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_usize, |value, digit| {
        let digit = usize::from(digit.wrapping_sub(b'0'));
        if digit > 9 {
            None
        } else {
            value.checked_mul(10)?.checked_add(digit)
        }
    })
}

/// Takes the arguments after the program's own name, and the environment.
///
/// # Safety
///
/// `stack` is the initial stack pointer of the process.
pub unsafe fn from_stack(stack: *const usize) -> (Words, Environment) {
    let mut words = Words::EMPTY;
    // JUSTIFICATION: the kernel lays out count, arguments, null, environment, null on the stack.
    // SAFETY: the layout is the ABI's; every string lives as long as the process.
    unsafe {
        let count = *stack;
        for index in 1..count {
            let argument = *stack.add(1 + index) as *const core::ffi::c_char;
            words.push(CStr::from_ptr(argument));
        }
        (words, Environment::at(stack.add(count + 2).cast()))
    }
}

/// Reads the line of a script and appends the arguments that followed the script's path.
pub fn from_file(path: &CStr, arguments: &Words) -> sys::Result<Words> {
    let text = kernel::read_script(path)?;
    let mut words = Words::EMPTY;
    let line = text
        .split(|byte| *byte == b'\n')
        .find(|line| !line.is_empty() && !line.starts_with(b"#"));
    // The kernel module hands the text out with every blank already a NUL.
    for word in line.unwrap_or_default().split_inclusive(|byte| *byte == 0) {
        if let Ok(word) = CStr::from_bytes_with_nul(word)
            && !word.is_empty()
        {
            words.push(word);
        }
    }
    for index in 1..arguments.count {
        if let Some(word) = arguments.at(index) {
            words.push(word);
        }
    }
    Ok(words)
}
