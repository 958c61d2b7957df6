//! Scripts that are run for real, on whatever this machine can enforce.

#![expect(
    clippy::expect_used,
    reason = "tests prepare the host's side and fail loudly"
)]

mod bed;
mod network;

#[test]
fn every_file_of_this_folder_is_a_module_of_it() {
    let listed = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return; // An archive of the tests runs where the sources are not.
    };
    for entry in entries {
        let name = entry.expect("an entry").file_name();
        let name = name.into_string().expect("a name");
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};\n")),
            "{name} is not listed"
        );
    }
}
