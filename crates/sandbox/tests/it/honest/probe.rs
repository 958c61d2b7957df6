//! Honest programs as data: a name, a text, and what it must print.

use bailiwick_sandbox::{End, spawn};

use crate::bed::{Bed, command, needs, shown, stdout};

/// A program that must run to a clean end under the default profile, and what it prints.
pub(super) struct Probe {
    /// What it is about.
    pub(super) name: &'static str,
    /// The programs that it starts, besides what every machine has.
    pub(super) needs: &'static [&'static str],
    /// Its text.
    pub(super) text: &'static str,
    /// All of its standard output.
    pub(super) expected: &'static str,
}

/// A probe that needs nothing special.
pub(super) const fn probe(name: &'static str, text: &'static str, expected: &'static str) -> Probe {
    Probe {
        name,
        needs: &[],
        text,
        expected,
    }
}

/// A probe that needs programs.
pub(super) const fn with(
    needs: &'static [&'static str],
    name: &'static str,
    text: &'static str,
    expected: &'static str,
) -> Probe {
    Probe {
        name,
        needs,
        text,
        expected,
    }
}

/// Runs every probe twice under one compiled policy: a later run may begin from what an earlier one
/// prepared, and must not see it. All that fail are told together.
pub(super) fn all(interpreter: &str, extension: &str, probes: &[Probe]) {
    if !needs(interpreter) {
        return;
    }
    let bed = Bed::new();
    bed.file("beside.py", "ANSWER = 42\n");
    bed.file("beside.js", "exports.answer = 42;\n");
    let path = |number: usize| format!("probe{number}.{extension}");
    for (number, probe) in probes.iter().enumerate() {
        bed.file(&path(number), probe.text);
    }
    let compiled = bed.compile_for(interpreter).expect("a policy");
    let mut failures = Vec::new();
    for (number, probe) in probes.iter().enumerate() {
        if !probe.needs.iter().all(|program| needs(program)) {
            continue;
        }
        for turn in ["first", "second"] {
            let command = command(&[interpreter, &path(number)]);
            let completion = spawn(&compiled, command).expect("a run").wait();
            if completion.end != End::Exited(0) || stdout(&completion) != probe.expected {
                let (name, expected) = (probe.name, probe.expected);
                let got = shown(&completion);
                failures.push(format!("{name} ({turn} run): {got}, expected {expected:?}"));
            }
            assert!(completion.confirmed_dead.confirmed, "{}", probe.name);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
