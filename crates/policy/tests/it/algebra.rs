//! Policies are a lattice, and deriving is deciding its order.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use bailiwick_policy::{
    Axis, EnvName, HostPath, LimitAxis, Limits, Net, Origin, RelPath, Rights, SandboxPolicy,
    SyscallProfile, ThreatClass, derive,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

pub(crate) fn path(text: &str) -> HostPath {
    text.parse().unwrap()
}

/// Every path over a small alphabet, deep enough to lie beneath any root that is generated.
static EVERYWHERE: LazyLock<Vec<HostPath>> = LazyLock::new(|| {
    let mut paths = vec![HostPath::root()];
    let mut above = paths.clone();
    for _ in 0..4 {
        let names = ["a", "b", "ab"].map(|name| name.parse::<RelPath>().unwrap());
        above = above
            .iter()
            .flat_map(|folder| names.each_ref().map(|name| folder.join(name)))
            .collect();
        paths.extend_from_slice(&above);
    }
    paths
});

pub(crate) fn any_path() -> impl Strategy<Value = HostPath> {
    vec(select(vec!["a", "b", "ab"]), 0..4).prop_map(|names| path(&format!("/{}", names.join("/"))))
}

fn any_rights() -> impl Strategy<Value = Rights> {
    let each: Vec<_> = Rights::ALL.each().collect();
    let some = subsequence(each, 0..=11)
        .prop_map(|some| some.into_iter().fold(Rights::NONE, Rights::union));
    prop_oneof![some, Just(Rights::READ_ONLY), Just(Rights::READ_WRITE)]
}

fn any_net() -> impl Strategy<Value = Net> {
    let hosts = vec(
        select(vec!["a.x:1", "b.x:1", "*.x:1", "*.a.x:1", "a.x:2", "y:1"]),
        0..4,
    );
    let proxy =
        hosts.prop_map(|hosts| Net::to_hosts(hosts.into_iter().map(|host| host.parse().unwrap())));
    prop_oneof![Just(Net::None), Just(Net::Loopback), proxy, Just(Net::Full)]
}

fn any_limits() -> impl Strategy<Value = Limits> {
    vec(option::of(1_u64..4), LimitAxis::ALL.len()).prop_map(|amounts| {
        let set = LimitAxis::ALL.into_iter().zip(amounts);
        set.fold(Limits::unlimited(), |limits, (axis, amount)| match amount {
            Some(amount) => limits.with_amount(axis, amount),
            None => limits,
        })
    })
}

pub(crate) fn any_policy() -> impl Strategy<Value = SandboxPolicy> {
    let grants = vec((any_path(), any_rights()), 0..5);
    let exec = btree_set(select(vec!["/bin/sh", "/bin/python3"]), 0..=2);
    let env = btree_set(select(vec!["TOKEN", "TZ"]), 0..=2);
    let require = subsequence(ThreatClass::ALL.to_vec(), 0..=4);
    let sys = select(SyscallProfile::ALL.to_vec());
    (grants, any_net(), exec, env, require, sys, any_limits()).prop_map(
        |(grants, net, exec, env, require, sys, limits)| {
            let mut policy = SandboxPolicy::deny_all()
                .with_net(net, Origin::Code)
                .with_syscalls(sys)
                .with_limits(limits);
            for (root, rights) in grants {
                policy = policy.grant(root, rights, Origin::Code);
            }
            for program in exec {
                policy = policy.allow_exec(path(program), Origin::Code);
            }
            for name in env {
                policy = policy.allow_env(name.parse::<EnvName>().unwrap(), Origin::Code);
            }
            for class in require {
                policy = if class.is_hard_by_default() {
                    policy.without_requirement(class)
                } else {
                    policy.require(class)
                };
            }
            policy
        },
    )
}

/// A policy that is likely to lie within both.
pub(crate) fn below(
    one: &SandboxPolicy,
    other: &SandboxPolicy,
    noise: &SandboxPolicy,
    keep: bool,
) -> SandboxPolicy {
    if keep {
        one.meet(other).meet(noise)
    } else {
        noise.clone()
    }
}

fn equal(one: &SandboxPolicy, other: &SandboxPolicy) -> bool {
    one.is_within(other) && other.is_within(one)
}

