//! Every command that the front page and the examples show at a prompt.

use std::path::{Path, PathBuf};

use crate::run::{Ran, World};

#[test]
fn every_command_of_the_front_page_prints_what_it_shows_there() {
    let root = crate::run::manifest_folder().join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let commands = commands(&readme);
    assert!(!commands.is_empty(), "the front page shows no command");
    let world = World::new();
    copy(&root.join("examples"), &world.path("examples"));
    for (line, shown) in commands {
        assert_prints(&world, line, &shown);
    }
}

#[test]
fn every_command_of_an_example_prints_what_it_shows_there() {
    let root = crate::run::manifest_folder().join("../..");
    let mut skills = 0;
    for entry in std::fs::read_dir(root.join("examples/skills")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path().join("SKILL.md")).unwrap();
        // Each block is run from top to bottom in a copy of its own.
        let world = World::new();
        copy(&root.join("examples"), &world.path("examples"));
        let commands = commands(&text);
        skills += usize::from(!commands.is_empty());
        for (line, shown) in commands {
            assert_prints(&world, line, &shown);
        }
    }
    assert!(skills >= 7, "only {skills} examples show a command");
}

/// Runs a command in the examples' folder and looks for the lines that it should print, in order.
fn assert_prints(world: &World, line: &str, shown: &[&str]) {
    let both = format!("{{ {line}\n}} 2>&1");
    let mut shell = world.command_of("/bin/sh", &["-c", &both]);
    let path = format!("{}:/usr/bin:/bin", world.program_folder().display());
    shell.current_dir(world.path("examples")).env("PATH", path);
    let ran = Ran::of(&shell.output().unwrap());
    let fails = shown.iter().any(|line| line.starts_with("error: "));
    assert_eq!(ran.exit != 0, fails, "{line}: {ran}");
    let mut printed = ran.stdout.lines();
    for expected in shown.iter().filter(|line| !line.trim().is_empty()) {
        assert!(
            printed.any(|line| fits(expected, line)),
            "{line} does not print {expected:?} where it should: {ran}"
        );
    }
}

#[test]
fn an_ellipsis_stands_for_whatever_is_there() {
    assert!(fits("a … c", "a  1.0  b c"));
    assert!(fits("see `…/x`", "see `/y/x`"));
    assert!(!fits("a … c", "a b d"));
    assert!(!fits("a", "a b"));
}

/// Returns each command after a prompt with the lines that follow it.
fn commands(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut is_console = false;
    for line in text.lines() {
        match (is_console, line.strip_prefix("$ ")) {
            (_, _) if line.starts_with("```") => is_console = line == "```console",
            (true, Some(command)) => commands.push((command, Vec::new())),
            (true, None) => commands.last_mut().unwrap().1.push(line),
            (false, _) => {}
        }
    }
    commands
}

/// Says whether a line is what is shown, where `…` stands for anything.
fn fits(shown: &str, line: &str) -> bool {
    let pieces: Vec<_> = shown.split('…').map(str::trim).collect();
    let (first, last) = (pieces[0], pieces[pieces.len() - 1]);
    let mut rest = line.trim();
    if !rest.starts_with(first) || !rest.ends_with(last) || (pieces.len() == 1 && rest != first) {
        return false;
    }
    pieces.into_iter().all(|piece| {
        rest.find(piece).is_some_and(|at| {
            rest = &rest[at + piece.len()..];
            true
        })
    })
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(from)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            std::fs::copy(&entry, &target).unwrap();
        }
    }
}
