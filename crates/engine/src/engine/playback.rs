//! Playback: a recording shown to viewers, in the place of a game that is played.
//!
//! Sessions, ticks and delivery are those of a game; a journal is in the place of the connections' inputs.

use std::sync::Arc;

use trantor_game::replay::{Cursor, Divergence, Recording, Replayed};
use trantor_game::{Game, GameInput, PaceChange};
use trantor_model::{Mark, MarkKind, Refusal};
use trantor_protocol::limits::MARKS_MAX;
use trantor_protocol::text::GuiEvent;
use trantor_protocol::wire::{RecordingInfo, ToClient};
use trantor_time::{Frequency, GameSpan, GameTime, RealTime};

use super::{Engine, Fired, FiredKind};
use crate::config::EngineConfig;
use crate::limits;
use crate::replicate::{clock_anchor, send};
use crate::stats::Speedometer;

impl Engine {
    /// An engine that shows `recording`; `config.game` is ignored. No peer can play in it: one that asks
    /// for a place is answered as by a team without one.
    ///
    /// # Errors
    /// If the recording is not what it was when it was opened.
    pub fn play(
        config: EngineConfig,
        recording: &Arc<Recording>,
        start: PlaybackStart,
        now: RealTime,
    ) -> Result<Self, Divergence> {
        let (game, cursor) = recording.seek(start.at)?;
        let playback = Playback {
            cursor,
            info: recording_info(recording),
            follows_speed: start.follows_speed,
            is_stopped_at_end: false,
            is_broken: false,
            is_live: false,
        };
        let config = EngineConfig {
            game: recording.config().clone(),
            frequency: playback.speed_at(game.now()).unwrap_or(config.frequency),
            match_duration: None,
            // What was waited for is in the recording.
            lock_step: None,
            auto_start: true,
            ..config
        };
        let mut engine = Self::with_game(config, game, now);
        engine.delivery.snapshots.jump(playback.cursor.history().clone());
        engine.course.follow(playback);
        if start.is_paused {
            engine.course.pace.pause(now).expect("it was started just now");
        }
        engine.stop_if_over(now);
        Ok(engine)
    }

    /// An engine that shows a game while it is being played elsewhere: `so_far` is what its journal holds so far, and more comes
    /// with [`Self::extend`]. Viewers see it as any game: it has no end that they could seek.
    ///
    /// # Errors
    /// As [`Self::play`].
    pub fn follow(config: EngineConfig, so_far: &Arc<Recording>, now: RealTime) -> Result<Self, Divergence> {
        let start = PlaybackStart {
            at: so_far.end(),
            follows_speed: false,
            is_paused: false,
        };
        let mut engine = Self::play(config, so_far, start, now)?;
        engine.course.playback_mut().expect("it plays").is_live = true;
        Ok(engine)
    }

    /// Shows the end of another recording: another game that is being played elsewhere, with the map and the teams of the one
    /// before.
    ///
    /// # Errors
    /// If there is no recording, or nothing can be played of this one. Nothing has changed then.
    pub fn follow_another(&mut self, so_far: &Arc<Recording>, now: RealTime) -> Result<(), Refusal> {
        self.go_to(so_far, so_far.end(), now)?;
        self.config.game = so_far.config().clone();
        self.settle();
        Ok(())
    }

    /// Continues what is followed with `journal`, which its writer gave after the bytes before.
    pub fn extend(&mut self, journal: &[u8], now: RealTime) {
        if let Some(playback) = self.course.playback_mut() {
            playback.cursor.extend(journal);
        }
        self.sessions.set_now(now);
        self.course.resume_at_end(now);
        self.send_clock_with_tick();
        self.settle();
    }

    /// Moves a recording to another moment, or the nearer end, and shows every viewer the world at it. A recording
    /// that had ended resumes; one that was paused stays paused.
    ///
    /// # Errors
    /// If there is no recording. Nothing has changed then.
    pub(super) fn seek(&mut self, to: GameTime, now: RealTime) -> Result<(), Refusal> {
        let playback = self.course.playback().filter(|playback| !playback.is_live);
        let recording = playback.map(|playback| Arc::clone(playback.cursor.recording()));
        self.go_to(&recording.ok_or(Refusal::NotARecording)?, to, now)
    }

