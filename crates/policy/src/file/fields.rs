//! Every field of the policy file, and what makes it take effect.
//!
//! This is the one list of keys. A key that is not here is unknown; a key whose mechanism is not
//! built is refused by name, because a rule that is read and not enforced is worse than none.

/// One key of the policy file.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    path: &'static str,
    mechanism: Mechanism,
}

impl Field {
    /// Returns the key with its tables, such as `limits.wall` or `skill[].tool.<tool>.ask`.
    ///
    /// `[]` marks an array of tables and `<…>` a name that the file chooses.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Returns what makes the key take effect.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('.')
    }
}

/// What makes a key of the policy file take effect.
#[expect(clippy::exhaustive_enums, reason = "a key takes effect or it does not")]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mechanism {
    /// This part enforces it.
    Built(&'static str),
    /// It needs something that this build does not have.
    NotBuilt(&'static str),
}

/// Lists every field of the policy file in the order of its documentation.
pub fn fields() -> &'static [Field] {
    FIELDS
}

const fn built(path: &'static str, by: &'static str) -> Field {
    Field {
        path,
        mechanism: Mechanism::Built(by),
    }
}

const fn not_built(path: &'static str, needs: &'static str) -> Field {
    Field {
        path,
        mechanism: Mechanism::NotBuilt(needs),
    }
}

const SESSION: &str = "the ceiling of every derived policy";
const GRANT: &str = "the policy of the skill's runs";
const PARAM: &str = "the policy of a run that names the path";
const TOOL: &str = "the policy of the tool's runs";
const SANDBOX: &str = "the sandbox";
const SCRIPT: &str = "the runner of scripts";
const LIMIT: &str = "the sandbox's limits";
const LOWER: &str = "the limits of the skill's runs";
const ISOLATE: &str = "the runner of isolated tools";
const FETCH: &str = "`web.fetch`";

const FIELDS: &[Field] = &[
    built("version", "the reader of this file"),
    built("fail_on_nonzero_exit", SCRIPT),
    built("limits.wall", SCRIPT),
    built("limits.wall_default", SCRIPT),
    built("limits.cpu", LIMIT),
    built("limits.memory", LIMIT),
    built("limits.processes", LIMIT),
    built("limits.files", LIMIT),
    built("limits.file_size", LIMIT),
    built("limits.workspace", LIMIT),
    built("limits.inodes", LIMIT),
    built("limits.output", LIMIT),
    built("limits.flood", LIMIT),
    built("limits.reply", SCRIPT),
    built("limits.isolate.fuel", ISOLATE),
    built("limits.isolate.memory", ISOLATE),
    built("limits.isolate.stack", ISOLATE),
    built("limits.isolate.host_calls", ISOLATE),
    built("limits.isolate.host_calls_concurrent", ISOLATE),
    built("limits.isolate.host_call_bytes", ISOLATE),
    built("limits.isolate.result", ISOLATE),
    built("limits.isolate.log_events", ISOLATE),
    built("limits.isolate.log_bytes", ISOLATE),
    built("limits.isolate.table", ISOLATE),
    built("limits.isolate.json_depth", ISOLATE),
    built("limits.isolate.json_nodes", ISOLATE),
    built("gate.deadline", "the call path"),
    built("workspace.dir", SCRIPT),
    not_built("export.prefix", "the export of bundled skills"),
    built("sandbox.base", SANDBOX),
    built("sandbox.syscalls", SANDBOX),
    built("sandbox.require", SANDBOX),
    built("sandbox.cgroup", SANDBOX),
    not_built("sandbox.audit", "a reader of the kernel's audit records"),
    built("interpreters.<key>.argv", SCRIPT),
    built("interpreters.<key>.read", SANDBOX),
    built("interpreters.<key>.exec", SANDBOX),
    built("session.read", SESSION),
    built("session.write", SESSION),
    not_built("session.fetch", FETCH),
    built("session.network", SESSION),
    built("session.context", SESSION),
    built("session.env", SESSION),
    built("skill[].name", "the choice of grants"),
    built("skill[].source", "the choice of grants"),
    built("skill[].digest", "the choice of grants"),
    built("skill[].grant.read", GRANT),
    built("skill[].grant.write", GRANT),
    built("skill[].grant.param_read", PARAM),
    built("skill[].grant.param_write", PARAM),
    not_built("skill[].grant.fetch", FETCH),
    built("skill[].grant.network", GRANT),
    built("skill[].grant.context", ISOLATE),
    built("skill[].grant.env", GRANT),
    built("skill[].grant.undeclared_scripts", SCRIPT),
    built("skill[].tool.<tool>.grant.read", TOOL),
    built("skill[].tool.<tool>.grant.write", TOOL),
    built("skill[].tool.<tool>.grant.param_read", TOOL),
    built("skill[].tool.<tool>.grant.param_write", TOOL),
    not_built("skill[].tool.<tool>.grant.fetch", FETCH),
    built("skill[].tool.<tool>.grant.network", TOOL),
    built("skill[].tool.<tool>.grant.context", ISOLATE),
    built("skill[].tool.<tool>.grant.env", TOOL),
    built("skill[].tool.<tool>.ask", "the gate"),
    built("skill[].limits.wall", LOWER),
    built("skill[].limits.cpu", LOWER),
    built("skill[].limits.memory", LOWER),
    built("skill[].limits.processes", LOWER),
    built("skill[].limits.files", LOWER),
    built("skill[].limits.file_size", LOWER),
    built("skill[].limits.workspace", LOWER),
    built("skill[].limits.inodes", LOWER),
    built("skill[].limits.output", LOWER),
    built("skill[].limits.flood", LOWER),
    built("skill[].limits.reply", LOWER),
    built("skill[].limits.isolate.fuel", ISOLATE),
    built("skill[].limits.isolate.memory", ISOLATE),
    built("skill[].limits.isolate.stack", ISOLATE),
    built("skill[].limits.isolate.host_calls", ISOLATE),
    built("skill[].limits.isolate.host_calls_concurrent", ISOLATE),
    built("skill[].limits.isolate.host_call_bytes", ISOLATE),
    built("skill[].limits.isolate.result", ISOLATE),
    built("skill[].limits.isolate.log_events", ISOLATE),
    built("skill[].limits.isolate.log_bytes", ISOLATE),
    built("skill[].limits.isolate.table", ISOLATE),
    built("skill[].limits.isolate.json_depth", ISOLATE),
    built("skill[].limits.isolate.json_nodes", ISOLATE),
    built("skill[].fail_on_nonzero_exit", SCRIPT),
    not_built("skill[].allowed_tools", "calls from one tool to another"),
    not_built("credential.<name>.env", FETCH),
    not_built("credential.<name>.header", FETCH),
];

#[cfg(test)]
mod tests {
    use crate::isolate::IsolateAxis;
    use crate::limits::LimitAxis;

    use super::*;

    #[test]
    fn no_field_is_listed_twice() {
        let mut paths: Vec<_> = fields().iter().map(Field::path).collect();
        paths.sort_unstable();
        let all = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }

    #[test]
    fn every_limit_has_a_field_for_the_ceiling_and_for_a_skill() {
        let scripts = LimitAxis::ALL.map(|axis| axis.to_string());
        let isolate = IsolateAxis::ALL.map(|axis| format!("isolate.{axis}"));
        for key in scripts.into_iter().chain(isolate) {
            for table in ["limits", "skill[].limits"] {
                let path = format!("{table}.{key}");
                assert!(fields().iter().any(|field| field.path == path), "{path}");
            }
        }
    }
}
