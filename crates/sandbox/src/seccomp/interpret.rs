//! A pure interpreter of the filters, for tests: what would the kernel answer?

use super::assemble::{
    AND, Instruction, JUMP, JUMP_IF_AT_LEAST, JUMP_IF_EQUAL, JUMP_IF_GREATER, LOAD, RETURN,
};

/// What a system call looks like to a filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallData {
    pub(super) arch: u32,
    pub(super) number: u32,
    pub(super) args: [u64; 6],
}

impl CallData {
    /// Returns the word of `struct seccomp_data` at a byte offset.
    fn word(&self, offset: u32) -> u32 {
        let mut bytes = [0; 64];
        bytes[0..4].copy_from_slice(&self.number.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.arch.to_ne_bytes());
        for (index, arg) in self.args.iter().enumerate() {
            bytes[16 + 8 * index..24 + 8 * index].copy_from_slice(&arg.to_ne_bytes());
        }
        let at = offset as usize;
        u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }
}

/// Runs a checked program and returns what it returns.
pub(super) fn run(program: &[Instruction], data: &CallData) -> u32 {
    trace(program, data).0
}

/// Runs a checked program and returns what it returns, and after how many instructions.
pub(super) fn trace(program: &[Instruction], data: &CallData) -> (u32, usize) {
    let mut accumulator = 0;
    let mut at = 0;
    let mut steps = 0;
    loop {
        steps += 1;
        let Instruction { code, jt, jf, k } = program[at];
        at += 1;
        let mut branch = |taken: bool| at += usize::from(if taken { jt } else { jf });
        match code {
            LOAD => accumulator = data.word(k),
            AND => accumulator &= k,
            JUMP => at += k as usize,
            JUMP_IF_EQUAL => branch(accumulator == k),
            JUMP_IF_GREATER => branch(accumulator > k),
            JUMP_IF_AT_LEAST => branch(accumulator >= k),
            RETURN => return (k, steps),
            other => panic!("instruction {other:#x} is not one of ours"),
        }
    }
}
