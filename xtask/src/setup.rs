//! `setup`: installs what the build and the tests need and is missing.
//!
//! What is there is found by running it, because a name on the path may be an empty shim. Nothing
//! is installed silently: each missing thing is named with its use, and where neither root nor
//! sudo is at hand the exact line to run is printed instead.

use xshell::{Shell, cmd};

use crate::workspace::Workspace;
use crate::{Result, recipe};

/// What the machine is set up for; each purpose includes the ones before it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Purpose {
    /// Building and running the program.
    Demo,
    /// Running every test.
    Test,
    /// The whole gate.
    Ci,
}

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let purpose = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["--for", "ci"] => Purpose::Ci,
        ["--for", "test"] => Purpose::Test,
        ["--for", "demo"] => Purpose::Demo,
        _ => return Err("usage: cargo xtask setup [--for demo|test|ci]".into()),
    };
    ensure(workspace, purpose)
}

/// Makes sure that everything for `purpose` is there, installing it if possible.
pub(crate) fn ensure(workspace: &Workspace, purpose: Purpose) -> Result {
    let sh = workspace.sh();
    system_packages(sh, purpose)?;
    for tool in TOOLS.iter().filter(|tool| tool.purpose <= purpose) {
        tool.ensure(sh)?;
    }
    Ok(())
}

fn system_packages(sh: &Shell, purpose: Purpose) -> Result {
    let missing = |sh: &Shell| -> Vec<&'static Program> {
        PROGRAMS
            .iter()
            .filter(|program| program.purpose <= purpose && !program.works(sh))
            .collect()
    };
    if sh.var_os("BAILIWICK_CLANG").is_some() {
        // Whoever names a compiler wants that one and no other installed.
        recipe::find_clang()?;
    }
    let wanted = missing(sh);
    if wanted.is_empty() {
        return Ok(());
    }
    for program in &wanted {
        eprintln!("setup: missing {}: {}", program.name, program.why);
    }
    let packages = packages_of(&wanted, |program| program.packages);
    let line = format!(
        "apt-get install -y --no-install-recommends {}",
        packages.join(" ")
    );
    let Some(prefix) = privilege(sh) else {
        return Err(
            format!("install them first:\n  sudo {line}\nor your system's equivalent").into(),
        );
    };
    let apt = |action: &[&str]| -> Result {
        let command = sh.cmd(prefix[0]).args(&prefix[1..]);
        Ok(command
            .args(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"])
            .args(action)
            .run()?)
    };
    let install = |packages: &[&str]| {
        let mut action = vec!["install", "-y", "--no-install-recommends"];
        action.extend(packages);
        apt(&action)
    };
    // The lists of a fresh machine are empty or old: then the first attempt names no package.
    install(&packages)
        .or_else(|_| apt(&["update"]).and_then(|()| install(&packages)))
        .or_else(|error| {
            let elsewhere = packages_of(&wanted, |program| {
                program.packages_elsewhere.unwrap_or(program.packages)
            });
            if elsewhere == packages {
                return Err(error);
            }
            install(&elsewhere)
        })?;
    match missing(sh).first() {
        None => Ok(()),
        Some(program) => {
            Err(format!("{} is installed and still does not work", program.name).into())
        }
    }
}

/// Returns the packages of all programs, each once.
fn packages_of(
    programs: &[&Program],
    packages: impl Fn(&Program) -> &'static [&'static str],
) -> Vec<&'static str> {
    let mut all: Vec<&str> = programs
        .iter()
        .flat_map(|program| packages(program))
        .copied()
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns what to put before a command so that it may install, if anything does.
fn privilege(sh: &Shell) -> Option<&'static [&'static str]> {
    if cmd!(sh, "apt-get --version")
        .quiet()
        .ignore_stderr()
        .read()
        .is_err()
    {
        return None;
    }
    if cmd!(sh, "id -u").quiet().read().is_ok_and(|uid| uid == "0") {
        return Some(&["env"]);
    }
    let sudo = cmd!(sh, "sudo -n true")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run();
    sudo.is_ok().then_some(&["sudo", "-n"])
}

/// A program of the system and how to see that it works.
struct Program {
    name: &'static str,
    why: &'static str,
    probe: Probe,
    /// The names of Debian 12.
    packages: &'static [&'static str],
    /// What has the same use in releases that do not have `packages`.
    packages_elsewhere: Option<&'static [&'static str]>,
    purpose: Purpose,
}

