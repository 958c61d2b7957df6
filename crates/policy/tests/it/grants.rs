//! Who holds what: the choice of an entry, and grants for one run.

use bailiwick_core::{Digest, Scope, SkillName, ToolName};
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
    let wire = bailiwick_core::SkillError::from(mismatch);
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
    let wire = bailiwick_core::SkillError::from(refused);
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
