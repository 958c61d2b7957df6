//! Builds the two static programs that the crate embeds: the launcher, and the program that tries
//! what must be denied.
//!
//! They are plain `rustc` calls with the compiler that builds this crate and the linker that comes
//! with it, so that no C compiler and no second target is needed.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a build script runs the compiler, reads what cargo sets and fails loudly"
)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(launcher)");
    println!("cargo::rustc-check-cfg=cfg(weaken)");
    println!("cargo::rustc-check-cfg=cfg(embedded)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=launcher");
    println!("cargo::rerun-if-changed=attack");
    let weaken = env::var_os("CARGO_FEATURE_WEAKEN").is_some();
    if weaken {
        println!("cargo::rustc-cfg=weaken");
    }
    let target = (
        variable("CARGO_CFG_TARGET_OS"),
        variable("CARGO_CFG_TARGET_ARCH"),
    );
    // Elsewhere the crate builds without the programs and says at run time that it cannot enforce.
    if (target.0.as_str(), target.1.as_str()) != ("linux", "x86_64") {
        return;
    }
    println!("cargo::rustc-cfg=embedded");
    for program in ["launcher", "attack"] {
        compile(program, weaken);
    }
}

fn compile(program: &str, weaken: bool) {
    let source = Path::new(program).join("main.rs");
    let output = PathBuf::from(variable("OUT_DIR")).join(program);
    if !source.exists() {
        assert!(std::fs::write(&output, b"").is_ok(), "OUT_DIR is writable");
        return;
    }
    let rustc = variable("RUSTC");
    let mut command = Command::new(&rustc);
    command
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "bin",
            "--cfg",
            "launcher",
        ])
        .args(["--crate-name", program, "--target", &variable("TARGET")])
        .args(["-O", "-C", "panic=abort", "-C", "relocation-model=static"])
        .args([
            "-C",
            "strip=symbols",
            "-C",
            "debuginfo=0",
            "-C",
            "codegen-units=1",
        ])
        .args(["-C", "linker-flavor=ld.lld", "-C", "link-arg=-static"])
        .args([
            "-C",
            "link-arg=-znoexecstack",
            "-C",
            "link-arg=--gc-sections",
        ])
        .arg("-C")
        .arg(format!("linker={}", linker(&rustc).display()))
        .arg("-o")
        .arg(&output)
        .arg(&source);
    if weaken {
        command.args(["--cfg", "weaken"]);
    }
    let status = command.status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the {program} program did not build from {}",
        source.display()
    );
}

/// The linker that is part of the toolchain.
fn linker(rustc: &str) -> PathBuf {
    let output = Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot = output
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    let Some(sysroot) = sysroot else {
        panic!("the compiler does not name its sysroot")
    };
    Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(variable("HOST"))
        .join("bin/rust-lld")
}

fn variable(name: &str) -> String {
    match env::var(name) {
        Ok(value) => value,
        Err(error) => panic!("the build gives no usable {name}: {error}"),
    }
}
