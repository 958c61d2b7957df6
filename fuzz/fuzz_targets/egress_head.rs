//! The proxy's parsers: no input panics, and what is written anew can be read in one way alone.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| bailiwick_egress::fuzzing::read_everything(bytes));