/// How to see that a program works.
#[derive(Clone, Copy)]
enum Probe {
    /// A command line that ends with 0 only if it does.
    Line(&'static str),
    /// The search that the build itself makes.
    Clang,
}

impl Program {
    fn works(&self, sh: &Shell) -> bool {
        let line = match self.probe {
            Probe::Clang => return recipe::find_clang().is_ok(),
            Probe::Line(line) => line,
        };
        cmd!(sh, "sh -c {line}")
            .quiet()
            .ignore_stdout()
            .ignore_stderr()
            .run()
            .is_ok()
    }
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "a C compiler",
        why: "builds the bundled SQLite",
        probe: Probe::Line("echo 'int main(void){return 0;}' | cc -x c -o /dev/null -"),
        packages: &["gcc", "libc6-dev"],
        packages_elsewhere: None,
        purpose: Purpose::Demo,
    },
    Program {
        name: "clang 14 or newer that knows wasm32",
        why: "builds the JavaScript engine of isolated tools, which is wasm",
        probe: Probe::Clang,
        packages: &["clang-14"],
        packages_elsewhere: Some(&["clang"]),
        purpose: Purpose::Demo,
    },
    Program {
        name: "a static C library",
        why: "builds the program that the benches confine",
        probe: Probe::Line("echo 'int main(void){return 0;}' | cc -O2 -static -x c -o /dev/null -"),
        packages: &["gcc", "libc6-dev"],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "python3",
        why: "runs the Python example skills; the tests confine the system's own",
        probe: Probe::Line("/usr/bin/python3 -c pass"),
        packages: &["python3"],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "node",
        why: "runs the JavaScript example skills; the tests confine the system's own",
        probe: Probe::Line("/usr/bin/node -e 0"),
        packages: &["nodejs"],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "git",
        why: "runs the changelog example skill; the tests confine the system's own",
        probe: Probe::Line("/usr/bin/git --version"),
        packages: &["git"],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "bash",
        why: "runs the shell example skills",
        probe: Probe::Line("PATH=/usr/local/bin:/usr/bin:/bin bash -c :"),
        packages: &["bash"],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "the programs that scripts use",
        why: "the tests run each of them confined",
        probe: Probe::Line(
            "for program in jq zip unzip xz bzip2 zstd perl ps make sqlite3 bc xxd patch file; do \
             test -x /usr/bin/$program || exit 1; done",
        ),
        packages: &[
            "jq", "zip", "unzip", "xz-utils", "bzip2", "zstd", "perl", "procps", "make", "sqlite3",
            "bc", "xxd", "patch", "file",
        ],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "certificates and media types",
        why: "a run sees the system's own, and the tests look for them",
        probe: Probe::Line("test -d /etc/ssl/certs && test -f /etc/mime.types"),
        packages: &["ca-certificates", "media-types"],
        packages_elsewhere: Some(&["ca-certificates", "mime-support"]),
        purpose: Purpose::Test,
    },
    Program {
        name: "setpriv",
        why: "runs the tests a second time as a plain user",
        probe: Probe::Line("setpriv --version"),
        packages: &["util-linux"],
        packages_elsewhere: None,
        purpose: Purpose::Test,
    },
    Program {
        name: "a C++ compiler",
        why: "builds the fuzzing engine",
        probe: Probe::Line("echo 'int main(){return 0;}' | c++ -x c++ -o /dev/null -"),
        packages: &["g++"],
        packages_elsewhere: None,
        purpose: Purpose::Ci,
    },
];

/// A cargo subcommand at the version that this repository was tested with.
struct Tool {
    name: &'static str,
    version: &'static str,
    /// Whether a newer version does as well; its results must then not depend on the version.
    newer_will_do: bool,
    purpose: Purpose,
}

impl Tool {
    fn ensure(&self, sh: &Shell) -> Result {
        let Self { name, version, .. } = self;
        let found = self.installed(sh);
        if found.as_deref().is_some_and(|found| self.accepts(found)) {
            return Ok(());
        }
        eprintln!(
            "setup: {name} {version} is missing (found: {})",
            found.as_deref().unwrap_or("none")
        );
        // Its own target folder: `CARGO_TARGET_DIR` would mix its dependencies with ours.
        cmd!(sh, "cargo install --locked {name} --version {version}")
            .env_remove("CARGO_TARGET_DIR")
            .run()
            .map_err(|error| {
                format!("{error}; run `cargo install --locked {name} --version {version}`")
            })?;
        Ok(())
    }

    fn installed(&self, sh: &Shell) -> Option<String> {
        let name = self.name;
        let subcommand = name.strip_prefix("cargo-")?;
        let text = cmd!(sh, "cargo {subcommand} --version")
            .quiet()
            .ignore_stderr()
            .read()
            .ok()?;
        let version = text.strip_prefix(name)?.split_whitespace().next()?;
        Some(version.to_owned())
    }

    fn accepts(&self, found: &str) -> bool {
        found == self.version || self.newer_will_do && numbers(found) > numbers(self.version)
    }
}

fn numbers(version: &str) -> Vec<u64> {
    version
        .split('.')
        .map(|part| part.parse().unwrap_or_default())
        .collect()
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "cargo-nextest",
        version: "0.9.143",
        newer_will_do: true,
        purpose: Purpose::Test,
    },
    Tool {
        name: "cargo-deny",
        version: "0.20.2",
        newer_will_do: false,
        purpose: Purpose::Ci,
    },
    Tool {
        name: "cargo-fuzz",
        version: "0.13.2",
        newer_will_do: false,
        purpose: Purpose::Ci,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tool_that_says_so_may_be_newer() {
        let [nextest, deny, _] = TOOLS else {
            panic!("three tools")
        };
        assert!(nextest.accepts("0.9.143"));
        assert!(nextest.accepts("0.9.1000"));
        assert!(nextest.accepts("0.10.0"));
        assert!(!nextest.accepts("0.9.99"));
        assert!(deny.accepts("0.20.2"));
        assert!(!deny.accepts("0.20.3"));
    }

    #[test]
    fn the_demo_needs_no_more_than_two_compilers() {
        let needed: Vec<_> = PROGRAMS
            .iter()
            .filter(|program| program.purpose == Purpose::Demo)
            .map(|program| program.name)
            .collect();
        assert_eq!(
            needed,
            ["a C compiler", "clang 14 or newer that knows wasm32"]
        );
        assert!(TOOLS.iter().all(|tool| tool.purpose > Purpose::Demo));
    }

    #[test]
    fn a_program_that_does_not_work_is_seen() {
        let sh = Shell::new().unwrap();
        let broken = Program {
            probe: Probe::Line("no-such-program-at-all --version"),
            ..PROGRAMS[0]
        };
        assert!(!broken.works(&sh));
        let working = Program {
            probe: Probe::Line(":"),
            ..PROGRAMS[0]
        };
        assert!(working.works(&sh));
    }
}
