//! The program behind `cargo xtask bench`.
