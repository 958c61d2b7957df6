//! What each class is without its closers, in the build that can leave them out: the self-test
//! must see it, or what it says of a whole host would prove nothing.

use std::collections::BTreeSet;

use bailiwick_policy::ThreatClass;
use bailiwick_sandbox::class::{Cover, coverage};
use bailiwick_sandbox::selftest::{self, Verdict};

use crate::bed::{Bed, host};

fn is_open_without_its_closers(class: ThreatClass) {
    let weakened = host().clone().without_class(class);
    let test = selftest::attack(&weakened, &BTreeSet::from([class])).expect("a self-test");
    assert_eq!(coverage(test.claimed()).class(class), Cover::Open);
    assert_eq!(test.class(class), Verdict::Open, "{:#?}", test.attempts());
    assert_eq!(test.not_denied([class]), [class]);
    if class.is_hard_by_default() {
        let refused = Bed::on(weakened)
            .compile()
            .expect_err("the class is required");
        assert_eq!(
            refused.code(),
            bailiwick_core::Code::ScriptSandboxUnavailable
        );
    }
}

macro_rules! classes {
    ($($name:ident: $class:ident,)*) => {
        $(
            #[test]
            fn $name() {
                is_open_without_its_closers(ThreatClass::$class);
            }
        )*

        #[test]
        fn every_class_is_weakened_in_a_test() {
            assert_eq!([$(ThreatClass::$class),*], ThreatClass::ALL);
        }
    };
}

classes! {
    files_can_be_read_and_written: FsData,
    metadata_can_be_changed: FsMetadataWrite,
    metadata_can_be_seen: FsMetadataRead,
    addresses_can_be_reached: IpNetwork,
    sockets_can_be_reached: UnixIpc,
    processes_can_be_signalled: Processes,
    processes_can_be_tuned: Tuning,
    the_kernels_surface_can_be_reached: KernelSurface,
    privileges_can_be_gained: Privilege,
    what_is_the_hosts_is_inherited: EnvAndDescriptors,
    a_daemon_outlives_its_run: KillAll,
    memory_has_no_bound: Memory,
    processes_have_no_bound: ProcessCount,
    time_has_no_bound: Cpu,
    the_disk_has_no_bound: Disk,
}
