//! Plans that cannot be carried out: each failure names its stage, and nothing runs.

use proptest::prelude::*;

use bailiwick_sandbox::message::{Message, Stage};
use bailiwick_sandbox::plan::Plan;

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Plan::decode(&bytes);
    }

    #[test]
    fn no_bytes_behind_a_true_head_make_the_decoder_panic(
        mode in 0_u32..6,
        words in prop::collection::vec(0_u32..20, 0..120),
    ) {
        let mut bytes = b"BWPL".to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(mode.to_le_bytes());
        bytes.extend(words.into_iter().flat_map(u32::to_le_bytes));
        if let Ok(Plan::Run(run)) = Plan::decode(&bytes) {
            // Walking a decoded list never stops early.
            prop_assert!(run.root.iter().count() < 2000);
            prop_assert!(run.landlock.rules.iter().all(|rule| rule.layer < run.landlock.layers));
        }
    }

    #[test]
    fn no_bytes_make_a_message_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Message::decode(&bytes);
    }
}

#[test]
fn every_message_reads_back() {
    let messages = [
        Message::Started { descriptors: 2 },
        Message::Exited {
            status: 0x8b,
            user: 1,
            system: 2,
            peak: 3,
        },
        Message::Holding,
    ];
    let failures = Stage::ALL.map(|stage| Message::Failed {
        stage,
        errno: 13,
        item: 7,
    });
    let trials = Stage::ALL.map(|stage| Message::Tried {
        trial: 4,
        stage,
        errno: 1,
    });
    for message in messages.into_iter().chain(failures).chain(trials) {
        assert_eq!(Message::decode(&message.encode()), Some(message));
    }
}

#[test]
fn every_stage_has_a_number_and_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> =
        Stage::ALL.iter().map(|stage| stage.as_str()).collect();
    assert_eq!(names.len(), Stage::ALL.len());
    assert!(
        Stage::ALL
            .iter()
            .all(|stage| Stage::from_number(*stage as u32) == Some(*stage))
    );
    assert_eq!(Stage::from_number(0), None);
}
