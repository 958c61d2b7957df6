//! A proof can be checked by somebody who trusts nobody, and a counter-example is one.

use bailiwick_policy::{
    HostPath, LimitAxis, Limits, Net, Origin, Point, Rights, SandboxPolicy, SyscallProfile,
    ThreatClass, derive, prove,
};
use proptest::prelude::*;

use crate::algebra::{any_policy, below, path};

proptest! {
    #[test]
    fn a_proof_exists_exactly_when_nothing_widens(p in any_policy(), q in any_policy(), near: bool) {
        let p = below(&p, &q, &p, near);
        match prove(&p, &q) {
            Ok(certificate) => {
                prop_assert_eq!(p.widens(&q), []);
                prop_assert_eq!(certificate.check(&p, &q), Ok(()));
            }
            Err(example) => {
                prop_assert_eq!(example.witness(), &p.widens(&q)[0]);
                prop_assert!(example.is_true_of(&p, &q), "{}", example);
            }
        }
    }

    #[test]
    fn a_counter_example_names_a_path_and_one_right_that_only_the_wider_has(p in any_policy(), q in any_policy()) {
        if let Err(example) = prove(&p, &q)
            && let Point::File { path: at, access } = example.point()
        {
            prop_assert_eq!(access.each().count(), 1);
            prop_assert!(p.effective_rights(at).contains(*access));
            prop_assert!(!q.effective_rights(at).contains(*access));
        }
    }

    #[test]
    fn a_proof_holds_for_no_policies_that_are_not_in_order(
        p in any_policy(), q in any_policy(), r in any_policy(), s in any_policy(), near: bool,
    ) {
        let p = below(&p, &q, &p, true);
        let certificate = prove(&p, &q).unwrap();
        for (narrow, wide) in [(&p, &r), (&r, &q), (&r, &s), (&q, &p)] {
            let narrow = &below(narrow, narrow, wide, near);
            if certificate.check(narrow, wide).is_ok() {
                prop_assert_eq!(narrow.widens(wide), []);
            }
        }
    }

    #[test]
    fn a_proof_of_other_policies_does_not_check(p in any_policy(), q in any_policy()) {
        let p = p.meet(&q);
        let certificate = prove(&p, &q).unwrap();
        let more = p.clone().grant(path("/a"), Rights::MKSOCK, Origin::Code);
        if more.effective_rights(&path("/a")) != p.effective_rights(&path("/a")) {
            prop_assert!(certificate.check(&more, &q).is_err());
        }
        let wall = p.limits().amount(LimitAxis::Wall);
        let slower = Limits::clone(p.limits()).with_amount(LimitAxis::Wall, 1 + wall.unwrap_or(0));
        prop_assert!(certificate.check(&p.clone().with_limits(slower), &q).is_err());
        let starts = p.clone().allow_exec(path("/bin/other"), Origin::Code);
        prop_assert!(certificate.check(&starts, &q).is_err());
        let sees = p.clone().allow_env("OTHER".parse().unwrap(), Origin::Code);
        prop_assert!(certificate.check(&sees, &q).is_err());
        if let Some(class) = ThreatClass::ALL.into_iter().find(|class| !q.required().contains(class)) {
            prop_assert!(certificate.check(&p, &q.clone().require(class)).is_err());
        }
    }

    #[test]
    fn what_is_derived_carries_a_proof_that_checks(session in any_policy(), noise in any_policy()) {
        let request = session.meet(&noise);
        let policy = derive(&session, &request).unwrap();
        prop_assert_eq!(policy.check_proof(), Ok(()));
        prop_assert_eq!(policy.proof().check(&request, &session), Ok(()));
    }
}

