//! The functions that a guest imports. Every pointer, length and number in them is the guest's
//! word and is checked here.

use wasmtime::{Caller, Extern, Linker, Memory, Result as WasmResult};

use crate::clock::{Which, denied};
use crate::completion::Ending;
use crate::state::{State, contained, told};

/// The name of the module that a guest imports from.
pub(crate) const MODULE: &str = "bailiwick";

/// Defines every import of a guest.
pub(crate) fn define(linker: &mut Linker<State>) -> WasmResult<()> {
    linker.func_wrap(MODULE, "start", start)?;
    linker.func_wrap(MODULE, "sleep", sleep)?;
    linker.func_wrap(MODULE, "drop", give_up)?;
    linker.func_wrap(MODULE, "log", log)?;
    linker.func_wrap(MODULE, "update", update)?;
    linker.func_wrap(MODULE, "done", done)?;
    linker.func_wrap(MODULE, "entropy", entropy)?;
    linker.func_wrap(MODULE, "clock", clock)?;
    linker.func_wrap(MODULE, "random", random)?;
    linker.func_wrap(MODULE, "pure", pure)?;
    linker.func_wrap(MODULE, "reply", reply)?;
    Ok(())
}

fn start(
    mut caller: Caller<'_, State>,
    id: u32,
    member: u32,
    member_length: u32,
    arguments: u32,
    arguments_length: u32,
) -> WasmResult<()> {
    let (memory, state) = guest(&mut caller)?;
    let member = text(memory, member, member_length)?;
    let arguments = bytes(memory, arguments, arguments_length)?;
    state
        .start(id, member, arguments)
        .map_err(|what| violation(&what))
}

fn sleep(mut caller: Caller<'_, State>, id: u32, milliseconds: f64) -> WasmResult<()> {
    caller
        .data_mut()
        .sleep(id, milliseconds)
        .map_err(|what| violation(&what))
}

fn give_up(mut caller: Caller<'_, State>, id: u32) {
    caller.data_mut().give_up(id);
}

fn log(
    mut caller: Caller<'_, State>,
    level: u32,
    level_length: u32,
    message: u32,
    message_length: u32,
) -> WasmResult<()> {
    let (memory, state) = guest(&mut caller)?;
    let level = text(memory, level, level_length)?;
    let known = LEVELS.iter().find(|known| **known == level);
    let message = bytes(memory, message, message_length)?;
    // Only what can be kept is looked at: a guest may log a text as large as its memory.
    let most = state.limits.log_bytes.saturating_add(LONGEST_CHARACTER);
    let looked_at = &message[..message.len().min(most)];
    let message = String::from_utf8_lossy(looked_at);
    state.log((*known.unwrap_or(&"log")).to_owned(), &message);
    Ok(())
}

fn update(mut caller: Caller<'_, State>, json: u32, length: u32) -> WasmResult<()> {
    let (memory, state) = guest(&mut caller)?;
    let json = bytes(memory, json, length)?;
    state.update(json);
    Ok(())
}

fn done(mut caller: Caller<'_, State>, kind: u32, answer: u32, length: u32) -> WasmResult<()> {
    let (memory, state) = guest(&mut caller)?;
    let answer = bytes(memory, answer, length)?;
    if state.ending.is_some() {
        return Err(violation("it answered twice"));
    }
    state.ending = Some(if answer.len() > state.limits.result {
        Ending::ResultTooLarge {
            bytes: u64::from(length),
        }
    } else {
        Ending::Answered {
            kind,
            bytes: answer.to_vec(),
        }
    });
    Ok(())
}

fn entropy(mut caller: Caller<'_, State>) -> WasmResult<u64> {
    Ok(caller.data_mut().random.entropy()?)
}

/// Writes milliseconds and answers 0, or answers the length of the denial in the reply.
fn clock(mut caller: Caller<'_, State>, which: u32, milliseconds: u32) -> WasmResult<u32> {
    let which = match which {
        0 => Which::TimeOfDay,
        1 => Which::Monotonic,
        _ => return Err(violation("it asked for a clock that there is not")),
    };
    let (memory, state) = guest(&mut caller)?;
    let Some(now) = state.clock.read(which, state.begun) else {
        return Ok(deny(state, CLOCK_DENIAL, "clock"));
    };
    bytes_mut(memory, milliseconds, 8)?.copy_from_slice(&now.to_le_bytes());
    Ok(0)
}

