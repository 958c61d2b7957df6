//! The program that is built for tests, with layers left out: what nothing holds must show.

use std::path::PathBuf;

use bailiwick::sandbox::Layer;
use bailiwick::sandbox_policy::ThreatClass;
use serde_json::Value;

use crate::run::{Ran, World, built};

fn weakened() -> PathBuf {
    built(
        "bailiwick_weakened",
        env!("CARGO_BIN_EXE_bailiwick-weakened"),
    )
}

fn demo(what: &str, claims: &[&str]) -> Ran {
    let world = World::new();
    let arguments = [&["demo", "--json"], claims].concat();
    let mut command = world.command_of(weakened(), &arguments);
    Ran::of(&command.env("BAILIWICK_WEAKEN", what).output().unwrap())
}

/// The attacks of the demo on a class, besides the self-test's, and what is said of one that the
/// class does not stop.
fn attack_on(class: ThreatClass) -> Option<(&'static str, &'static str)> {
    match class {
        ThreatClass::FsData => Some(("read", SUCCEEDED)),
        ThreatClass::IpNetwork => Some(("connect", SUCCEEDED)),
        ThreatClass::ProcessCount => Some(("fork", SUCCEEDED)),
        ThreatClass::Memory => Some(("allocate", SUCCEEDED)),
        // It has no end of its own: a signal after its deadline ended it, and not the deadline.
        ThreatClass::Cpu => Some(("loop", "NOT AS CLAIMED: confined: E_SKILL_SCRIPT_FAILED")),
        ThreatClass::FsMetadataWrite
        | ThreatClass::FsMetadataRead
        | ThreatClass::UnixIpc
        | ThreatClass::Processes
        | ThreatClass::Tuning
        | ThreatClass::KernelSurface
        | ThreatClass::Privilege
        | ThreatClass::EnvAndDescriptors
        | ThreatClass::KillAll
        | ThreatClass::Disk => None,
    }
}

const SUCCEEDED: &str = "NOT AS CLAIMED: confined it succeeded";

#[test]
fn the_claim_of_a_class_that_nothing_closes_turns_red_because_its_attack_gets_through() {
    for class in ThreatClass::ALL {
        let mut expected = vec![(class.as_str(), "NOT AS CLAIMED: got through: ")];
        expected.extend(attack_on(class));
        let names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
        let value = demo(&format!("class:{class}"), &names).json();
        assert_eq!(value["ok"], false, "{class}");
        let claims = value["claims"].as_array().unwrap();
        assert_eq!(claims.len(), expected.len(), "{class}: {value:#}");
        for (claim, (name, evidence)) in claims.iter().zip(expected) {
            assert_eq!(claim["name"], name, "{class}");
            assert_eq!(claim["held"], false, "{class}: {claim:#}");
            assert!(
                claim["evidence"].as_str().unwrap().contains(evidence),
                "{class}: {claim:#}"
            );
        }
    }
}

#[test]
fn each_probe_is_forced_to_lie_and_the_matrix_still_tells_the_truth() {
    let world = World::new();
    let honest = world.run(&["doctor", "--json"]).json();
    for class in ThreatClass::ALL {
        let doctor = |arguments: &[&str]| {
            let mut command = world.command_of(weakened(), arguments);
            Ran::of(
                &command
                    .env("BAILIWICK_WEAKEN", format!("lie:{class}"))
                    .output()
                    .unwrap(),
            )
        };
        let ran = doctor(&["doctor", "--json"]);
        let value = ran.json();
        // The report claims what the machine has when nothing is left out.
        assert_eq!(value["layers"], honest["layers"], "{class}");
        let found = value["classes"].as_array().unwrap().iter();
        let found = found.clone().find(|row| row["class"] == class.as_str());
        assert_eq!(found.unwrap()["verdict"], "open", "{class}: {value:#}");
        if class.is_hard_by_default() {
            assert_eq!(
                (ran.exit, &value["ok"]),
                (9, &Value::Bool(false)),
                "{class}"
            );
            let open = &value["error"]["details"]["classes"];
            let open = open.as_array().unwrap();
            assert!(open.iter().any(|name| name == class.as_str()), "{value:#}");
        }
        let text = doctor(&["doctor"]).stdout;
        let matrix: Vec<Vec<_>> = text
            .lines()
            .take_while(|line| !line.is_empty())
            .map(|line| line.split_whitespace().collect())
            .collect();
        let column = 2 + ThreatClass::ALL
            .iter()
            .position(|one| *one == class)
            .unwrap();
        let cells: Vec<_> = matrix[1..].iter().map(|row| row[column]).collect();
        assert!(cells.contains(&"OPEN"), "{class}: {text}");
        // No layer that let something through is called in force, whatever it claims.
        for row in &matrix[1..] {
            assert!(
                !row[2..].contains(&"OPEN") || row[1] != "in-force",
                "{text}"
            );
        }
    }
}

#[test]
fn doctor_prints_the_profile_to_add_where_user_namespaces_hold_no_capability() {
    let world = World::new();
    let doctor = |arguments: &[&str]| {
        let mut command = world.command_of(weakened(), arguments);
        Ran::of(&command.env("BAILIWICK_WEAKEN", "powers").output().unwrap())
    };
    let ran = doctor(&["doctor"]);
    assert_eq!(ran.exit, 9, "{ran}");
    let program = weakened().canonicalize().unwrap();
    let head = format!(
        "profile bailiwick \"{}\" flags=(unconfined) {{\n  userns,\n",
        program.display()
    );
    assert!(ran.stdout.contains(&head), "{ran}");
    assert!(
        ran.stdout
            .contains("apparmor_parser -r /etc/apparmor.d/bailiwick"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE"),
        "{ran}"
    );
    let value = doctor(&["doctor", "--json"]).json();
    assert_eq!(value["ok"], false);
    assert!(
        value["apparmor"]["profile"]
            .as_str()
            .unwrap()
            .contains(&head),
        "{value:#}"
    );
}

#[test]
fn a_layer_that_is_left_out_is_shown_missing() {
    for layer in Layer::ALL {
        let value = demo(&format!("layer:{layer}"), &["tier-3"]).json();
        let row = value["layers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["layer"] == layer.as_str());
        let state = row.map_or(&Value::Null, |row| &row["state"]);
        assert_eq!(state, "missing", "{layer}: {value:#}");
    }
}

#[test]
fn nothing_is_left_out_unless_something_is_named() {
    assert_eq!(demo("layer:no-such", &["tier-1"]).exit, 2);
    let world = World::new();
    let mut command = world.command_of(weakened(), &["demo", "read"]);
    Ran::of(&command.output().unwrap()).succeeded();
    // The program that is not built for tests does not ask.
    let mut command = world.command(&["demo", "read"]);
    Ran::of(
        &command
            .env("BAILIWICK_WEAKEN", "class:fs-data")
            .output()
            .unwrap(),
    )
    .succeeded();
}
