//! Snapshots: a guest that has already started.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::{Caller, Engine, Instance, Linker, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

use crate::abi::{MODULE, bytes_mut, guest};
use crate::error::IsolateError;

/// Runs a guest's `wizer-initialize` and returns the module that is in the state it left behind.
///
/// The guest can ask the pure question `setting` and is answered with the text that is given. Its
/// code is trusted in this: it runs without limits, and nothing else that it imports does anything.
/// It blocks for as long as the guest takes to compile and start.
///
/// # Errors
///
/// `E_SKILL_ISOLATED_GUEST_INVALID` when the module has no such function, or it traps.
pub fn snapshot(wasm: &[u8], setting: &str) -> Result<Vec<u8>, IsolateError> {
    let failed = |source: wasmtime::Error| IsolateError::Guest {
        reason: "it cannot be started".to_owned(),
        source: Some(source.into()),
    };
    let wizer = Wizer::new();
    let (context, instrumented) = wizer.instrument(wasm).map_err(failed)?;
    let engine = Engine::default();
    let module = Module::new(&engine, &instrumented).map_err(failed)?;
    let mut store = Store::new(&engine, setting.as_bytes().into());
    let mut linker = Linker::new(&engine);
    define(&mut linker)
        .and_then(|()| linker.define_unknown_imports_as_traps(&module))
        .map_err(failed)?;
    let instance = linker.instantiate(&mut store, &module).map_err(failed)?;
    instance
        .get_typed_func::<(), ()>(&mut store, wizer.get_init_func())
        .and_then(|initialize| initialize.call(&mut store, ()))
        .map_err(failed)?;
    let mut state = Started {
        store: &mut store,
        instance,
    };
    at_once(wizer.snapshot(&context, &mut state)).map_err(failed)
}

/// What a guest is told while it starts.
type Setting = Box<[u8]>;

fn define(linker: &mut Linker<Setting>) -> wasmtime::Result<()> {
    linker.func_wrap(MODULE, "entropy", || 1_u64)?;
    linker.func_wrap(
        MODULE,
        "pure",
        |caller: Caller<'_, Setting>, _: u32, _: u32, _: u32, _: u32| -> wasmtime::Result<u32> {
            Ok(u32::try_from(caller.data().len())?)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "reply",
        |mut caller: Caller<'_, Setting>, place: u32| {
            let (memory, setting) = guest(&mut caller)?;
            let length = u32::try_from(setting.len())?;
            bytes_mut(memory, place, length)?.copy_from_slice(setting);
            Ok(())
        },
    )?;
    Ok(())
}

/// A guest that has started.
struct Started<'a> {
    store: &'a mut Store<Setting>,
    instance: Instance,
}

impl InstanceState for Started<'_> {
    async fn global_get(&mut self, name: &str, _type: ValType) -> SnapshotVal {
        let global = self.instance.get_global(&mut *self.store, name);
        match global.map(|global| global.get(&mut *self.store)) {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(value)) => SnapshotVal::F32(value),
            Some(Val::F64(value)) => SnapshotVal::F64(value),
            Some(Val::V128(value)) => SnapshotVal::V128(value.as_u128()),
            // Wizer asks for the globals that it exported, all of which are numbers.
            Some(_) | None => SnapshotVal::I32(0),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(&mut *self.store, name);
        contents(memory.map_or(&[], |memory| memory.data(&*self.store)));
    }
}

/// Drives a future that never waits.
fn at_once<T>(future: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<T> {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return result;
        }
    }
}
