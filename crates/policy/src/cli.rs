//! What a person grants on the command line, for one run.

use bailiwick_core::{Code, SkillError};

use crate::context::capability;
use crate::env::EnvName;
use crate::file::{reach, resolve};
use crate::grants::{Grants, PathGrant};
use crate::nearest::nearest;
use crate::network::Net;
use crate::origin::Origin;
use crate::path::HostPath;

/// Grants of the command line, such as `read=./docs`.
///
/// They are a person's word for this run: without a policy file they extend the ceiling and the
/// called skill alike, with one they must lie inside its `[session]`. `explain` shows each as
/// `cli:`.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::{CliGrants, HostPath};
///
/// let here: HostPath = "/home/ada/project".parse()?;
/// let cli = CliGrants::parse(["read=./docs", "network=loopback"], &here)?;
/// assert_eq!(cli.grants().read()[0].path().as_str(), "/home/ada/project/docs");
///
/// let refused = CliGrants::parse(["raed=./docs"], &here).unwrap_err();
/// assert_eq!(refused.hint(), "did you mean `read`?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CliGrants(Grants);

impl CliGrants {
    /// Returns no grant.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads flags of the form `key=value`; relative paths are relative to `folder`.
    ///
    /// # Errors
    ///
    /// [`CliGrantError`] (`E_INVALID_SKILLS_CONFIG`) for the first flag that cannot be granted.
    pub fn parse<'f>(
        flags: impl IntoIterator<Item = &'f str>,
        folder: &HostPath,
    ) -> Result<Self, CliGrantError> {
        let mut cli = Self::none();
        for flag in flags {
            cli.add(flag, folder).map_err(|refused| refused.of(flag))?;
        }
        Ok(cli)
    }

    /// Returns what was granted.
    pub fn grants(&self) -> &Grants {
        &self.0
    }

    fn add(&mut self, flag: &str, folder: &HostPath) -> Result<(), Refused> {
        let origin = Origin::cli(flag);
        let (key, value) = match flag.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (flag, None),
        };
        let value_of =
            || value.ok_or_else(|| Refused::new("has no value", format!("write `{key}=…`")));
        let root = |origin| PathGrant::resolve(value_of()?, folder, origin);
        match key {
            "read" => self.0.read.push(root(origin)?),
            "write" => self.0.write.push(root(origin)?),
            "param_read" => self.0.param_read.push(root(origin)?),
            "param_write" => self.0.param_write.push(root(origin)?),
            "env" => {
                let name = value_of()?.parse::<EnvName>();
                let name = name.map_err(|error| Refused::new(error.to_string(), error.hint()))?;
                self.0.env.entry(name).or_insert(origin);
            }
            "network" => {
                let net =
                    reach(value_of()?).map_err(|error| Refused::new(error.message, error.hint))?;
                let held = self.0.net.take();
                let held = held.map_or(Net::None, |(held, _)| held);
                self.0.net = Some((held.join(&net), origin));
            }
            "undeclared_scripts" => {
                if value.is_some() {
                    return Err(Refused::new("takes no value", "write `undeclared_scripts`"));
                }
                self.0.undeclared_scripts = Some(origin);
            }
            "context" => {
                let name = capability(value_of()?)
                    .map_err(|error| Refused::new(error.message, error.hint))?;
                self.0.context.entry(name).or_insert(origin);
            }
            "fetch" => {
                let message = "has no effect in this build: it needs `web.fetch`";
                return Err(Refused::new(
                    message,
                    "a rule that is not enforced is refused",
                ));
            }
            unknown => {
                let hint = match nearest(unknown, KEYS) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("the keys are {}", KEYS.join(", ")),
                };
                return Err(Refused::new("is no grant", hint));
            }
        }
        Ok(())
    }
}

impl PathGrant {
    fn resolve(text: &str, folder: &HostPath, origin: Origin) -> Result<Self, Refused> {
        let path =
            resolve(text, folder).map_err(|error| Refused::new(error.message, error.hint))?;
        match path.kernel_interface() {
            Some(interface) => Err(Refused::new(
                format!("`{path}` cannot be granted: `{interface}` is an interface of the kernel"),
                "name the folders that are needed",
            )),
            None => Ok(Self { path, origin }),
        }
    }
}

/// A flag that cannot be granted.
///
/// Converts to `E_INVALID_SKILLS_CONFIG`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the grant `{}`: {reason}", flag.escape_debug())]
pub struct CliGrantError {
    flag: String,
    reason: String,
    hint: String,
}

impl CliGrantError {
    /// Returns the flag's value as typed.
    pub fn flag(&self) -> &str {
        &self.flag
    }

    /// Returns the next step.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl From<CliGrantError> for SkillError {
    fn from(error: CliGrantError) -> Self {
        Self::new(Code::InvalidSkillsConfig, error.to_string())
            .with_hint(&error.hint)
            .with_detail("flag", error.flag.as_str())
    }
}

struct Refused {
    reason: String,
    hint: String,
}

impl Refused {
    fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: hint.into(),
        }
    }

    fn of(self, flag: &str) -> CliGrantError {
        CliGrantError {
            flag: flag.to_owned(),
            reason: self.reason,
            hint: self.hint,
        }
    }
}