#[test]
fn every_axis_has_a_counter_example_that_both_policies_answer() {
    let wide = SandboxPolicy::deny_all();
    let hosts = |text: &str| {
        let hosts = text.split_whitespace().map(|host| host.parse().unwrap());
        wide.clone().with_net(Net::to_hosts(hosts), Origin::Code)
    };
    let net = |net| wide.clone().with_net(net, Origin::Code);
    let wall = |amount| {
        let limits = wide.limits().clone();
        wide.clone()
            .with_limits(limits.with_amount(LimitAxis::Wall, amount))
    };
    let docs = || "/docs".parse::<HostPath>().unwrap();
    let pairs = [
        (
            wide.clone().grant(docs(), Rights::READ_WRITE, Origin::Code),
            wide.clone().grant(docs(), Rights::READ_ONLY, Origin::Code),
        ),
        (net(Net::Loopback), wide.clone()),
        (net(Net::Full), net(Net::Loopback)),
        (net(Net::Full), hosts("192.0.2.0:443 192.0.2.1:443 *.a:443")),
        (hosts("*.a:1"), hosts("host-0.a:1 host-1.a:1 *.b.a:1 *.a:2")),
        (hosts("a:1 b:1"), hosts("a:1")),
        // The proxy is told of a name that is the run's own for every other purpose.
        (hosts("localhost:1"), net(Net::Loopback)),
        (wide.clone().allow_exec(docs(), Origin::Code), wide.clone()),
        (
            wide.clone().with_syscalls(SyscallProfile::Wide),
            wide.clone(),
        ),
        (wall(20_000_000_000), wide.clone()),
        (
            wide.clone().with_limits(Limits::unlimited()),
            wall(u64::MAX),
        ),
        (
            wide.clone().allow_env("TZ".parse().unwrap(), Origin::Code),
            wide.clone(),
        ),
        (
            wide.clone().without_requirement(ThreatClass::Cpu),
            wide.clone(),
        ),
    ];
    let examples = pairs.map(|(narrow, wide)| {
        let example = prove(&narrow, &wide).unwrap_err();
        assert!(example.is_true_of(&narrow, &wide), "{example}");
        assert!(!example.is_true_of(&wide, &narrow), "{example}");
        example.to_string()
    });
    insta::assert_snapshot!(examples.join("\n"), @r"
    allowed beyond the ceiling: write /docs; fs /docs: asks for read+list+write+create+delete+truncate+refer, the ceiling holds read+list
    allowed beyond the ceiling: a loopback device; net: asks for loopback, the ceiling holds none
    allowed beyond the ceiling: connect 192.0.2.0:443; net: asks for full, the ceiling holds loopback
    allowed beyond the ceiling: connect 192.0.2.2:443; net: asks for full, the ceiling holds *.a:443, 192.0.2.0:443, 192.0.2.1:443
    allowed beyond the ceiling: connect host-2.a:1; net: asks for *.a:1, the ceiling holds *.a:2, *.b.a:1, host-0.a:1, host-1.a:1
    allowed beyond the ceiling: connect b:1; net: asks for a:1, b:1, the ceiling holds a:1
    allowed beyond the ceiling: connect localhost:1; net: asks for localhost:1, the ceiling holds loopback
    allowed beyond the ceiling: start /docs; exec /docs: asks for it, the ceiling holds nothing
    allowed beyond the ceiling: the system calls of `wide`; syscalls: asks for wide, the ceiling holds strict
    allowed beyond the ceiling: wall of 20s; wall: asks for 20s, the ceiling holds 10s
    allowed beyond the ceiling: wall without a limit; wall: asks for no limit, the ceiling holds 18446744073709551615ns
    allowed beyond the ceiling: see the variable TZ; env TZ: asks for it, the ceiling holds nothing
    allowed beyond the ceiling: run where nothing closes cpu; require cpu: asks for none, the ceiling holds a requirement
    ");
}

#[test]
fn a_proof_reads_well_for_people_and_programs() {
    let session = SandboxPolicy::deny_all()
        .grant(path("/docs"), Rights::READ_ONLY, Origin::Code)
        .grant(path("/out"), Rights::READ_WRITE, Origin::Code)
        .with_net(Net::Loopback, Origin::Code)
        .allow_env("TZ".parse().unwrap(), Origin::Code);
    let request = SandboxPolicy::deny_all()
        .grant(path("/docs/api"), Rights::READ_ONLY, Origin::Code)
        .allow_env("TZ".parse().unwrap(), Origin::Code);
    let certificate = prove(&request, &session).unwrap();
    insta::assert_snapshot!(certificate, @r"
    29 comparisons, each within the ceiling
      fs /docs: wants nothing, holds read+list
      fs /docs/api: wants read+list, holds read+list
      fs /out: wants nothing, holds read+list+write+create+delete+truncate+refer
      net: wants none, holds loopback
      unix: wants none, holds none
      syscalls: wants strict, holds strict
      wall: wants 10s, holds 10s
      cpu: wants 10s, holds 10s
      memory: wants 256MiB, holds 256MiB
      processes: wants 64, holds 64
      files: wants 256, holds 256
      file_size: wants 64MiB, holds 64MiB
      workspace: wants 64MiB, holds 64MiB
      inodes: wants 4096, holds 4096
      output: wants 1MiB, holds 1MiB
      flood: wants 256MiB, holds 256MiB
      reply: wants 25KiB, holds 25KiB
      env TZ: wants it, holds it
      require fs-data: wants a requirement, holds a requirement
      require fs-metadata-write: wants a requirement, holds a requirement
      require ip-network: wants a requirement, holds a requirement
      require unix-ipc: wants a requirement, holds a requirement
      require processes: wants a requirement, holds a requirement
      require tuning: wants a requirement, holds a requirement
      require kernel-surface: wants a requirement, holds a requirement
      require privilege: wants a requirement, holds a requirement
      require env-and-descriptors: wants a requirement, holds a requirement
      require kill-all: wants a requirement, holds a requirement
      require cpu: wants a requirement, holds a requirement
    ");
    let lines = certificate.to_json();
    insta::assert_json_snapshot!([&lines[0], &lines[3], &lines[6]], @r#"
    [
      {
        "axis": "fs",
        "at": "/docs",
        "wanted": "nothing",
        "held": "read+list"
      },
      {
        "axis": "net",
        "wanted": "none",
        "held": "loopback"
      },
      {
        "axis": "wall",
        "wanted": "10s",
        "held": "10s"
      }
    ]
    "#);
    let example = prove(&session, &request).unwrap_err();
    insta::assert_json_snapshot!(example.to_json(), @r#"
    {
      "axis": "fs",
      "at": "/docs",
      "wanted": "read+list",
      "held": "nothing",
      "origin": "host code",
      "point": {
        "file": {
          "path": "/docs",
          "access": [
            "read"
          ]
        }
      }
    }
    "#);
}
