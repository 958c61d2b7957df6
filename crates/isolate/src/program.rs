//! A compiled guest, checked against the interface.

use std::fmt;

use wasmtime::{
    ExternType, FuncType, Instance, InstancePre, Linker, Module, Store, TypedFunc, ValType,
};

use crate::abi;
use crate::engine::Engine;
use crate::error::IsolateError;
use crate::state::{Pure, State};

/// A guest's code, compiled and linked; each call makes a fresh instance of it.
///
/// A guest exports `memory`, `alloc(length) -> pointer`,
/// `run(operation, stack, parts, first, second, third) -> answered` and
/// `settle(id, ok, json, length) -> answered`, and imports at most the functions of the module
/// `bailiwick`.
#[derive(Clone)]
pub struct Program {
    pub(crate) engine: Engine,
    pub(crate) linked: InstancePre<State>,
    pub(crate) pure: Pure,
}

impl Program {
    pub(crate) fn compile(engine: &Engine, wasm: &[u8]) -> Result<Self, IsolateError> {
        let wasmtime = &engine.inner().wasmtime;
        let module = Module::new(wasmtime, wasm).map_err(|source| IsolateError::Guest {
            reason: "it is no module that this engine takes".to_owned(),
            source: Some(source.into()),
        })?;
        for (name, parameters) in EXPORTS {
            let wanted = FuncType::new(wasmtime, vec![ValType::I32; parameters], [ValType::I32]);
            let is_there = matches!(
                module.get_export(name),
                Some(ExternType::Func(function)) if FuncType::eq(&function, &wanted)
            );
            if !is_there {
                let reason = format!(
                    "it does not export `{name}` as a function of {parameters} 32-bit integers \
                     that gives one"
                );
                return Err(IsolateError::guest(reason));
            }
        }
        let has_memory = matches!(
            module.get_export("memory"),
            Some(ExternType::Memory(memory)) if !memory.is_64() && !memory.is_shared()
        );
        if !has_memory {
            let reason = "it does not export a 32-bit `memory` of its own";
            return Err(IsolateError::guest(reason));
        }
        let mut linker = Linker::new(wasmtime);
        abi::define(&mut linker).map_err(IsolateError::engine)?;
        let linked = linker
            .instantiate_pre(&module)
            .map_err(|source| IsolateError::Guest {
                reason: "it imports what no guest is given".to_owned(),
                source: Some(source.into()),
            })?;
        Ok(Self {
            engine: engine.clone(),
            linked,
            pure: |_, _| String::new(),
        })
    }

    /// Sets what answers the guest's pure questions: text in, text out, without any effect. It must
    /// be quick, for a guest is not stopped while it asks. An empty text by default.
    #[must_use]
    pub fn pure(mut self, answer: fn(operation: &str, arguments: &str) -> String) -> Self {
        self.pure = answer;
        self
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

/// The functions of one instance.
pub(crate) struct Exports {
    pub(crate) memory: wasmtime::Memory,
    pub(crate) alloc: TypedFunc<u32, u32>,
    pub(crate) run: TypedFunc<(u32, u32, u32, u32, u32, u32), u32>,
    pub(crate) settle: TypedFunc<(u32, u32, u32, u32), u32>,
}

impl Exports {
    pub(crate) fn of(instance: &Instance, store: &mut Store<State>) -> wasmtime::Result<Self> {
        let memory = instance
            .get_memory(&mut *store, "memory")
            .ok_or_else(|| abi::violation("it has no memory"))?;
        Ok(Self {
            memory,
            alloc: instance.get_typed_func(&mut *store, "alloc")?,
            run: instance.get_typed_func(&mut *store, "run")?,
            settle: instance.get_typed_func(&mut *store, "settle")?,
        })
    }
}

/// The functions that a guest exports, with how many integers they take; each gives one.
const EXPORTS: [(&str, usize); 3] = [("alloc", 1), ("run", 6), ("settle", 4)];
