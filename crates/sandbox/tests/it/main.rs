//! Runs that are started for real, on whatever this machine can enforce.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests prepare the host's side and fail loudly"
)]

mod bed;
mod catalogue;
mod cost;
mod coverage;
mod descriptors;
mod differential;
mod disk;
mod ends;
mod grants;
mod honest;
mod hosts;
mod launch;
mod leaks;
mod limits;
mod minimal;
mod modes;
mod network;
mod output;
mod places;
mod proxy;
mod resources;
mod selftest;
mod skill;
mod time;
mod toctou;
mod unkillable;
mod warm;
#[cfg(feature = "weaken")]
mod weakened;

/// A file that is not listed as a module would be tests that nobody runs.
#[test]
fn every_file_of_the_folder_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let listed = include_str!("main.rs");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return; // An archive of the tests runs where the sources are not.
    };
    for entry in entries {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name");
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("mod {module};")),
            "{name}"
        );
    }
}
