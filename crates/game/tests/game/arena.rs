//! A game on a bench: agents put where a test wants them, commands at whole units, replies with their moments.
//!
//! Every test that uses it runs under `Game::check` after each step, since debug assertions are on in tests.

use trantor_game::{AdminAction, Game, GameConfig, GameEvent, GameInput, Handled, LeaveCause, Reply, Rules};
use trantor_model::{AgentId, Command, Counts, Direction, Level, MapSize, Resource, TeamId, Tile};
use trantor_time::GameTime;

/// A game and its events so far.
pub(crate) struct Arena {
    pub(crate) game: Game,
    /// With the game time of each.
    pub(crate) events: Vec<(GameTime, GameEvent)>,
}

pub(crate) fn units(units: i64) -> GameTime {
    GameTime::from_units(units)
}

pub(crate) fn tile(x: u16, y: u16) -> Tile {
    Tile { x, y }
}

/// Counts from the seven numbers in the order of the wire.
pub(crate) fn counts(all: [u32; 7]) -> Counts {
    Counts(all)
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
        Self {
            game: Game::new(config),
            events: Vec::new(),
        }
    }

    /// A 10 x 10 world with bare ground that stays bare, and no hunger.
    pub(crate) fn quiet() -> Self {
        Self::bare(config(10, 10))
    }

    /// A world with bare ground that stays bare, and no hunger.
    pub(crate) fn bare(config: GameConfig) -> Self {
        let size = config.size;
        let mut arena = Self::new(config);
        arena.admin(AdminAction::SetHunger { enabled: false });
        arena.admin(AdminAction::SetRefill { enabled: false });
        for index in 0..size.area() {
            arena.admin(AdminAction::SetGround {
                tile: size.tile_at(index),
                ground: Counts::ZERO,
            });
        }
        arena.events.clear();
        arena
    }

    /// Hands an input in now.
    pub(crate) fn input(&mut self, input: GameInput) -> Handled {
        let handled = self.game.handle(input, self.game.now());
        self.drain();
        handled
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
        let agent = self.join(team);
        self.put(agent, x, y, facing);
        self.admin(AdminAction::SetLevel {
            agent,
            level: level(at_level),
        });
        agent
    }

    pub(crate) fn put(&mut self, agent: AgentId, x: u16, y: u16, facing: Direction) {
        self.admin(AdminAction::Teleport {
            agent,
            tile: tile(x, y),
            facing: Some(facing),
        });
    }

    pub(crate) fn ground(&mut self, x: u16, y: u16, ground: [u32; 7]) {
        self.admin(AdminAction::SetGround {
            tile: tile(x, y),
            ground: counts(ground),
        });
    }

    pub(crate) fn give(&mut self, agent: AgentId, resource: Resource, count: u32) {
        self.admin(AdminAction::SetInventory {
            agent,
            resource,
            count,
        });
    }

    pub(crate) fn command(&mut self, agent: AgentId, command: Command) {
        assert_eq!(self.input(GameInput::Command { agent, command }), Handled::Done);
    }

    pub(crate) fn leave(&mut self, agent: AgentId) {
        let left = self.input(GameInput::Leave {
            agent,
            cause: LeaveCause::Disconnected,
        });
        assert_eq!(left, Handled::Done);
    }

    /// Lets the game go on until everything due up to that moment is done.
    pub(crate) fn run_to(&mut self, until: GameTime) {
        while self.game.fire_next(until).is_some() {
            self.drain();
        }
        self.game.advance_to(until);
    }

    /// Lets so many units pass.
    pub(crate) fn run(&mut self, count: i64) {
        let now = self.game.now();
        self.run_to(now + trantor_time::GameSpan::from_units(count));
    }

    fn drain(&mut self) {
        while let Some(event) = self.game.poll_event() {
            self.events.push((self.game.now(), event));
        }
    }

    /// All events since the last call.
    pub(crate) fn take(&mut self) -> Vec<GameEvent> {
        self.events.drain(..).map(|(_, event)| event).collect()
    }

    /// Every reply to an agent since the last time everything was taken, with the whole units at which it came.
    pub(crate) fn replies(&self, to: AgentId) -> Vec<(i128, Reply)> {
        let replies = self.events.iter().filter_map(|(at, event)| match event {
            GameEvent::Reply { agent, reply } if *agent == to => Some((at.whole_units(), reply.clone())),
            _ => None,
        });
        replies.collect()
    }

    /// Replies without their moments.
    pub(crate) fn answers(&self, to: AgentId) -> Vec<Reply> {
        self.replies(to).into_iter().map(|(_, reply)| reply).collect()
    }

    /// The messages that an agent received: direction and text.
    pub(crate) fn received(&self, by: AgentId) -> Vec<(u8, Vec<u8>)> {
        let received = self.events.iter().filter_map(|(_, event)| match event {
            GameEvent::Heard {
                agent,
                direction,
                text,
            } if *agent == by => Some((*direction, text.to_vec())),
            _ => None,
        });
        received.collect()
    }

    pub(crate) fn agent(&self, id: AgentId) -> &trantor_game::Agent {
        self.game
            .world()
            .agent(id)
            .expect("the test knows that the agent lives")
    }
}
