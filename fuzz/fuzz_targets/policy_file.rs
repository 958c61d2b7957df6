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
        let isolated = file.isolate_limits_for(Some(skill));
        assert!(isolated.is_within(&file.isolate_limits()));
        for tool in [None]
            .into_iter()
            .chain(skill.tools().map(|(tool, _)| Some(tool)))
        {
            let grants = file.grants_for(Some(skill), tool, &cli);
            for name in grants.context().keys() {
                assert!(
                    file.session().context_rule(name).is_some(),
                    "a checked file grants `{name}` beyond its session"
                );
            }
            let request = file.request(&grants, &limits);
            let policy = derive(&ceiling, &request);
            assert!(
                policy.is_ok(),
                "a checked file holds a grant beyond its session: {policy:?}"
            );
        }
    }
});
