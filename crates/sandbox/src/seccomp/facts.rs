//! Every number that is written down somewhere, compared with the kernel's tables.
//!
//! The tables lie beside this file as text, one call a line. A wrong number in the filter lets the
//! wrong call through, and one in the launcher makes it.

use std::collections::{BTreeMap, BTreeSet};

use super::table::{Arch, Call, HIGHEST_KNOWN};

/// The system calls of an architecture, by name.
fn facts(arch: Arch) -> BTreeMap<&'static str, u32> {
    let text = match arch {
        Arch::Aarch64 => include_str!("facts/aarch64.txt"),
        Arch::X86_64 => include_str!("facts/x86_64.txt"),
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.map(|line| {
        let (name, number) = line.split_once(' ').expect("a name and a number");
        (name, number.parse().expect("a number"))
    });
    let all: Vec<(&str, u32)> = entries.collect();
    let names: BTreeMap<_, _> = all.iter().copied().collect();
    assert_eq!(names.len(), all.len(), "a name stands for one call");
    let numbers: BTreeSet<_> = names.values().collect();
    assert_eq!(numbers.len(), all.len(), "a number stands for one call");
    names
}

#[test]
fn the_filters_numbers_are_the_kernels_on_both_architectures() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let facts = facts(arch);
        for call in Call::ALL {
            let fact = facts.get(call.name()).copied();
            assert_eq!(call.number(arch), fact, "{} on {arch:?}", call.name());
        }
        assert_eq!(facts.values().max(), Some(&HIGHEST_KNOWN), "{arch:?}");
    }
}

#[test]
fn the_numbers_of_the_launcher_and_of_the_attack_program_are_the_kernels() {
    let facts = facts(Arch::X86_64);
    let sources = [
        ("nr", include_str!("../../launcher/sys.rs")),
        ("number", include_str!("../../attack/kernel.rs")),
    ];
    for (module, source) in sources {
        let (_, block) = source
            .split_once(&format!("pub mod {module} {{\n"))
            .expect("the module of the numbers");
        let (block, _) = block.split_once("\n}").expect("its end");
        let mut count = 0;
        for line in block.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            let constant = line
                .strip_prefix("pub const ")
                .and_then(|line| line.strip_suffix(';'))
                .and_then(|line| line.split_once(": usize = "));
            let (name, number) = constant.expect("a number of a call");
            let fact = facts.get(name.to_lowercase().as_str()).copied();
            assert_eq!(number.parse().ok(), fact, "{name} of `{module}`");
            count += 1;
        }
        assert!(count > 30, "`{module}` holds {count} numbers");
    }
}

/// What the C library of the machine that runs the tests was compiled with, for the architecture
/// that it is of.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_facts_are_those_of_the_c_library() {
    let facts = facts(Arch::X86_64);
    for (name, number) in super::known::numbers() {
        let fact = facts.get(name).copied().map(i64::from);
        assert_eq!(fact, Some(number), "{name}");
    }
}
