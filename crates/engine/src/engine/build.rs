//! How an engine comes to be: with a game that begins, or with one that goes on.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use trantor_game::{Game, History};
use trantor_time::{RealTime, TimerQueue};

use super::Engine;
use crate::config::EngineConfig;
use crate::lock_step::LockStep;
use crate::pace::Pace;
use crate::replicate::{News, TextUpdates};
use crate::session::{Sessions, TokenBucket};
use crate::snapshot::{EggPieces, Population};
use crate::stats::{Counters, Logged, SpanRecorder, Speedometer};
use crate::ticks::Ticks;

impl Engine {
    /// An engine whose time begins at `now`, or with [`crate::AdminRequest::Start`] if it is told to wait.
    ///
    /// # Panics
    /// If [`trantor_game::GameConfig::check`] refuses the game.
    pub fn new(mut config: EngineConfig, now: RealTime) -> Self {
        config.game.rules.lock_step |= config.lock_step.is_some();
        let game = Game::new(config.game.clone());
        Self::with_game(config, game, now)
    }

    /// An engine that goes on with `game` from where it is; `config.game` is of no account.
    ///
    /// Nobody plays its agents any more, so they are gone, and each leaves an egg of its team where it stood: whoever
    /// comes back has a place to be born at (docs/decisions/0052). Of a match that is over they stand where they stood at the
    /// victory, for those who watch.
    ///
    /// # Panics
    /// If it is to go on in lock-step and was not begun so: the order of its deadlines is another.
    pub fn resume(config: EngineConfig, mut game: Game, now: RealTime) -> Self {
        assert!(
            config.lock_step.is_none() || game.config().rules.lock_step,
            "only a game begun in lock-step goes on in it"
        );
        game.release_agents();
        let config = EngineConfig {
            game: game.config().clone(),
            ..config
        };
        let mut engine = Self::with_game(config, game, now);
        if engine.game.winner().is_some() {
            engine.ending = Some(Arc::new(Population::at_rest(&engine.game)));
        }
        engine
    }

    pub(super) fn with_game(config: EngineConfig, game: Game, now: RealTime) -> Self {
        let teams = config.game.teams.len();
        let mut engine = Self {
            pace: Pace::new(
                now,
                game.now(),
                config.frequency,
                config.lag_max,
                config.lock_step.is_some(),
            ),
            speedometer: Speedometer::new(now, game.now()),
            history: History::of(&game),
            lock_step: config.lock_step.map(|cap| LockStep::new(&game, cap)),
            sessions: Sessions::new(game.config().size),
            game,
            playback: None,
            timers: TimerQueue::default(),
            spare_requests: TokenBucket::full(now, config.limits.spare_requests_per_second()),
            fan_out: vec![TokenBucket::full(now, config.limits.fan_out_per_second_of_team(teams)); teams],
            text_updates: TextUpdates::new(&config),
            news: News::default(),
            ticks: Ticks::default(),
            watch: None,
            outputs: VecDeque::new(),
            sprint: None,
            operator_lines: VecDeque::new(),
            counters: Counters::default(),
            lateness: SpanRecorder::new(now),
            outbox_waits: SpanRecorder::new(now),
            recorder: None,
            slips_logged: Logged::default(),
            skips_logged: Logged::default(),
            tokens_logged: Logged::default(),
            operators_logged: Logged::default(),
            refusals_logged: Logged::default(),
            began: now,
            population: None,
            egg_pieces: EggPieces::default(),
            ending: None,
            is_saved: false,
            victory: None,
            answered_at: now,
            is_text_news_due: false,
            is_map_news_due: false,
            is_over_for_agents: false,
            arrived: None,
            departing: BTreeSet::new(),
            config,
        };
        if engine.config.auto_start {
            engine
                .start(now)
                .expect("an engine is started once, when it is made");
        }
        engine
    }
}
