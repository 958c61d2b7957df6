//! Names of skills and tools.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::code::Code;
use crate::error::SkillError;

/// A skill's name: `[a-z0-9]+(-[a-z0-9]+)*`, at most 64 characters (contracts 1.2).
///
/// # Examples
///
/// ```
/// use bailiwick_core::SkillName;
///
/// let name: SkillName = "release-notes".parse()?;
/// assert_eq!(name.as_str(), "release-notes");
/// assert!("Release_Notes".parse::<SkillName>().is_err());
/// # Ok::<_, bailiwick_core::NameRejected>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct SkillName(String);

/// A tool's name: `[A-Za-z_][A-Za-z0-9_-]{0,63}`, case-sensitive, never normalised
/// (contracts 1.1).
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ToolName(String);

impl SkillName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToolName {
    /// Returns the generated name of a declared script, `run_<skill>_<script>`.
    ///
    /// # Errors
    ///
    /// [`NameRejected`] when the generated text is no tool name, for instance over 64 characters.
    pub fn for_script(skill: &SkillName, script: &str) -> Result<Self, NameRejected> {
        format!("run_{skill}_{script}").parse()
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether hosts that prefix tool names may run out of room (over 40 characters).
    pub fn is_long(&self) -> bool {
        self.0.len() > LONG_TOOL_NAME
    }

    /// Returns who the name is reserved for, when it is reserved (contracts 1.4).
    pub fn reserved(&self) -> Option<Reserved> {
        let name = self.as_str();
        if ABSOLUTELY_RESERVED.contains(&name) {
            Some(Reserved::Absolutely)
        } else if BUNDLED.contains(&name) {
            Some(Reserved::ForBundled)
        } else {
            None
        }
    }
}

/// Says who may publish a reserved tool name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third kind of reservation is a decision for every caller"
)]
pub enum Reserved {
    /// Nobody but the runtime itself.
    Absolutely,
    /// The bundled skill that owns it, and that skill's project override.
    ForBundled,
}

impl FromStr for SkillName {
    type Err = NameRejected;

    fn from_str(text: &str) -> Result<Self, NameRejected> {
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.len() > MAX_NAME {
            "it is longer than 64 characters"
        } else if !text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            "only lowercase letters, digits and hyphens are allowed"
        } else if text.starts_with('-') || text.ends_with('-') || text.contains("--") {
            "a hyphen stands only between letters or digits"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(NameRejected {
            kind: "skill",
            name: text.to_owned(),
            reason,
        })
    }
}

impl FromStr for ToolName {
    type Err = NameRejected;

    fn from_str(text: &str) -> Result<Self, NameRejected> {
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.len() > MAX_NAME {
            "it is longer than 64 characters"
        } else if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            "it must begin with a letter or an underscore"
        } else if !text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        {
            "only letters, digits, underscores and hyphens are allowed"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(NameRejected {
            kind: "tool",
            name: text.to_owned(),
            reason,
        })
    }
}

macro_rules! text_traits {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

text_traits!(SkillName);
text_traits!(ToolName);

/// A name that breaks its rule.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{name}` is not a {kind} name: {reason}")]
#[non_exhaustive]
pub struct NameRejected {
    /// What was to be named: `skill` or `tool`.
    pub kind: &'static str,
    /// The text as given.
    pub name: String,
    /// The rule that it breaks.
    pub reason: &'static str,
}

impl From<NameRejected> for SkillError {
    fn from(error: NameRejected) -> Self {
        Self::new(Code::ManifestInvalid, error.to_string())
            .with_detail("name", error.name.as_str())
            .with_detail("reason", error.reason)
    }
}

const MAX_NAME: usize = 64;
const LONG_TOOL_NAME: usize = 40;

const ABSOLUTELY_RESERVED: &[&str] = &[
    // Artifact readers.
    "artifact_head",
    "artifact_tail",
    "artifact_grep",
    "artifact_cat",
    "artifact_byte_length",
    "artifact_line_count",
    "artifact_estimate_tokens",
    "artifact_md_frontmatter",
    "artifact_md_headings",
    "artifact_md_code_blocks",
    "artifact_md_sections",
    "artifact_md_links",
    "artifact_md_images",
    "artifact_md_text",
    "artifact_md_ast",
    // Lifecycle tools.
    "list_skills",
    "list_loaded_skills",
    "refresh_skills",
    "load_skill",
    "unload_skill",
    "tool_search",
];

const BUNDLED: &[&str] = &[
    "ask",
    "bash",
    "browser",
    "edit",
    "execute_skill_script",
    "fetch",
    "find_images",
    "generate_image",
    "get_observation",
    "glob",
    "grep",
    "history",
    "jobs",
    "notes",
    "projects",
    "prompt_project",
    "propose_branch",
    "read",
    "read_skill",
    "read_skill_reference",
    "run_js",
    "tasks",
    "todos",
    "web_search",
    "write",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_script_name_keeps_its_hyphens() {
        let skill: SkillName = "text-tools".parse().unwrap();
        assert_eq!(
            ToolName::for_script(&skill, "word-count").unwrap().as_str(),
            "run_text-tools_word-count"
        );
    }

    #[test]
    fn a_generated_name_obeys_the_length_limit() {
        let skill: SkillName = "a".repeat(60).parse().unwrap();
        let error = ToolName::for_script(&skill, "b").unwrap_err();
        assert_eq!(error.reason, "it is longer than 64 characters");
    }

    #[test]
    fn readers_and_lifecycle_tools_are_reserved_absolutely() {
        for name in [
            "artifact_grep",
            "artifact_md_sections",
            "load_skill",
            "tool_search",
        ] {
            assert_eq!(
                name.parse::<ToolName>().unwrap().reserved(),
                Some(Reserved::Absolutely),
                "{name}"
            );
        }
        assert_eq!(
            "read_skill".parse::<ToolName>().unwrap().reserved(),
            Some(Reserved::ForBundled)
        );
        assert_eq!(
            "Artifact_Grep".parse::<ToolName>().unwrap().reserved(),
            None
        );
    }

    #[test]
    fn deserialising_takes_the_same_way_in() {
        assert!(serde_json::from_str::<SkillName>("\"a--b\"").is_err());
        assert_eq!(
            serde_json::from_str::<ToolName>("\"a-b\"")
                .unwrap()
                .as_str(),
            "a-b"
        );
    }

    proptest! {
        #[test]
        fn skill_names_are_exactly_the_documented_pattern(text in "[a-zA-Z0-9_-]{0,70}") {
            let parts_are_fine = text.split('-').all(|part| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            });
            prop_assert_eq!(text.parse::<SkillName>().is_ok(), parts_are_fine && text.len() <= 64);
        }

        #[test]
        fn no_tool_name_leaves_its_alphabet(text in any::<String>()) {
            if let Ok(name) = text.parse::<ToolName>() {
                prop_assert!(name.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            }
        }
    }
}