/// The keys of a grant on the command line.
const KEYS: [&str; 8] = [
    "read",
    "write",
    "param_read",
    "param_write",
    "env",
    "network",
    "context",
    "undeclared_scripts",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flag: &str) -> Result<CliGrants, CliGrantError> {
        CliGrants::parse([flag], &"/home/ada".parse().unwrap())
    }

    #[test]
    fn each_key_grants_what_it_says_and_nothing_else() {
        let shown = |flag| {
            let grants = parse(flag).unwrap().grants().clone();
            let count = |roots: &[PathGrant]| roots.len();
            (
                [
                    count(grants.read()),
                    count(grants.write()),
                    count(grants.param_read()),
                    count(grants.param_write()),
                ],
                grants.env().len() + grants.context().len(),
                grants.net().is_some(),
                grants.undeclared_scripts().is_some(),
            )
        };
        assert_eq!(shown("read=docs"), ([1, 0, 0, 0], 0, false, false));
        assert_eq!(shown("write=docs"), ([0, 1, 0, 0], 0, false, false));
        assert_eq!(shown("param_read=docs"), ([0, 0, 1, 0], 0, false, false));
        assert_eq!(shown("param_write=docs"), ([0, 0, 0, 1], 0, false, false));
        assert_eq!(shown("env=TOKEN"), ([0, 0, 0, 0], 1, false, false));
        assert_eq!(shown("context=notes"), ([0, 0, 0, 0], 1, false, false));
        assert_eq!(shown("network=loopback"), ([0, 0, 0, 0], 0, true, false));
        assert_eq!(
            shown("network=a.example:443"),
            ([0, 0, 0, 0], 0, true, false)
        );
        assert_eq!(shown("undeclared_scripts"), ([0, 0, 0, 0], 0, false, true));
    }

    #[test]
    fn hosts_of_several_flags_are_granted_together() {
        let here = "/home/ada".parse().unwrap();
        let flags = [
            "network=a.example:443",
            "network=loopback",
            "network=b.example:80",
        ];
        let cli = CliGrants::parse(flags, &here).unwrap();
        let (net, origin) = cli.grants().net().unwrap();
        assert_eq!(net.to_string(), "a.example:443, b.example:80");
        assert_eq!(origin.to_string(), "cli:network=b.example:80");
    }

    #[test]
    fn the_origin_is_the_flag_as_typed() {
        let grants = parse("read=./docs").unwrap();
        assert_eq!(
            grants.grants().read()[0].origin().to_string(),
            "cli:read=./docs"
        );
    }

    #[test]
    fn says_why_a_flag_is_refused() {
        let refused: Vec<_> = [
            "read",
            "read=",
            "read=~/x",
            "read=*",
            "write=/proc",
            "env=LD_PRELOAD",
            "env=A=b",
            "network=lopback",
            "network=api.example",
            "network=0x7f.1:80",
            "network=0.0.0.0:80",
            "fetch=api.example",
            "context",
            "context=fs.*",
            "context=Notes",
            "undeclared_scripts=true",
            "wrte=x",
            "",
        ]
        .into_iter()
        .map(|flag| {
            let error = parse(flag).unwrap_err();
            format!("{error}\n  hint: {}", error.hint())
        })
        .collect();
        insta::assert_snapshot!(refused.join("\n"), @"
        the grant `read`: has no value
          hint: write `read=…`
        the grant `read=`: the path `` is empty
          hint: write `.` for the folder itself
        the grant `read=~/x`: the path `~/x` starts with `~`, which only a shell expands
          hint: write the absolute path
        the grant `read=*`: `*` holds `*`: patterns are refused for files, even where that is a real name
          hint: name the folder above, `.`, which covers everything beneath it, or rename what is called so
        the grant `write=/proc`: `/proc` cannot be granted: `/proc` is an interface of the kernel
          hint: name the folders that are needed
        the grant `env=LD_PRELOAD`: `LD_PRELOAD` cannot be granted: the dynamic loader would load code from it
          hint: no rule grants it: leave it out, and give the script a variable of another name
        the grant `env=A=b`: `A=b` is not a name: letters, digits and `_`, not starting with a digit, at most 128
          hint: write the name alone: its value is the program's own
        the grant `network=lopback`: `lopback` is neither `loopback` nor `host:port`
          hint: write `loopback`, or a host with its port, such as `api.example:443`
        the grant `network=api.example`: `api.example` is neither `loopback` nor `host:port`
          hint: write `loopback`, or a host with its port, such as `api.example:443`
        the grant `network=0x7f.1:80`: `0x7f.1:80` has no effect: it names no host and no address as it is written
          hint: write an address in full, such as `192.0.2.1:443` or `[2001:db8::1]:443`
        the grant `network=0.0.0.0:80`: `0.0.0.0:80` cannot be granted: nobody means that address, and it leads to this machine
          hint: name the address that is meant
        the grant `fetch=api.example`: has no effect in this build: it needs `web.fetch`
          hint: a rule that is not enforced is refused
        the grant `context`: has no value
          hint: write `context=…`
        the grant `context=fs.*`: `fs.*` is not the name of a capability: write `namespace.member` or `namespace`
          hint: write `fs`: a namespace grants all of its members
        the grant `context=Notes`: `Notes` is not the name of a capability: write `namespace.member` or `namespace`
          hint: for example `fs.read`, or `fs` for all of its members
        the grant `undeclared_scripts=true`: takes no value
          hint: write `undeclared_scripts`
        the grant `wrte=x`: is no grant
          hint: did you mean `write`?
        the grant ``: is no grant
          hint: the keys are read, write, param_read, param_write, env, network, context, undeclared_scripts
        ");
    }
}
