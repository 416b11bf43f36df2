//! Rules broken on purpose are found within two hundred seeds (`--features faults`).

#![cfg(feature = "faults")]

use trantor_sim::{Fault, run, run_with_fault, sweep_seed};

/// Seeds within which each fault must be found.
const SEEDS_MAX: u64 = 200;

/// Each fault, and what the finding says of it.
const FAULTS: &[(Fault, &[&str])] = &[
    (Fault::DroppedReply, &["answers", "no answer came"]),
    (Fault::DroppedAck, &["never acknowledged"]),
    (
        Fault::DroppedDelta,
        &["the viewer's world is not the world", "a viewer ended"],
    ),
    (
        Fault::DroppedLine,
        &["is not the world: the ground", "before the whole map"],
    ),
    (
        Fault::DroppedLateLine,
        &["is not the world: the ground", "before the whole map"],
    ),
    (Fault::DroppedSaid, &["where the journal sends"]),
    (
        Fault::DroppedPiece,
        &["a viewer ended", "the viewer's world is not the world"],
    ),
    (Fault::LostWakeUp, &["ns late"]),
    (Fault::NoHunger, &["is never hungry"]),
    (Fault::IgnoredLimits, &["more connections than may be"]),
    (Fault::LostHangUp, &["connections are open, the server has"]),
    (
        Fault::OldToken,
        &[
            "operates under",
            "that is Asked heard",
            "refused for the right token",
            "told that it may control",
        ],
    ),
    (Fault::JournalOutOfOrder, JOURNAL_DIFFERS),
    (Fault::ShortJournal, JOURNAL_DIFFERS),
    (Fault::UnnoticedRefusal, JOURNAL_DIFFERS),
    (
        Fault::OneSyncedPiece,
        &[
            "a sync was done, and left",
            "and the journal was synced until",
            "was synced, and is lost",
        ],
    ),
    (
        Fault::HastyPack,
        &["and the journal was synced until", "was synced, and is lost"],
    ),
    (Fault::UnlistedRun, &["was synced, and is lost"]),
    (
        Fault::UnnoticedRemoval,
        &[
            "does not end in order",
            "was synced, and is lost",
            "and the journal was synced until",
        ],
    ),
    (Fault::TornRun, &["ended with"]),
    (
        Fault::HastySave,
        &["goes on from an older save", "a good save was saved"],
    ),
    (Fault::UnlistedSave, &["goes on from an older save"]),
    (Fault::StaleSave, &["holds another state than"]),
    (
        Fault::OlderSave,
        &["goes on from an older save", "the last save holds another state"],
    ),
];

const JOURNAL_DIFFERS: &[&str] = &[
    "the journal does not end in order",
    "the journal cannot be opened",
    "and the journal plays",
    "the journal was synced until",
    "the replay parts from the run",
    "is played otherwise",
    "was synced, and is lost",
    "ended with",
];

/// Found for the reason that it is, and without it the same seed finds nothing.
fn check(fault: Fault, reasons: &[&str]) -> Result<(), String> {
    let found = (0..SEEDS_MAX).find_map(|index| run_with_fault(sweep_seed(3, index), fault).err());
    let found = found.ok_or_else(|| format!("{fault:?} was not found in {SEEDS_MAX} seeds"))?;
    if !reasons.iter().any(|reason| found.reason.contains(reason)) {
        return Err(format!("{fault:?} was found for another reason: {found}"));
    }
    run(found.seed)
        .map(drop)
        .map_err(|failure| format!("the seed itself is not clean: {failure}"))
}

#[test]
fn every_planted_fault_is_found() {
    let checks = FAULTS
        .iter()
        .map(|(fault, reasons)| std::thread::spawn(|| check(*fault, reasons)));
    let checks: Vec<_> = checks.collect();
    let outcomes = checks
        .into_iter()
        .map(|check| check.join().expect("a check does not panic"));
    let missed: Vec<String> = outcomes.filter_map(Result::err).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
