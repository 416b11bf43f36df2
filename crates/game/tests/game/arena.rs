//! A game with agents put where a test wants them.
//!
//! Every test that uses it runs under `Game::check` after each step, since debug assertions are on in tests.

use trantor_game::{Game, GameConfig, GameInput, Handled, Rules};
use trantor_model::{AdminAction, AgentId, Command, Direction, Level, MapSize, TeamId, Tile};
use trantor_time::GameTime;

pub(crate) struct Arena {
    pub(crate) game: Game,
}

pub(crate) fn units(units: i64) -> GameTime {
    GameTime::from_units(units)
}

pub(crate) fn tile(x: u16, y: u16) -> Tile {
    Tile { x, y }
}

pub(crate) fn level(number: u8) -> Level {
    Level::new(number).expect("tests ask for levels that exist")
}

pub(crate) fn config(width: u32, height: u32) -> GameConfig {
    GameConfig {
        size: MapSize::new(width, height).expect("tests ask for maps that exist"),
        teams: vec!["a".to_owned(), "b".to_owned()],
        places_per_team: 20,
        seed: 1,
        rules: Rules::default(),
    }
}

impl Arena {
    pub(crate) fn new(config: GameConfig) -> Self {
        let game = Game::new(config);
        Self { game }
    }

    /// Hands an input in now.
    pub(crate) fn input(&mut self, input: GameInput) -> Handled {
        self.game.handle(input, self.game.now())
    }

    pub(crate) fn admin(&mut self, action: AdminAction) {
        assert_eq!(self.input(GameInput::Admin(action)), Handled::Done);
    }

    pub(crate) fn try_join(&mut self, team: u16) -> Handled {
        self.input(GameInput::Join { team: TeamId(team) })
    }

    pub(crate) fn join(&mut self, team: u16) -> AgentId {
        match self.try_join(team) {
            Handled::Joined(agent) => agent,
            other => panic!("no place: {other:?}"),
        }
    }

    /// A newborn put somewhere.
    pub(crate) fn agent_of(&mut self, team: u16, x: u16, y: u16, facing: Direction, at_level: u8) -> AgentId {
        let (agent, facing) = (self.join(team), Some(facing));
        let (tile, level) = (tile(x, y), level(at_level));
        self.admin(AdminAction::Teleport { agent, tile, facing });
        self.admin(AdminAction::SetLevel { agent, level });
        agent
    }

    pub(crate) fn command(&mut self, agent: AgentId, command: Command) {
        assert_eq!(self.input(GameInput::Command { agent, command }), Handled::Done);
    }

    /// Plays until everything due up to that moment is done.
    pub(crate) fn run_to(&mut self, until: GameTime) {
        while self.game.fire_next(until).is_some() {}
        self.game.advance_to(until);
    }
}
