//! Which policy files of projects a person has looked at and accepted.
//!
//! A `bailiwick.toml` that comes with a project counts for nothing until a person trusts it, and
//! then only as long as its bytes stay the same. This module is the book that trust is kept in;
//! reading and writing it is the program's.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bailiwick_core::{Code, Digest, SkillError};
use serde::{Deserialize, Serialize};

use crate::origin::Origin;
use crate::path::HostPath;
use crate::policy::SandboxPolicy;

/// The policy files that a person trusts: canonical path, digest, and when.
///
/// # Examples
///
/// ```
/// use bailiwick_core::Digest;
/// use bailiwick_policy::{HostPath, TrustState, TrustStore};
///
/// let path: HostPath = "/home/ada/project/bailiwick.toml".parse()?;
/// let mut store = TrustStore::default();
/// store.trust(path.clone(), Digest::of(b"version = 1"), "2026-01-31T12:00:00Z");
/// assert_eq!(store.state(&path, &Digest::of(b"version = 1")), TrustState::Trusted);
/// assert!(matches!(store.state(&path, &Digest::of(b"edited")), TrustState::Changed { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TrustStore {
    bindings: BTreeMap<HostPath, Binding>,
}

impl TrustStore {
    /// Reads the text that [`to_text`](Self::to_text) wrote.
    ///
    /// # Errors
    ///
    /// [`TrustError`] (`E_INVALID_SKILLS_CONFIG`): a book that cannot be read trusts nothing, and
    /// says so instead of starting afresh.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let book: Book = toml::from_str(text).map_err(|error| TrustError::Malformed {
            reason: error.message().to_owned(),
        })?;
        if book.version != VERSION {
            return Err(TrustError::Malformed {
                reason: format!("version {} is not known", book.version),
            });
        }
        let mut bindings = BTreeMap::new();
        for Entry {
            path,
            digest,
            bound_at,
        } in book.trusted
        {
            if bindings
                .insert(path.clone(), Binding { digest, bound_at })
                .is_some()
            {
                return Err(TrustError::Malformed {
                    reason: format!("`{path}` stands in it twice"),
                });
            }
        }
        Ok(Self { bindings })
    }

    /// Returns the store as text, in the order of the paths.
    ///
    /// # Errors
    ///
    /// [`TrustError`] if the text cannot be made.
    pub fn to_text(&self) -> Result<String, TrustError> {
        let trusted = self.bindings.iter().map(|(path, binding)| Entry {
            path: path.clone(),
            digest: binding.digest,
            bound_at: binding.bound_at.clone(),
        });
        let book = Book {
            version: VERSION,
            trusted: trusted.collect(),
        };
        let body = toml::to_string(&book).map_err(|error| TrustError::Unwritable {
            reason: error.to_string(),
        })?;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "# Written by `bailiwick trust`: each digest was looked at by a person."
        );
        Ok(text + &body)
    }

    /// Trusts the file at a canonical path as long as its digest is this one.
    ///
    /// `bound_at` is shown to people and never compared.
    pub fn trust(&mut self, path: HostPath, digest: Digest, bound_at: impl Into<String>) {
        self.bindings.insert(
            path,
            Binding {
                digest,
                bound_at: bound_at.into(),
            },
        );
    }

    /// Stops trusting a file, and says whether it was trusted.
    pub fn revoke(&mut self, path: &HostPath) -> bool {
        self.bindings.remove(path).is_some()
    }

    /// Says whether the file at `path` is trusted with these bytes.
    pub fn state(&self, path: &HostPath, digest: &Digest) -> TrustState {
        match self.bindings.get(path) {
            None => TrustState::Untrusted,
            Some(binding) if binding.digest == *digest => TrustState::Trusted,
            Some(binding) => TrustState::Changed {
                was: binding.digest,
            },
        }
    }

    /// Iterates over what is trusted, in the order of the paths.
    pub fn bindings(&self) -> impl Iterator<Item = (&HostPath, &Binding)> {
        self.bindings.iter()
    }
}

/// The digest that a file was trusted with, and when.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Binding {
    digest: Digest,
    bound_at: String,
}

impl Binding {
    /// Returns the digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns when a person trusted it, as the program wrote it down.
    pub fn bound_at(&self) -> &str {
        &self.bound_at
    }
}

/// Whether a policy file counts.
#[expect(
    clippy::exhaustive_enums,
    reason = "whether a file counts is decided without a default"
)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrustState {
    /// A person trusted it and it has not changed since.
    Trusted,
    /// Nobody trusted it.
    Untrusted,
    /// A person trusted it with other bytes.
    Changed {
        /// The digest that was trusted.
        was: Digest,
    },
}

/// Checks that no skill could rewrite the file that its grants come from.
///
/// `path` is canonical, and `policy` is what the file grants to anyone: its session.
///
/// # Errors
///
/// [`TrustError::Writable`] (`E_INVALID_SKILLS_CONFIG`) with the grant that covers the file.
pub fn check_outside_grants(path: &HostPath, policy: &SandboxPolicy) -> Result<(), TrustError> {
    match policy.writable_over(path) {
        None => Ok(()),
        Some((root, origin)) => Err(TrustError::Writable {
            path: path.clone(),
            root: root.clone(),
            origin: origin.clone(),
        }),
    }
}

