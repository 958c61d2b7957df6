//! SHA-256 digests of files and packages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written `sha256:` and 64 lowercase hexadecimal digits.
///
/// # Examples
///
/// ```
/// use bailiwick_core::Digest;
///
/// let digest = Digest::of(b"abc");
/// assert!(digest.to_string().starts_with("sha256:ba7816bf"));
/// assert_eq!(digest.to_string().parse::<Digest>()?, digest);
/// # Ok::<_, bailiwick_core::DigestRejected>(())
/// ```
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Computes the digest of a package from its files (contracts 7.10).
    ///
    /// Entries are sorted by path and each contributes path, mode class, size and its own digest,
    /// every field ended so that no two lists share an encoding.
    pub fn of_package<'a>(
        files: impl IntoIterator<Item = (&'a str, ModeClass, u64, Self)>,
    ) -> Self {
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_unstable_by(|a, b| a.0.cmp(b.0));
        let mut hasher = Sha256::new();
        for (path, mode, size, digest) in files {
            hasher.update((path.len() as u64).to_be_bytes());
            hasher.update(path.as_bytes());
            hasher.update([mode as u8]);
            hasher.update(size.to_be_bytes());
            hasher.update(digest.0);
        }
        Self(hasher.finalize().into())
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the 64 hexadecimal digits without the prefix.
    pub fn to_hex(self) -> String {
        use fmt::Write as _;
        self.0
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

/// What of a file's mode belongs to a package's identity.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the digest's encoding is fixed by contracts 7.10"
)]
pub enum ModeClass {
    /// A regular file that nobody may execute.
    Regular = 0,
    /// A regular file with an execute bit.
    Executable = 1,
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestRejected;

    fn from_str(text: &str) -> Result<Self, DigestRejected> {
        let hex = text.strip_prefix(PREFIX).ok_or(DigestRejected)?;
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(DigestRejected);
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16)
                .map_err(|_| DigestRejected)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A text that is no digest.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lowercase hexadecimal digits")]
#[non_exhaustive]
pub struct DigestRejected;

const PREFIX: &str = "sha256:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_digest_binds_path_mode_size_and_bytes() {
        let base = [
            ("a", ModeClass::Regular, 1, Digest::of(b"x")),
            ("b", ModeClass::Regular, 1, Digest::of(b"y")),
        ];
        let digest = Digest::of_package(base);
        let mut swapped = base;
        swapped.swap(0, 1);
        assert_eq!(
            Digest::of_package(swapped),
            digest,
            "order of listing does not matter"
        );
        for change in [
            ("c", ModeClass::Regular, 1, Digest::of(b"x")),
            ("a", ModeClass::Executable, 1, Digest::of(b"x")),
            ("a", ModeClass::Regular, 2, Digest::of(b"x")),
            ("a", ModeClass::Regular, 1, Digest::of(b"z")),
        ] {
            assert_ne!(Digest::of_package([change, base[1]]), digest, "{change:?}");
        }
    }

    #[test]
    fn upper_case_and_short_digests_are_rejected() {
        let text = Digest::of(b"").to_string();
        assert!(text.to_uppercase().parse::<Digest>().is_err());
        assert!(text[..70].parse::<Digest>().is_err());
    }
}
