//! A probe that lies, in the build that can leave layers out: the script tier is refused all the
//! same, because its self-test asks nobody.

use bailiwick::sandbox::{Host, HostConfig};
use bailiwick::sandbox_policy::ThreatClass;
use bailiwick::{Code, Policy};

use crate::bed::{allowing, in_memory, policy_file, script_skill};

#[tokio::test(flavor = "multi_thread")]
async fn the_tier_is_refused_where_a_required_class_is_claimed_to_be_closed_and_is_not() {
    let state = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let host = match Host::probe(HostConfig::shared_or(state.path().join("state"))) {
        Ok(host) => host,
        Err(error) => {
            bailiwick_testkit::require_sandbox(Err(error));
            return;
        }
    };
    for class in ThreatClass::ALL {
        let policy = if class.is_hard_by_default() {
            Policy::built_in()
        } else {
            let text = format!("version = 1\n[sandbox]\nrequire = [\"{class}\"]\n");
            policy_file(folder.path(), &text)
        };
        let liar = host.clone().lying_about(class);
        assert_eq!(liar.layers(), host.layers(), "{class}");
        let manager = allowing()
            .policy(policy)
            .sandbox_host(liar)
            .source(in_memory(script_skill("true\n")))
            .build()
            .await
            .unwrap();
        let refused = manager.load("demo").await.unwrap_err();
        assert_eq!(refused.code(), Code::ScriptSandboxUnavailable, "{class}");
        let open = refused.details()["open"].as_array().unwrap();
        assert!(open.iter().any(|name| name == class.as_str()), "{refused}");
        manager.shutdown().await;
    }
}
