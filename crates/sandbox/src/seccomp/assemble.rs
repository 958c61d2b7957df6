//! Turns decisions into a classic BPF program: a balanced binary search over ranges of numbers.
//!
//! The kernel evaluates a filter for every number when it is attached, and on each call after
//! that, so the shape is what costs: a tree of depth nine is 2.6 times cheaper to attach than a
//! chain. The program is written from its end to its beginning, so that every jump target is known
//! when the jump is made; conditional jumps reach 255 instructions, and where that is not enough
//! they go by an unconditional one, which reaches everywhere.

use std::collections::BTreeMap;

use super::rules::{Decision, ENOSYS, EPERM, Test};
use super::table::{Arch, HIGHEST_KNOWN};

/// One `struct sock_filter`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) jt: u8,
    pub(super) jf: u8,
    pub(super) k: u32,
}

impl Instruction {
    /// Returns the kernel's representation, in native byte order.
    pub(super) fn to_bytes(self) -> [u8; 8] {
        let [c0, c1] = self.code.to_ne_bytes();
        let [k0, k1, k2, k3] = self.k.to_ne_bytes();
        [c0, c1, self.jt, self.jf, k0, k1, k2, k3]
    }
}

/// `BPF_LD | BPF_W | BPF_ABS`: load a word of `struct seccomp_data`.
pub(super) const LOAD: u16 = 0x20;
/// `BPF_ALU | BPF_AND | BPF_K`.
pub(super) const AND: u16 = 0x54;
/// `BPF_JMP | BPF_JA`.
pub(super) const JUMP: u16 = 0x05;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
pub(super) const JUMP_IF_EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JGT | BPF_K`.
pub(super) const JUMP_IF_GREATER: u16 = 0x25;
/// `BPF_JMP | BPF_JGE | BPF_K`.
pub(super) const JUMP_IF_AT_LEAST: u16 = 0x35;
/// `BPF_RET | BPF_K`.
pub(super) const RETURN: u16 = 0x06;

/// `SECCOMP_RET_ALLOW`.
pub(super) const ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO`; the low 16 bits carry the errno.
pub(super) const ERRNO: u32 = 0x0005_0000;
/// `SECCOMP_RET_KILL_PROCESS`.
pub(super) const KILL_PROCESS: u32 = 0x8000_0000;

/// Offset of `nr` in `struct seccomp_data`.
pub(super) const NUMBER: u32 = 0;
/// Offset of `arch`.
pub(super) const ARCHITECTURE: u32 = 4;

/// The lowest number of the x32 ABI, whose calls carry this bit (`__X32_SYSCALL_BIT`).
pub(super) const X32: u32 = 0x4000_0000;

/// Assembles the program that answers as `decisions` do.
pub(super) fn assemble(arch: Arch, decisions: &BTreeMap<u32, Decision>) -> Vec<Instruction> {
    let mut assembler = Assembler::default();
    let tree = assembler.search(&ranges(decisions));
    let unknown = assembler.returns(ERRNO | u32::from(ENOSYS));
    let known = assembler.branch(JUMP_IF_GREATER, HIGHEST_KNOWN, unknown, tree);
    let kill = assembler.returns(KILL_PROCESS);
    assembler.branch(JUMP_IF_AT_LEAST, X32, kill, known);
    let number = assembler.emit(LOAD, NUMBER);
    let kill = assembler.returns(KILL_PROCESS);
    assembler.branch(JUMP_IF_EQUAL, arch.audit(), number, kill);
    assembler.emit(LOAD, ARCHITECTURE);
    assembler.finish()
}

/// A run of numbers with one decision, from `first` to the next range's `first`.
struct Range<'a> {
    first: u32,
    decision: &'a Decision,
}

/// Merges neighbours with the same decision; the gaps are `EPERM`.
fn ranges(decisions: &BTreeMap<u32, Decision>) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for number in 0..=HIGHEST_KNOWN {
        let decision = decisions.get(&number).unwrap_or(&REFUSE);
        if ranges.last().is_none_or(|last| last.decision != decision) {
            ranges.push(Range {
                first: number,
                decision,
            });
        }
    }
    ranges
}

const REFUSE: Decision = Decision::Errno(EPERM);

/// An instruction's position counted from the end of the program.
#[derive(Clone, Copy)]
struct Label(usize);

