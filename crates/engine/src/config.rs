//! What an engine is made from, checked and ready to use.
//!
//! How a person writes these options down, and what is refused, is the server's: it has the command line and
//! the file. Nothing here belongs to one connection; all of it holds for the whole server.

use trantor_game::GameConfig;
use trantor_model::EggId;
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_time::overload::LAG_MAX;
use trantor_time::{Frequency, RealSpan};

use crate::control::{Control, Token};
use crate::limits::Limits;

/// Everything about a server's engine that is settled before it starts.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The game itself.
    pub game: GameConfig,
    /// Units a second at the start.
    pub frequency: Frequency,
    /// Whether peers are greeted and time begins at once, or only at an operator's command.
    pub auto_start: bool,
    /// Real time from the start after which the leading team wins.
    pub match_duration: Option<RealSpan>,
    /// The words spoken with agents.
    pub dialect: Dialect,
    /// The unit in which agents of the 42 dialects are sent their food.
    pub food_told: FoodTold,
    /// The number of places that a newborn agent is sent.
    pub places_told: PlacesTold,
    /// How text viewers see the numbers of agents and eggs.
    pub gui_ids: GuiIds,
    /// What text viewers are sent of a refill.
    pub refill_news: RefillNews,
    /// Which peers may change the speed, pause, step, and operate.
    pub control: Control,
    /// What they show for [`Control::Token`] and [`Control::User`]; without one no peer can.
    pub token: Option<Token>,
    /// How much later than it happens viewers see the game, if they may not control it.
    pub spectator_delay: RealSpan,
    /// How far the game may lag before it slows down instead; `None`: without limit.
    pub lag_max: Option<RealSpan>,
    /// What peers may do to the server.
    pub limits: Limits,
    /// Whether game time waits for agents, and how long at most at one moment. It then leaps from moment to
    /// moment, whatever the frequency, and the game plays by [`trantor_game::Rules::lock_step`].
    pub lock_step: Option<RealSpan>,
    /// Name and version of the program, as sent to frame viewers.
    pub program: String,
}

/// The unit in which agents of the 42 dialects are sent their food.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoodTold {
    /// In units of life left, as in their subject.
    #[default]
    Life,
    /// In meals, as most of their servers do and most of their programs expect.
    Meals,
}

/// The number of places that a newborn agent is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacesTold {
    /// Those left once it has its own.
    #[default]
    After,
    /// Its own with them, as servers of School 42 do, whose programs leave when they are sent 0.
    Before,
}

impl PlacesTold {
    /// The number to send where so many are left.
    pub(crate) fn of(self, left: u32) -> u32 {
        match self {
            Self::After => left,
            Self::Before => left.saturating_add(1),
        }
    }
}

/// What text viewers are sent of a refill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefillNews {
    /// The tiles that changed.
    #[default]
    Changed,
    /// Every tile of the map.
    All,
    /// Nothing; they ask when they want to know.
    Nothing,
}

impl EngineConfig {
    /// A server of `game` with everything else as by default.
    pub fn new(game: GameConfig) -> Self {
        Self {
            game,
            frequency: Frequency::new(100).expect("100 is a frequency"),
            auto_start: true,
            match_duration: None,
            dialect: Dialect::default(),
            food_told: FoodTold::default(),
            places_told: PlacesTold::default(),
            gui_ids: GuiIds::default(),
            refill_news: RefillNews::default(),
            control: Control::Loopback,
            token: None,
            spectator_delay: RealSpan::ZERO,
            lag_max: Some(LAG_MAX),
            limits: Limits::default(),
            lock_step: None,
            program: concat!("trantor ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// The first egg that text viewers are sent.
    ///
    /// In the sheets of Epitech's older server and of School 42 a game begins with places and without eggs. Viewers written for them
    /// look up the layer of an egg, and end where there is none (docs/decisions/0118).
    pub fn first_egg_told(&self) -> EggId {
        match self.dialect {
            Dialect::Epitech => EggId(0),
            Dialect::Epitech2016 | Dialect::French42 | Dialect::English42 => self.game.first_egg_laid(),
        }
    }
}
