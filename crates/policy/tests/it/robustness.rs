//! Text from anywhere is an error at worst.

use bailiwick_policy::{Grants, PolicyFile};
use proptest::prelude::*;

use crate::folder;

/// A file that uses every key that this build has.
const VALID: &str = include_str!("every_field.toml");

/// The largest file that is read, in bytes.
const LARGEST: usize = 64 << 10;

fn read(bytes: &[u8]) -> bool {
    match PolicyFile::parse_bytes(bytes, "bailiwick.toml", &folder()) {
        Ok(file) => {
            let session = file.session_policy();
            for skill in file.skills() {
                let grants = skill
                    .grants()
                    .apply_with_params(file.request(&Grants::default(), file.limits()));
                assert!(grants.is_within(&session), "{:?}", grants.widens(&session));
                for name in skill.grants().context().keys() {
                    assert!(file.session().context_rule(name).is_some(), "{name}");
                }
                let limits = file.isolate_limits_for(Some(skill));
                assert!(limits.is_within(&file.isolate_limits()), "{limits}");
            }
            true
        }
        Err(error) => {
            assert!(!error.problems().is_empty());
            assert!(error.to_string().contains("bailiwick.toml:"));
            let wire = bailiwick_core::SkillError::from(error);
            assert!(wire.model_text().chars().count() <= 400);
            false
        }
    }
}

#[test]
fn the_file_that_uses_every_key_is_valid() {
    assert!(read(VALID.as_bytes()));
}

#[test]
fn nesting_without_end_is_an_error_and_no_overflow() {
    for open in ["a = [", "a = {a=", "[a.", "a.", "[["] {
        assert!(
            !read(open.repeat(LARGEST / open.len()).as_bytes()),
            "{open}"
        );
    }
    for inner in ["[", "{a=", "a."] {
        let depth = LARGEST / inner.len() - 10;
        assert!(
            !read(format!("a = {}", inner.repeat(depth)).as_bytes()),
            "{inner}"
        );
    }
    assert!(!read(
        format!("{}b = 1", "a.".repeat(LARGEST / 2 - 10)).as_bytes()
    ));
}

#[test]
fn problems_without_end_are_cut_to_what_people_read() {
    let unknown = (0..8_000).fold(String::new(), |text, key| {
        text + "k" + &key.to_string() + "=1\n"
    });
    let widened = format!(
        "version = 1\n[[skill]]\nname=\"x\"\nsource=\"user\"\ngrant.read=[{}]",
        "\"/a\",".repeat(8_000)
    );
    for text in [unknown, widened] {
        let error = PolicyFile::parse(&text, "bailiwick.toml", &folder()).unwrap_err();
        assert_eq!(error.problems().len(), 64);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let error = PolicyFile::parse_bytes(b"version = 1\n# \xff", "p", &folder()).unwrap_err();
    assert_eq!(
        (error.problems()[0].line(), error.problems()[0].column()),
        (2, 3)
    );
}

#[test]
fn a_file_without_bound_is_refused_before_it_is_read() {
    let text = format!("version = 1\n#{}", "x".repeat(LARGEST));
    assert!(!read(text.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_an_error_at_worst(bytes: Vec<u8>) {
        read(&bytes);
    }

    #[test]
    fn any_text_is_an_error_at_worst(text in "(\\PC|\n|=|\\[|\\]|\"|\\.){0,80}") {
        read(text.as_bytes());
    }

    #[test]
    fn a_valid_file_with_bytes_changed_is_an_error_at_worst(
        changes in proptest::collection::vec((0..VALID.len(), any::<u8>()), 1..6),
    ) {
        let mut bytes = VALID.as_bytes().to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        read(&bytes);
    }

    #[test]
    fn a_valid_file_with_lines_moved_cut_or_doubled_is_an_error_at_worst(
        moves in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3_u8), 1..8),
        cut in 0..VALID.len(),
    ) {
        let mut lines: Vec<&str> = VALID.lines().collect();
        for (from, to, kind) in moves {
            let (from, to) = (from.index(lines.len()), to.index(lines.len()));
            match kind {
                0 => lines.swap(from, to),
                1 => lines.insert(to, lines[from]),
                _ => {
                    if lines.len() > 1 {
                        lines.remove(from);
                    }
                }
            }
        }
        read(lines.join("\n").as_bytes());
        read(&VALID.as_bytes()[..cut]);
    }
}
