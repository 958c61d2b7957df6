//! The policy file: a file is refused with problems, or every grant in it lies inside its session.
#![no_main]

use bailiwick_policy::{CliGrants, HostPath, PolicyFile, derive};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder: HostPath = "/home/ada/project".parse().expect("an absolute path");
    let file = match PolicyFile::parse_bytes(bytes, "bailiwick.toml", &folder) {
        Ok(file) => file,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let cli = CliGrants::none();
    let ceiling = file
        .ceiling(&cli)
        .expect("without a person's grant the ceiling is the file's own");
    assert!(ceiling.is_within(&ceiling));
    for skill in file.skills() {
        let limits = file.limits_for(Some(skill));
        for tool in [None]
            .into_iter()
            .chain(skill.tools().map(|(tool, _)| Some(tool)))
        {
            let grants = file.grants_for(Some(skill), tool, &cli);
            let request = file.request(&grants, &limits);
            let policy = derive(&ceiling, &request);
            assert!(
                policy.is_ok(),
                "a checked file holds a grant beyond its session: {policy:?}"
            );
        }
    }
});
