//! What a package or a host declares about a script: its file, interpreter and parameters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::code::Code;
use crate::error::SkillError;
use crate::name::ToolName;
use crate::path::SkillPath;

/// A script that a skill declares, checked (contracts 5.1 and 5.2).
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScriptDeclaration {
    /// The name, which becomes `run_<skill>_<name>`.
    pub name: String,
    /// The file inside the package.
    pub path: SkillPath,
    /// What the model is told it does.
    pub description: String,
    /// A key of the host's interpreter allow-list.
    pub interpreter: String,
    /// The parameters, in argv order.
    pub params: Vec<Param>,
}

impl ScriptDeclaration {
    /// Checks a script's declaration.
    ///
    /// # Errors
    ///
    /// [`DeclarationRejected`] naming the field: an empty name, description or interpreter, or two
    /// parameters of one name or flag.
    pub fn new(
        name: impl Into<String>,
        path: SkillPath,
        description: impl Into<String>,
        interpreter: impl Into<String>,
        params: Vec<Param>,
    ) -> Result<Self, DeclarationRejected> {
        let script = Self {
            name: name.into(),
            path,
            description: description.into(),
            interpreter: interpreter.into(),
            params,
        };
        if script.name.is_empty()
            || !script
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        {
            return Err(rejected(
                "name",
                "a script's name is letters, digits, underscores and hyphens",
            ));
        }
        if script.description.trim().is_empty() {
            return Err(rejected("description", "it is empty"));
        }
        if script.interpreter.is_empty() {
            return Err(rejected("interpreter", "it is empty"));
        }
        for (index, param) in script.params.iter().enumerate() {
            let earlier = &script.params[..index];
            if earlier.iter().any(|other| other.name == param.name) {
                return Err(rejected(
                    "params",
                    format!("the parameter `{}` stands twice", param.name),
                ));
            }
            if param.flag.is_some() && earlier.iter().any(|other| other.flag == param.flag) {
                return Err(rejected(
                    "params",
                    format!("the flag of `{}` stands twice", param.name),
                ));
            }
        }
        Ok(script)
    }
}

/// A tool of tier 2: source that the package carries, run in a fresh guest for each call.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct IsolatedDeclaration {
    /// The flat name under which it is published.
    pub name: ToolName,
    /// The file with its source.
    pub path: SkillPath,
    /// What the source is, and who says what it does.
    pub form: IsolatedForm,
}

/// The two forms that the source of an isolated tool may have (contracts 4.1).
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "contracts 4.1 fixes the forms")]
pub enum IsolatedForm {
    /// A module that exports its description, its parameters and `execute`.
    Module,
    /// One async arrow function, which the package describes.
    Arrow {
        /// What a model is told it does.
        description: String,
        /// Its parameters.
        params: Vec<Param>,
    },
}

impl IsolatedDeclaration {
    /// Declares a tool by its name, file and form.
    pub fn new(name: ToolName, path: SkillPath, form: IsolatedForm) -> Self {
        Self { name, path, form }
    }
}

/// One typed parameter of a script, checked.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Param {
    /// The property's name in the arguments.
    pub name: String,
    /// What the model is told it means.
    pub description: String,
    /// Which values it takes.
    #[serde(flatten)]
    pub kind: ParamKind,
    /// Whether a call must give it.
    pub required: bool,
    /// The flag that carries it; positional when absent.
    pub flag: Option<FlagName>,
}

