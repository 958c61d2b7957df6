//! How the table writes system calls, and how the attack program is told of them.
//!
//! An attempt is calls one after the other, `name(argument, …); name(…)`. An argument is a number,
//! names of the kernel's constants joined by `|`, a text in `'…'`, `#N` for so many zero bytes,
//! `[a, b]` for words in memory, `&name` for a structure that the test makes, or `$N` for the result
//! of an earlier call. `i386:N(…)` enters as a 32-bit program, `x32:name(…)` with the numbers of
//! that table. An attempt fails where it should when the call that fails is the last one, or one
//! from that which is marked with `!` on: what comes before prepares.

use std::collections::BTreeMap;

use super::names::{CALLS, CONSTANTS, ERRORS};

/// The calls of one attempt, as the attack program takes them.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The tokens, without a key.
    pub(super) tokens: String,
    /// The first call whose failure counts.
    pub(super) attacked: usize,
}

/// Structures by name, as bytes.
pub(crate) type Structures = BTreeMap<&'static str, Vec<u8>>;

/// Reads the notation.
pub(crate) fn parse(text: &str, structures: &Structures) -> Result<Calls, String> {
    let calls = split(text, ';')?;
    let mut tokens = Vec::new();
    let mut attacked = calls.len().saturating_sub(1);
    for (position, call) in calls.iter().enumerate() {
        let call = call.trim();
        let call = match call.strip_prefix('!') {
            Some(rest) => {
                attacked = attacked.min(position);
                rest
            }
            None => call,
        };
        let (name, rest) = call
            .split_once('(')
            .ok_or_else(|| format!("no call: {call}"))?;
        let inner = rest
            .strip_suffix(')')
            .ok_or_else(|| format!("no end: {call}"))?;
        for argument in split(inner, ',')? {
            push(argument.trim(), structures, &mut tokens)?;
        }
        tokens.push(entry(name)?);
    }
    Ok(Calls {
        tokens: tokens.join(" "),
        attacked,
    })
}

fn entry(name: &str) -> Result<String, String> {
    let number = |name: &str| {
        let known = CALLS.iter().find(|(known, _)| *known == name);
        match known {
            Some((_, number)) => Ok(*number),
            None => name.parse().map_err(|_| format!("unknown call: {name}")),
        }
    };
    if let Some(name) = name.strip_prefix("i386:") {
        return Ok(format!("i{}", number(name)?));
    }
    if let Some(name) = name.strip_prefix("x32:") {
        const X32: i64 = 0x4000_0000;
        return Ok(format!("c{}", number(name)? | X32));
    }
    Ok(format!("c{}", number(name)?))
}

fn push(argument: &str, structures: &Structures, tokens: &mut Vec<String>) -> Result<(), String> {
    let unknown = || format!("unknown argument: {argument}");
    if let Some(text) = argument.strip_prefix('\'') {
        let text = text.strip_suffix('\'').ok_or_else(unknown)?;
        tokens.push(hex(text.as_bytes()));
    } else if let Some(count) = argument.strip_prefix('#') {
        tokens.push(format!("z{count}"));
    } else if let Some(position) = argument.strip_prefix('$') {
        tokens.push(format!("r{position}"));
    } else if let Some(name) = argument.strip_prefix('&') {
        tokens.push(hex(structures.get(name).ok_or_else(unknown)?));
    } else if let Some(inner) = argument.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(unknown)?;
        let words = split(inner, ',')?;
        for word in &words {
            push(word.trim(), structures, tokens)?;
        }
        tokens.push(format!("w{}", words.len()));
    } else {
        let mut all = 0;
        for part in argument.split('|') {
            all |= constant(part.trim()).ok_or_else(unknown)?;
        }
        tokens.push(format!("n{}", all.cast_unsigned()));
    }
    Ok(())
}

fn constant(name: &str) -> Option<i64> {
    if let Some(digits) = name.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        return Some(bits.cast_signed());
    }
    if let Some(digits) = name.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok();
    }
    let known = CONSTANTS.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| name.parse().ok(), |(_, value)| Some(*value))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold("x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Splits at a sign that stands outside texts and brackets; nothing has no parts.
fn split(text: &str, at: char) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (position, sign) in text.char_indices() {
        match sign {
            '\'' => quoted = !quoted,
            '[' | '(' if !quoted => depth += 1,
            ']' | ')' if !quoted => depth -= 1,
            _ if sign == at && depth == 0 && !quoted => {
                parts.push(&text[start..position]);
                start = position + sign.len_utf8();
            }
            _ => {}
        }
    }
    if depth != 0 || quoted {
        return Err(format!("something does not end: {text}"));
    }
    if !text.trim().is_empty() {
        parts.push(&text[start..]);
    }
    Ok(parts)
}

/// The name of an errno.
pub(super) fn errno(name: &str) -> Option<i32> {
    ERRORS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| *number)
}

/// The errno of a name, for messages.
pub(super) fn errno_name(errno: i32) -> String {
    ERRORS
        .iter()
        .find(|(_, number)| *number == errno)
        .map_or_else(|| format!("errno {errno}"), |(name, _)| (*name).to_owned())
}