proptest! {
    #[test]
    fn the_order_is_reflexive(policy in any_policy()) {
        prop_assert_eq!(policy.widens(&policy), []);
    }

    #[test]
    fn the_order_is_transitive(p in any_policy(), q in any_policy(), r in any_policy(), near: bool) {
        let p = below(&q, &r, &p, near);
        let q = below(&q, &r, &q, near);
        if p.is_within(&q) && q.is_within(&r) {
            prop_assert!(p.is_within(&r));
        }
    }

    #[test]
    fn policies_within_each_other_have_equal_effect(p in any_policy(), noise in any_policy(), near: bool) {
        // A policy written differently: the same grants, with one more that adds nothing.
        let root = p.roots().next().filter(|_| near);
        let rewritten = root.map(|(root, grants)| {
            let beneath = root.join(&"a".parse().unwrap());
            p.clone().grant(beneath, grants[0].rights(), Origin::Run)
        });
        let is_rewritten = rewritten.is_some();
        let q = rewritten.unwrap_or(noise);
        if equal(&p, &q) {
            for at in EVERYWHERE.iter() {
                prop_assert_eq!(p.effective_rights(at), q.effective_rights(at));
            }
            prop_assert_eq!(p.net(), q.net());
            prop_assert_eq!(p.limits(), q.limits());
            prop_assert_eq!(p.syscalls(), q.syscalls());
            prop_assert_eq!(p.required(), q.required());
            prop_assert!(p.exec().keys().eq(q.exec().keys()));
            prop_assert!(p.env().keys().eq(q.env().keys()));
        } else {
            prop_assert!(!is_rewritten);
        }
    }

    #[test]
    fn files_are_within_exactly_when_every_path_is(p in any_policy(), q in any_policy(), near: bool) {
        let p = below(&p, &q, &p, near);
        let beyond = p.widens(&q).iter().any(|witness| witness.axis() == Axis::Files);
        let somewhere = EVERYWHERE
            .iter()
            .any(|at| !q.effective_rights(at).contains(p.effective_rights(at)));
        prop_assert_eq!(beyond, somewhere);
    }

    #[test]
    fn every_witness_about_files_is_true(p in any_policy(), q in any_policy()) {
        for witness in p.widens(&q) {
            if witness.axis() == Axis::Files {
                let at = &path(witness.at().unwrap());
                prop_assert!(!q.effective_rights(at).contains(p.effective_rights(at)));
                prop_assert_eq!(witness.held(), q.effective_rights(at).to_string());
            }
        }
    }

    #[test]
    fn meet_is_the_intersection_at_every_path(p in any_policy(), q in any_policy()) {
        let both = p.meet(&q);
        for at in EVERYWHERE.iter() {
            let expected = p.effective_rights(at).intersection(q.effective_rights(at));
            prop_assert_eq!(both.effective_rights(at), expected, "{}", at);
        }
    }

    #[test]
    fn meet_is_the_greatest_lower_bound(p in any_policy(), q in any_policy(), noise in any_policy(), near: bool) {
        let both = p.meet(&q);
        prop_assert!(both.is_within(&p));
        prop_assert!(both.is_within(&q));
        let r = below(&p, &q, &noise, near);
        prop_assert_eq!(r.is_within(&p) && r.is_within(&q), r.is_within(&both));
    }

    #[test]
    fn meet_is_commutative_associative_and_idempotent(p in any_policy(), q in any_policy(), r in any_policy()) {
        prop_assert!(equal(&p.meet(&q), &q.meet(&p)));
        prop_assert!(equal(&p.meet(&q).meet(&r), &p.meet(&q.meet(&r))));
        prop_assert!(equal(&p.meet(&p), &p));
    }

    #[test]
    fn adding_a_grant_only_widens(p in any_policy(), root in any_path(), rights in any_rights()) {
        let more = p.clone().grant(root.clone(), rights, Origin::Code);
        prop_assert!(p.is_within(&more));
        prop_assert!(more.effective_rights(&root).contains(rights));
    }

    #[test]
    fn requiring_more_only_narrows(p in any_policy(), class in select(ThreatClass::ALL.to_vec())) {
        prop_assert!(p.clone().require(class).is_within(&p));
        prop_assert!(p.is_within(&p.clone().without_requirement(class)));
    }

    #[test]
    fn deriving_succeeds_exactly_when_the_request_is_within(session in any_policy(), noise in any_policy(), near: bool) {
        let request = below(&session, &session, &noise, near);
        match derive(&session, &request) {
            Ok(policy) => {
                prop_assert!(request.is_within(&session));
                for at in EVERYWHERE.iter() {
                    let held = policy
                        .roots()
                        .iter()
                        .filter(|root| at.starts_with(root.host_path()))
                        .fold(Rights::NONE, |held, root| held | root.rights());
                    prop_assert_eq!(held, request.effective_rights(at), "{}", at);
                    prop_assert!(session.effective_rights(at).contains(held));
                }
                for root in policy.roots() {
                    let anchor = &policy.session_roots()[root.session_root()];
                    prop_assert_eq!(&anchor.join(root.path()), root.host_path());
                }
            }
            Err(widened) => {
                prop_assert!(!request.is_within(&session));
                prop_assert_eq!(widened.witnesses(), request.widens(&session));
            }
        }
    }
}

