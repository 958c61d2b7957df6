//! `SKILL.md`: a manifest exists exactly when no diagnostic is an error, in both profiles.
#![no_main]

use bailiwick_package::{Manifest, Profile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for profile in [Profile::Standard, Profile::Tool] {
        let (manifest, diagnostics) = Manifest::parse(bytes, None, profile);
        let Some(manifest) = manifest else {
            assert!(!diagnostics.is_empty(), "refused without a word");
            continue;
        };
        assert!(
            bytes.get(manifest.body.clone()).is_some(),
            "the body lies outside the file"
        );
        assert!(
            manifest
                .deferred_tools
                .iter()
                .all(|tool| manifest.tools.contains(tool))
        );
        assert!(profile == Profile::Tool || manifest.tools.is_empty());
        // The directory's name decides: what parses without one parses with the right one alone.
        let named = Manifest::parse(bytes, Some(manifest.name.as_str()), profile).0;
        assert!(named.is_some());
        assert!(
            Manifest::parse(bytes, Some("another-directory-name-entirely"), profile)
                .0
                .is_none()
                || manifest.name.as_str() == "another-directory-name-entirely"
        );
    }
});
