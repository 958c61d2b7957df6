//! Tests of the JavaScript tier through the call path.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests stop the test, as the tests do"
)]

mod bed;
mod concurrency;
mod data;
mod deep;
mod engine;
mod errors;
mod fresh;
mod grants;
mod hostile;
mod modules;
mod reach;
mod results;
mod round_trip;
mod sources;

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
