//! What the host holds against a guest that nobody trusts.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests stop the test, as the tests do"
)]

mod bed;
mod cache;
mod fresh;
mod hostile;
mod limits;
mod modules;
mod panics;
mod script;
mod snapshot;
mod stopping;

#[test]
fn every_file_of_this_folder_is_a_module_of_it() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};\n")),
            "{name} is not listed"
        );
    }
}
