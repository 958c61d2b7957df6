//! Answers about what an isolated tool may reach.

use bailiwick_core::Capability;

use crate::explain::{Answer, Missing};
use crate::grants::{Grants, PathGrant};
use crate::origin::Origin;
use crate::path::HostPath;
use crate::rights::Rights;

impl Grants {
    /// Answers whether an isolated tool may use a path: it needs a member of `context` that reads
    /// files, and a root that holds the path.
    pub fn explain_isolated_path(&self, path: &HostPath, rights: Rights) -> Answer {
        let question = format!("{rights} {path} by an isolated tool");
        let roots = self.read.iter().chain(&self.write);
        let root = roots.into_iter().find(|root| path.starts_with(root.path()));
        let member = self.reading_rule();
        let rules = |root: Option<&PathGrant>| {
            let root = root.map(|root| root.origin().clone());
            member.cloned().into_iter().chain(root).collect::<Vec<_>>()
        };
        if !Rights::READ_ONLY.contains(rights) {
            let why = "isolated tools do not write files in this version".to_owned();
            return Answer::deny(question, Rights::NONE, Vec::new(), Missing::Never(why));
        }
        let missing = match (member, root) {
            (Some(_), Some(_)) => {
                return Answer::allow(question, Rights::READ_ONLY, rules(root));
            }
            (None, None) => format!(
                "`grant.context = [\"fs.read\"]` and `grant.read = [\"{path}\"]` to the skill"
            ),
            (None, Some(_)) => "`grant.context = [\"fs.read\"]` to the skill".to_owned(),
            (Some(_), None) => format!("`grant.read = [\"{path}\"]` to the skill"),
        };
        Answer::deny(question, Rights::NONE, rules(root), Missing::Grant(missing))
    }

    /// Answers whether an isolated tool may connect to a host and port: in this version none may.
    pub fn explain_isolated_host(&self, host: &str, port: u16) -> Answer {
        let question = format!("connect to {host}:{port} from an isolated tool");
        let why = "isolated tools reach no network in this version".to_owned();
        Answer::deny(question, "nothing", Vec::new(), Missing::Never(why))
    }

    /// Returns the rule that grants a member which reads files.
    fn reading_rule(&self) -> Option<&Origin> {
        let members = ["fs.read", "fs.glob", "fs.grep"].into_iter();
        members
            .filter_map(|name| name.parse::<Capability>().ok())
            .find_map(|member| self.context_rule(&member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicyFile;

    fn answer(grants: &str, path: &str, rights: Rights) -> String {
        let text = format!(
            "version = 1\n[session]\nread = [\"/docs\"]\ncontext = [\"fs\", \"clock\"]\n\
             [[skill]]\nname = \"a\"\nsource = \"user\"\n{grants}\n"
        );
        let file = PolicyFile::parse(&text, "p.toml", &HostPath::root()).unwrap();
        let grants = file.skills()[0].grants();
        grants
            .explain_isolated_path(&path.parse().unwrap(), rights)
            .to_string()
    }

    #[test]
    fn a_path_needs_both_a_member_and_a_root() {
        let both = "grant.context = [\"fs.grep\"]\ngrant.read = [\"/docs\"]";
        let read = |grants, path| answer(grants, path, Rights::READ);
        insta::assert_snapshot!(read(both, "/docs/a"), @"read /docs/a by an isolated tool: allowed, held read+list by p.toml:8, p.toml:9");
        insta::assert_snapshot!(read(both, "/docs2"), @r#"
        read /docs2 by an isolated tool: denied, held nothing by p.toml:8
        hint: add `grant.read = ["/docs2"]` to the skill
        "#);
        insta::assert_snapshot!(read("grant.context = [\"clock\"]\ngrant.read = [\"/docs\"]", "/docs/a"), @r#"
        read /docs/a by an isolated tool: denied, held nothing by p.toml:9
        hint: add `grant.context = ["fs.read"]` to the skill
        "#);
        insta::assert_snapshot!(read("", "/docs/a"), @r#"
        read /docs/a by an isolated tool: denied, no rule grants any of it
        hint: add `grant.context = ["fs.read"]` and `grant.read = ["/docs/a"]` to the skill
        "#);
        insta::assert_snapshot!(answer(both, "/docs/a", Rights::WRITE), @r"
        write /docs/a by an isolated tool: denied, no rule grants any of it
        hint: no grant can allow it: isolated tools do not write files in this version
        ");
    }
}
