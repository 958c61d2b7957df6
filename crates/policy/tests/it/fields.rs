//! No inert field: every key changes something, and a key that would not is refused.

use std::collections::BTreeSet;

use bailiwick_core::{Digest, Scope, ToolName};
use bailiwick_policy::{
    CliGrants, Field, Grants, HostPath, IsolateLimits, Mechanism, PathGrant, PolicyFile,
    SandboxPolicy, SkillGrants, fields,
};

use crate::parse;

/// What a key changes: the file without it, the file with it, where to look, and what is there.
#[derive(Clone, Copy)]
struct Case {
    field: &'static str,
    without: &'static str,
    with: &'static str,
    look: fn(&PolicyFile) -> String,
    before: &'static str,
    after: &'static str,
}

const fn case(
    field: &'static str,
    [without, with]: [&'static str; 2],
    look: fn(&PolicyFile) -> String,
    [before, after]: [&'static str; 2],
) -> Case {
    Case {
        field,
        without,
        with,
        look,
        before,
        after,
    }
}

/// The same for a key of `[[skill]]`, whose entry begins with a name and a source.
const fn of_skill(
    field: &'static str,
    line: &'static str,
    look: fn(&PolicyFile) -> String,
    [before, after]: [&'static str; 2],
) -> Case {
    case(field, ["", line], look, [before, after])
}

/// The part of the file that a case's lines stand under.
fn document(case: &Case, lines: &str) -> String {
    let header = if case.field == "version" {
        ""
    } else {
        "version = 1\n"
    };
    if !case.field.starts_with("skill[]") {
        return format!("{header}{lines}");
    }
    let session = "[session]\nread = [\"/in\"]\nwrite = [\"/out\"]\nenv = [\"TOKEN\"]\nnetwork = [\"loopback\"]\ncontext = [\"fs\"]\n";
    let entry = match case.field {
        "skill[].name" | "skill[].source" | "skill[].digest" => "[[skill]]\n",
        _ => "[[skill]]\nname = \"x\"\nsource = \"user\"\n",
    };
    format!("{header}{session}{entry}{lines}")
}

#[test]
fn every_built_field_changes_what_is_read() {
    for case in cases() {
        let read = |lines: &str| match parse(&document(&case, lines)) {
            Ok(file) => (case.look)(&file),
            Err(error) => format!("error: {}", error.problems()[0].message()),
        };
        assert_eq!(
            read(case.without),
            case.before,
            "{} is not there",
            case.field
        );
        assert_eq!(read(case.with), case.after, "{} is there", case.field);
        assert_ne!(case.before, case.after, "{}", case.field);
    }
}

#[test]
fn every_built_field_has_a_case() {
    let with_case: BTreeSet<_> = cases().iter().map(|case| case.field).collect();
    let built: BTreeSet<_> = fields()
        .iter()
        .filter(|field| matches!(field.mechanism(), Mechanism::Built(_)))
        .map(Field::path)
        .collect();
    assert_eq!(with_case, built);
}

#[test]
fn every_field_that_is_not_built_is_refused_by_name() {
    for field in fields() {
        let needs = match field.mechanism() {
            Mechanism::Built(_) => continue,
            Mechanism::NotBuilt(needs) => needs,
        };
        let key = field.path().replace("<tool>", "t").replace("<name>", "n");
        let text = match key.strip_prefix("skill[].") {
            Some(key) => {
                format!("version = 1\n[[skill]]\nname = \"x\"\nsource = \"user\"\n{key} = 1")
            }
            None => format!("version = 1\n{key} = 1"),
        };
        let error = parse(&text).unwrap_err();
        let message = error.problems()[0].message();
        let named = message.split('`').nth(1).unwrap();
        assert!(field.path().starts_with(named), "{message}");
        assert!(
            message.ends_with(&format!("has no effect in this build: it needs {needs}")),
            "{message}"
        );
        assert_eq!(error.code().as_str(), "E_INVALID_SKILLS_CONFIG");
    }
}

#[test]
fn an_empty_table_of_which_nothing_is_built_is_refused_too() {
    for table in ["[export]", "[credential]", "[credential.github]"] {
        let error = parse(&format!("version = 1\n{table}\n")).unwrap_err();
        assert!(
            error.problems()[0]
                .message()
                .contains("has no effect in this build"),
            "{table}"
        );
    }
}

#[test]
fn the_file_that_uses_every_key_uses_every_built_field() {
    let text = include_str!("every_field.toml");
    for field in fields() {
        let last = field.path().rsplit('.').next().unwrap();
        let used = text.lines().any(|line| {
            line.split(['=', ' '])
                .next()
                .is_some_and(|key| key.rsplit('.').next() == Some(last))
        });
        let built = matches!(field.mechanism(), Mechanism::Built(_));
        assert!(used || !built, "{}", field.path());
    }
}

fn roots(roots: &[PathGrant]) -> String {
    roots
        .iter()
        .map(|root| root.path().as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn grants_of(file: &PolicyFile) -> &Grants {
    file.skills()[0].grants()
}

fn tool_of(file: &PolicyFile) -> Grants {
    let tool: ToolName = "t".parse().unwrap();
    file.grants_for(Some(&file.skills()[0]), Some(&tool), &CliGrants::none())
}

fn net(grants: &Grants) -> String {
    grants
        .net()
        .map_or_else(|| "none".to_owned(), |(net, _)| net.to_string())
}

fn env(grants: &Grants) -> String {
    grants
        .env()
        .keys()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

fn context(grants: &Grants) -> String {
    grants
        .context()
        .keys()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

fn rights(policy: &SandboxPolicy, at: &str) -> String {
    policy.effective_rights(&at.parse().unwrap()).to_string()
}

fn lowered(file: &PolicyFile) -> bailiwick_policy::RunLimits {
    file.limits_for(file.skills().first())
}

const WRITING: &str = "read+list+write+create+delete+truncate+refer";

fn cases() -> Vec<Case> {
    [of_the_file(), of_isolated_tools(), of_skills()].concat()
}

fn of_the_file() -> Vec<Case> {
    vec![
        case(
            "version",
            ["", "version = 1"],
            |_| "read".into(),
            ["error: the file has no `version`", "read"],
        ),
        case(
            "fail_on_nonzero_exit",
            ["", "fail_on_nonzero_exit = false"],
            |f| f.fail_on_nonzero_exit().to_string(),
            ["true", "false"],
        ),
        case(
            "limits.wall",
            ["", "limits.wall = \"60s\""],
            |f| format!("{:?}", f.limits().wall()),
            ["30s", "60s"],
        ),
        case(
            "limits.wall_default",
            ["", "limits.wall_default = \"20s\""],
            |f| format!("{:?}", f.wall_default()),
            ["10s", "20s"],
        ),
        case(
            "limits.cpu",
            ["", "limits.cpu = \"1s\""],
            |f| format!("{:?}", f.limits().cpu()),
            ["10s", "1s"],
        ),
        case(
            "limits.memory",
            ["", "limits.memory = \"1B\""],
            |f| f.limits().memory().to_string(),
            ["268435456", "1"],
        ),
        case(
            "limits.processes",
            ["", "limits.processes = 1"],
            |f| f.limits().processes().to_string(),
            ["64", "1"],
        ),
        case(
            "limits.files",
            ["", "limits.files = 1"],
            |f| f.limits().files().to_string(),
            ["256", "1"],
        ),
        case(
            "limits.file_size",
            ["", "limits.file_size = \"1B\""],
            |f| f.limits().file_size().to_string(),
            ["67108864", "1"],
        ),
        case(
            "limits.workspace",
            ["", "limits.workspace = \"1B\""],
            |f| f.limits().workspace().to_string(),
            ["67108864", "1"],
        ),
        case(
            "limits.inodes",
            ["", "limits.inodes = 1"],
            |f| f.limits().inodes().to_string(),
            ["4096", "1"],
        ),
        case(
            "limits.output",
            ["", "limits.output = \"1B\""],
            |f| f.limits().output().to_string(),
            ["1048576", "1"],
        ),
        case(
            "limits.flood",
            ["", "limits.flood = \"1B\""],
            |f| f.limits().flood().to_string(),
            ["268435456", "1"],
        ),
        case(
            "limits.reply",
            ["", "limits.reply = \"1KiB\""],
            |f| f.limits().reply().to_string(),
            ["25600", "1024"],
        ),
        case(
            "gate.deadline",
            ["gate.deadline = \"none\"", "gate.deadline = \"5s\""],
            |f| format!("{:?}", f.gate_deadline()),
            ["None", "Some(5s)"],
        ),
        case(
            "workspace.dir",
            ["", "workspace.dir = \"w\""],
            |f| format!("{:?}", f.workspace_dir().map(HostPath::as_str)),
            ["None", "Some(\"/home/ada/project/w\")"],
        ),
        case(
            "sandbox.base",
            ["", "sandbox.base = \"minimal\""],
            |f| f.base().to_string(),
            ["usr", "minimal"],
        ),
        case(
            "sandbox.syscalls",
            ["", "sandbox.syscalls = \"strict\""],
            |f| f.session_policy().syscalls().to_string(),
            ["standard", "strict"],
        ),
        case(
            "sandbox.require",
            ["", "sandbox.require = [\"memory\"]"],
            |f| {
                f.session_policy()
                    .required()
                    .contains(&bailiwick_policy::ThreatClass::Memory)
                    .to_string()
            },
            ["false", "true"],
        ),
        case(
            "sandbox.cgroup",
            ["sandbox.cgroup = \"\"", "sandbox.cgroup = \"/c\""],
            |f| format!("{:?}", f.cgroup().map(HostPath::as_str)),
            ["None", "Some(\"/c\")"],
        ),
        case(
            "interpreters.<key>.argv",
            [
                "",
                "interpreters.i = { argv = [\"/bin/i\", \"-x\"], read = [], exec = [] }",
            ],
            |f| {
                f.interpreters().get("i").map_or_else(String::new, |i| {
                    format!(
                        "{} {:?} {}",
                        i.program(),
                        i.flags(),
                        f.session_policy().exec().contains_key(i.program())
                    )
                })
            },
            ["", "/bin/i [\"-x\"] true"],
        ),
        case(
            "interpreters.<key>.read",
            [
                "interpreters.i = { argv = [\"/bin/i\"], read = [], exec = [] }",
                "interpreters.i = { argv = [\"/bin/i\"], read = [\"/opt\"], exec = [] }",
            ],
            |f| roots(f.interpreters()["i"].read()),
            ["", "/opt"],
        ),
        case(
            "interpreters.<key>.exec",
            [
                "interpreters.i = { argv = [\"/bin/i\"], read = [], exec = [] }",
                "interpreters.i = { argv = [\"/bin/i\"], read = [], exec = [\"/bin/j\"] }",
            ],
            |f| {
                format!(
                    "{} {}",
                    roots(f.interpreters()["i"].exec()),
                    f.session_policy().exec().len()
                )
            },
            [" 1", "/bin/j 2"],
        ),
        case(
            "session.read",
            ["session.read = []", "session.read = [\"/a\"]"],
            |f| rights(&f.session_policy(), "/a"),
            ["nothing", "read+list"],
        ),
        case(
            "session.write",
            ["session.write = []", "session.write = [\"/a\"]"],
            |f| rights(&f.session_policy(), "/a"),
            ["nothing", WRITING],
        ),
        case(
            "session.network",
            ["session.network = []", "session.network = [\"loopback\"]"],
            |f| f.session_policy().net().to_string(),
            ["none", "loopback"],
        ),
        case(
            "session.network",
            [
                "session.network = [\"a.example:443\"]",
                "session.network = [\"a.example:443\", \"*.example:80\"]",
            ],
            |f| f.session_policy().net().to_string(),
            ["a.example:443", "*.example:80, a.example:443"],
        ),
        case(
            "session.env",
            ["session.env = []", "session.env = [\"TZ\"]"],
            |f| f.session_policy().env().len().to_string(),
            ["0", "1"],
        ),
        case(
            "session.context",
            ["session.context = []", "session.context = [\"fs.read\"]"],
            |f| context(f.session()),
            ["", "fs.read"],
        ),
    ]
}

/// Makes a case of the ceiling and one of the skill's own limit of each key.
macro_rules! isolate_limits {
    ($($key:ident = $small:literal, $shown:expr;)*) => {
        vec![$(
            case(
                concat!("limits.isolate.", stringify!($key)),
                ["", concat!("limits.isolate.", stringify!($key), " = ", $small)],
                |f| format!("{:?}", f.isolate_limits().$key()),
                $shown,
            ),
            of_skill(
                concat!("skill[].limits.isolate.", stringify!($key)),
                concat!("limits.isolate.", stringify!($key), " = ", $small),
                |f| {
                    assert_eq!(f.isolate_limits(), IsolateLimits::default());
                    format!("{:?}", f.isolate_limits_for(f.skills().first()).$key())
                },
                $shown,
            ),
        )*]
    };
}

fn of_isolated_tools() -> Vec<Case> {
    isolate_limits! {
        fuel = "5", ["None", "Some(5)"];
        memory = "\"16MiB\"", ["67108864", "16777216"];
        stack = "\"128KiB\"", ["524288", "131072"];
        host_calls = "50", ["1000", "50"];
        host_calls_concurrent = "4", ["32", "4"];
        host_call_bytes = "\"1KiB\"", ["1048576", "1024"];
        result = "\"1KiB\"", ["10485760", "1024"];
        log_events = "0", ["1000", "0"];
        log_bytes = "\"1KiB\"", ["8192", "1024"];
        table = "5000", ["10000", "5000"];
        json_depth = "8", ["64", "8"];
        json_nodes = "9", ["100000", "9"];
    }
}

fn of_skills() -> Vec<Case> {
    vec![
        of_skill(
            "skill[].name",
            "name = \"y\"\nsource = \"user\"",
            |f| f.skills()[0].name().to_string(),
            ["error: a `[[skill]]` needs `name`", "y"],
        ),
        case(
            "skill[].source",
            [
                "name = \"x\"\nsource = \"bundled\"",
                "name = \"x\"\nsource = \"user\"",
            ],
            |f| applies(f, Scope::User, b"abc"),
            ["no", "yes"],
        ),
        case(
            "skill[].digest",
            [
                "name = \"x\"\nsource = \"user\"",
                "name = \"x\"\nsource = \"user\"\ndigest = \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
            ],
            |f| applies(f, Scope::User, b"other"),
            ["yes", "refused"],
        ),
        of_skill(
            "skill[].grant.read",
            "grant.read = [\"/in\"]",
            |f| roots(grants_of(f).read()),
            ["", "/in"],
        ),
        of_skill(
            "skill[].grant.write",
            "grant.write = [\"/out\"]",
            |f| roots(grants_of(f).write()),
            ["", "/out"],
        ),
        of_skill(
            "skill[].grant.param_read",
            "grant.param_read = [\"/in\"]",
            |f| roots(grants_of(f).param_read()),
            ["", "/in"],
        ),
        of_skill(
            "skill[].grant.param_write",
            "grant.param_write = [\"/out\"]",
            |f| roots(grants_of(f).param_write()),
            ["", "/out"],
        ),
        of_skill(
            "skill[].grant.network",
            "grant.network = [\"loopback\"]",
            |f| net(grants_of(f)),
            ["none", "loopback"],
        ),
        of_skill(
            "skill[].grant.env",
            "grant.env = [\"TOKEN\"]",
            |f| env(grants_of(f)),
            ["", "TOKEN"],
        ),
        of_skill(
            "skill[].grant.context",
            "grant.context = [\"fs.read\"]",
            |f| context(grants_of(f)),
            ["", "fs.read"],
        ),
        of_skill(
            "skill[].grant.undeclared_scripts",
            "grant.undeclared_scripts = true",
            |f| grants_of(f).undeclared_scripts().is_some().to_string(),
            ["false", "true"],
        ),
        case(
            "skill[].tool.<tool>.grant.read",
            [
                "grant.read = [\"/in\"]",
                "grant.read = [\"/in\"]\ntool.t.grant.read = [\"/in/a\"]",
            ],
            |f| roots(tool_of(f).read()),
            ["/in", "/in/a"],
        ),
        case(
            "skill[].tool.<tool>.grant.write",
            [
                "grant.write = [\"/out\"]",
                "grant.write = [\"/out\"]\ntool.t.grant.write = []",
            ],
            |f| roots(tool_of(f).write()),
            ["/out", ""],
        ),
        case(
            "skill[].tool.<tool>.grant.param_read",
            [
                "grant.param_read = [\"/in\"]",
                "grant.param_read = [\"/in\"]\ntool.t.grant.param_read = []",
            ],
            |f| roots(tool_of(f).param_read()),
            ["/in", ""],
        ),
        case(
            "skill[].tool.<tool>.grant.param_write",
            [
                "grant.param_write = [\"/out\"]",
                "grant.param_write = [\"/out\"]\ntool.t.grant.param_write = [\"/out/a\"]",
            ],
            |f| roots(tool_of(f).param_write()),
            ["/out", "/out/a"],
        ),
        case(
            "skill[].tool.<tool>.grant.network",
            [
                "grant.network = [\"loopback\"]",
                "grant.network = [\"loopback\"]\ntool.t.grant.network = []",
            ],
            |f| net(&tool_of(f)),
            ["loopback", "none"],
        ),
        case(
            "skill[].tool.<tool>.grant.env",
            [
                "grant.env = [\"TOKEN\"]",
                "grant.env = [\"TOKEN\"]\ntool.t.grant.env = []",
            ],
            |f| env(&tool_of(f)),
            ["TOKEN", ""],
        ),
        case(
            "skill[].tool.<tool>.grant.context",
            [
                "grant.context = [\"fs\"]",
                "grant.context = [\"fs\"]\ntool.t.grant.context = [\"fs.read\"]",
            ],
            |f| context(&tool_of(f)),
            ["fs", "fs.read"],
        ),
        of_skill(
            "skill[].tool.<tool>.ask",
            "tool.t.ask = \"always\"",
            |f| format!("{:?}", f.skills()[0].ask(&"t".parse().unwrap())),
            ["OncePerDigest", "Always"],
        ),
        of_skill(
            "skill[].limits.wall",
            "limits.wall = \"1s\"",
            |f| {
                format!(
                    "{:?} {:?}",
                    lowered(f).wall(),
                    f.wall_default_for(f.skills().first())
                )
            },
            ["30s 10s", "1s 1s"],
        ),
        of_skill(
            "skill[].limits.cpu",
            "limits.cpu = \"1s\"",
            |f| format!("{:?}", lowered(f).cpu()),
            ["10s", "1s"],
        ),
        of_skill(
            "skill[].limits.memory",
            "limits.memory = \"1B\"",
            |f| lowered(f).memory().to_string(),
            ["268435456", "1"],
        ),
        of_skill(
            "skill[].limits.processes",
            "limits.processes = 1",
            |f| lowered(f).processes().to_string(),
            ["64", "1"],
        ),
        of_skill(
            "skill[].limits.files",
            "limits.files = 1",
            |f| lowered(f).files().to_string(),
            ["256", "1"],
        ),
        of_skill(
            "skill[].limits.file_size",
            "limits.file_size = \"1B\"",
            |f| lowered(f).file_size().to_string(),
            ["67108864", "1"],
        ),
        of_skill(
            "skill[].limits.workspace",
            "limits.workspace = \"1B\"",
            |f| lowered(f).workspace().to_string(),
            ["67108864", "1"],
        ),
        of_skill(
            "skill[].limits.inodes",
            "limits.inodes = 1",
            |f| lowered(f).inodes().to_string(),
            ["4096", "1"],
        ),
        of_skill(
            "skill[].limits.output",
            "limits.output = \"1B\"",
            |f| lowered(f).output().to_string(),
            ["1048576", "1"],
        ),
        of_skill(
            "skill[].limits.flood",
            "limits.flood = \"1B\"",
            |f| lowered(f).flood().to_string(),
            ["268435456", "1"],
        ),
        of_skill(
            "skill[].limits.reply",
            "limits.reply = \"1KiB\"",
            |f| lowered(f).reply().to_string(),
            ["25600", "1024"],
        ),
        of_skill(
            "skill[].fail_on_nonzero_exit",
            "fail_on_nonzero_exit = false",
            |f| format!("{:?}", f.skills()[0].fail_on_nonzero_exit()),
            ["None", "Some(false)"],
        ),
    ]
}

/// Says whether the entry grants to a copy with these bytes.
fn applies(file: &PolicyFile, scope: Scope, bytes: &[u8]) -> String {
    let found = file.skill_grants(&"x".parse().unwrap(), scope, None, &Digest::of(bytes));
    match found.map(|entry: Option<&SkillGrants>| entry.is_some()) {
        Ok(true) => "yes".into(),
        Ok(false) => "no".into(),
        Err(_) => "refused".into(),
    }
}
