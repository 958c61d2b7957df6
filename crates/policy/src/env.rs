//! Names of environment variables that a policy may hand on.
//!
//! A run starts with an empty environment. A granted name adds one variable, so a name that
//! changes which code an interpreter loads, or where its traffic goes, would widen a grant without
//! anyone seeing it. Those names cannot be granted at all.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

/// A name that may be granted.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::EnvName;
///
/// assert!("GITHUB_TOKEN".parse::<EnvName>().is_ok());
/// let refused = "LD_PRELOAD".parse::<EnvName>().unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "`LD_PRELOAD` cannot be granted: the dynamic loader would load code from it"
/// );
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct EnvName(String);

impl EnvName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EnvName {
    type Err = EnvNameError;

    fn from_str(text: &str) -> Result<Self, EnvNameError> {
        let head = text
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let tail = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !head || !tail || text.len() > LONGEST {
            return Err(EnvNameError::Malformed {
                name: text.to_owned(),
            });
        }
        match REFUSED
            .iter()
            .find(|rule| rule.names.iter().any(|name| matches(name, text)))
        {
            Some(rule) => Err(EnvNameError::Refused {
                name: text.to_owned(),
                reason: rule.reason,
            }),
            None => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for EnvName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// A name that cannot be granted.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EnvNameError {
    /// It is no portable name of a variable.
    #[error("`{}` is not a name: letters, digits and `_`, not starting with a digit, at most {LONGEST}", name.escape_debug())]
    Malformed {
        /// What was written.
        name: String,
    },
    /// The variable would do more than carry a value.
    #[error("`{name}` cannot be granted: {reason}")]
    Refused {
        /// What was written.
        name: String,
        /// What the variable would do.
        reason: &'static str,
    },
}

impl EnvNameError {
    /// Returns the next step.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Malformed { name } if name.contains('=') => {
                "write the name alone: its value is the program's own"
            }
            Self::Malformed { .. } => "write the name of one variable, such as `API_TOKEN`",
            Self::Refused { .. } => {
                "no rule grants it: leave it out, and give the script a variable of another name"
            }
        }
    }
}

/// Compares without regard to case, because `http_proxy` and `HTTP_PROXY` do the same.
fn matches(pattern: &str, name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(start), _) => name.starts_with(start),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name == pattern,
    }
}

struct Refusal {
    names: &'static [&'static str],
    reason: &'static str,
}

/// `PATH_MAX` has no counterpart for names; this is far beyond any that is in use.
const LONGEST: usize = 128;

/// Names that cannot be granted; one `*` at the start or the end stands for any text.
const REFUSED: &[Refusal] = &[
    Refusal {
        names: &[
            "PATH",
            "HOME",
            "TMPDIR",
            "XDG_CACHE_HOME",
            "LANG",
            "SKILL_DIR",
            "SKILL_NAME",
        ],
        reason: "every run sets it itself",
    },
    Refusal {
        names: &["LD_*", "DYLD_*"],
        reason: "the dynamic loader would load code from it",
    },
    Refusal {
        names: &[
            "GLIBC_TUNABLES",
            "GCONV_PATH",
            "LOCPATH",
            "NLSPATH",
            "MALLOC_*",
            "HOSTALIASES",
            "RES_OPTIONS",
            "LOCALDOMAIN",
        ],
        reason: "the C library would change what it loads or how it resolves names",
    },
    Refusal {
        names: &["PYTHON*"],
        reason: "Python would load code from it, or every run sets it itself",
    },
    Refusal {
        names: &["NODE_*", "NPM_CONFIG_*"],
        reason: "node would load code or change its options from it",
    },
    Refusal {
        names: &[
            "BASH_*",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "IFS",
            "PS4",
            "PROMPT_COMMAND",
            "CDPATH",
            "GLOBIGNORE",
            "EXECIGNORE",
        ],
        reason: "a shell would run code or read its script differently",
    },
    Refusal {
        names: &[
            "PERL5*",
            "PERLLIB",
            "RUBYOPT",
            "RUBYLIB",
            "GEM_*",
            "BUNDLE_*",
            "LUA_*",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "AWKPATH",
            "AWKLIBPATH",
        ],
        reason: "an interpreter would load code from it",
    },
    Refusal {
        names: &[
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "CLASSPATH",
            "DOTNET_*",
            "CORECLR_*",
        ],
        reason: "a virtual machine would load code from it",
    },
    Refusal {
        names: &["GIT_*"],
        reason: "git would run programs or change its configuration from it",
    },
    Refusal {
        names: &[
            "EDITOR",
            "VISUAL",
            "PAGER",
            "BROWSER",
            "LESSOPEN",
            "LESSCLOSE",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
        ],
        reason: "programs would run it as a command",
    },
    Refusal {
        names: &["*_PROXY"],
        reason: "traffic would go where it says; network grants set it",
    },
    Refusal {
        names: &[
            "OPENSSL_CONF",
            "OPENSSL_MODULES",
            "OPENSSL_ENGINES",
            "SSLKEYLOGFILE",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "CURL_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE",
        ],
        reason: "encrypted traffic could be read or redirected by it",
    },
    Refusal {
        names: &[
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "DBUS_SYSTEM_BUS_ADDRESS",
            "DOCKER_HOST",
            "XDG_RUNTIME_DIR",
        ],
        reason: "it leads to sockets of other programs",
    },
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn refuses_every_name_that_injects_code_or_traffic() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "NODE_PATH",
            "BASH_ENV",
            "BASH_FUNC_x",
            "ENV",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "HTTP_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "no_proxy",
            "IFS",
            "PS4",
            "SHELLOPTS",
            "BASHOPTS",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "PATH",
            "HOME",
            "TMPDIR",
            "XDG_CACHE_HOME",
            "LANG",
            "SKILL_DIR",
            "SKILL_NAME",
            "PYTHONDONTWRITEBYTECODE",
            "GLIBC_TUNABLES",
            "SSH_AUTH_SOCK",
            "ld_preload",
        ] {
            let refused = name.parse::<EnvName>();
            assert!(
                matches!(refused, Err(EnvNameError::Refused { .. })),
                "{name}: {refused:?}"
            );
        }
    }

    #[test]
    fn grants_ordinary_names() {
        for name in [
            "GITHUB_TOKEN",
            "TZ",
            "LC_ALL",
            "ENVIRONMENT",
            "MY_PATH",
            "GITHUB_ACTIONS",
        ] {
            assert_eq!(name.parse::<EnvName>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn rejects_what_is_no_name() {
        for name in ["", "1A", "A-B", "A=B", "A\0", "Ä", "A B", &"A".repeat(129)] {
            let rejected = name.parse::<EnvName>();
            assert!(
                matches!(rejected, Err(EnvNameError::Malformed { .. })),
                "{name:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_name_with_a_refused_start_is_ever_granted(rest in "[A-Z0-9_]{0,8}") {
            for start in ["LD_", "DYLD_", "PYTHON", "PERL5", "GIT_", "BASH_", "NODE_"] {
                let name = format!("{start}{rest}");
                prop_assert!(name.parse::<EnvName>().is_err());
                prop_assert!(name.to_lowercase().parse::<EnvName>().is_err());
            }
        }
    }
}
