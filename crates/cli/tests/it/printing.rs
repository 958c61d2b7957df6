//! What reaches a terminal, and what does not.

use crate::run::World;

#[test]
fn nothing_that_a_script_wrote_steers_the_terminal() {
    let world = World::new();
    world.skill(
        "nasty",
        "printf 'a\\033[31mb\\302\\2332Jc\\n'\nprintf '\\033]0;title\\007' >&2\nexit 3\n",
    );
    for arguments in [&["call", "nasty.run"][..], &["call", "nasty.run", "--json"]] {
        let ran = world.run(arguments).ended(1);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        let steering: Vec<_> = text
            .chars()
            .filter(|c| c.is_control() && *c != '\n' && *c != '\t')
            .collect();
        assert_eq!(steering, Vec::<char>::new(), "{text:?}");
    }
}

#[test]
fn no_color_means_none_and_color_can_be_asked_for() {
    let world = World::new();
    let stderr = |name: &str, value: &str| {
        let output = world
            .command(&["call", "x"])
            .env(name, value)
            .output()
            .unwrap();
        crate::run::Ran::of(&output).ended(2).stderr
    };
    assert!(!stderr("NO_COLOR", "1").contains('\u{1b}'));
    assert!(stderr("CLICOLOR_FORCE", "1").contains('\u{1b}'));
    let both = world
        .command(&["call", "x"])
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(!crate::run::Ran::of(&both).stderr.contains('\u{1b}'));
}

#[test]
fn the_colours_of_an_excerpt_are_sent_and_nothing_else_of_its_like() {
    let world = World::new();
    let folder = "bad\u{1b}]0;title\u{7}";
    world.write(
        &format!("project/{folder}/SKILL.md"),
        "---\nname: bad\u{1b}[2J\nname: worse\ndescription: Twice.\n---\n",
    );
    let output = world
        .command(&["check", folder])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    let ran = crate::run::Ran::of(&output).ended(8);
    assert!(ran.stdout.contains("\u{1b}[31m"), "no colour: {ran}");
    assert!(!ran.stdout.contains('␛'), "a colour as a picture: {ran}");
    let mut pieces = ran.stdout.split('\u{1b}');
    let mut shown = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let parameters = piece
            .strip_prefix('[')
            .unwrap_or_else(|| panic!("{piece:?}"));
        let rest = parameters.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        shown.push_str(
            rest.strip_prefix('m')
                .unwrap_or_else(|| panic!("{piece:?}")),
        );
    }
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown:?}"
    );
}

#[test]
fn completions_name_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.run(&["completions", shell]).succeeded().stdout;
        for command in ["demo", "trust", "explain", "artifacts"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
        let value = world
            .run(&["completions", shell, "--json"])
            .succeeded()
            .json();
        assert_eq!(value["script"], script);
    }
}

#[test]
fn help_lists_the_exit_codes() {
    let world = World::new();
    let help = world.run(&["--help"]).succeeded();
    assert!(
        help.stdout
            .contains("9  this machine cannot enforce the policy"),
        "{help}"
    );
}

#[test]
fn a_reader_who_went_away_is_no_failure() {
    let world = World::new();
    let mut child = world.start(&["completions", "bash"]);
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_command_line_that_cannot_be_read_is_one_object_too_and_has_a_hint() {
    let world = World::new();
    let ran = world.run(&["list", "--digest", "--json"]).ended(2);
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "E_INVALID_SKILLS_CONFIG");
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"unexpected argument '--digest' found");
    insta::assert_snapshot!(error["hint"].as_str().unwrap(), @"a similar argument exists: '--digests'");
    for arguments in [
        &["no-such"][..],
        &["call"],
        &["call", "a.b", "--timeout", "x"],
        &[],
    ] {
        let ran = world.run(arguments).ended(2);
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("\nhint: "),
            "{ran}"
        );
        let value = world
            .run(&[arguments, &["--json"]].concat())
            .ended(2)
            .json();
        assert_eq!(value["ok"], false);
        assert!(value["error"]["hint"].is_string(), "{value}");
    }
}