/// What keeps a policy file from being trusted.
///
/// Converts to `E_INVALID_SKILLS_CONFIG`.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TrustError {
    /// The book of trusted files cannot be read.
    #[error("the record of trusted policy files cannot be read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The book of trusted files cannot be written.
    #[error("the record of trusted policy files cannot be written: {reason}")]
    Unwritable {
        /// What is wrong with it.
        reason: String,
    },
    /// The file lies where a skill may write.
    #[error(
        "the policy file `{path}` lies inside `{root}`, which {origin} makes writable: a skill could rewrite its own grants"
    )]
    Writable {
        /// The policy file.
        path: HostPath,
        /// The root of the grant.
        root: HostPath,
        /// Where the grant was written.
        origin: Origin,
    },
}

impl From<TrustError> for SkillError {
    fn from(error: TrustError) -> Self {
        let hint = match &error {
            TrustError::Malformed { .. } => "look at it, then remove it and trust the files again",
            TrustError::Unwritable { .. } => "look at the paths in it",
            TrustError::Writable { .. } => "move the policy file, or grant a folder beside it",
        };
        Self::new(Code::InvalidSkillsConfig, error.to_string())
            .with_hint(hint)
            .with_source(error)
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Book {
    version: u32,
    #[serde(default)]
    trusted: Vec<Entry>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: HostPath,
    digest: Digest,
    bound_at: String,
}

/// The version of the store's format.
const VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::rights::Rights;

    use super::*;

    fn path(text: &str) -> HostPath {
        text.parse().unwrap()
    }

    #[test]
    fn trust_holds_for_these_bytes_at_this_place_until_revoked() {
        let (file, other) = (path("/p/bailiwick.toml"), path("/q/bailiwick.toml"));
        let (bytes, edited) = (Digest::of(b"a"), Digest::of(b"b"));
        let mut store = TrustStore::default();
        assert_eq!(store.state(&file, &bytes), TrustState::Untrusted);
        store.trust(file.clone(), bytes, "today");
        assert_eq!(store.state(&file, &bytes), TrustState::Trusted);
        assert_eq!(
            store.state(&file, &edited),
            TrustState::Changed { was: bytes }
        );
        assert_eq!(store.state(&other, &bytes), TrustState::Untrusted);
        assert!(store.revoke(&file));
        assert!(!store.revoke(&file));
        assert_eq!(store.state(&file, &bytes), TrustState::Untrusted);
    }

    #[test]
    fn a_store_reads_as_a_list_that_people_can_check() {
        let mut store = TrustStore::default();
        store.trust(path("/p/bailiwick.toml"), Digest::of(b"a"), "2026-01-31");
        insta::assert_snapshot!(store.to_text().unwrap(), @r#"
        # Written by `bailiwick trust`: each digest was looked at by a person.
        version = 1

        [[trusted]]
        path = "/p/bailiwick.toml"
        digest = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
        bound_at = "2026-01-31"
        "#);
    }

    #[test]
    fn a_broken_store_is_an_error_and_never_an_empty_store() {
        for text in [
            "",
            "version = 2",
            "version = 1\nx = 1",
            "version = 1\n[[trusted]]\npath = \"p\"",
            "version = 1\n[[trusted]]\npath = \"/p\"\ndigest = \"sha256:00\"\nbound_at = \"\"",
        ] {
            assert!(TrustStore::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            TrustStore::parse("version = 1").unwrap(),
            TrustStore::default()
        );
    }

    #[test]
    fn a_policy_file_inside_a_writable_grant_is_refused_by_name() {
        let origin = Origin::file("bailiwick.toml", 4);
        let policy = SandboxPolicy::deny_all()
            .grant(path("/p"), Rights::READ_ONLY, origin.clone())
            .grant(path("/p/out"), Rights::READ_WRITE, origin);
        assert_eq!(
            check_outside_grants(&path("/p/bailiwick.toml"), &policy),
            Ok(())
        );
        let refused = check_outside_grants(&path("/p/out/bailiwick.toml"), &policy).unwrap_err();
        insta::assert_snapshot!(refused, @"the policy file `/p/out/bailiwick.toml` lies inside `/p/out`, which bailiwick.toml:4 makes writable: a skill could rewrite its own grants");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(entries in proptest::collection::btree_map("/[a-zé\"' ]{1,8}", (any::<Vec<u8>>(), ".{0,12}"), 0..5)) {
            let mut store = TrustStore::default();
            for (at, (bytes, when)) in entries {
                let Ok(at) = at.parse() else { continue };
                store.trust(at, Digest::of(&bytes), when);
            }
            prop_assert_eq!(TrustStore::parse(&store.to_text().unwrap()).unwrap(), store);
        }
    }
}
