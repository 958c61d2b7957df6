//! `demo` and `doctor`, on this machine.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::run::World;

#[test]
fn every_claim_of_the_demo_holds_here() {
    let world = World::new();
    let ran = world.run(&["demo", "--json"]);
    let value = ran.json();
    let red: Vec<_> = claims(&value)
        .filter(|claim| claim["held"] != true)
        .collect();
    assert!(red.is_empty(), "{red:#?}");
    assert_eq!(ran.exit, 0, "{ran}");
    let names: Vec<_> = claims(&value)
        .filter_map(|claim| claim["name"].as_str())
        .collect();
    for name in [
        "tier-1",
        "tier-2",
        "tier-3",
        "isolated-read",
        "isolated-allocate",
        "isolated-loop",
        "read",
        "connect",
        "fork",
        "allocate",
        "loop",
        "grant",
        "cancel",
        "artifact",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(names.len(), 29);
    // It needs no home of its own, and leaves nothing in the one that is there.
    assert_eq!(std::fs::read_dir(world.path("home")).unwrap().count(), 0);
}

#[test]
fn one_claim_is_reproduced_by_the_command_in_its_row() {
    let world = World::new();
    let ran = world.run(&["demo", "read"]).succeeded();
    for expected in [
        "LAYER",
        "EVIDENCE",
        "bailiwick demo read",
        "control:",
        "E_SKILL_SCRIPT_FAILED",
        "errno",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {ran}");
    }
    world.run(&["demo", "no-such-claim"]).ended(2);
}

#[test]
fn doctor_shows_an_attempt_for_every_class_and_every_cell_has_an_answer() {
    let world = World::new();
    let value = world.run(&["doctor", "--json"]).succeeded().json();
    let attempts = value["attempts"].as_array().unwrap();
    for class in value["classes"].as_array().unwrap() {
        let of_class = attempts
            .iter()
            .filter(|attempt| attempt["class"] == class["class"]);
        assert!(of_class.count() > 0, "{class}");
        assert!(
            class["hard"] != true || class["verdict"] == "denied",
            "{class}"
        );
    }
    let known = ["interpreters", "absent"].map(|key| value[key].as_array().unwrap());
    let keys = known
        .into_iter()
        .flatten()
        .map(|row| row["key"].as_str().unwrap());
    // A check warns of every other one.
    assert_eq!(
        keys.collect::<BTreeSet<_>>(),
        BTreeSet::from(["bash", "node", "python3", "sh"])
    );
    let text = world.run(&["doctor"]).succeeded().stdout;
    let matrix = text.split("\n\n").next().unwrap();
    let mut lines = matrix.lines();
    let columns = lines.next().unwrap().split_whitespace().skip(2).count();
    let classes: Vec<_> = value["classes"].as_array().unwrap().iter().collect();
    assert_eq!(columns, classes.len(), "{matrix}");
    let layers = value["layers"].as_array().unwrap();
    for layer in layers {
        let row: Vec<_> = lines.next().unwrap().split_whitespace().collect();
        let (name, cells) = (layer["layer"].as_str().unwrap(), &row[2..]);
        assert_eq!(row[0], name, "{matrix}");
        // What is in force is seen in attempts; only the three without any are not.
        let tried = attempts.iter().any(|attempt| {
            attempt["layers"]
                .as_array()
                .unwrap()
                .contains(&layer["layer"])
        });
        let state = if tried || layer["state"] != "in-force" {
            layer["state"].as_str().unwrap()
        } else {
            "untried"
        };
        assert_eq!(row[1].to_lowercase(), state, "{matrix}");
        assert_eq!(cells.len(), classes.len(), "{matrix}");
        for (cell, class) in cells.iter().zip(&classes) {
            let mut tried = attempts.iter().filter(|attempt| {
                attempt["class"] == class["class"]
                    && attempt["layers"]
                        .as_array()
                        .unwrap()
                        .contains(&layer["layer"])
            });
            let place = format!("{name}, {}: {cell}\n{matrix}", class["class"]);
            let Some(first) = tried.next() else {
                assert_eq!(*cell, ".", "{place}");
                continue;
            };
            match *cell {
                // Each run attacks anew, but a hard class is denied in all of them.
                "OPEN" => assert!(class["hard"] != true, "{place}"),
                "?" => assert_eq!(first["verdict"], "inconclusive", "{place}"),
                "denied" => assert!(first["errno"].is_null(), "{place}"),
                errno => assert!(
                    errno.starts_with('E')
                        && errno
                            .chars()
                            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()),
                    "{place}"
                ),
            }
        }
    }
    assert_eq!(lines.next(), None, "{matrix}");
}

fn claims(value: &Value) -> impl Iterator<Item = &Value> {
    value["claims"].as_array().into_iter().flatten()
}
