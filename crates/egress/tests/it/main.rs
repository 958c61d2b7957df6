//! What a confined run tries on its only way out.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests stop the test, as the tests do"
)]

mod addresses;
mod bounds;
mod dialing;
mod ending;
mod http;
mod relaying;
mod smuggling;
mod socks;
mod support;

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
