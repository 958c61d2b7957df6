//! The code blocks of the seeds, in Rust, as tests: see `tests/it`.
#![forbid(unsafe_code)]
