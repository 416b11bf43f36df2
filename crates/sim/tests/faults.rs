//! Rules broken on purpose are found within a hundred seeds (`--features faults`).

#![cfg(feature = "faults")]

use trantor_sim::{Fault, run, run_with_fault, sweep_seed};

/// Seeds within which each fault must be found.
const SEEDS_MAX: u64 = 100;

/// The fault is found, for the reason that it is, and without it the same seed finds nothing.
fn assert_found(fault: Fault, reasons: &[&str]) {
    let found = (0..SEEDS_MAX).find_map(|index| run_with_fault(sweep_seed(3, index), fault).err());
    let found = found.unwrap_or_else(|| panic!("{fault:?} was not found in {SEEDS_MAX} seeds"));
    assert!(
        reasons.iter().any(|reason| found.reason.contains(reason)),
        "{fault:?} was found for another reason: {found}"
    );
    assert!(run(found.seed).is_ok(), "the seed itself is clean");
}

#[test]
fn a_dropped_reply_is_found() {
    assert_found(Fault::DroppedReply, &["answers", "no answer came"]);
}

#[test]
fn a_dropped_acknowledgement_is_found() {
    assert_found(Fault::DroppedAck, &["never acknowledged"]);
}

#[test]
fn a_dropped_change_is_found() {
    assert_found(
        Fault::DroppedDelta,
        &["the mirror is not the world", "a viewer ended"],
    );
}

#[test]
fn a_line_about_the_ground_that_is_dropped_is_found() {
    assert_found(
        Fault::DroppedLine,
        &["told otherwise of the ground", "the map comes first"],
    );
}

#[test]
fn a_journal_out_of_order_is_found() {
    assert_found(
        Fault::JournalOutOfOrder,
        &[
            "the journal does not end in order",
            "the journal cannot be opened",
            "bytes were synced",
        ],
    );
}

#[test]
fn a_lost_wake_up_is_found() {
    assert_found(Fault::LostWakeUp, &["ns late"]);
}

#[test]
fn another_rule_is_found() {
    assert_found(Fault::NoHunger, &["is never hungry"]);
}

#[test]
fn a_save_that_is_named_before_it_is_on_the_disk_is_found() {
    assert_found(Fault::HastySave, &["was saved, and"]);
}
