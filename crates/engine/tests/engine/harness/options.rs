//! The options at the head of a transcript: those of the server, and two of the transcript's own.

use trantor_engine::limits::Limits;
use trantor_engine::{ControlAccess, EngineConfig, InventoryFood, JoinPlaces, RefillUpdates, Token};
use trantor_model::MapSize;
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_time::{Frequency, RealSpan};

/// What a transcript is played with.
pub struct Options {
    pub config: EngineConfig,
    /// Nothing lies on the ground, and nothing is refilled.
    pub is_bare: bool,
    /// Moments are shown in real time.
    pub is_in_real_time: bool,
}

impl Options {
    /// Reads words such as `-x 10 -y 10 -n a b --gui-ids plain`; `config` is what holds without them.
    ///
    /// # Panics
    /// If a word is not understood: a transcript is part of the program.
    pub fn read(config: EngineConfig, text: &str) -> Self {
        let (mut width, mut height) = (config.game.size.width().into(), config.game.size.height().into());
        let mut options = Self {
            config,
            is_bare: false,
            is_in_real_time: false,
        };
        let mut words = text.split_whitespace().peekable();
        while let Some(option) = words.next() {
            let mut values = Vec::new();
            while let Some(value) = words.next_if(|word| !word.starts_with('-')) {
                values.push(value);
            }
            match option {
                "-x" => width = number(values[0]),
                "-y" => height = number(values[0]),
                _ => options.set(option, &values),
            }
        }
        options.config.game.size = MapSize::new(width, height).expect("a size of a map");
        options
    }

    fn set(&mut self, option: &str, values: &[&str]) {
        let config = &mut self.config;
        let rules = &mut config.game.rules;
        match (option, values) {
            ("-n", names) => config.game.teams = names.iter().map(ToString::to_string).collect(),
            ("-c", [places]) => config.game.places_per_team = number(places),
            ("-f", [hertz]) => {
                config.frequency = Frequency::new(u64::from(number(hertz))).expect("a frequency");
            }
            ("-t", [secs]) => config.match_duration = Some(RealSpan::from_secs(i64::from(number(secs)))),
            ("--seed", [seed]) => config.game.seed = u64::from(number(seed)),
            ("--bare", []) => self.is_bare = true,
            ("--real-time", []) => self.is_in_real_time = true,
            ("--lock-step", [cap_secs]) => {
                config.lock_step = Some(RealSpan::from_secs(i64::from(number(cap_secs))));
            }
            ("--auto-start", [word]) => config.auto_start = *word == "on",
            ("--display-eggs", [word]) => rules.eggs_in_sight = *word == "true",
            ("--eject-eggs", [word]) => rules.eject_eggs = *word == "on",
            ("--egg-hatch", [units]) => rules.egg_hatch_units = number(units),
            ("--respawn-slots", [word]) => rules.respawn_places = *word == "on",
            ("--inventory-food", ["meals"]) => config.inventory_food = InventoryFood::Meals,
            ("--join-places", ["before"]) => config.join_places = JoinPlaces::Before,
            ("--gui-ids", ["hash"]) => config.gui_ids = GuiIds::Hash,
            ("--gui-ids", ["plain"]) => config.gui_ids = GuiIds::Plain,
            ("--gui-ids", ["pnw"]) => config.gui_ids = GuiIds::Pnw,
            ("--refill-updates", ["changed"]) => config.refill_updates = RefillUpdates::Changed,
            ("--refill-updates", ["all"]) => config.refill_updates = RefillUpdates::All,
            ("--refill-updates", ["none"]) => config.refill_updates = RefillUpdates::Nothing,
            ("--dialect", ["epitech"]) => config.dialect = Dialect::Epitech,
            ("--dialect", ["epitech-2016"]) => config.dialect = Dialect::Epitech2016,
            ("--dialect", ["42"]) => config.dialect = Dialect::French42,
            ("--dialect", ["42en"]) => config.dialect = Dialect::English42,
            ("--control", ["everyone"]) => config.control = ControlAccess::Everyone,
            ("--control", ["loopback"]) => config.control = ControlAccess::Loopback,
            ("--control", ["off"]) => config.control = ControlAccess::Off,
            ("--user-token", [token]) => {
                config.control = ControlAccess::User;
                config.token = Some(Token::read(token).expect("a token"));
            }
            ("--token", [token]) => {
                config.control = ControlAccess::Token;
                config.token = Some(Token::read(token).expect("a token"));
            }
            ("--spectator-delay", [secs]) => {
                config.spectator_delay = RealSpan::from_secs(i64::from(number(secs)));
            }
            ("--limit", [name, value]) => set_limit(&mut config.limits, name, number(value)),
            _ => panic!("no option {option} {values:?}"),
        }
    }
}

fn set_limit(limits: &mut Limits, name: &str, value: u32) {
    match name {
        "connections" => limits.connections_max = value,
        "connections-per-address" => limits.connections_per_address_max = Some(value),
        "idle-secs" => limits.idle_span = Some(RealSpan::from_secs(i64::from(value))),
        "fan-out" => limits.fan_out_per_second = value,
        "stall-ms" => limits.stall_span = RealSpan::from_millis(i64::from(value)),
        "message-bytes" => limits.message_bytes_max = value as usize,
        "violations" => limits.violations_max = value,
        "output-bytes" => limits.output_bytes_max = value as usize,
        "viewer-outbox-bytes" => limits.viewer_outbox_bytes_max = value as usize,
        _ => panic!("no limit {name}"),
    }
}

fn number(word: &str) -> u32 {
    word.parse().unwrap_or_else(|_| panic!("{word:?} is no number"))
}
