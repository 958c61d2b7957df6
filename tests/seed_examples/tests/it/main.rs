//! The seeds' own examples: what they say happens, happens here.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod echo_tool;
mod hostile_tool;
mod my_notes;
mod scripts;

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
