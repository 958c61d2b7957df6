//! Which of the two languages a file is written in.

use std::fmt;

use bailiwick_core::SkillPath;

/// The language of a source.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the contract names these two")]
pub enum Language {
    /// JavaScript, which runs as it is written.
    JavaScript,
    /// TypeScript, whose types are blanked before it runs.
    TypeScript,
}

impl Language {
    /// Returns the language of a path by its extension: `.js` and `.mjs`, `.ts` and `.mts`.
    ///
    /// Every other extension is neither, `.cjs`, `.jsx` and `.tsx` among them: a guest has no
    /// `require`, and JSX means nothing without a library.
    ///
    /// # Examples
    ///
    /// ```
    /// use bailiwick_js_syntax::Language;
    ///
    /// assert_eq!(Language::of(&"scripts/a.mts".parse()?), Some(Language::TypeScript));
    /// assert_eq!(Language::of(&"scripts/a.cjs".parse()?), None);
    /// # Ok::<_, bailiwick_core::PathRejected>(())
    /// ```
    pub fn of(path: &SkillPath) -> Option<Self> {
        match path.extension()? {
            "js" | "mjs" => Some(Self::JavaScript),
            "ts" | "mts" => Some(Self::TypeScript),
            _ => None,
        }
    }

    /// Returns the language's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
