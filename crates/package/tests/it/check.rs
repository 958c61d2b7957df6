//! What an author sees.

use std::path::Path;

use bailiwick_core::{Code, SkillError, SkillName};
use bailiwick_package::{Profile, check, check_all, scaffold};

use crate::support::{Skill, write, write_skill};

#[test]
fn a_report_shows_every_finding_with_its_line() {
    let skill = Skill::empty().file(
        "SKILL.md",
        "---\nname: S\ndescription: Does it.\nlicence: MIT\ncompatibility: [x]\n---\n",
    );
    let report = check(&skill.path(), Profile::Tool).unwrap();
    let home = skill.path().parent().unwrap().to_str().unwrap().to_owned();
    let text = report.render(false).replace(&home, "HOME");
    insta::assert_snapshot!(text, @r"
    manifest-name-invalid

      × `S` is not a skill name: only lowercase letters, digits and hyphens are allowed
       ╭─[HOME/s/SKILL.md:2:7]
     1 │ ---
     2 │ name: S
       ·       ─
     3 │ description: Does it.
       ╰────
      help: use lowercase letters a to z, digits and single hyphens, at most 64

    manifest-type

      × `compatibility` is a list and should be a text
       ╭─[HOME/s/SKILL.md:5:16]
     4 │ licence: MIT
     5 │ compatibility: [x]
       ·                ─
     6 │ ---
       ╰────

    front-matter-unknown-key

      ⚠ `licence` is no key of profile `tool`
       ╭─[HOME/s/SKILL.md:4:1]
     3 │ description: Does it.
     4 │ licence: MIT
       · ───────
     5 │ compatibility: [x]
       ╰────
      help: did you mean `license`?

    HOME/s: refused, profile tool: 2 errors, 1 warning, 0 notes
    ");
}

#[test]
fn a_report_is_json_with_counts() {
    let skill = Skill::empty().front("name: s\ndescription: d\ncolour: red\n");
    let report = check(&skill.path(), Profile::Tool).unwrap();
    let mut json = serde_json::to_value(&report).unwrap();
    json["location"] = "HOME/s".into();
    insta::assert_snapshot!(json.to_string(), @r#"{"location":"HOME/s","name":"s","profile":"tool","errors":0,"warnings":1,"notes":0,"diagnostics":[{"id":"front-matter-unknown-key","severity":"warning","message":"`colour` is no key of profile `tool`","file":"SKILL.md","line":4,"column":1,"span":{"offset":27,"length":6},"help":"it means nothing here; `metadata` takes free keys"}]}"#);
}

#[test]
fn a_folder_is_checked_under_the_name_it_is_called_by() {
    let skill = Skill::good();
    assert!(
        check(&skill.path().join("SKILL.md"), Profile::Standard)
            .unwrap()
            .passed()
    );
    assert!(
        check(&skill.path().join("."), Profile::Standard)
            .unwrap()
            .passed()
    );
    let nested = skill.file("references/a.md", "");
    assert!(
        check(&nested.path().join("references/.."), Profile::Standard)
            .unwrap()
            .passed()
    );
    let link = nested.path().parent().unwrap().join("other");
    std::os::unix::fs::symlink(nested.path(), &link).unwrap();
    assert!(!check(&link, Profile::Standard).unwrap().passed());
    let error = check(Path::new("no/such/skill"), Profile::Tool).unwrap_err();
    assert_eq!(SkillError::from(error).code(), Code::InvalidSkillsConfig);
}

#[test]
fn a_folder_of_skills_gives_a_report_for_each() {
    let folder = tempfile::tempdir().unwrap();
    write_skill(&folder.path().join("a"), "x");
    write_skill(&folder.path().join("group/b"), "x");
    write(&folder.path().join("c/SKILL.md"), b"# C\n");
    write(
        &folder.path().join("D_d/SKILL.md"),
        b"---\nname: d\ndescription: x\n---\n",
    );
    let reports = check_all(folder.path(), Profile::Tool).unwrap();
    let shown: Vec<_> = reports
        .iter()
        .map(|report| (report.location.rsplit('/').next().unwrap(), report.passed()))
        .collect();
    assert_eq!(
        shown,
        [("D_d", false), ("a", true), ("c", false), ("b", true)]
    );
}

#[test]
fn what_init_writes_passes_the_check() {
    let name: SkillName = "my-greeter".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join(name.as_str());
    let files = scaffold(&name);
    assert_eq!(files.len(), 3);
    for (path, text) in files {
        write(&skill.join(path.as_str()), text.as_bytes());
    }
    for profile in [Profile::Standard, Profile::Tool] {
        let report = check(&skill, profile).unwrap();
        assert!(
            report.passed() && report.diagnostics.is_empty(),
            "{}",
            report.render(false)
        );
    }
}
