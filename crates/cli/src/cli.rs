//! What can be written on the command line.

use std::path::PathBuf;

use bailiwick::sandbox_policy::TimeSpan;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Runs the tools that agent skills bring, each inside an area of its own.
#[derive(Debug, Parser)]
#[command(name = "bailiwick", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Search this folder for skills instead of the project's and the user's; repeatable.
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) skills: Vec<PathBuf>,
    /// Use this policy file.
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    pub(crate) policy: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Run as if started in this folder.
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show skills running, attacks failing, and one grant changing the outcome.
    Demo(Demo),
    /// Show a project's `bailiwick.toml` and bind its digest for this user.
    Trust(Trust),
    /// List the skills and tools that were found.
    List(List),
    /// Validate skill packages.
    Check(Check),
    /// Show one skill to a reviewer, on one page.
    Inspect(Inspect),
    /// Call one tool or script.
    Call(Call),
    /// Show what a call would run with and may reach; no script is started.
    Explain(Explain),
    /// Try what this machine really enforces.
    Doctor,
    /// Read retained results.
    Artifacts(Artifacts),
    /// Write a new skill that can be called at once.
    Init(Init),
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Show these claims only, by the names in the table.
    #[arg(value_name = "CLAIM")]
    pub(crate) only: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Trust {
    /// The policy file, or the folder that holds it; the project's by default.
    pub(crate) path: Option<PathBuf>,
    /// Stop trusting it.
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Compute the digest of every skill.
    #[arg(long)]
    pub(crate) digests: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Skills, or folders of skills.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The rules that the packages are held to.
    #[arg(long, value_enum, default_value_t = CheckProfile::Tool)]
    pub(crate) profile: CheckProfile,
    /// Also try everything that loading would refuse.
    #[arg(long)]
    pub(crate) load: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CheckProfile {
    /// The six keys of the open standard.
    Standard,
    /// The keys of tool skills besides.
    Tool,
}

#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The skill, as `NAME` or `NAME@SCOPE`.
    pub(crate) skill: String,
}

#[derive(Args, Debug)]
pub(crate) struct Call {
    /// `SKILL.TOOL`, or `SKILL:scripts/FILE` for a script that the skill does not declare.
    pub(crate) target: String,
    /// The arguments as a JSON object, or `-` to read them from standard input.
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,
    /// What the script reads from its standard input; `-` passes this program's on.
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Answer the gate's question with yes, for this call.
    #[arg(long)]
    pub(crate) yes: bool,
    /// End the call after this time, such as `2s`; a script gets at most the policy's
    /// `limits.wall`.
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<TimeSpan>,
    #[command(flatten)]
    pub(crate) grants: Grants,
    /// Arguments of an undeclared script, passed as they are.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) script_arguments: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Grants {
    /// Grant this for this run; repeatable. The keys are `read`, `write`, `param_read`,
    /// `param_write`, `env`, `network`, `context` and `undeclared_scripts`.
    #[arg(long = "grant", value_name = "KEY=VALUE")]
    pub(crate) flags: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// `SKILL.TOOL`.
    pub(crate) target: String,
    /// The arguments as a JSON object; without them, what holds for every call.
    #[arg(value_name = "JSON")]
    pub(crate) arguments: Option<String>,
    /// Answer whether this path may be used.
    #[arg(long, value_name = "PATH", conflicts_with = "host")]
    pub(crate) path: Option<PathBuf>,
    /// How the path would be used.
    #[arg(long, value_enum, default_value_t = PathAccess::Read, requires = "path")]
    pub(crate) access: PathAccess,
    /// Answer whether this address may be reached, as `HOST` or `HOST:PORT` (port 443 if absent).
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// List every comparison of the proof that the policy lies inside the session's.
    #[arg(long, conflicts_with_all = ["path", "host"])]
    pub(crate) proof: bool,
    #[command(flatten)]
    pub(crate) grants: Grants,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PathAccess {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

#[derive(Args, Debug)]
pub(crate) struct Artifacts {
    #[command(subcommand)]
    pub(crate) action: ArtifactAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactAction {
    /// List what is retained, newest first.
    Ls,
    /// Print an artifact, or some of its lines.
    Read {
        /// The id.
        id: String,
        /// Only these lines, as `FIRST:LAST` or one number.
        #[arg(long, value_name = "LINES")]
        lines: Option<LineRange>,
    },
    /// Print the lines that contain a text.
    Grep {
        /// The id.
        id: String,
        /// The text.
        text: String,
        /// The most lines that are printed.
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
    /// Forget artifacts.
    Rm {
        /// The ids.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

/// Lines of a text, counted from 1; the last one is included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct LineRange {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl std::str::FromStr for LineRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once(':').unwrap_or((text, text));
        match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok(Self {
                first,
                count: (last - first).saturating_add(1),
            }),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => Err("write `3` or `3:7`; the first line is 1"),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The skill's name, which becomes a folder's.
    pub(crate) name: String,
}

const GLOBAL: &str = "Everywhere";

const EXIT_CODES: &str = "\
Exit codes:
  0  ok
  1  the tool failed
  2  usage
  3  denied
  4  approval pending
  5  something the call needs is unavailable (gate, source, host service)
  6  limit hit (time, memory, output, processes)
  7  cancelled
  8  verification failed (digest, manifest)
  9  this machine cannot enforce the policy";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_range_of_lines_has_a_first_line_and_an_order() {
        let range = |text: &str| text.parse::<LineRange>();
        assert_eq!(range("3"), Ok(LineRange { first: 3, count: 1 }));
        assert_eq!(range("3:7"), Ok(LineRange { first: 3, count: 5 }));
        for text in ["0", "7:3", "", ":", "3:", "a"] {
            assert!(range(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn script_arguments_come_after_two_dashes_and_keep_theirs() {
        let cli = Cli::try_parse_from(["bailiwick", "call", "a:scripts/x.py", "--", "--help"]);
        let Ok(Cli {
            command: Command::Call(call),
            ..
        }) = cli
        else {
            panic!("{cli:?}")
        };
        assert_eq!(call.script_arguments, ["--help"]);
        assert_eq!(call.arguments, "{}");
    }
}
