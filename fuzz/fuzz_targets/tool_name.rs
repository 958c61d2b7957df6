//! Names of tools and skills: whatever is accepted stays in its alphabet and its length.
#![no_main]

use bailiwick_core::{SkillName, ToolName};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(tool) = text.parse::<ToolName>() {
        assert_eq!(tool.as_str(), text);
        assert!((1..=64).contains(&text.len()));
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        );
    }
    if let Ok(skill) = text.parse::<SkillName>() {
        // A skill's name is a folder's: it never leads anywhere else.
        assert!(!text.contains(['/', '\\', '.']) && !text.starts_with('-'));
        if let Ok(tool) = ToolName::for_script(&skill, "run") {
            assert_eq!(tool.as_str(), format!("run_{text}_run"));
        }
    }
});
