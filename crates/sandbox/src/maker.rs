//! Names that say which process made a thing, so that the next one knows what a dead one has left.
//!
//! A name holds the maker's process namespace, its number in it, and when it started: neither
//! another container's host nor a later process of the same number is taken for it.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a name of this process that nothing has had: `PREFIX-NAMESPACE-PID-START-NUMBER`.
pub(crate) fn fresh_name(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{}-{number}", maker())
}

/// Says whether a name with a prefix was given by a process of our namespace that is no more.
pub(crate) fn is_orphan(prefix: &str, name: &str) -> bool {
    judge(prefix, name, started)
}

fn judge(prefix: &str, name: &str, started: impl Fn(&str) -> Option<String>) -> bool {
    let Some(rest) = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('-'))
    else {
        return false;
    };
    let mut parts = rest.split('-');
    let (Some(space), Some(pid), Some(start)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    space == namespace() && started(pid).as_deref() != Some(start)
}

/// This process, as names have it.
fn maker() -> &'static str {
    static MAKER: OnceLock<String> = OnceLock::new();
    MAKER.get_or_init(|| {
        let pid = std::process::id().to_string();
        let start = started(&pid).unwrap_or_default();
        format!("{}-{pid}-{start}", namespace())
    })
}

/// The number of our process namespace.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let text = link.to_string_lossy();
    text.chars().filter(char::is_ascii_digit).collect()
}

/// When a process started, in ticks since boot: field 22 of `proc_pid_stat(5)`.
fn started(pid: &str) -> Option<String> {
    let mut stat = String::new();
    File::open(format!("/proc/{pid}/stat"))
        .ok()?
        .take(4096)
        .read_to_string(&mut stat)
        .ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_makes_is_no_orphan_and_never_of_the_same_name() {
        assert!(!is_orphan("x", &fresh_name("x")));
        assert_ne!(fresh_name("x"), fresh_name("x"));
    }

    #[test]
    fn a_name_is_an_orphans_when_its_maker_is_gone_or_another_has_its_number() {
        let name = format!("x-{}-7-100-0", namespace());
        assert!(judge("x", &name, |_| None));
        assert!(judge("x", &name, |_| Some("200".to_owned())));
        assert!(!judge("x", &name, |_| Some("100".to_owned())));
    }

    #[test]
    fn what_another_namespace_or_another_program_made_is_left_alone() {
        for name in ["x-1-7-100-0", "x", "x-y", "xyz-1-2-3-4", "system.slice"] {
            assert!(!judge("x", name, |_| None), "{name}");
        }
    }
}
