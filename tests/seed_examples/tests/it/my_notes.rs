//! The front matter of the seed's `my-notes`.

use bailiwick::core::{CancelToken, SkillSource as _};
use bailiwick::{InMemorySkill, InMemorySource};

const MY_NOTES: &str = "\
---
name: my-notes # must match the directory name
description: Short trigger text for humans and skill discovery
version: 1.0.0 # semver; used by export
tools:
  - notes # model-facing Tool name(s)
# deferred-tools:              # optional; subset of tools → behind tool_search
#   - notes
---
";

#[tokio::test]
async fn the_front_matter_of_my_notes_is_read_as_written() {
    let skill =
        InMemorySkill::new(MY_NOTES).file("scripts/notes.js", "export const description = '';");
    let source = InMemorySource::new("seed").with(skill).unwrap();
    let found = source.discover(CancelToken::new()).await.unwrap().skills;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name.as_str(), "my-notes");
    assert_eq!(found[0].version.as_deref(), Some("1.0.0"));
    assert_eq!(
        found[0].description,
        "Short trigger text for humans and skill discovery"
    );
}
