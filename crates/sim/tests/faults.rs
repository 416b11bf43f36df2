//! Rules broken on purpose are found within two hundred seeds (`--features faults`).

#![cfg(feature = "faults")]

use trantor_sim::{Fault, run, run_with_fault, sweep_seed};

/// Seeds within which each fault must be found.
const SEEDS_MAX: u64 = 200;

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
        &["the viewer's world is not the world", "a viewer ended"],
    );
}

#[test]
fn a_line_about_the_ground_that_is_dropped_is_found() {
    assert_found(
        Fault::DroppedLine,
        &["is not the world: the ground", "before the whole map"],
    );
}

#[test]
fn a_journal_out_of_order_is_found() {
    assert_found(
        Fault::JournalOutOfOrder,
        &[
            "the journal does not end in order",
            "the journal cannot be opened",
            "and the journal plays",
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

#[test]
fn limits_that_do_not_hold_are_found() {
    assert_found(Fault::IgnoredLimits, &["more connections than may be"]);
}

#[test]
fn a_hang_up_that_is_not_passed_on_is_found() {
    assert_found(Fault::LostHangUp, &["connections are open, the server has"]);
}

#[test]
fn a_line_that_is_dropped_where_viewers_take_turns_is_found() {
    assert_found(
        Fault::DroppedLateLine,
        &["is not the world: the ground", "before the whole map"],
    );
}

#[test]
fn a_line_about_a_broadcast_that_is_dropped_is_found() {
    assert_found(Fault::DroppedSaid, &["where the journal sends"]);
}

#[test]
fn a_dropped_piece_of_a_snapshot_is_found() {
    assert_found(
        Fault::DroppedPiece,
        &["a viewer ended", "the viewer's world is not the world"],
    );
}

#[test]
fn a_save_of_the_state_before_is_found() {
    assert_found(Fault::StaleSave, &["holds another state than was saved"]);
}

#[test]
fn an_older_save_than_the_newest_is_found() {
    assert_found(Fault::OlderSave, &["goes on from an older save"]);
}

#[test]
fn a_refusal_of_the_disk_that_is_not_noticed_is_found() {
    assert_found(
        Fault::UnnoticedRefusal,
        &[
            "the journal cannot be opened",
            "the journal plays",
            "the replay parts",
            "the journal does not end in order",
            "is played otherwise",
        ],
    );
}

#[test]
fn a_journal_that_is_shorter_than_what_was_sent_is_found() {
    assert_found(
        Fault::ShortJournal,
        &["and the journal plays", "the journal does not end in order"],
    );
}

#[test]
fn a_piece_that_is_not_synced_once_another_begins_is_found() {
    assert_found(Fault::OneSyncedPiece, &["and the journal was synced until"]);
}

#[test]
fn a_token_that_outlives_a_reload_is_found() {
    assert_found(
        Fault::OldToken,
        &[
            "operates under",
            "that is Asked heard",
            "refused for the right token",
            "told that it may control",
        ],
    );
}
