//! Who holds what: the choice of an entry, and grants for one run.

use bailiwick_core::{Digest, Scope, SkillError, SkillName, ToolName};
use bailiwick_policy::{Access, Ask, CliGrants, HostPath, PolicyFile, Rights, SandboxPolicy};

use crate::{folder, parse};

fn path(text: &str) -> HostPath {
    text.parse().unwrap()
}

fn skill(name: &str) -> SkillName {
    name.parse().unwrap()
}

fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

fn cli(flags: &[&str]) -> CliGrants {
    CliGrants::parse(flags.iter().copied(), &folder()).unwrap()
}

fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn entries(entries: &[&str]) -> PolicyFile {
    let list = entries.iter().fold(String::new(), |list, entry| {
        list + "[[skill]]\nname = \"x\"\n" + entry + "\n"
    });
    parse(&format!("version = 1\n{list}")).unwrap()
}

#[test]
fn a_cloned_repository_can_not_grant_itself_anything() {
    let file = entries(&["source = \"user\"", "source = \"./.agents/skills\""]);
    let location = path("/home/ada/project/.agents/skills/x");
    let found = file.skill_grants(&skill("x"), Scope::Project, Some(&location), &digest("a"));
    assert!(found.unwrap().is_none());
}

#[test]
fn a_project_copy_is_granted_by_its_digest_alone() {
    let file = entries(&[&format!("digest = \"{}\"", digest("a"))]);
    let find = |bytes| file.skill_grants(&skill("x"), Scope::Project, None, &digest(bytes));
    assert!(find("a").unwrap().is_some());
    let mismatch = find("b").unwrap_err();
    assert_eq!(mismatch.rule().to_string(), "bailiwick.toml:2");
    let wire = SkillError::from(mismatch);
    assert_eq!(wire.code().as_str(), "E_SKILL_DIGEST_MISMATCH");
}

#[test]
fn an_entry_means_only_copies_from_its_source() {
    let file = entries(&["source = \"user\""]);
    let applies = |scope, at: Option<&str>| {
        let at = at.map(path);
        file.skill_grants(&skill("x"), scope, at.as_ref(), &digest("a"))
            .unwrap()
            .is_some()
    };
    assert!(applies(Scope::User, None));
    for scope in [Scope::Project, Scope::Path, Scope::Bundled] {
        assert!(
            !applies(scope, Some("/home/ada/project/skills/x")),
            "{scope}"
        );
    }

    let file = entries(&["source = \"./skills\""]);
    let applies = |scope, at: Option<&str>| {
        let at = at.map(path);
        file.skill_grants(&skill("x"), scope, at.as_ref(), &digest("a"))
            .unwrap()
            .is_some()
    };
    assert!(applies(Scope::Path, Some("/home/ada/project/skills/x")));
    assert!(applies(Scope::Path, Some("/home/ada/project/skills")));
    assert!(!applies(Scope::Path, Some("/home/ada/project/skills2/x")));
    assert!(!applies(Scope::Path, None));
    assert!(!applies(Scope::Project, Some("/home/ada/project/skills/x")));
    assert!(!applies(Scope::User, Some("/home/ada/project/skills/x")));
}