    fn go_to(&mut self, recording: &Arc<Recording>, to: GameTime, now: RealTime) -> Result<(), Refusal> {
        let playback = self.course.playback_mut().ok_or(Refusal::NotARecording)?;
        let (game, cursor) = recording.seek(to).map_err(|divergence| {
            log::error!("the recording cannot be moved to {to:?}: {divergence}");
            Refusal::Unplayable
        })?;
        (playback.cursor, playback.is_broken) = (cursor, false);
        self.delivery.snapshots.jump(playback.cursor.history().clone());
        let before = std::mem::replace(&mut self.game, game);
        self.course.abandon_sprint(now);
        self.course.pace.jump(now, self.game.now());
        self.figures.meters.speedometer = Speedometer::new(now, self.game.now());
        let playback = self.course.playback_mut().expect("there was one just now");
        if let Some(frequency) = playback.speed_at(self.game.now()) {
            // A journal may hold a speed out of range; then the present one stays.
            let _refused = self.course.pace.set_frequency(now, frequency.get());
        }
        self.course.resume_at_end(now);
        self.stop_if_over(now);
        self.figures.counters.seeks += 1;
        self.show_jump_in_text(&before);
        self.show_jump(now);
        Ok(())
    }

    /// Whether what is shown was recorded.
    pub fn is_playback(&self) -> bool {
        self.course.is_recorded()
    }

    /// Whether an operator has paused time. A game that is being played elsewhere, and of which nothing more has come, only waits.
    pub fn is_paused(&self) -> bool {
        match self.course.lock_step() {
            Some(lock_step) => lock_step.is_frozen,
            None => self.course.pace.clock().is_paused() && !(self.is_live() && self.is_stopped_at_end()),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.course.playback().is_some_and(|playback| playback.is_live)
    }

    pub(super) fn next_game_deadline(&self) -> Option<GameTime> {
        match self.course.playback() {
            None => self.game.next_deadline(),
            Some(playback) => playback.next_time(&self.game),
        }
    }

    /// When the first of the actions under way ends. In a game none can begin and end before it while time stands still,
    /// since what is queued begins where one ends; in a recording a shorter one may.
    pub(super) fn next_action_end(&self) -> Option<GameTime> {
        let actions = self.game.world().agents().filter_map(|agent| agent.action());
        actions.map(|action| action.end).min()
    }

    pub(super) fn recording_end(&self) -> Option<GameTime> {
        let playback = self.course.playback().filter(|playback| !playback.is_live);
        playback.map(|playback| playback.info.end)
    }

    /// Whether nothing is left to be shown: at the end of a recording, or where more of a game that is followed is yet to come.
    pub fn is_recording_over(&self) -> bool {
        let playback = self.course.playback();
        playback.is_some_and(|playback| playback.next_time(&self.game).is_none())
    }

    pub(super) fn is_stopped_at_end(&self) -> bool {
        self.course
            .playback()
            .is_some_and(|playback| playback.is_stopped_at_end)
    }

    /// Carries out what is due next in a recording.
    pub(super) fn fire_recorded(&mut self, now: RealTime) -> Option<Fired> {
        let at = self.course.playback()?.next_time(&self.game)?;
        let lateness_ns = self.course.pace.lateness_ns(now, at);
        let game_now = self.course.pace.game_now();
        self.delivery.snapshots.world_changed();
        let playback = self.course.playback_mut()?;
        let Some(replayed) = playback.step(&mut self.game, game_now) else {
            self.stop_if_over(now);
            self.send_clock(now);
            return None;
        };
        let speed = playback.speed_set(&replayed);
        if let Some(Ok(frequency)) = speed.map(|speed| self.course.pace.set_frequency(now, speed.get())) {
            self.delivery
                .text
                .announce(&mut self.sessions, &GuiEvent::Frequency(frequency));
            self.send_clock(now);
        }
        self.figures.meters.lateness.note(now, lateness_ns, 1);
        let kind = match replayed {
            Replayed::Fired(fired) => {
                self.figures.counters.fired[fired.kind as usize] += 1;
                FiredKind::Game(fired.kind)
            }
            Replayed::Input(_) | Replayed::Checked(_) | Replayed::Reached => FiredKind::Recorded,
        };
        self.publish_events(None);
        if self.stop_if_over(now) {
            match self.is_live() {
                true => self.send_clock_with_tick(),
                false => self.send_clock(now),
            }
        }
        Some(Fired {
            kind,
            lateness_ns,
            count: 1,
        })
    }

    /// At the end of a recording game time stands still, exactly there. Answers whether it was stopped.
    fn stop_if_over(&mut self, now: RealTime) -> bool {
        let is_over = self
            .course
            .playback()
            .is_some_and(|playback| playback.next_time(&self.game).is_none());
        is_over && self.course.stop_at_end(now, self.game.now())
    }

    /// Viewers are sent the clock with the next tick: what is played elsewhere may stop and go on many times between two.
    fn send_clock_with_tick(&mut self) {
        if let Some(watch) = &mut self.delivery.watch {
            watch.has_slipped = true;
        }
    }

    /// Frame viewers get the new anchor, and then the world of that moment as when they joined.
    fn show_jump(&mut self, now: RealTime) {
        let position = self.delivery.frames.forget();
        let population = self.delivery.snapshots.population(&self.game);
        for conn in self.welcome_viewers() {
            self.send_stream_time(conn, now);
            let Some(observer) = self.sessions.observer_mut(conn) else {
                continue;
            };
            observer.begin_snapshot(population.clone(), position, now);
            let anchor = clock_anchor(observer, self.course.pace.clock(), now);
            self.figures.counters.snapshots += 1;
            send(&mut self.sessions, conn, &ToClient::Sought(anchor));
            self.send_history(conn);
            self.send_snapshot(conn, now);
        }
    }

    /// Text viewers know no other time: they are sent the difference, piece by piece and encoded once for all of them.
    fn show_jump_in_text(&mut self, before: &Game) {
        self.delivery.text.forget_moment();
        if self.sessions.text_viewers.is_empty() {
            return;
        }
        let frequency = self.course.pace.clock().frequency();
        self.delivery
            .text
            .announce(&mut self.sessions, &GuiEvent::Frequency(frequency));
        self.sessions.show_seek(before);
        self.publish_text_piece(limits::ANSWER_BYTES_AT_ONCE);
    }
}

/// How a recording begins to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaybackStart {
    /// At which moment; the nearer end for one outside.
    pub at: GameTime,
    /// At the speeds at which it was recorded, until another one is set; else at that of the configuration.
    pub follows_speed: bool,
    /// With time standing still.
    pub is_paused: bool,
}

