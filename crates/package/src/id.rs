//! The stable ids of diagnostics, as one table.

use std::fmt;

use bailiwick_core::Code;
use serde::{Serialize, Serializer};

/// Declares [`DiagnosticId`] together with its text and error code, so that they cannot drift
/// apart.
macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal, $code:ident;)+) => {
        /// What a diagnostic is about, as a stable id that programs may match on.
        ///
        /// # Diagnostic ids
        ///
        /// | id | when |
        /// |---|---|
        $(#[doc = concat!("| `", $text, "` |", $($doc,)+ " |")])+
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum DiagnosticId {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl DiagnosticId {
            /// Every id, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the id's text, such as `yaml-duplicate-key`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns the code of the error that an error diagnostic of this id becomes.
            pub const fn code(self) -> Code {
                match self { $(Self::$variant => Code::$code,)+ }
            }
        }
    };
}

ids! {
    /// The directory holds no `SKILL.md`.
    SkillFileMissing = "skill-file-missing", ManifestInvalid;
    /// The file is named `skill.md` (warning).
    SkillFileLowercase = "skill-file-lowercase", ManifestInvalid;
    /// `SKILL.md` is a symbolic link.
    SkillFileLink = "skill-file-link", ManifestInvalid;
    /// `SKILL.md` is a directory, a pipe or a device.
    SkillFileNotRegular = "skill-file-not-regular", ManifestInvalid;
    /// A file or folder cannot be read.
    FileUnreadable = "file-unreadable", ManifestInvalid;
    /// A file is larger than its cap.
    FileTooLarge = "file-too-large", ManifestInvalid;
    /// A text file is not UTF-8.
    TextNotUtf8 = "text-not-utf8", ManifestInvalid;
    /// A text holds NUL, or front matter another control character.
    TextControlCharacter = "text-control-character", ManifestInvalid;
    /// A text begins with a byte order mark, which is stripped (note).
    TextByteOrderMark = "text-byte-order-mark", ManifestInvalid;

    /// The first line is no fence.
    FrontMatterMissing = "front-matter-missing", ManifestInvalid;
    /// The first line is blank.
    FrontMatterBlankFirstLine = "front-matter-blank-first-line", ManifestInvalid;
    /// No line closes the front matter.
    FrontMatterUnclosed = "front-matter-unclosed", ManifestInvalid;
    /// The front matter is larger than 64 KiB.
    FrontMatterTooLarge = "front-matter-too-large", ManifestInvalid;
    /// An unquoted `: ` in the description was read as text (warning, profile `tool`).
    FrontMatterRepaired = "front-matter-repaired", ManifestInvalid;
    /// An unquoted description is cut at ` #` (warning).
    FrontMatterComment = "front-matter-comment", ManifestInvalid;
    /// A key that the profile does not know (error in `standard`, warning in `tool`).
    FrontMatterUnknownKey = "front-matter-unknown-key", ManifestInvalid;

    /// The text is not YAML.
    YamlSyntax = "yaml-syntax", ManifestInvalid;
    /// A tab stands where YAML wants spaces.
    YamlTab = "yaml-tab", ManifestInvalid;
    /// A key stands twice in one mapping.
    YamlDuplicateKey = "yaml-duplicate-key", ManifestInvalid;
    /// An anchor (`&name`).
    YamlAnchor = "yaml-anchor", ManifestInvalid;
    /// An alias (`*name`).
    YamlAlias = "yaml-alias", ManifestInvalid;
    /// A tag (`!name`).
    YamlTag = "yaml-tag", ManifestInvalid;
    /// A merge key (`<<`).
    YamlMergeKey = "yaml-merge-key", ManifestInvalid;
    /// A second document.
    YamlSecondDocument = "yaml-second-document", ManifestInvalid;
    /// The top level is no mapping.
    YamlNotMapping = "yaml-not-mapping", ManifestInvalid;
    /// A key is a list or a mapping.
    YamlKeyNotText = "yaml-key-not-text", ManifestInvalid;
    /// Collections are nested deeper than 16.
    YamlTooDeep = "yaml-too-deep", ManifestInvalid;

    /// A value has another shape than its key wants.
    ManifestType = "manifest-type", ManifestInvalid;
    /// `name` is absent.
    ManifestNameMissing = "manifest-name-missing", ManifestInvalid;
    /// `name` breaks the rule of skill names.
    ManifestNameInvalid = "manifest-name-invalid", ManifestInvalid;
    /// `name` differs from the directory's name.
    ManifestNameDirectory = "manifest-name-directory", ManifestInvalid;
    /// `description` is absent or blank.
    ManifestDescriptionMissing = "manifest-description-missing", ManifestInvalid;
    /// `description` is longer than 1,024 characters.
    ManifestDescriptionTooLong = "manifest-description-too-long", ManifestInvalid;
    /// `description` holds invisible or bidirectional characters (warning).
    ManifestDescriptionInvisible = "manifest-description-invisible", ManifestInvalid;
    /// A word of `description` mixes scripts (warning).
    ManifestDescriptionMixedScript = "manifest-description-mixed-script", ManifestInvalid;
    /// `compatibility` is longer than 500 characters, or empty in profile `standard`.
    ManifestCompatibilityLength = "manifest-compatibility-length", ManifestInvalid;
    /// `metadata` holds a list or mapping (error in `standard`; kept as JSON with a warning in `tool`).
    ManifestMetadataNested = "manifest-metadata-nested", ManifestInvalid;
    /// `version` is no semantic version (warning).
    ManifestVersionNotSemver = "manifest-version-not-semver", ManifestInvalid;
    /// A skill that lists tools declares no `version` (warning).
    ManifestVersionMissing = "manifest-version-missing", ManifestInvalid;
    /// `tools` is a text, which is an allow-list by mistake; nothing is published (warning).
    ManifestToolsText = "manifest-tools-text", ManifestInvalid;
    /// An entry of `tools` is no tool name.
    ManifestToolName = "manifest-tool-name", ManifestInvalid;
    /// An entry of `deferred-tools` is not in `tools`.
    ManifestDeferredUnlisted = "manifest-deferred-unlisted", ManifestInvalid;

    /// A key that `bailiwick.yaml` does not have.
    SidecarUnknownKey = "sidecar-unknown-key", ManifestInvalid;
    /// A key that an entry of `bailiwick.yaml` needs is absent.
    SidecarMissingKey = "sidecar-missing-key", ManifestInvalid;
    /// A value of `bailiwick.yaml` has another shape than its key wants.
    SidecarType = "sidecar-type", ManifestInvalid;
    /// A value of `bailiwick.yaml` breaks its key's rule.
    SidecarValue = "sidecar-value", ManifestInvalid;
    /// A tool's `description` is larger than 16 KiB, or a parameter's than 4 KiB.
    SidecarDescriptionTooLong = "sidecar-description-too-long", ManifestInvalid;
    /// A `description` of `bailiwick.yaml` holds invisible or bidirectional characters (warning).
    SidecarDescriptionInvisible = "sidecar-description-invisible", ManifestInvalid;
    /// A word of a `description` of `bailiwick.yaml` mixes scripts (warning).
    SidecarDescriptionMixedScript = "sidecar-description-mixed-script", ManifestInvalid;
    /// No preset knows a declared script's interpreter (warning, from a check alone).
    SidecarInterpreterUnfamiliar = "sidecar-interpreter-unfamiliar", ManifestInvalid;

    /// An entry of `tools` has no script file.
    InventoryToolFileMissing = "inventory-tool-file-missing", ManifestInvalid;
    /// An entry of `tools` has both a `.js` and a `.ts` file.
    InventoryToolFileBoth = "inventory-tool-file-both", ManifestInvalid;
    /// A declared script or isolated source is no file of the package.
    InventoryFileMissing = "inventory-file-missing", ManifestInvalid;
    /// A declared script is the file of a listed tool.
    InventoryScriptIsTool = "inventory-script-is-tool", ManifestInvalid;
    /// A name that the skill would publish is no tool name.
    InventoryNameInvalid = "inventory-name-invalid", ManifestInvalid;
    /// Two names that the skill would publish are one, or differ only by case.
    InventoryNameTwice = "inventory-name-twice", ToolDuplicate;
    /// A name that the skill would publish belongs to the runtime.
    InventoryNameReserved = "inventory-name-reserved", ToolCollision;
    /// A name that the skill would publish has more than 40 characters (warning).
    InventoryNameLong = "inventory-name-long", ManifestInvalid;
    /// The skill declares a tool of a kind that this version does not publish (warning).
    InventoryNotPublished = "inventory-not-published", ManifestInvalid;

    /// A symbolic link (error under `scripts/`, elsewhere not part of the package with a warning).
    PackageLink = "package-link", ManifestInvalid;
    /// A pipe, socket or device.
    PackageSpecialFile = "package-special-file", ManifestInvalid;
    /// A file name is not UTF-8.
    PackageNameNotUtf8 = "package-name-not-utf8", SourcePathRejected;
    /// A path breaks the rule of skill paths.
    PackagePathRejected = "package-path-rejected", SourcePathRejected;
    /// Two paths are one on some file systems.
    PackagePathCollision = "package-path-collision", SourcePathRejected;
    /// More than 4,096 files and folders.
    PackageTooManyFiles = "package-too-many-files", ManifestInvalid;
    /// More than 64 MiB in all.
    PackageTooLarge = "package-too-large", ManifestInvalid;
}

impl fmt::Display for DiagnosticId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DiagnosticId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_unique_and_in_kebab_case() {
        let mut seen = std::collections::BTreeSet::new();
        for id in DiagnosticId::ALL {
            assert!(seen.insert(id.as_str()), "{id} stands twice");
            assert!(
                id.as_str()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{id}"
            );
        }
    }
}
