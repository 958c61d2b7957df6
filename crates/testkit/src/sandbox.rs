//! Tests that need the kernel.

use std::fmt::Display;

/// Returns whether a test that needs the sandbox may go on.
///
/// `available` is what the crate under test found out: nothing, or what is missing. A test that
/// gets `false` returns at once; the reason stands on stderr, so that nobody takes a skip for a
/// pass.
///
/// # Panics
///
/// When something is missing and `BAILIWICK_REQUIRE_SANDBOX=1`, which CI sets.
#[expect(
    clippy::print_stderr,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a skip must be loud, and a required sandbox is asked for by the environment"
)]
pub fn require_sandbox(available: Result<(), impl Display>) -> bool {
    let required = std::env::var_os("BAILIWICK_REQUIRE_SANDBOX").is_some_and(|value| value == "1");
    match decide(available, required) {
        Decision::GoOn => true,
        Decision::Skip(missing) => {
            eprintln!("SKIPPED: the sandbox is not available: {missing}");
            false
        }
        Decision::Fail(missing) => {
            panic!("the sandbox is required here and is not available: {missing}")
        }
    }
}

#[derive(Debug, Eq, PartialEq)]
enum Decision {
    GoOn,
    Skip(String),
    Fail(String),
}

fn decide(available: Result<(), impl Display>, required: bool) -> Decision {
    match available {
        Ok(()) => Decision::GoOn,
        Err(missing) if required => Decision::Fail(missing.to_string()),
        Err(missing) => Decision::Skip(missing.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_skips_a_test_and_fails_one_where_it_is_required() {
        let missing = || Err("Landlock");
        assert_eq!(decide(Ok::<_, &str>(()), true), Decision::GoOn);
        assert_eq!(
            decide(missing(), false),
            Decision::Skip("Landlock".to_owned())
        );
        assert_eq!(
            decide(missing(), true),
            Decision::Fail("Landlock".to_owned())
        );
    }
}