#[test]
fn another_skill_is_granted_nothing() {
    let file = entries(&["source = \"user\""]);
    assert!(
        file.skill_grants(&skill("y"), Scope::User, None, &digest("a"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn one_of_several_pins_is_enough_and_none_refuses() {
    let pin = |bytes| format!("source = \"user\"\ndigest = \"{}\"", digest(bytes));
    let file = entries(&[&pin("a"), &pin("b")]);
    let find = |bytes| file.skill_grants(&skill("x"), Scope::User, None, &digest(bytes));
    assert_eq!(
        find("a").unwrap().unwrap().origin().to_string(),
        "bailiwick.toml:2"
    );
    assert_eq!(
        find("b").unwrap().unwrap().origin().to_string(),
        "bailiwick.toml:6"
    );
    assert!(find("c").is_err());
}

const TOOLS: &str = r#"
version = 1
[session]
read = ["./docs"]
write = ["./out"]
[[skill]]
name = "x"
source = "user"
grant.read = ["./docs"]
grant.param_write = ["./out"]
tool.narrow.grant.read = ["./docs/api"]
tool.blind.grant.read = []
tool.blind.grant.param_write = []
tool.blind.ask = "never"
"#;

#[test]
fn a_tool_holds_its_own_grants_where_it_has_them_and_its_skills_elsewhere() {
    let file = parse(TOOLS).unwrap();
    let entry = Some(&file.skills()[0]);
    let held = |name: &str, at: &str| {
        let grants = file.grants_for(entry, Some(&tool(name)), &CliGrants::none());
        grants
            .apply(SandboxPolicy::deny_all())
            .effective_rights(&path(at))
    };
    let (docs, api) = ("/home/ada/project/docs", "/home/ada/project/docs/api");
    assert_eq!(held("other", docs), Rights::READ_ONLY);
    assert_eq!(held("narrow", docs), Rights::NONE);
    assert_eq!(held("narrow", api), Rights::READ_ONLY);
    assert_eq!(held("blind", api), Rights::NONE);

    let grants = |name: &str| file.grants_for(entry, Some(&tool(name)), &CliGrants::none());
    assert_eq!(grants("narrow").param_write().len(), 1);
    assert!(grants("blind").reach_nothing());
    assert_eq!(file.skills()[0].ask(&tool("blind")), Ask::Never);
    assert_eq!(file.skills()[0].ask(&tool("other")), Ask::OncePerDigest);
}

#[test]
fn a_named_path_inside_the_session_but_outside_the_skill_is_refused() {
    let file = parse(TOOLS).unwrap();
    let skill = Some(&file.skills()[0]);
    let grants = file.grants_for(skill, Some(&tool("narrow")), &CliGrants::none());
    let request = file.request(&grants, file.limits());
    let outside = path("/home/ada/project/docs/secret.md");
    assert!(
        file.session_policy()
            .effective_rights(&outside)
            .contains(Rights::READ_ONLY)
    );
    let refused = grants.open(request, &outside, Access::Read).unwrap_err();
    let wire = SkillError::from(refused);
    assert_eq!(wire.code().as_str(), "E_SKILL_SCRIPT_POLICY_WIDENED");
    assert_eq!(wire.details()["axis"], "fs");
    assert_eq!(wire.details()["at"], outside.as_str());
    assert_eq!(
        wire.details()["held"],
        "read /home/ada/project/docs/api, param_write /home/ada/project/out"
    );
}

#[test]
fn without_a_file_a_flag_extends_ceiling_and_skill_alike() {
    let file = PolicyFile::built_in();
    let cli = cli(&[
        "read=./docs",
        "param_write=./out",
        "env=TOKEN",
        "network=loopback",
    ]);
    let session = file.ceiling(&cli).unwrap();
    let grants = file.grants_for(None, None, &cli);
    let request = file.request(&grants, &file.limits_for(None));
    let out = path("/home/ada/project/out/a");
    let request = grants.open(request, &out, Access::Write).unwrap();
    let policy = bailiwick_policy::derive(&session, &request).unwrap();
    assert_eq!(policy.roots().len(), 2);
    assert_eq!(policy.roots()[0].origin().to_string(), "cli:read=./docs");
    assert_eq!(policy.effective_rights(&out), Rights::READ_WRITE);
}

#[test]
fn with_a_file_a_flag_must_lie_inside_its_session() {
    let file = parse("version = 1\n[session]\nread = [\"./docs\"]\n").unwrap();
    assert!(file.ceiling(&cli(&["read=./docs/api"])).is_ok());
    for flag in [
        "read=/srv",
        "write=./docs",
        "param_read=/srv",
        "env=TOKEN",
        "network=loopback",
    ] {
        let refused = file.ceiling(&cli(&[flag])).unwrap_err();
        let origin = refused.witnesses()[0].origin().unwrap().to_string();
        assert_eq!(origin, format!("cli:{flag}"));
    }
}

#[test]
fn hosts_lie_inside_the_hosts_of_the_session() {
    let granted = |host: &str| {
        let text = format!(
            "version = 1\n[session]\nnetwork = [\"*.example:443\", \"192.0.2.1:80\"]\n\
             [[skill]]\nname = \"x\"\nsource = \"user\"\ngrant.network = [\"{host}\"]\n"
        );
        parse(&text).map_err(|error| error.code().as_str())
    };
    for host in [
        "api.example:443",
        "*.b.example:443",
        "192.0.2.1:80",
        "loopback",
    ] {
        assert!(granted(host).is_ok(), "{host}");
    }
    for host in ["api.example:80", "example:443", "*.com:443", "192.0.2.2:80"] {
        assert_eq!(
            granted(host).err(),
            Some("E_SKILL_SCRIPT_POLICY_WIDENED"),
            "{host}"
        );
    }
    // A person adds to what a skill holds, and takes nothing away.
    let file = granted("a.example:443").unwrap();
    let cli = cli(&["network=b.example:443"]);
    assert!(file.ceiling(&cli).is_ok());
    let grants = file.grants_for(file.skills().first(), None, &cli);
    let request = file.request(&grants, &file.limits_for(None));
    assert_eq!(request.net().to_string(), "a.example:443, b.example:443");
}

#[test]
fn a_file_that_grants_nothing_is_not_the_same_as_no_file() {
    let file = parse("version = 1").unwrap();
    assert!(!file.is_built_in());
    assert!(file.ceiling(&cli(&["read=./docs"])).is_err());
    assert!(
        PolicyFile::built_in()
            .ceiling(&cli(&["read=./docs"]))
            .is_ok()
    );
}

/// Shows what a person reads about a refused policy.
fn read_aloud(refused: bailiwick_policy::PolicyWidened) -> String {
    let error = SkillError::from(refused);
    format!("{error}\n  hint: {}", error.hint().unwrap_or_default())
}

#[test]
fn a_refusal_names_the_file_and_the_key_that_bound_it() {
    let file = parse("version = 1\n[session]\nread = [\"./docs\"]\n").unwrap();
    let refused: Vec<_> = ["read=/srv", "env=TOKEN", "network=loopback"]
        .into_iter()
        .map(|flag| file.ceiling(&cli(&[flag])).unwrap_err())
        .collect();
    assert!(
        refused
            .iter()
            .all(|widened| widened.witnesses()[0].ceiling_label() == Some("bailiwick.toml"))
    );
    let file = file.session_policy();
    let wide = SandboxPolicy::deny_all()
        .with_syscalls(bailiwick_policy::SyscallProfile::Wide)
        .with_limits(file.limits().clone());
    let wide = bailiwick_policy::derive(&file, &wide).unwrap_err();
    let aloud: Vec<_> = refused.into_iter().chain([wide]).map(read_aloud).collect();
    insta::assert_snapshot!(aloud.join("\n"), @"
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: fs /srv: asks for read+list, the ceiling holds nothing
      hint: widen `read` or `write` in [session] of bailiwick.toml, or ask for less
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: env TOKEN: asks for it, the ceiling holds nothing
      hint: widen `env` in [session] of bailiwick.toml, or ask for less
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: net: asks for loopback, the ceiling holds none
      hint: widen `network` in [session] of bailiwick.toml, or ask for less
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: syscalls: asks for wide, the ceiling holds standard
      hint: widen `syscalls` in [sandbox] of bailiwick.toml, or ask for less
    ");

    let by_program = bailiwick_policy::derive(
        &SandboxPolicy::deny_all(),
        &SandboxPolicy::deny_all().with_syscalls(bailiwick_policy::SyscallProfile::Wide),
    );
    let by_program = by_program.unwrap_err();
    assert_eq!(by_program.witnesses()[0].ceiling_label(), None);
    insta::assert_snapshot!(read_aloud(by_program), @"
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: syscalls: asks for wide, the ceiling holds strict
      hint: widen the ceiling where it was set, or ask for less
    ");
}

#[test]
fn a_path_that_a_call_may_not_name_is_refused_with_a_step_that_works_under_the_file() {
    let refused = |file: &PolicyFile| {
        let grants = file.grants_for(file.skills().first(), None, &CliGrants::none());
        let request = file.request(&grants, file.limits());
        let at = path("/srv/a.md");
        read_aloud(grants.open(request, &at, Access::Read).unwrap_err())
    };
    insta::assert_snapshot!(refused(&parse(TOOLS).unwrap()), @r#"
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: fs /srv/a.md: asks for read+list, the ceiling holds read /home/ada/project/docs, param_write /home/ada/project/out
      hint: a call may name it with `grant.param_read = ["/srv/a.md"]` for the skill in bailiwick.toml, or with `--grant param_read=/srv/a.md` for this run; both must lie inside [session] of bailiwick.toml
    "#);
    insta::assert_snapshot!(refused(&PolicyFile::built_in()), @"
    E_SKILL_SCRIPT_POLICY_WIDENED: the policy is wider than its ceiling: fs /srv/a.md: asks for read+list, the ceiling holds nothing
      hint: grant it for this run with `--grant param_read=/srv/a.md`, or in a policy file
    ");
}

#[test]
fn the_rule_that_names_a_path_is_found_for_an_error_about_what_is_there() {
    let file = parse("version = 1\n[session]\nread = [\"/nope\"]\n[interpreters.i]\nargv = [\"/opt/i\"]\nread = []\nexec = []\n").unwrap();
    let session = file.session_policy();
    let origin = |at: &str| session.origin_of(&path(at)).map(ToString::to_string);
    assert_eq!(origin("/nope").as_deref(), Some("bailiwick.toml:3"));
    assert_eq!(origin("/opt/i").as_deref(), Some("bailiwick.toml:4"));
    assert_eq!(origin("/nope/a"), None);
}

#[test]
fn an_entry_for_a_skill_that_is_not_there_is_told_with_the_name_it_may_mean() {
    let text = "version = 1\n[[skill]]\nname = \"relase-notes\"\nsource = \"user\"\n[[skill]]\nname = \"changelog\"\nsource = \"user\"\n[[skill]]\nname = \"unheard-of\"\nsource = \"user\"\n";
    let file = parse(text).unwrap();
    let idle = file.entries_without(&[skill("release-notes"), skill("changelog")]);
    let shown: Vec<_> = idle.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    bailiwick.toml:2: no skill here is named `relase-notes`; did you mean `release-notes`?
    bailiwick.toml:8: no skill here is named `unheard-of`
    ");
    assert_eq!(idle[0].name().as_str(), "relase-notes");
    assert_eq!(idle[0].nearest(), Some(&skill("release-notes")));
    assert_eq!(idle[1].origin().to_string(), "bailiwick.toml:8");
    assert_eq!(PolicyFile::built_in().entries_without(&[]), []);
}
