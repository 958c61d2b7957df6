//! What the guest can be asked to do; `guest/shim.c` has the same numbers.

/// An operation of `run`, with what its three parts are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operation {
    /// File name, source.
    CompileArrow,
    /// File name, source.
    CompileModule,
    /// Configuration, bytecode.
    Describe,
    /// Configuration, bytecode, arguments.
    CallArrow,
    /// Configuration, bytecode, arguments.
    CallModule,
}

impl Operation {
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::CompileArrow => 1,
            Self::CompileModule => 2,
            Self::Describe => 3,
            Self::CallArrow => 4,
            Self::CallModule => 5,
        }
    }
}
