//! The stable error codes, as one table.

use std::fmt;

/// Declares [`Code`] together with its text, status, exit code and flags, so that they cannot
/// drift apart.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal, status $status:literal, exit $exit:literal $(, $flag:ident)?;)+) => {
        /// A stable error code.
        ///
        /// A code is what programs match on; the words around it may improve. The host picks the
        /// code from what it observed, never from what skill code says.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the code's text, such as `E_SKILL_NOT_FOUND`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns the HTTP-like status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// Returns the exit code that the `bailiwick` program ends with.
            pub const fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)+ }
            }

            /// Returns whether the host cannot go on without changing its configuration.
            pub const fn is_fatal(self) -> bool {
                match self { $(Self::$variant => flag!(fatal $($flag)?),)+ }
            }

            /// Returns whether the same call may succeed when it is made again unchanged.
            pub const fn is_retryable(self) -> bool {
                match self { $(Self::$variant => flag!(retryable $($flag)?),)+ }
            }
        }
    };
}

macro_rules! flag {
    (fatal fatal) => {
        true
    };
    (retryable retryable) => {
        true
    };
    ($wanted:ident $($given:ident)?) => {
        false
    };
}

codes! {
    /// A construction problem: bad configuration, an inert or impossible option.
    InvalidSkillsConfig = "E_INVALID_SKILLS_CONFIG", status 529, exit 2, fatal;
    /// An unknown skill or tool.
    NotFound = "E_SKILL_NOT_FOUND", status 422, exit 2;
    /// The skill is loaded already.
    AlreadyLoaded = "E_SKILL_ALREADY_LOADED", status 422, exit 2;
    /// The skill is not loaded, or no longer.
    NotLoaded = "E_SKILL_NOT_LOADED", status 422, exit 2;
    /// A source failed or exceeded its deadline; the other sources still work.
    SourceFailed = "E_SKILL_SOURCE_FAILED", status 502, exit 5, retryable;
    /// A descriptor, front matter, tool inventory or parameter declaration is malformed.
    ManifestInvalid = "E_SKILL_MANIFEST_INVALID", status 422, exit 8;
    /// A path inside a package breaks the rule of skill paths.
    SourcePathRejected = "E_SKILL_SOURCE_PATH_REJECTED", status 422, exit 8;
    /// A pinned digest differs from what was found.
    DigestMismatch = "E_SKILL_DIGEST_MISMATCH", status 409, exit 8;
    /// The arguments do not match the schema, exceed a cap, or cannot become an argv item.
    ArgumentsRejected = "E_SKILL_ARGUMENTS_REJECTED", status 422, exit 2;
    /// A tool name is owned elsewhere.
    ToolCollision = "E_SKILL_TOOL_COLLISION", status 422, exit 8;
    /// A tool name stands twice in one skill.
    ToolDuplicate = "E_SKILL_TOOL_DUPLICATE", status 422, exit 8;
    /// A module handler returned an error or panicked.
    ToolFailed = "E_SKILL_TOOL_FAILED", status 500, exit 1;
    /// A tool returned a shape that is not allowed.
    ToolBadResponse = "E_SKILL_TOOL_BAD_RESPONSE", status 422, exit 1;
    /// An artifact is unknown or expired.
    ArtifactUnavailable = "E_SKILL_ARTIFACT_UNAVAILABLE", status 422, exit 8;
    /// The gate denied a call of tier 1 or 2.
    GateDenied = "E_SKILL_GATE_DENIED", status 403, exit 3;
    /// The gate gave no answer for a call of tier 1 or 2.
    GateUnavailable = "E_SKILL_GATE_UNAVAILABLE", status 503, exit 5, retryable;
    /// Source of an isolated tool does not parse, imports a module or breaks the tool contract.
    IsolatedGuestInvalid = "E_SKILL_ISOLATED_GUEST_INVALID", status 422, exit 8;
    /// A call ended because of a host call that is not granted.
    IsolatedCapabilityDenied = "E_SKILL_ISOLATED_CAPABILITY_DENIED", status 403, exit 3;
    /// An isolated call used up its fuel.
    IsolatedOutOfFuel = "E_SKILL_ISOLATED_OUT_OF_FUEL", status 422, exit 6;
    /// An isolated call was refused memory and ended on it.
    IsolatedMemoryExceeded = "E_SKILL_ISOLATED_MEMORY_EXCEEDED", status 422, exit 6;
    /// An isolated call ran past its deadline.
    IsolatedTimeout = "E_SKILL_ISOLATED_TIMEOUT", status 422, exit 6;
    /// The gate denied a script.
    ScriptDenied = "E_SKILL_SCRIPT_DENIED", status 403, exit 3;
    /// The gate gave no answer for a script.
    ScriptGateUnavailable = "E_SKILL_SCRIPT_GATE_UNAVAILABLE", status 503, exit 5, retryable;
    /// No allow-listed interpreter fits the script.
    ScriptInterpreterUnknown = "E_SKILL_SCRIPT_INTERPRETER_UNKNOWN", status 422, exit 8;
    /// A derived policy or path parameter is not inside what the session or the skill holds.
    ScriptPolicyWidened = "E_SKILL_SCRIPT_POLICY_WIDENED", status 500, exit 3;
    /// This kernel or configuration cannot enforce a required threat class.
    ScriptSandboxUnavailable = "E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE", status 503, exit 9;
    /// A script ran past its deadline.
    ScriptTimeout = "E_SKILL_SCRIPT_TIMEOUT", status 422, exit 6;
    /// A script hit a limit: memory, processes, cpu, file size, workspace, output.
    ScriptLimit = "E_SKILL_SCRIPT_LIMIT", status 422, exit 6;
    /// A script ended with a non-zero exit or a signal.
    ScriptFailed = "E_SKILL_SCRIPT_FAILED", status 422, exit 1;
    /// Materialising or disposing of a skill's files, or the host's own work around a run, failed.
    WorkspaceFailed = "E_SKILL_WORKSPACE_FAILED", status 500, exit 1;
    /// The caller cancelled.
    Cancelled = "E_SKILL_CANCELLED", status 499, exit 7;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_unique_and_prefixed() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(code.as_str().starts_with("E_"), "{code}");
            assert!(seen.insert(code.as_str()), "{code} stands twice");
        }
    }

    #[test]
    fn only_the_configuration_error_is_fatal() {
        let fatal: Vec<_> = Code::ALL.iter().filter(|code| code.is_fatal()).collect();
        assert_eq!(fatal, [&Code::InvalidSkillsConfig]);
    }

    #[test]
    fn a_denial_is_never_retryable_and_an_absent_gate_always_is() {
        assert!(!Code::GateDenied.is_retryable() && !Code::ScriptDenied.is_retryable());
        assert!(Code::GateUnavailable.is_retryable() && Code::ScriptGateUnavailable.is_retryable());
    }
}
