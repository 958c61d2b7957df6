//! The skill that `bailiwick init` writes.

use bailiwick_core::{SkillName, SkillPath};

/// Returns the files of a new skill that passes [`check`](crate::check()) under both profiles, and whose one tool, a
/// declared shell script named `run_<name>_greet`, can be called at once and needs no grant.
///
/// A name too long for the generated tool name (over 54 characters) still gets its files; the
/// check then says so.
pub fn scaffold(name: &SkillName) -> Vec<(SkillPath, String)> {
    [
        ("SKILL.md", SKILL_MD),
        ("bailiwick.yaml", BAILIWICK_YAML),
        ("scripts/greet.sh", GREET_SH),
    ]
    .into_iter()
    .filter_map(|(path, text)| Some((path.parse().ok()?, text.replace("{name}", name.as_str()))))
    .collect()
}

const SKILL_MD: &str = "\
---
name: {name}
description: Greets somebody by name. Replace this with what the skill does and when to use it.
---

# {name}

Call `run_{name}_greet` with a `name` to greet somebody.
Set `shout` when the greeting should be loud.
";

const BAILIWICK_YAML: &str = "\
# What the skill declares for Bailiwick; other hosts ignore this file.
scripts:
  - name: greet
    path: scripts/greet.sh
    description: Greets somebody by name.
    interpreter: sh
    params:
      - name: name
        type: string
        description: Who is greeted.
      - name: shout
        type: boolean
        description: Whether the greeting is loud.
        flag: shout
";

const GREET_SH: &str = "\
#!/bin/sh
# Greets somebody: greet.sh NAME [--shout]
set -eu

greeting=\"Hello, $1!\"
if [ \"${2:-}\" = --shout ]; then
    greeting=\"HELLO, $1!!!\"
fi
printf '%s\\n' \"$greeting\"
";
