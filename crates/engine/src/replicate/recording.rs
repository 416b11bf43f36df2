//! What frame viewers receive about a recording: its length, and marks for its timeline.

use trantor_game::replay::{Mark as Recorded, MarkKind as RecordedKind, Recording};
use trantor_protocol::limits::MARKS_MAX;
use trantor_protocol::wire::{Mark, MarkKind, RecordingInfo};
use trantor_time::{GameSpan, GameTime};

/// A recording as viewers receive it.
pub(crate) fn recording_info(recording: &Recording) -> RecordingInfo {
    let (begin, end) = (recording.begin(), recording.end());
    // The speed that a recording begins with is no change of speed.
    let is_sent = |mark: &&Recorded| mark.at > begin || !matches!(mark.kind, RecordedKind::Speed(_));
    let marks: Vec<Mark> = recording.marks().iter().filter(is_sent).map(mark_of).collect();
    RecordingInfo {
        begin,
        end,
        marks: thinned(marks, begin, end),
    }
}

fn mark_of(mark: &Recorded) -> Mark {
    let kind = match mark.kind {
        RecordedKind::Died(team) => MarkKind::Died { team },
        RecordedKind::Rose(team, level) => MarkKind::Rose { team, level },
        RecordedKind::Speed(frequency) => MarkKind::Speed { frequency },
        RecordedKind::Paused => MarkKind::Paused,
        RecordedKind::Resumed => MarkKind::Resumed,
        RecordedKind::Won(team) => MarkKind::Won { team },
    };
    let (at, count) = (mark.at, 1);
    Mark { at, count, kind }
}

/// At most [`MARKS_MAX`] of them. If they are more, those of one kind that lie in one cell of the time-line become one,
/// and the cells grow until all fit.
fn thinned(marks: Vec<Mark>, begin: GameTime, end: GameTime) -> Vec<Mark> {
    let mut cells = MARKS_MAX as i128;
    let mut thin = marks;
    while thin.len() > MARKS_MAX && cells > 1 {
        cells /= 2;
        let cell_nu = ((end - begin).as_nanounits() / cells).max(1);
        thin = merged(&thin, begin, GameSpan::from_nanounits(cell_nu));
    }
    // More kinds than may be sent, as with a thousand teams: the first are sent.
    thin.truncate(MARKS_MAX);
    thin
}

fn merged(marks: &[Mark], begin: GameTime, cell: GameSpan) -> Vec<Mark> {
    let cell_of = |mark: &Mark| (mark.at - begin).as_nanounits() / cell.as_nanounits();
    let mut merged: Vec<Mark> = Vec::new();
    for in_cell in marks.chunk_by(|a, b| cell_of(a) == cell_of(b)) {
        let first = merged.len();
        for mark in in_cell {
            match merged[first..]
                .iter_mut()
                .find(|other| are_alike(other.kind, mark.kind))
            {
                Some(other) => {
                    other.count = other.count.saturating_add(mark.count);
                    // Of several speeds the last one holds.
                    other.kind = mark.kind;
                }
                None => merged.push(*mark),
            }
        }
    }
    merged
}

fn are_alike(one: MarkKind, other: MarkKind) -> bool {
    let are_speeds = matches!((one, other), (MarkKind::Speed { .. }, MarkKind::Speed { .. }));
    one == other || are_speeds
}

#[cfg(test)]
mod tests {
    use trantor_model::TeamId;
    use trantor_time::Frequency;

    use super::*;

    fn mark(units: i64, kind: MarkKind) -> Mark {
        let at = GameTime::from_units(units);
        Mark { at, count: 1, kind }
    }

    #[test]
    fn too_many_marks_become_fewer_in_order_and_none_is_lost_from_the_count() {
        let speed = |hertz| MarkKind::Speed {
            frequency: Frequency::new(hertz).unwrap(),
        };
        let kinds = [
            MarkKind::Died { team: TeamId(0) },
            MarkKind::Died { team: TeamId(1) },
            speed(100),
            speed(200),
            MarkKind::Paused,
        ];
        let marks: Vec<Mark> = (0..50_000)
            .map(|at| mark(at, kinds[at as usize % kinds.len()]))
            .collect();
        let thin = thinned(marks.clone(), GameTime::ZERO, GameTime::from_units(49_999));
        assert!((500..=MARKS_MAX).contains(&thin.len()), "{}", thin.len());
        assert!(thin.is_sorted_by_key(|mark| mark.at));
        assert_eq!(thin.iter().map(|mark| mark.count).sum::<u32>(), 50_000);

        let of_one_cell = merged(&marks[..5], GameTime::ZERO, GameSpan::from_units(5));
        let kinds: Vec<_> = of_one_cell.iter().map(|mark| (mark.count, mark.kind)).collect();
        let died = |team| (1, MarkKind::Died { team: TeamId(team) });
        assert_eq!(
            kinds,
            [died(0), died(1), (2, speed(200)), (1, MarkKind::Paused)],
            "the last of several speeds holds"
        );
    }

    #[test]
    fn all_at_one_moment_is_no_division_by_zero() {
        let marks = vec![mark(7, MarkKind::Paused); MARKS_MAX + 1];
        let at = GameTime::from_units(7);
        assert_eq!(thinned(marks, at, at).len(), 1);
    }
}