#[test]
fn deny_all_is_within_every_policy_that_keeps_its_limits_and_requirements() {
    let nothing = SandboxPolicy::deny_all();
    let more = SandboxPolicy::deny_all()
        .grant(path("/a"), Rights::ALL, Origin::Code)
        .with_net(Net::Full, Origin::Code)
        .with_syscalls(SyscallProfile::Wide);
    assert!(nothing.is_within(&more));
    let witnesses = more.widens(&nothing);
    let axes: BTreeSet<_> = witnesses
        .iter()
        .map(|witness| witness.axis().as_str())
        .collect();
    assert_eq!(axes, ["fs", "net", "syscalls"].into());
}

#[test]
fn every_axis_can_widen_and_names_itself() {
    let ceiling = SandboxPolicy::deny_all();
    let greedy = [
        (
            ceiling
                .clone()
                .grant(path("/a"), Rights::READ, Origin::Code),
            "fs /a: asks for read, the ceiling holds nothing",
        ),
        (
            ceiling.clone().with_net(Net::Loopback, Origin::Code),
            "net: asks for loopback, the ceiling holds none",
        ),
        (
            ceiling.clone().allow_exec(path("/a"), Origin::Code),
            "exec /a: asks for it, the ceiling holds nothing",
        ),
        (
            ceiling.clone().with_syscalls(SyscallProfile::Standard),
            "syscalls: asks for standard, the ceiling holds strict",
        ),
        (
            ceiling
                .clone()
                .with_limits(ceiling.limits().clone().with_wall(Duration::from_secs(11))),
            "wall: asks for 11s, the ceiling holds 10s",
        ),
        (
            ceiling.clone().with_limits(Limits::unlimited()),
            "wall: asks for no limit, the ceiling holds 10s",
        ),
        (
            ceiling
                .clone()
                .allow_env("TZ".parse().unwrap(), Origin::Code),
            "env TZ: asks for it, the ceiling holds nothing",
        ),
        (
            ceiling.clone().without_requirement(ThreatClass::FsData),
            "require fs-data: asks for none, the ceiling holds a requirement",
        ),
    ];
    for (policy, shown) in greedy {
        assert_eq!(policy.widens(&ceiling)[0].to_string(), shown);
    }
}

#[test]
fn a_request_above_the_session_root_is_refused_and_not_cut_down_to_it() {
    let session = SandboxPolicy::deny_all().grant(path("/a/b"), Rights::READ_ONLY, Origin::Code);
    let request = SandboxPolicy::deny_all().grant(path("/a"), Rights::READ_ONLY, Origin::Code);
    let refused = derive(&session, &request).unwrap_err();
    assert_eq!(refused.witnesses()[0].at(), Some("/a"));
}

#[test]
fn rights_of_two_session_roots_add_up_beneath_the_deeper_one() {
    let session = SandboxPolicy::deny_all()
        .grant(path("/a"), Rights::READ_ONLY, Origin::Code)
        .grant(path("/a/b"), Rights::WRITE, Origin::Code);
    let wanted = Rights::READ_ONLY | Rights::WRITE;
    let request = SandboxPolicy::deny_all().grant(path("/a/b/c"), wanted, Origin::Code);
    let policy = derive(&session, &request).unwrap();
    let root = &policy.roots()[0];
    assert_eq!(policy.session_roots()[root.session_root()], path("/a/b"));
    assert_eq!(root.path().as_str(), "c");
}

#[test]
fn an_axis_that_nobody_bounds_runs_under_its_default() {
    let open = SandboxPolicy::deny_all().with_limits(Limits::unlimited());
    let policy = derive(&open, &open).unwrap();
    assert_eq!(policy.limits(), &bailiwick_policy::RunLimits::default());
}
