//! Checks a filter before the kernel sees it, by rules of our own that are no weaker than its.

use super::assemble::{
    AND, Instruction, JUMP, JUMP_IF_AT_LEAST, JUMP_IF_EQUAL, JUMP_IF_GREATER, LOAD, RETURN,
};

/// What is wrong with a filter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Flaw {
    /// It is empty or longer than the kernel takes.
    Length(usize),
    /// An instruction of a kind that our filters do not use.
    Unknown { at: usize },
    /// A load outside `struct seccomp_data` or between its words.
    Load { at: usize },
    /// A jump past the end.
    Jump { at: usize },
    /// The last instruction does not return.
    End,
}

/// Accepts a filter whose every path is forward, in range and ends in a return.
///
/// Jumps are forward by construction of the format (offsets are unsigned and relative to the next
/// instruction), so a program that stays in range and ends in a return always terminates.
pub(super) fn check(program: &[Instruction]) -> Result<(), Flaw> {
    if program.is_empty() || program.len() > MAX_INSTRUCTIONS {
        return Err(Flaw::Length(program.len()));
    }
    for (at, instruction) in program.iter().enumerate() {
        let in_range = |offset: u32| {
            usize::try_from(offset).is_ok_and(|offset| offset < program.len() - at - 1)
        };
        match instruction.code {
            RETURN | AND => {}
            LOAD if instruction.k % 4 == 0 && instruction.k < SECCOMP_DATA_BYTES => {}
            LOAD => return Err(Flaw::Load { at }),
            JUMP if in_range(instruction.k) => {}
            JUMP_IF_EQUAL | JUMP_IF_GREATER | JUMP_IF_AT_LEAST
                if in_range(instruction.jt.into()) && in_range(instruction.jf.into()) => {}
            JUMP | JUMP_IF_EQUAL | JUMP_IF_GREATER | JUMP_IF_AT_LEAST => {
                return Err(Flaw::Jump { at });
            }
            _ => return Err(Flaw::Unknown { at }),
        }
    }
    match program.last() {
        Some(last) if last.code == RETURN => Ok(()),
        Some(_) | None => Err(Flaw::End),
    }
}

/// `BPF_MAXINSNS`.
const MAX_INSTRUCTIONS: usize = 4096;
/// The size of `struct seccomp_data`.
const SECCOMP_DATA_BYTES: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const END: Instruction = Instruction {
        code: RETURN,
        jt: 0,
        jf: 0,
        k: 0,
    };

    #[test]
    fn refuses_what_the_kernel_would_refuse() {
        assert_eq!(check(&[]), Err(Flaw::Length(0)));
        assert_eq!(check(&vec![END; 4097]), Err(Flaw::Length(4097)));
        let past_the_end = Instruction {
            code: JUMP_IF_EQUAL,
            jt: 1,
            jf: 0,
            k: 0,
        };
        assert_eq!(check(&[past_the_end, END]), Err(Flaw::Jump { at: 0 }));
        let far_past = Instruction {
            code: JUMP,
            jt: 0,
            jf: 0,
            k: u32::MAX,
        };
        assert_eq!(check(&[far_past, END]), Err(Flaw::Jump { at: 0 }));
        let outside = Instruction {
            code: LOAD,
            jt: 0,
            jf: 0,
            k: 64,
        };
        assert_eq!(check(&[outside, END]), Err(Flaw::Load { at: 0 }));
        let between = Instruction {
            code: LOAD,
            jt: 0,
            jf: 0,
            k: 2,
        };
        assert_eq!(check(&[between, END]), Err(Flaw::Load { at: 0 }));
        let store = Instruction {
            code: 0x02,
            jt: 0,
            jf: 0,
            k: 0,
        };
        assert_eq!(check(&[store, END]), Err(Flaw::Unknown { at: 0 }));
        let no_end = Instruction {
            code: AND,
            jt: 0,
            jf: 0,
            k: 0,
        };
        assert_eq!(check(&[END, no_end]), Err(Flaw::End));
        assert_eq!(check(&[END]), Ok(()));
    }
}
