//! No test file is forgotten.

use std::path::Path;

#[test]
fn every_file_of_this_folder_is_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else {
            continue;
        };
        assert!(
            module == "main" || listed.contains(&format!("mod {module};")),
            "{name} is not listed in main.rs"
        );
    }
}
