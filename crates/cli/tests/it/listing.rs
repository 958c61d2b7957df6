//! `list` and `init`.

use crate::run::World;

#[test]
fn list_shows_what_wins_what_is_shadowed_and_what_is_broken() {
    let world = World::new();
    world.skill("good", "exit 0\n");
    world.skill("broken", "exit 0\n");
    world.write(
        "project/.agents/skills/broken/SKILL.md",
        "---\nname: other\ndescription: Is named wrongly.\n---\n",
    );
    world.write(
        "home/.agents/skills/good/SKILL.md",
        "---\nname: good\ndescription: Is shadowed.\n---\n",
    );
    let listed = world.run(&["list"]).succeeded();
    insta::assert_snapshot!(world.settled(&listed.stdout), @r"
    SKILL   VERSION  SOURCE   TIER    TOOLS
    broken  -        project  -       -
    good    1.0.0    project  script  run
    good    -        user     -       -

    broken in [world]/project/.agents/skills/broken does not load: SKILL.md:2:7: the skill is named `other` and its directory `broken`
      fix: give both the same name
    good in [world]/home/.agents/skills/good does not load: shadowed by [world]/project/.agents/skills/good
      fix: address it as `good@user`
    ");
    assert_eq!(listed.stderr, "");
}

#[test]
fn list_names_every_address_and_computes_digests_on_demand() {
    let world = World::new();
    world.skill("good", "exit 0\n");
    let value = world.run(&["list", "--json"]).succeeded().json();
    let skill = &value["skills"][0];
    assert_eq!(skill["name"], "good");
    assert_eq!(skill["source"], "project");
    assert_eq!(skill["tools"][0]["name"], "run_good_run");
    assert_eq!(skill["tools"][0]["address"], "good.run");
    assert!(skill["digest"].is_null(), "{skill:#}");
    assert!(world.digest_of("good").starts_with("sha256:"));
}

#[test]
fn an_empty_project_is_told_how_to_begin() {
    let world = World::new();
    let listed = world.run(&["list"]).succeeded();
    assert_eq!(listed.stdout, "no skill was found\n");
    assert!(listed.stderr.contains("bailiwick init NAME"), "{listed}");
}

#[test]
fn a_named_folder_replaces_the_projects_and_the_users() {
    let world = World::new();
    world.skill("good", "exit 0\n");
    world.write(
        "elsewhere/other/SKILL.md",
        "---\nname: other\ndescription: Is elsewhere.\n---\n",
    );
    let folder = world.path("elsewhere");
    let value = world
        .run(&["list", "--json", "--skills", folder.to_str().unwrap()])
        .succeeded()
        .json();
    assert_eq!(value["skills"].as_array().unwrap().len(), 1);
    assert_eq!(value["skills"][0]["source"], "path");
    world.run(&["list", "--skills", "no-such-folder"]).ended(2);
}

#[test]
fn a_new_skill_passes_the_check_and_is_called_at_once() {
    let world = World::new();
    let wrote = world.run(&["init", "my-greeter"]).succeeded();
    insta::assert_snapshot!(wrote.stdout, @r#"
    wrote .agents/skills/my-greeter
    check it   bailiwick check .agents/skills/my-greeter
    call it    bailiwick call my-greeter.greet '{"name": "Ada"}'
    "#);
    world
        .run(&["check", ".agents/skills/my-greeter", "--load"])
        .succeeded();
    let called = world
        .run(&["call", "my-greeter.greet", "{\"name\": \"Ada\"}"])
        .succeeded();
    assert_eq!(called.stdout, "Hello, Ada!\n");
    assert_eq!(
        world.run(&["init", "my-greeter", "--json"]).ended(2).code(),
        "E_INVALID_SKILLS_CONFIG"
    );
    assert_eq!(world.run(&["init", "../x", "--json"]).exit, 2);
}

#[test]
fn a_projects_folder_that_leads_away_hides_no_other_skill() {
    let world = World::new();
    std::fs::remove_dir(world.path("project/.agents/skills")).unwrap();
    world.write(
        "elsewhere/foreign/SKILL.md",
        "---\nname: foreign\ndescription: Is not the project's.\n---\n",
    );
    std::os::unix::fs::symlink(
        world.path("elsewhere"),
        world.path("project/.agents/skills"),
    )
    .unwrap();
    world.write(
        "home/.agents/skills/own/SKILL.md",
        "---\nname: own\ndescription: Is the person's.\n---\n",
    );
    let ran = world.run(&["list"]).succeeded();
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert!(text.contains("own") && !text.contains("foreign"), "{ran}");
    assert!(
        text.contains("the skills folder leads out of the repository"),
        "{ran}"
    );
}

#[test]
fn a_name_that_no_skill_may_have_is_answered_with_one_that_is_near() {
    let world = World::new();
    let ran = world.run(&["init", "Bad Name"]).ended(2);
    assert!(
        ran.stderr.contains("hint: write `bailiwick init bad-name`"),
        "{ran}"
    );
    let hopeless = world.run(&["init", "???"]).ended(2);
    assert!(
        hopeless.stderr.contains("hint: use lower-case letters"),
        "{hopeless}"
    );
}