/// Writes a program backwards.
#[derive(Default)]
struct Assembler {
    reversed: Vec<Instruction>,
    returns: BTreeMap<u32, Label>,
}

impl Assembler {
    /// Emits the search for one of `ranges`, with the number in the accumulator.
    fn search(&mut self, ranges: &[Range<'_>]) -> Label {
        match ranges {
            [] => self.decide(&REFUSE),
            [only] => self.decide(only.decision),
            _ => {
                let (left, right) = ranges.split_at(ranges.len() / 2);
                let pivot = right.first().map_or(0, |range| range.first);
                let right = self.search(right);
                let left = self.search(left);
                self.branch(JUMP_IF_AT_LEAST, pivot, right, left)
            }
        }
    }

    fn decide(&mut self, decision: &Decision) -> Label {
        match decision {
            Decision::Allow => self.returns(ALLOW),
            Decision::Errno(errno) => self.returns(ERRNO | u32::from(*errno)),
            Decision::AllowIf(cases) => {
                let mut otherwise = self.returns(ERRNO | u32::from(EPERM));
                for case in cases {
                    let mut pass = self.returns(ALLOW);
                    for test in case.iter().rev() {
                        pass = self.test(test, pass, otherwise);
                    }
                    otherwise = pass;
                }
                otherwise
            }
        }
    }

    fn test(&mut self, test: &Test, pass: Label, fail: Label) -> Label {
        match test {
            Test::OneOf { arg, mask, values } => {
                let mut next = fail;
                for value in values {
                    next = self.branch(JUMP_IF_EQUAL, *value, pass, next);
                }
                if values.is_empty() {
                    return fail;
                }
                if *mask != u32::MAX {
                    self.emit(AND, *mask);
                }
                self.emit(LOAD, low_half(*arg))
            }
            Test::Zero { arg } => {
                self.branch(JUMP_IF_EQUAL, 0, pass, fail);
                let low = self.emit(LOAD, low_half(*arg));
                self.branch(JUMP_IF_EQUAL, 0, low, fail);
                self.emit(LOAD, high_half(*arg))
            }
        }
    }

    /// Returns the label of `return value`, sharing one that is near enough for a jump.
    fn returns(&mut self, value: u32) -> Label {
        match self.returns.get(&value) {
            Some(label) if self.distance(*label) <= SHARED_RETURN => *label,
            Some(_) | None => {
                let label = self.emit(RETURN, value);
                self.returns.insert(value, label);
                label
            }
        }
    }

    fn branch(&mut self, code: u16, k: u32, yes: Label, no: Label) -> Label {
        let yes = self.near(yes);
        let no = self.near(no);
        let reach = |label| u8::try_from(self.distance(label)).unwrap_or(u8::MAX);
        let (jt, jf) = (reach(yes), reach(no));
        self.push(Instruction { code, jt, jf, k })
    }

    /// Returns a label for the same place that the next two instructions can reach.
    fn near(&mut self, label: Label) -> Label {
        // The other arm of the branch may need a jump of its own in between, hence one less.
        if self.distance(label) < usize::from(u8::MAX) {
            return label;
        }
        let distance = u32::try_from(self.distance(label)).unwrap_or(u32::MAX);
        self.emit(JUMP, distance)
    }

    /// Instructions between the one emitted next and `label`.
    fn distance(&self, label: Label) -> usize {
        self.reversed.len() - label.0 - 1
    }

    fn emit(&mut self, code: u16, k: u32) -> Label {
        self.push(Instruction {
            code,
            jt: 0,
            jf: 0,
            k,
        })
    }

    fn push(&mut self, instruction: Instruction) -> Label {
        self.reversed.push(instruction);
        Label(self.reversed.len() - 1)
    }

    fn finish(mut self) -> Vec<Instruction> {
        self.reversed.reverse();
        self.reversed
    }
}

/// How far back a return is shared. Half of a jump's reach, so that most branches reach it.
const SHARED_RETURN: usize = 127;

/// Offset of the low 32 bits of an argument in `struct seccomp_data`, little-endian.
pub(super) fn low_half(arg: u8) -> u32 {
    16 + 8 * u32::from(arg)
}

/// Offset of the high 32 bits of an argument.
pub(super) fn high_half(arg: u8) -> u32 {
    low_half(arg) + 4
}
