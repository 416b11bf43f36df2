//! Each injected fault is detected within [`SEEDS_MAX`] seeds (`--features faults`).

#![cfg(feature = "faults")]

use trantor_runtime::threads;
use trantor_sim::{Fault, run, sweep_seed};

/// Seeds within which each fault must be detected.
const SEEDS_MAX: u64 = 200;

/// Each fault, and parts of the messages of checks that detect it.
const FAULTS: &[(Fault, &[&str])] = &[
    (Fault::DroppedReply, &["answers", "no answer came"]),
    (Fault::DroppedAck, &["never acknowledged"]),
    (
        Fault::DroppedDelta,
        &["the viewer's world differs", "a viewer failed"],
    ),
    (
        Fault::DroppedLine,
        &["differs from the server's: ground", "before all tiles"],
    ),
    (
        Fault::DroppedRotatedLine,
        &["differs from the server's: ground", "before all tiles"],
    ),
    (Fault::DroppedBroadcast, &["where the journal sends"]),
    (
        Fault::DroppedSnapshotPart,
        &["a viewer failed", "the viewer's world differs"],
    ),
    (Fault::LostWakeUp, &["ns late"]),
    (Fault::IgnoredLimits, &["limit of connections is exceeded"]),
    (Fault::LostDisconnect, &["has ended and is not closed"]),
    (
        Fault::StaleToken,
        &["refused with the right token", "does not know the token"],
    ),
    (
        Fault::LostWrite,
        &[
            "no answer came",
            "answers",
            "received",
            "a viewer failed",
            "differs",
            "cannot use",
            "never",
        ],
    ),
    (
        Fault::ForgottenInterest,
        &["are unsent although its window has room"],
    ),
    (Fault::NoTokens, &["ns late"]),
    (Fault::IgnoredBudgets, &["exceeded its budget"]),
    (Fault::JournalOutOfOrder, JOURNAL_DIFFERS),
    (Fault::TruncatedJournal, JOURNAL_DIFFERS),
    (Fault::IgnoredWriteError, JOURNAL_DIFFERS),
    (
        Fault::UnsyncedEarlierPieces,
        &[
            "a sync left",
            "and the journal was synced until",
            "was synced and is lost",
        ],
    ),
    (
        Fault::UnsyncedPack,
        &["and the journal was synced until", "was synced and is lost"],
    ),
    (Fault::UnsyncedRunName, &["was synced and is lost"]),
    (
        Fault::IgnoredRemoval,
        &[
            "journal is not closed",
            "was synced and is lost",
            "and the journal was synced until",
        ],
    ),
    (Fault::TornRecord, &["ended with"]),
    (
        Fault::UnsyncedSave,
        &["resumes from an older save", "an intact save exists"],
    ),
    (Fault::UnsyncedSaveName, &["resumes from an older save"]),
    (Fault::StaleSave, &["does not hold"]),
    (
        Fault::OlderSave,
        &["resumes from an older save", "the last save does not hold"],
    ),
];

const JOURNAL_DIFFERS: &[&str] = &[
    "the journal is not closed",
    "is not whole",
    "the journal is cut off",
    "the journal cannot be opened",
    "and the journal replays",
    "the journal was synced until",
    "the replay diverges",
    "replays differently",
    "was synced and is lost",
    "ended with",
];

/// The right check detects the fault, and the same seed without it is clean.
fn check(fault: Fault, reasons: &[&str]) -> Result<(), String> {
    let found = (0..SEEDS_MAX).find_map(|index| run(sweep_seed(3, index), Some(fault)).err());
    let found = found.ok_or_else(|| format!("{fault:?} was not detected in {SEEDS_MAX} seeds"))?;
    if !reasons.iter().any(|reason| found.reason.contains(reason)) {
        return Err(format!("another check detected {fault:?}: {found}"));
    }
    run(found.seed, None)
        .map(drop)
        .map_err(|failure| format!("the seed fails without a fault: {failure}"))
}

#[test]
fn every_injected_fault_is_detected() {
    let checks = FAULTS
        .iter()
        .map(|(fault, reasons)| threads::spawn("check", || check(*fault, reasons)).unwrap());
    let checks: Vec<_> = checks.collect();
    let outcomes = checks
        .into_iter()
        .map(|check| check.join().expect("a check does not panic"));
    let missed: Vec<String> = outcomes.filter_map(Result::err).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
