//! The program, seen by whoever runs it.

#![expect(
    clippy::disallowed_methods,
    reason = "these tests run the program and write what it reads"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what fails here fails a test"
)]

mod artifacts;
mod asking;
mod calling;
mod checking;
mod demo;
mod explaining;
mod isolated;
mod listing;
mod policy;
mod printing;
mod readme;
mod run;
#[cfg(feature = "weaken")]
mod weakened;

#[test]
fn every_file_here_is_a_module_of_this_binary() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(run::manifest_folder().join("tests/it")).unwrap() {
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
