//! What the crate promises, seen from outside.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose own input is wrong has failed"
)]

mod algebra;
mod errors;
mod explained;
mod fields;
mod grants;
mod isolated;
mod proofs;
mod robustness;

/// The folder that the files of these tests lie in.
fn folder() -> bailiwick_policy::HostPath {
    "/home/ada/project".parse().unwrap()
}

fn parse(text: &str) -> Result<bailiwick_policy::PolicyFile, bailiwick_policy::PolicyFileError> {
    bailiwick_policy::PolicyFile::parse(text, "bailiwick.toml", &folder())
}

#[test]
fn every_file_here_is_a_module_of_this_binary() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else {
            continue;
        };
        assert!(
            module == "main" || listed.contains(&format!("mod {module};\n")),
            "{name}"
        );
    }
}
