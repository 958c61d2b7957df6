//! Integration tests of the manager.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of a test may fail the test"
)]

mod bed;
mod catalog;
mod fields;
mod isolated;
mod isolated_fields;
mod lifecycle;
mod names;
mod policy;
mod scripts;
#[cfg(feature = "weaken")]
mod weakened;

/// Fails when a file of this folder is not listed above.
#[test]
fn every_file_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        let main = include_str!("main.rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "`{name}` is not listed in main.rs"
        );
    }
}