impl Param {
    /// Checks a parameter's declaration.
    ///
    /// # Errors
    ///
    /// [`DeclarationRejected`] naming the field: a name that is no identifier or is reserved, an
    /// empty description, an enum without usable members, or an optional positional.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        kind: ParamKind,
        required: bool,
        flag: Option<FlagName>,
    ) -> Result<Self, DeclarationRejected> {
        let param = Self {
            name: name.into(),
            description: description.into(),
            kind,
            required,
            flag,
        };
        let identifier = param.name.len() <= 64
            && param
                .name
                .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && param
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !identifier {
            return Err(rejected(
                "name",
                "a parameter's name is a letter or underscore, then letters, digits, `_` and `-`",
            ));
        }
        if param.name == TIMEOUT_PARAM {
            return Err(rejected(
                "name",
                "`timeout_seconds` is the runtime's own parameter",
            ));
        }
        if param.description.trim().is_empty() {
            return Err(rejected("description", "it is empty"));
        }
        if let ParamKind::Enum { values } = &param.kind {
            if values.is_empty() {
                return Err(rejected("values", "an enum needs at least one member"));
            }
            for value in values {
                if value.is_empty() || value.starts_with('-') || value.contains('\0') {
                    return Err(rejected(
                        "values",
                        format!("the member {value:?} could be read as an option or nothing"),
                    ));
                }
            }
        }
        if !param.required && param.flag.is_none() {
            return Err(rejected(
                "required",
                "a positional parameter cannot be optional; give it a `flag`",
            ));
        }
        Ok(param)
    }
}

/// The values a parameter takes.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the set is fixed by contracts 5.2; each kind has its own argv rule"
)]
pub enum ParamKind {
    /// Text.
    String,
    /// Any JSON number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// One of the listed texts.
    Enum {
        /// The members, none of which begins with `-`.
        values: Vec<String>,
    },
    /// A host path that names a file inside the skill's grants.
    File,
    /// A host path that names a directory inside the skill's grants.
    Dir,
}

/// The bare name of a long flag, such as `verbose`; a leading `--` is stripped.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize)]
pub struct FlagName(String);

impl FlagName {
    /// Returns the name without dashes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FlagName {
    type Err = DeclarationRejected;

    fn from_str(text: &str) -> Result<Self, DeclarationRejected> {
        let name = text.strip_prefix("--").unwrap_or(text);
        let fits = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_' || b == b'.');
        if fits {
            Ok(Self(name.to_owned()))
        } else {
            Err(rejected("flag", "a flag is a bare name such as `verbose`"))
        }
    }
}

impl fmt::Display for FlagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.0)
    }
}

impl<'de> Deserialize<'de> for FlagName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A declaration that breaks a rule, with the field that does.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{field}`: {reason}")]
#[non_exhaustive]
pub struct DeclarationRejected {
    /// The field as the author writes it.
    pub field: &'static str,
    /// The rule that it breaks.
    pub reason: String,
}

impl From<DeclarationRejected> for SkillError {
    fn from(error: DeclarationRejected) -> Self {
        Self::new(Code::ManifestInvalid, error.to_string()).with_detail("field", error.field)
    }
}

/// The parameter that the runtime adds to tiers 2 and 3 (contracts 2.2).
pub const TIMEOUT_PARAM: &str = "timeout_seconds";

fn rejected(field: &'static str, reason: impl Into<String>) -> DeclarationRejected {
    DeclarationRejected {
        field,
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(
        kind: ParamKind,
        required: bool,
        flag: Option<&str>,
    ) -> Result<Param, DeclarationRejected> {
        Param::new(
            "level",
            "How far.",
            kind,
            required,
            flag.map(str::parse).transpose()?,
        )
    }

    #[test]
    fn an_optional_positional_is_rejected() {
        assert_eq!(
            param(ParamKind::String, false, None).unwrap_err().field,
            "required"
        );
        assert!(param(ParamKind::String, false, Some("level")).is_ok());
    }

    #[test]
    fn leading_dashes_of_a_flag_are_stripped_and_a_short_one_is_rejected() {
        assert_eq!(
            "--level".parse::<FlagName>().unwrap().to_string(),
            "--level"
        );
        assert!("-l".parse::<FlagName>().is_err());
        assert!("le vel".parse::<FlagName>().is_err());
        assert!("a=b".parse::<FlagName>().is_err());
    }

    #[test]
    fn an_enum_member_that_looks_like_an_option_is_rejected() {
        let kind = ParamKind::Enum {
            values: vec!["ok".into(), "-x".into()],
        };
        assert_eq!(param(kind, true, None).unwrap_err().field, "values");
    }

    #[test]
    fn the_runtimes_own_parameter_cannot_be_declared() {
        let error = Param::new(TIMEOUT_PARAM, "x", ParamKind::Number, true, None).unwrap_err();
        assert_eq!(error.field, "name");
    }
}