/// Fills bytes and answers 0, or answers the length of the denial in the reply.
fn random(mut caller: Caller<'_, State>, place: u32, length: u32) -> WasmResult<u32> {
    if length > MOST_RANDOM {
        return Err(violation("it asked for more random bytes than there are"));
    }
    let (memory, state) = guest(&mut caller)?;
    let place = bytes_mut(memory, place, length)?;
    if state.random.fill(place)? {
        Ok(0)
    } else {
        Ok(deny(state, RANDOM_DENIAL, "random"))
    }
}

/// Asks a pure question and answers the length of the reply.
fn pure(
    mut caller: Caller<'_, State>,
    operation: u32,
    operation_length: u32,
    arguments: u32,
    arguments_length: u32,
) -> WasmResult<u32> {
    let (memory, state) = guest(&mut caller)?;
    if arguments_length as usize > state.limits.host_call_bytes {
        return Err(violation(
            "it asked a longer question than a host call may be",
        ));
    }
    let operation = text(memory, operation, operation_length)?;
    let arguments = text(memory, arguments, arguments_length)?;
    let answer = contained(|| (state.pure)(operation, arguments))
        .ok_or_else(|| violation("its host panicked over a question"))?;
    state.reply = answer.into_bytes();
    u32::try_from(state.reply.len()).map_err(|_| violation("the reply is too large for it"))
}

fn reply(mut caller: Caller<'_, State>, place: u32) -> WasmResult<()> {
    let (memory, state) = guest(&mut caller)?;
    let reply = std::mem::take(&mut state.reply);
    let length = u32::try_from(reply.len()).unwrap_or(u32::MAX);
    bytes_mut(memory, place, length)?.copy_from_slice(&reply);
    Ok(())
}

fn deny(state: &mut State, id: u32, capability: &str) -> u32 {
    let error = denied(capability);
    state.reply = told(&error, id);
    state.denied(id, error);
    u32::try_from(state.reply.len()).unwrap_or(u32::MAX)
}

/// Returns the guest's memory and the host's side of it.
pub(crate) fn guest<'a, T: 'static>(
    caller: &'a mut Caller<'_, T>,
) -> WasmResult<(&'a mut [u8], &'a mut T)> {
    let memory = memory(caller)?;
    Ok(memory.data_and_store_mut(caller))
}

fn memory<T: 'static>(caller: &mut Caller<'_, T>) -> WasmResult<Memory> {
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => Ok(memory),
        Some(_) | None => Err(violation("it has no memory")),
    }
}

fn bytes(memory: &[u8], pointer: u32, length: u32) -> WasmResult<&[u8]> {
    memory
        .get(pointer as usize..)
        .and_then(|rest| rest.get(..length as usize))
        .ok_or_else(|| violation("it named a place outside its memory"))
}

pub(crate) fn bytes_mut(memory: &mut [u8], pointer: u32, length: u32) -> WasmResult<&mut [u8]> {
    memory
        .get_mut(pointer as usize..)
        .and_then(|rest| rest.get_mut(..length as usize))
        .ok_or_else(|| violation("it named a place outside its memory"))
}

fn text(memory: &[u8], pointer: u32, length: u32) -> WasmResult<&str> {
    std::str::from_utf8(bytes(memory, pointer, length)?)
        .map_err(|_| violation("it gave a text that is not UTF-8"))
}

/// A guest that broke the interface; it ends the call.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Violation(pub(crate) String);

pub(crate) fn violation(what: &str) -> wasmtime::Error {
    wasmtime::Error::new(Violation(what.to_owned()))
}

/// The levels of a log.
const LEVELS: [&str; 5] = ["debug", "log", "info", "warn", "error"];

/// The numbers under which a guest knows denials that answer no host call; its own numbers count
/// from 1 and are bounded by its quota.
const CLOCK_DENIAL: u32 = u32::MAX;
const RANDOM_DENIAL: u32 = u32::MAX - 1;

/// Bytes that one question for random ones gets: what the standard gives to `getRandomValues`. A
/// guest is not stopped while the system makes them.
const MOST_RANDOM: u32 = 65536;

/// Bytes of the longest character of UTF-8.
const LONGEST_CHARACTER: usize = 4;
