//! The environment of a run: empty, then exactly what contracts 5.3 lists.

use std::collections::BTreeMap;

use bailiwick_core::SkillName;
use bailiwick_policy::{EffectivePolicy, Net};
use bailiwick_sandbox::LISTENER_PORT;

use crate::interpreter::Interpreter;

/// Where a run finds its own folders.
pub(crate) struct Inside {
    pub(crate) skill: &'static str,
    home: &'static str,
    tmp: &'static str,
}

/// The folders of the sandbox's prepared root.
pub(crate) const INSIDE: Inside = Inside {
    skill: "/skill",
    home: "/run/rw/home",
    tmp: "/run/rw/tmp",
};

/// Builds the environment from nothing.
///
/// `values` holds what the host offers; only names that the policy grants are taken from it.
pub(crate) fn environment(
    skill: &SkillName,
    interpreter: &Interpreter,
    policy: &EffectivePolicy,
    values: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut environment = vec![
        ("PATH".to_owned(), search_path(interpreter)),
        ("HOME".to_owned(), INSIDE.home.to_owned()),
        ("TMPDIR".to_owned(), INSIDE.tmp.to_owned()),
        (
            "XDG_CACHE_HOME".to_owned(),
            format!("{}/.cache", INSIDE.home),
        ),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("PYTHONUTF8".to_owned(), "1".to_owned()),
        ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
        ("SKILL_DIR".to_owned(), INSIDE.skill.to_owned()),
        ("SKILL_NAME".to_owned(), skill.to_string()),
    ];
    if interpreter.is_python() {
        environment.push(("PYTHONPATH".to_owned(), INSIDE.skill.to_owned()));
    }
    if let Net::Proxy(_) = policy.net() {
        environment.extend(proxy_variables());
    }
    for name in policy.env().keys() {
        if let Some(value) = values.get(name.as_str()) {
            environment.push((name.to_string(), value.clone()));
        }
    }
    environment
}

/// Tells programs where the way to granted hosts is, under each name and spelling that is known.
///
/// They only help programs to ask: nothing else is there, whether a program heeds them or not.
fn proxy_variables() -> impl Iterator<Item = (String, String)> {
    let http = format!("http://127.0.0.1:{LISTENER_PORT}");
    // The proxy resolves names, since a run has no resolver.
    let socks = format!("socks5h://127.0.0.1:{LISTENER_PORT}");
    let values = [
        ("HTTP_PROXY", http.clone()),
        ("HTTPS_PROXY", http),
        ("ALL_PROXY", socks),
        ("NO_PROXY", String::new()),
    ];
    values.into_iter().flat_map(|(name, value)| {
        let upper = (name.to_owned(), value.clone());
        [upper, (name.to_ascii_lowercase(), value)]
    })
}

/// Returns the folders of programs: the base's, and the interpreter's own where it lies elsewhere.
fn search_path(interpreter: &Interpreter) -> String {
    let mut path = BASE_PATH.to_owned();
    if let Some(folder) = interpreter.program().parent()
        && !BASE_PATH.split(':').any(|base| base == folder.as_str())
    {
        path = format!("{folder}:{path}");
    }
    path
}

const BASE_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
