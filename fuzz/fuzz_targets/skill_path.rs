//! Paths inside a package: whatever is accepted is normalised, relative and free of `..`.
#![no_main]

use bailiwick_core::SkillPath;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(path) = text.parse::<SkillPath>() else {
        return;
    };
    let normal = path.as_str();
    assert!(!normal.starts_with(['/', '\\', '~']), "{text:?}");
    assert!(!normal.chars().any(char::is_control), "{text:?}");
    assert!(
        path.segments()
            .all(|segment| !matches!(segment, "" | "." | "..")),
        "{text:?}"
    );
    assert!(
        normal.len() <= 1024 && path.segments().count() <= 32,
        "{text:?}"
    );
    // What is accepted once is accepted again, unchanged, and is the same file as itself.
    assert_eq!(normal.parse::<SkillPath>().as_ref(), Ok(&path), "{text:?}");
    assert!(SkillPath::parse_list([text, normal]).is_err(), "{text:?}");
});