#[derive(Debug)]
pub(crate) struct Playback {
    cursor: Cursor,
    /// As sent to viewers.
    pub(crate) info: RecordingInfo,
    /// Whether speeds are those of the recording; until an operator or viewer asks for another.
    pub(crate) follows_speed: bool,
    /// Whether game time stands still because the recording is over, and for no other reason.
    pub(crate) is_stopped_at_end: bool,
    /// Whether nothing can be played from here on.
    is_broken: bool,
    /// Whether the game is being played elsewhere, and more of it comes.
    pub(crate) is_live: bool,
}

impl Playback {
    pub(crate) fn next_time(&self, game: &Game) -> Option<GameTime> {
        self.cursor.next_time(game).filter(|_| !self.is_broken)
    }

    /// An operator or viewer changed the pace: playback keeps it.
    pub(super) fn note_pace(&mut self, change: PaceChange) {
        match change {
            PaceChange::Frequency(_) => self.follows_speed = false,
            PaceChange::Paused | PaceChange::Resumed => self.is_stopped_at_end = false,
            PaceChange::Stepped | PaceChange::WaitEnded => {}
        }
    }

    /// Plays the next deadline or record, if it lies no later than `until`. What was played once and cannot be played
    /// again, as on a broken machine, is the end.
    pub(crate) fn step(&mut self, game: &mut Game, until: GameTime) -> Option<Replayed> {
        self.cursor.step(game, until).unwrap_or_else(|divergence| {
            log::error!("the recording ends here, although it was played before: {divergence}");
            self.is_broken = true;
            None
        })
    }

    /// The recorded speed at a moment; `None` if recorded speeds do not apply.
    pub(crate) fn speed_at(&self, at: GameTime) -> Option<Frequency> {
        self.cursor
            .recording()
            .speed_at(at)
            .filter(|_| self.follows_speed)
    }

    /// The speed that this record sets; `None` if it sets none or recorded speeds do not apply.
    pub(crate) fn speed_set(&self, replayed: &Replayed) -> Option<Frequency> {
        match replayed {
            Replayed::Input(GameInput::Pace(PaceChange::Frequency(frequency))) if self.follows_speed => {
                Some(*frequency)
            }
            _ => None,
        }
    }
}

fn recording_info(recording: &Recording) -> RecordingInfo {
    let (begin, end) = (recording.begin(), recording.end());
    // The speed that a recording begins with is no change of speed.
    let is_sent = |mark: &&Mark| mark.at > begin || !matches!(mark.kind, MarkKind::Speed { .. });
    let marks: Vec<Mark> = recording.marks().iter().filter(is_sent).copied().collect();
    RecordingInfo {
        begin,
        end,
        recorded: recording.speed_at(begin),
        marks: thinned(marks, begin, end),
    }
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
